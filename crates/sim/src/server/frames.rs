//! Frames of a stream, in the shape of vLLM's. What is constant is written once per request.

use bytes::Bytes;

use super::stream::Delivery;
use crate::engine::Finish;
use crate::text::Writer;
use crate::tokenizer::{END_TOKEN, token_id};

/// Which interface the request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
}

/// What the frames of a request have in common.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub(super) route: Route,
    /// Id of the answer: plain ASCII.
    pub(super) id: String,
    pub(super) created: u64,
    /// Model name as the request gave it or as it is served.
    pub(super) model: String,
    pub(super) prompt_tokens: u64,
    /// Ids of the prompt, where token ids were asked for.
    pub(super) prompt_ids: Option<Vec<u32>>,
    pub(super) include_usage: bool,
    pub(super) continuous_usage: bool,
}

/// Makes the frames of one request.
pub(super) struct Frames {
    common: Common,
    /// From `data: ` to the opened list of choices.
    lead: Vec<u8>,
    writer: Writer,
    wants_ids: bool,
    opened: bool,
    completion_tokens: u64,
    cached_tokens: u64,
    out: Vec<u8>,
}

impl Frames {
    pub(super) fn new(common: Common, seed: u64) -> Frames {
        let object = match common.route {
            Route::Chat => "chat.completion.chunk",
            Route::Completions => "text_completion",
        };
        let lead = format!(
            "data: {{\"id\":\"{}\",\"object\":\"{object}\",\"created\":{},\"model\":{},\"choices\":[",
            common.id,
            common.created,
            serde_json::Value::from(common.model.as_str()),
        );
        Frames {
            wants_ids: common.prompt_ids.is_some(),
            common,
            lead: lead.into_bytes(),
            writer: Writer::new(seed),
            opened: false,
            completion_tokens: 0,
            cached_tokens: 0,
            out: Vec::with_capacity(512),
        }
    }

    /// The bytes for these tokens: one frame, behind the opening one if they are the first, and before the
    /// usage and the end mark if they are the last.
    pub(super) fn write(&mut self, delivery: &Delivery) -> Bytes {
        self.out.clear();
        self.cached_tokens = delivery.cached_tokens;
        let opens = !std::mem::replace(&mut self.opened, true);
        if opens && self.common.route == Route::Chat {
            self.role_frame();
        }
        self.text_frame(delivery, opens);
        if delivery.finish.is_some() {
            if self.common.include_usage {
                self.usage_frame();
            }
            self.put("data: [DONE]\n\n");
        }
        Bytes::copy_from_slice(&self.out)
    }

    fn role_frame(&mut self) {
        self.out.extend_from_slice(&self.lead);
        self.put("{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,");
        self.put("\"finish_reason\":null}]");
        self.put_prompt_ids();
        self.end_frame();
    }

    fn text_frame(&mut self, delivery: &Delivery, opens: bool) {
        let chat = self.common.route == Route::Chat;
        self.out.extend_from_slice(&self.lead);
        self.put(if chat { "{\"index\":0,\"delta\":{\"content\":\"" } else { "{\"index\":0,\"text\":\"" });
        let ids = self.put_text(delivery);
        self.put(if chat { "\"},\"logprobs\":null," } else { "\",\"logprobs\":null," });
        self.put(match delivery.finish {
            None => "\"finish_reason\":null",
            Some(Finish::Length) => "\"finish_reason\":\"length\",\"stop_reason\":null",
            Some(Finish::Stop) => "\"finish_reason\":\"stop\",\"stop_reason\":null",
        });
        if let Some(ids) = ids {
            self.put(",\"token_ids\":");
            put_list(&mut self.out, &ids);
        }
        if opens
            && !chat
            && let Some(prompt_ids) = &self.common.prompt_ids
        {
            self.out.extend_from_slice(b",\"prompt_token_ids\":");
            put_list(&mut self.out, prompt_ids);
        }
        self.put("}]");
        self.completion_tokens += u64::from(delivery.tokens());
        self.end_frame();
    }

    /// Writes the text of the tokens; returns their ids where they were asked for.
    fn put_text(&mut self, delivery: &Delivery) -> Option<Vec<u32>> {
        let mut ids = Vec::new();
        let wants_ids = self.wants_ids;
        write_text(&mut self.writer, delivery, &mut self.out, |piece| {
            if wants_ids {
                ids.push(piece.map_or(END_TOKEN, token_id));
            }
        });
        wants_ids.then_some(ids)
    }

    fn put_prompt_ids(&mut self) {
        if let Some(ids) = self.common.prompt_ids.take() {
            self.put(",\"prompt_token_ids\":");
            put_list(&mut self.out, &ids);
        }
    }

    fn usage_frame(&mut self) {
        self.out.extend_from_slice(&self.lead);
        self.put("]");
        self.put_usage();
        self.out.pop();
        self.put(",\"prompt_tokens_details\":{\"cached_tokens\":");
        put_number(&mut self.out, self.cached_tokens);
        self.put("}}}\n\n");
    }

    fn end_frame(&mut self) {
        if self.common.continuous_usage {
            self.put_usage();
        }
        self.put("}\n\n");
    }

    fn put_usage(&mut self) {
        let (prompt, completion) = (self.common.prompt_tokens, self.completion_tokens);
        self.put(",\"usage\":{\"prompt_tokens\":");
        put_number(&mut self.out, prompt);
        self.put(",\"total_tokens\":");
        put_number(&mut self.out, prompt + completion);
        self.put(",\"completion_tokens\":");
        put_number(&mut self.out, completion);
        self.put("}");
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

/// Appends the text of these tokens to `out`, and shows each piece. The token that ends an output has none.
pub(super) fn write_text(
    writer: &mut Writer,
    delivery: &Delivery,
    out: &mut Vec<u8>,
    mut piece: impl FnMut(Option<&[u8]>),
) {
    let ends = u32::from(delivery.finish == Some(Finish::Stop));
    // The end token is the last one: of the looping ones, if there are any.
    let (plain_ends, loop_ends) = if delivery.looping > 0 { (0, ends) } else { (ends, 0) };
    for _ in 0..delivery.plain - plain_ends {
        let start = out.len();
        writer.write(out);
        piece(Some(&out[start..]));
    }
    for _ in 0..delivery.looping - loop_ends {
        let start = out.len();
        writer.write_loop(out);
        piece(Some(&out[start..]));
    }
    if ends > 0 {
        piece(None);
    }
}

/// Appends a list of numbers in JSON.
pub(super) fn put_list(out: &mut Vec<u8>, ids: &[u32]) {
    out.push(b'[');
    for (index, &id) in ids.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        put_number(out, id.into());
    }
    out.push(b']');
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
