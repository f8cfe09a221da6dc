//! Ollama's own interface: one JSON object a line.

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::clock::unix_seconds;
use crate::engine::Finish;
use crate::server::answer::Refusal;
use crate::server::body::{self, Collected, Message};
use crate::server::dialect::{Format, Frames, Output};
use crate::server::frames::{Common, Route, Told, write_text};
use crate::server::generate::{Call, Envelope, respond};
use crate::server::routes::App;
use crate::server::stream::Delivery;
use crate::text::Writer;
use crate::tokenizer;

/// `/api/chat`.
pub(super) async fn chat(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    answer(&app, Route::Chat, request).await
}

/// `/api/generate`.
pub(super) async fn generate(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    answer(&app, Route::Completions, request).await
}

/// The fields of a request that matter here; others are ignored.
#[derive(serde::Deserialize)]
struct Fields<'a> {
    model: Option<String>,
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    #[serde(default)]
    prompt: String,
    /// Streams are the default.
    stream: Option<bool>,
    #[serde(default)]
    options: Options,
}

#[derive(Default, serde::Deserialize)]
struct Options {
    num_predict: Option<i64>,
    seed: Option<i64>,
}

async fn answer(app: &App, route: Route, request: Request) -> Result<Response, Refusal> {
    let envelope = Envelope::new(app, &request);
    let bytes = body::read(request.into_body()).await?;
    let call = body::work(bytes, move |bytes| read(bytes, route)).await?;
    respond(app, route, call, envelope, &Lines).await
}

fn read(bytes: &[u8], route: Route) -> Result<Call, Refusal> {
    let fields: Fields<'_> = body::parse(bytes)?;
    let mut collected = Collected::default();
    match route {
        Route::Chat => body::tokenize_messages(&fields.messages, true, |id| collected.push(id))?,
        Route::Completions => tokenizer::tokenize(&fields.prompt, |id| collected.push(id)),
    }
    Ok(Call {
        label: None,
        model: fields.model,
        collected,
        // Numbers below one mean no limit.
        max_tokens: fields.options.num_predict.and_then(|limit| u64::try_from(limit).ok()).filter(|&n| n > 0),
        min_tokens: 0,
        ignore_eos: false,
        seed: fields.options.seed,
        stream: fields.stream.unwrap_or(true),
        include_usage: true,
        continuous_usage: false,
        progress: false,
    })
}

/// One object a line; the last one has the counts.
struct Lines;

impl Format for Lines {
    fn media_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn has_comments(&self) -> bool {
        false
    }

    fn frames(&'static self, common: Common, seed: u64) -> Box<dyn Frames> {
        let told =
            Told { prompt_tokens: common.prompt_tokens, arrival_ns: common.arrival_ns, ..Told::default() };
        Box::new(LineFrames { common, writer: Writer::new(seed), told })
    }

    fn whole(&self, common: Common, output: Output) -> Value {
        let told = Told {
            prompt_tokens: common.prompt_tokens,
            cached_tokens: output.cached_tokens,
            completion_tokens: output.completion_tokens,
            arrival_ns: common.arrival_ns,
            first_ns: output.first_ns,
            last_ns: output.last_ns,
            finish: Some(output.finish),
        };
        line(&common, &output.text, Some(&told))
    }
}

struct LineFrames {
    common: Common,
    writer: Writer,
    told: Told,
}

impl LineFrames {
    fn put(&mut self, out: &mut Vec<u8>, text: &str, ends: bool) {
        let line = line(&self.common, text, ends.then_some(&self.told));
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
    }
}

impl Frames for LineFrames {
    fn write(&mut self, delivery: &Delivery, out: &mut Vec<u8>) {
        let now_ns = self.common.clock.now_ns();
        if self.told.completion_tokens == 0 {
            self.told.first_ns = now_ns;
        }
        self.told.last_ns = now_ns;
        self.told.completion_tokens += u64::from(delivery.tokens());
        self.told.cached_tokens = delivery.cached_tokens;
        self.told.finish = delivery.finish;

        let mut pieces: Vec<String> = Vec::new();
        let mut text = Vec::new();
        write_text(&mut self.writer, delivery, &mut text, |piece| {
            pieces.extend(piece.map(|piece| String::from_utf8_lossy(piece).into_owned()));
        });
        for piece in &pieces {
            self.put(out, piece, false);
        }
        if delivery.finish.is_some() {
            self.put(out, "", true);
        }
    }

    fn fail(&mut self, message: &str) -> Bytes {
        format!("{}\n", json!({ "error": message })).into()
    }

    fn end(&mut self) -> Bytes {
        self.told.finish = Some(Finish::Stop);
        let mut out = Vec::new();
        self.put(&mut out, "", true);
        out.into()
    }
}

/// A line; `told` makes it the last one.
fn line(common: &Common, text: &str, told: Option<&Told>) -> Value {
    let mut line = json!({ "model": common.model, "created_at": date(unix_seconds()) });
    match common.route {
        Route::Chat => line["message"] = json!({ "role": "assistant", "content": text }),
        Route::Completions => line["response"] = json!(text),
    }
    line["done"] = json!(told.is_some());
    if let Some(told) = told {
        line["done_reason"] = json!(if told.finish == Some(Finish::Length) { "length" } else { "stop" });
        line["total_duration"] = json!(told.last_ns.saturating_sub(told.arrival_ns));
        line["load_duration"] = json!(0);
        line["prompt_eval_count"] = json!(told.prompt_tokens);
        line["prompt_eval_duration"] = json!(told.first_ns.saturating_sub(told.arrival_ns));
        line["eval_count"] = json!(told.completion_tokens);
        line["eval_duration"] = json!(told.last_ns.saturating_sub(told.first_ns));
    }
    line
}

/// A date in the way of the answers, from seconds of the Unix epoch.
pub(super) fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Counted from 1 March of the year 0, so that a leap day ends its year.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(date(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(date(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(date(1_798_761_599), "2026-12-31T23:59:59Z");
    }
}
