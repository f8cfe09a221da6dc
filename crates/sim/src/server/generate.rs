//! `/v1/chat/completions` and `/v1/completions`.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use hyper::body::{Body as HttpBody, Frame};
use serde_json::{Value, json};

use super::answer::{Refusal, json_answer, with_type};
use super::body::{self, Collected, Fields, StreamOptions};
use super::frames::{Common, Frames, Route, write_text};
use super::routes::{App, Arrival};
use super::stream::Ticket;
use crate::clock::unix_seconds;
use crate::engine::{self, Finish};
use crate::random::{Random, mix};
use crate::text::Writer;
use crate::tokenizer::{END_TOKEN, token_id};

/// Output tokens of a completion that does not say how many.
const COMPLETION_TOKENS: u64 = 16;

/// Shortest and longest output that ends by itself.
const NATURAL_TOKENS: (u64, u64) = (200, 1500);

/// A request, read and tokenized.
struct Call {
    model: Option<String>,
    collected: Collected,
    max_tokens: Option<u64>,
    min_tokens: u64,
    ignore_eos: bool,
    seed: Option<i64>,
    stream: bool,
    options: StreamOptions,
}

/// Answers a request for output.
pub(super) async fn generate(app: &App, route: Route, request: Request) -> Result<Response, Refusal> {
    let arrival = request.extensions().get::<Arrival>().copied();
    let arrival_ns = arrival.map_or_else(|| app.clock.now_ns(), |arrival| arrival.0);
    let bytes = body::read(request.into_body()).await?;
    let call = body::work(bytes, move |bytes| read(bytes, route)).await?;
    app.check_model(call.model.as_deref())?;

    let prompt_tokens = call.collected.prompt.tokens;
    let max_tokens = max_tokens(app, &call, route)?;
    let id = app.inbox.next_id();
    let seed = call.seed.map_or(mix(id.0), |seed| mix(seed as u64));
    let natural_end = (!call.ignore_eos).then(|| {
        let (shortest, longest) = NATURAL_TOKENS;
        let length = shortest + Random::new(!seed).below(longest - shortest + 1);
        length.max(call.min_tokens + 1)
    });
    let prefix = if route == Route::Chat { "chatcmpl" } else { "cmpl" };
    let common = Common {
        route,
        id: format!("{prefix}-{:016x}", mix(id.0 ^ app.started)),
        created: unix_seconds(),
        model: call.model.unwrap_or_else(|| app.profile.served_name().to_owned()),
        prompt_tokens,
        prompt_ids: call.collected.ids,
        include_usage: call.options.include_usage,
        continuous_usage: call.options.include_usage && call.options.continuous_usage_stats,
    };
    let request = engine::Request { id, prompt: call.collected.prompt, max_tokens, natural_end, arrival_ns };
    let ticket = Ticket::submit(&app.inbox, request, app.worker);
    if call.stream {
        let events = Events { ticket, frames: Frames::new(common, seed), ended: false };
        Ok(with_type(StatusCode::OK, "text/event-stream; charset=utf-8", Body::new(events)))
    } else {
        Ok(json_answer(&whole(ticket, common, seed).await))
    }
}

/// Reads and tokenizes a body.
fn read(bytes: &[u8], route: Route) -> Result<Call, Refusal> {
    let fields = Fields::parse(bytes)?;
    if fields.n.is_some_and(|n| n != 1) {
        return Err(Refusal::bad_request(
            "this engine gives one answer per request: leave out `n`, or send 1",
        ));
    }
    let wants_ids = fields.return_token_ids.unwrap_or(false);
    let mut collected = Collected { ids: wants_ids.then(Vec::new), ..Collected::default() };
    match route {
        Route::Chat => fields.tokenize_messages(|id| collected.push(id))?,
        Route::Completions => fields.tokenize_prompt(|id| collected.push(id))?,
    }
    Ok(Call {
        collected,
        max_tokens: fields.max_completion_tokens.or(fields.max_tokens),
        min_tokens: fields.min_tokens.unwrap_or(0),
        ignore_eos: fields.ignore_eos.unwrap_or(false),
        seed: fields.seed,
        stream: fields.stream.unwrap_or(false),
        options: fields.stream_options.unwrap_or_default(),
        model: fields.model,
    })
}

/// Output tokens that the request may have: as many as it asks, as far as the model's length has room.
fn max_tokens(app: &App, call: &Call, route: Route) -> Result<u64, Refusal> {
    let max_length = app.profile.max_model_length();
    let prompt_tokens = call.collected.prompt.tokens;
    if prompt_tokens == 0 {
        return Err(Refusal::bad_request("the prompt has no tokens"));
    }
    let room = max_length.saturating_sub(prompt_tokens);
    if room == 0 {
        return Err(Refusal::bad_request(format!(
            "This model's maximum context length is {max_length} tokens, and the prompt has {prompt_tokens} \
             tokens, which leaves no room for output. Send a shorter prompt."
        )));
    }
    let default = if route == Route::Chat { room } else { COMPLETION_TOKENS };
    match call.max_tokens.unwrap_or(default) {
        0 => Err(Refusal::bad_request("`max_tokens` must be at least 1")),
        asked if asked < call.min_tokens => {
            Err(Refusal::bad_request("`min_tokens` must not be larger than `max_tokens`"))
        }
        asked => Ok(asked.min(room)),
    }
}

/// The body of a stream: each poll sends what has come since the last one.
struct Events {
    ticket: Ticket,
    frames: Frames,
    ended: bool,
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let delivery = ready!(self.ticket.poll_next(cx));
        self.ended = delivery.finish.is_some();
        Poll::Ready(Some(Ok(Frame::data(self.frames.write(&delivery)))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

/// The answer in one piece.
async fn whole(mut ticket: Ticket, common: Common, seed: u64) -> Value {
    let mut writer = Writer::new(seed);
    let mut text = Vec::new();
    let mut ids = Vec::new();
    let mut completion_tokens = 0;
    let (finish, cached_tokens) = loop {
        let delivery = ticket.next().await;
        completion_tokens += u64::from(delivery.tokens());
        write_text(&mut writer, &delivery, &mut text, |piece| ids.push(piece.map_or(END_TOKEN, token_id)));
        if let Some(finish) = delivery.finish {
            break (finish, delivery.cached_tokens);
        }
    };
    let text = String::from_utf8_lossy(&text);
    let mut choice = json!({
        "index": 0,
        "logprobs": null,
        "finish_reason": match finish { Finish::Length => "length", Finish::Stop => "stop" },
        "stop_reason": null,
    });
    let object = match common.route {
        Route::Chat => {
            choice["message"] = json!({ "role": "assistant", "content": text });
            "chat.completion"
        }
        Route::Completions => {
            choice["text"] = json!(text);
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
            "total_tokens": common.prompt_tokens + completion_tokens,
            "completion_tokens": completion_tokens,
            "prompt_tokens_details": { "cached_tokens": cached_tokens },
        },
    });
    if let Some(prompt_ids) = common.prompt_ids {
        choice["token_ids"] = json!(ids);
        match common.route {
            Route::Chat => answer["prompt_token_ids"] = json!(prompt_ids),
            Route::Completions => choice["prompt_token_ids"] = json!(prompt_ids),
        }
    }
    answer["choices"] = json!([choice]);
    answer
}
