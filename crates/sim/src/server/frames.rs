//! Frames of a stream in the shapes that go back to OpenAI's. What an engine does otherwise is data: a
//! [`Shape`]. What is constant is written once per request.

mod shape;

use bytes::Bytes;

use super::dialect::Frames;
use super::stream::Delivery;
use crate::clock::Clock;
use crate::engine::Finish;
use crate::text::Writer;
use crate::tokenizer::{END_TOKEN, token_id};
pub(super) use shape::{
    Continuous, FinishShape, Shape, Told, UsageShape, head, nothing, open_usage, usage_counts,
    usage_with_cached,
};

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
    /// The progress of the prefill was asked for.
    pub(super) progress: bool,
    pub(super) arrival_ns: u64,
    pub(super) clock: Clock,
}

/// Makes the frames of one request in a shape.
pub(super) struct ShapedFrames {
    shape: &'static Shape,
    common: Common,
    /// From the start of the event to the opened list of choices.
    lead: Vec<u8>,
    /// Behind the list of choices.
    tail: Vec<u8>,
    writer: Writer,
    wants_ids: bool,
    opened: bool,
    told: Told,
    out: Vec<u8>,
}

impl ShapedFrames {
    pub(super) fn new(shape: &'static Shape, common: Common, seed: u64) -> ShapedFrames {
        let (head, tail) = (shape.envelope)(&common);
        ShapedFrames {
            shape,
            lead: [shape.event.0, &head].concat().into_bytes(),
            tail: tail.into_bytes(),
            writer: Writer::new(seed),
            wants_ids: common.prompt_ids.is_some(),
            opened: false,
            told: Told {
                prompt_tokens: common.prompt_tokens,
                arrival_ns: common.arrival_ns,
                ..Told::default()
            },
            common,
            out: Vec::new(),
        }
    }

    /// A frame with this choice and no text.
    pub(super) fn bare_frame(&mut self, choice: &str, more: &str) {
        self.out.extend_from_slice(&self.lead);
        self.put(choice);
        self.put("}]");
        self.out.extend_from_slice(&self.tail);
        self.put(more);
        self.end_frame(false);
    }

    /// What has been written since the last look.
    pub(super) fn take(&mut self) -> Bytes {
        let bytes = Bytes::copy_from_slice(&self.out);
        self.out.clear();
        bytes
    }

    fn first_frame(&mut self) {
        self.out.extend_from_slice(&self.lead);
        self.put(self.shape.first);
        self.put("}]");
        self.out.extend_from_slice(&self.tail);
        if let Some(ids) = self.common.prompt_ids.take() {
            self.put(",\"prompt_token_ids\":");
            put_list(&mut self.out, &ids);
        }
        self.end_frame(false);
    }

    fn token_frames(&mut self, delivery: &Delivery, opens: bool) {
        self.told.completion_tokens += u64::from(delivery.tokens());
        self.told.finish = delivery.finish;
        let own_finish = match self.shape.finish {
            FinishShape::WithText { .. } => None,
            FinishShape::Own { length, stop } => delivery.finish.map(|finish| match finish {
                Finish::Length => length,
                Finish::Stop => stop,
            }),
        };
        // The token that ends an output has no text, and no frame where the end has its own.
        if own_finish.is_none() || delivery.tokens() > 1 || delivery.finish != Some(Finish::Stop) {
            self.text_frame(delivery, opens);
        }
        if let Some(choice) = own_finish {
            self.out.extend_from_slice(&self.lead);
            self.put(choice);
            self.close_finish();
        }
    }

    fn text_frame(&mut self, delivery: &Delivery, opens: bool) {
        self.out.extend_from_slice(&self.lead);
        self.put(self.shape.text.0);
        let ids = self.put_text(delivery);
        let ends = match (&self.shape.finish, delivery.finish) {
            (FinishShape::WithText { length, .. }, Some(Finish::Length)) => Some(*length),
            (FinishShape::WithText { stop, .. }, Some(Finish::Stop)) => Some(*stop),
            _ => None,
        };
        self.put(ends.unwrap_or(self.shape.text.1));
        if let Some(ids) = ids {
            self.put(",\"token_ids\":");
            put_list(&mut self.out, &ids);
        }
        if opens
            && self.common.route == Route::Completions
            && let Some(prompt_ids) = &self.common.prompt_ids
        {
            self.out.extend_from_slice(b",\"prompt_token_ids\":");
            put_list(&mut self.out, prompt_ids);
        }
        if ends.is_some() {
            self.close_finish();
        } else {
            self.put("}]");
            self.out.extend_from_slice(&self.tail);
            self.end_frame(true);
        }
    }

    /// Closes the frame that ends the output.
    fn close_finish(&mut self) {
        self.put("}]");
        self.out.extend_from_slice(&self.tail);
        if self.shape.usage.on_finish {
            (self.shape.usage.complete)(&mut self.out, &self.told);
        }
        if !self.has_usage_frame() {
            (self.shape.last)(&mut self.out, &self.told);
        }
        self.end_frame(matches!(self.shape.finish, FinishShape::WithText { .. }));
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

    fn has_usage_frame(&self) -> bool {
        self.common.include_usage && !self.shape.usage.on_finish
    }

    fn usage_frame(&mut self) {
        self.out.extend_from_slice(&self.lead);
        self.put("]");
        self.out.extend_from_slice(&self.tail);
        (self.shape.usage.complete)(&mut self.out, &self.told);
        (self.shape.last)(&mut self.out, &self.told);
        self.put("}");
        self.put(self.shape.event.1);
    }

    fn end_frame(&mut self, has_text: bool) {
        let asked = self.common.continuous_usage;
        let usage = &self.shape.usage;
        let tells = match usage.continuous {
            Continuous::Asked => asked,
            Continuous::AskedWithText => asked && has_text,
            Continuous::Always => true,
        };
        if tells && !(usage.on_finish && self.told.finish.is_some()) {
            (usage.running)(&mut self.out, &self.told);
        }
        self.put("}");
        self.put(self.shape.event.1);
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

impl Frames for ShapedFrames {
    fn write(&mut self, delivery: &Delivery, out: &mut Vec<u8>) {
        std::mem::swap(&mut self.out, out);
        self.told.cached_tokens = delivery.cached_tokens;
        let opens = !std::mem::replace(&mut self.opened, true);
        if opens {
            self.told.first_ns = self.common.clock.now_ns();
            if !self.shape.first.is_empty() {
                self.first_frame();
            }
        }
        if delivery.finish.is_some() {
            self.told.last_ns = self.common.clock.now_ns();
        }
        if self.shape.one_by_one {
            let mut rest = Some(*delivery);
            while let Some(delivery) = rest {
                let (one, more) = delivery.split(1);
                self.token_frames(&one, opens);
                rest = more;
            }
        } else {
            self.token_frames(delivery, opens);
        }
        if delivery.finish.is_some() {
            if self.has_usage_frame() {
                self.usage_frame();
            }
            self.put(self.shape.done);
        }
        std::mem::swap(&mut self.out, out);
    }

    fn fail(&mut self, message: &str) -> Bytes {
        (self.shape.fail)(message).into()
    }

    fn end(&mut self) -> Bytes {
        Bytes::from_static(self.shape.done.as_bytes())
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

/// Appends a number in digits.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
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
