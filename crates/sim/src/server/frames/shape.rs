//! What differs between engines whose frames go back to OpenAI's.

use serde_json::{Value, json};

use super::{Common, Route, ShapedFrames, put_number};
use crate::engine::Finish;
use crate::server::dialect::{Format, Frames, Output};

/// How an engine puts its frames. All texts are JSON without the brace that closes them.
pub(in crate::server) struct Shape {
    /// Before and behind the JSON of a frame.
    pub(in crate::server) event: (&'static str, &'static str),
    /// The JSON before the list of choices, opened, and behind the list.
    pub(in crate::server) envelope: fn(&Common) -> (String, String),
    /// The choice of the first frame, which has no text; empty: there is no such frame.
    pub(in crate::server) first: &'static str,
    /// A choice, before and behind its text.
    pub(in crate::server) text: (&'static str, &'static str),
    /// The end by length, and by itself.
    pub(in crate::server) finish: FinishShape,
    /// True if each token has its frame, however many came at once.
    pub(in crate::server) one_by_one: bool,
    pub(in crate::server) usage: UsageShape,
    /// Appends what stands in the last frame of a stream alone.
    pub(in crate::server) last: fn(&mut Vec<u8>, &Told),
    /// The error within a stream, whole frame, and what follows.
    pub(in crate::server) fail: fn(&str) -> String,
    /// The end mark.
    pub(in crate::server) done: &'static str,
    /// Completes the answer in one piece.
    pub(in crate::server) whole: fn(&mut Value, &Told),
}

/// How the end of an output is put.
pub(in crate::server) enum FinishShape {
    /// Behind the text, in place of what stands there else.
    WithText { length: &'static str, stop: &'static str },
    /// A choice of its own, behind the one with the last text.
    Own { length: &'static str, stop: &'static str },
}

/// Where usage is told.
pub(in crate::server) struct UsageShape {
    /// Frames that have it where it was asked for on all of them.
    pub(in crate::server) continuous: Continuous,
    /// Appends it to a frame with a choice.
    pub(in crate::server) running: fn(&mut Vec<u8>, &Told),
    /// True if it stands in the frame that ends the output, asked or not; else in one of its own, if asked.
    pub(in crate::server) on_finish: bool,
    /// Appends it, complete.
    pub(in crate::server) complete: fn(&mut Vec<u8>, &Told),
}

/// Which frames have usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Continuous {
    /// All, where it was asked for.
    Asked,
    /// Those with text, where it was asked for.
    AskedWithText,
    /// All, asked or not.
    Always,
}

/// What can be told of a request by now.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::server) struct Told {
    pub(in crate::server) prompt_tokens: u64,
    pub(in crate::server) cached_tokens: u64,
    pub(in crate::server) completion_tokens: u64,
    pub(in crate::server) arrival_ns: u64,
    pub(in crate::server) first_ns: u64,
    pub(in crate::server) last_ns: u64,
    pub(in crate::server) finish: Option<Finish>,
}

impl Format for Shape {
    fn frames(&'static self, common: Common, seed: u64) -> Box<dyn Frames> {
        Box::new(ShapedFrames::new(self, common, seed))
    }

    fn whole(&self, common: Common, output: Output) -> Value {
        let finish_reason = match output.finish {
            Finish::Length => "length",
            Finish::Stop => "stop",
        };
        let mut choice = json!({ "index": 0, "logprobs": null, "finish_reason": finish_reason });
        let object = match common.route {
            Route::Chat => {
                choice["message"] = json!({ "role": "assistant", "content": output.text });
                "chat.completion"
            }
            Route::Completions => {
                choice["text"] = json!(output.text);
                "text_completion"
            }
        };
        let mut answer = json!({
            "id": common.id,
            "object": object,
            "created": common.created,
            "model": common.model,
            "choices": [],
            "usage": {
                "prompt_tokens": common.prompt_tokens,
                "total_tokens": common.prompt_tokens + output.completion_tokens,
                "completion_tokens": output.completion_tokens,
            },
        });
        if let Some(prompt_ids) = common.prompt_ids {
            choice["token_ids"] = json!(output.ids);
            match common.route {
                Route::Chat => answer["prompt_token_ids"] = json!(prompt_ids),
                Route::Completions => choice["prompt_token_ids"] = json!(prompt_ids),
            }
        }
        answer["choices"] = json!([choice]);
        let told = Told {
            prompt_tokens: common.prompt_tokens,
            cached_tokens: output.cached_tokens,
            completion_tokens: output.completion_tokens,
            arrival_ns: common.arrival_ns,
            first_ns: output.first_ns,
            last_ns: output.last_ns,
            finish: Some(output.finish),
        };
        (self.whole)(&mut answer, &told);
        answer
    }
}

/// For shapes whose last frame has nothing of its own.
pub(in crate::server) fn nothing(_out: &mut Vec<u8>, _told: &Told) {}

/// Appends the three counts.
pub(in crate::server) fn usage_counts(out: &mut Vec<u8>, told: &Told) {
    open_usage(out, told);
    out.push(b'}');
}

/// Appends the three counts, and leaves the object open.
pub(in crate::server) fn open_usage(out: &mut Vec<u8>, told: &Told) {
    out.extend_from_slice(b",\"usage\":{\"prompt_tokens\":");
    put_number(out, told.prompt_tokens);
    out.extend_from_slice(b",\"total_tokens\":");
    put_number(out, told.prompt_tokens + told.completion_tokens);
    out.extend_from_slice(b",\"completion_tokens\":");
    put_number(out, told.completion_tokens);
}

/// Appends the three counts, and the tokens found in the prefix cache.
pub(in crate::server) fn usage_with_cached(out: &mut Vec<u8>, told: &Told) {
    open_usage(out, told);
    out.extend_from_slice(b",\"prompt_tokens_details\":{\"cached_tokens\":");
    put_number(out, told.cached_tokens);
    out.extend_from_slice(b"}}");
}

/// The JSON up to the opened list of choices, in the order of most engines.
pub(in crate::server) fn head(common: &Common) -> String {
    let object = match common.route {
        Route::Chat => "chat.completion.chunk",
        Route::Completions => "text_completion",
    };
    let model = Value::from(common.model.as_str());
    let Common { id, created, .. } = common;
    format!("{{\"id\":\"{id}\",\"object\":\"{object}\",\"created\":{created},\"model\":{model},\"choices\":[")
}
