//! Requests for output, from the body to the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{StatusCode, Version};

use super::answer::{Refusal, Why, json_answer, with_type};
use super::body::{self, Collected, Fields};
use super::dialect::{Format, Output, Rules};
use super::events::Events;
use super::fault::{Fault, FaultKind, RETRY_AFTER_SECONDS};
use super::frames::{Common, Route, write_text};
use super::line::Line;
use super::outlet::{Outlet, OutletOptions};
use super::routes::{App, Arrival};
use super::stream::Ticket;
use crate::clock::unix_seconds;
use crate::engine;
use crate::random::{Random, mix};
use crate::text::Writer;
use crate::tokenizer::{END_TOKEN, Prompt, token_id};

/// Shortest and longest output that ends by itself.
const NATURAL_TOKENS: (u64, u64) = (200, 1500);

/// A request, read and tokenized, in the terms of all engines.
pub(super) struct Call {
    pub(super) model: Option<String>,
    pub(super) collected: Collected,
    pub(super) max_tokens: Option<u64>,
    pub(super) min_tokens: u64,
    pub(super) ignore_eos: bool,
    pub(super) seed: Option<i64>,
    pub(super) stream: bool,
    /// What the client calls the request, for the truth.
    pub(super) label: Option<String>,
    pub(super) include_usage: bool,
    pub(super) continuous_usage: bool,
    pub(super) progress: bool,
}

/// What of a request outlives its body.
pub(super) struct Envelope {
    arrival_ns: u64,
    line: Option<Arc<Line>>,
    version: Version,
}

impl Envelope {
    pub(super) fn new(app: &App, request: &Request) -> Envelope {
        let arrival = request.extensions().get::<Arrival>().copied();
        Envelope {
            arrival_ns: arrival.map_or_else(|| app.clock.now_ns(), |arrival| arrival.0),
            line: request.extensions().get::<Arc<Line>>().cloned(),
            version: request.version(),
        }
    }
}

/// Answers a request of OpenAI's interface.
pub(super) async fn generate(app: &App, route: Route, request: Request) -> Result<Response, Refusal> {
    let envelope = Envelope::new(app, &request);
    let bytes = body::read(request.into_body()).await?;
    let rules = app.manner.rules();
    let call = body::work(bytes, move |bytes| read(bytes, route, &rules)).await?;
    respond(app, route, call, envelope, app.manner.format(route)).await
}

/// Answers a call in this format.
pub(super) async fn respond(
    app: &App,
    route: Route,
    mut call: Call,
    envelope: Envelope,
    format: &'static dyn Format,
) -> Result<Response, Refusal> {
    let rules = app.manner.rules();
    if rules.checks_model {
        app.check_model(call.model.as_deref())?;
    }
    let max_tokens = max_tokens(app, &mut call, route, &rules)?;
    let fault = app.faults.as_ref().and_then(|faults| faults.next());
    if let Some(Fault { kind: FaultKind::RateLimit, .. }) = fault {
        let why = Why::Busy { retry_after_seconds: RETRY_AFTER_SECONDS };
        return Err(Refusal::new(why, "too many requests; come back later"));
    }

    let Envelope { arrival_ns, line, version } = envelope;
    let id = app.inbox.next_id();
    let seed = call.seed.map_or(mix(id.0), |seed| mix(seed as u64));
    let natural_end = (!call.ignore_eos).then(|| {
        let (shortest, longest) = NATURAL_TOKENS;
        let length = shortest + Random::new(!seed).below(longest - shortest + 1);
        length.max(call.min_tokens + 1)
    });
    let natural_end = natural_end.into_iter().chain(fault.and_then(Fault::early_end)).min();
    let prefix = if route == Route::Chat { "chatcmpl" } else { "cmpl" };
    let common = Common {
        route,
        id: format!("{prefix}-{:016x}", mix(id.0 ^ app.started)),
        created: unix_seconds(),
        model: call.model.unwrap_or_else(|| app.profile.served_name().to_owned()),
        prompt_tokens: call.collected.prompt.tokens,
        prompt_ids: call.collected.ids,
        include_usage: call.include_usage,
        continuous_usage: call.continuous_usage,
        progress: call.progress,
        arrival_ns,
        clock: app.clock,
    };
    let trick = fault.and_then(Fault::trick);
    let request =
        engine::Request { id, prompt: call.collected.prompt, max_tokens, natural_end, arrival_ns, trick };
    let other = match fault {
        Some(Fault { kind: FaultKind::OtherTraffic, .. }) => Some(submit_other(app, &request)),
        _ => None,
    };
    let Some(line) = line.filter(|_| call.stream) else {
        let ticket = Ticket::submit(&app.inbox, request, app.worker, None).beside(other);
        let output = collect(ticket, &common, seed).await;
        return Ok(json_answer(&format.whole(common, output)));
    };
    let truth = app.truth.as_ref().map(|truth| {
        let number = truth.note_request(call.label, arrival_ns, request.prompt.tokens);
        (Arc::clone(truth), number)
    });
    let outlet = Outlet::new(OutletOptions {
        line: Arc::clone(&line),
        frames: format.frames(common, seed),
        chunked: version == Version::HTTP_11,
        lurking: fault.and_then(Fault::lurking),
        events_per_write: app.events_per_write,
        truth,
        worker: app.worker,
        clock: app.clock,
    });
    let ticket = Ticket::submit(&app.inbox, request, app.worker, Some(outlet)).beside(other);
    let keep_alive = app.keep_alive.filter(|_| format.has_comments());
    let events = Events::new(ticket, line, keep_alive);
    Ok(with_type(StatusCode::OK, format.media_type(), Body::new(events)))
}

/// Hands in a request that no client has sent: as much output as that of `request`, for a prompt of one token. Nobody
/// reads it.
fn submit_other(app: &App, request: &engine::Request) -> Ticket {
    let mut prompt = Prompt::default();
    prompt.push(END_TOKEN);
    let other = engine::Request { id: app.inbox.next_id(), prompt, ..request.clone() };
    Ticket::submit(&app.inbox, other, app.worker, None)
}

/// Reads and tokenizes a body.
fn read(bytes: &[u8], route: Route, rules: &Rules) -> Result<Call, Refusal> {
    if let Some(known) = rules.known_fields {
        Fields::check_names(bytes, known)?;
    }
    let fields = Fields::parse(bytes)?;
    if fields.n.is_some_and(|n| n != 1) {
        return Err(Refusal::bad_request(
            "this engine gives one answer per request: leave out `n`, or send 1",
        ));
    }
    if !rules.prompt_ids && fields.has_prompt_ids() {
        return Err(Refusal::bad_request("`prompt` must be a text"));
    }
    let wants_ids = rules.token_ids && fields.return_token_ids.unwrap_or(false);
    let mut collected = Collected { ids: wants_ids.then(Vec::new), ..Collected::default() };
    match route {
        Route::Chat => fields.tokenize_messages(|id| collected.push(id))?,
        Route::Completions => fields.tokenize_prompt(|id| collected.push(id))?,
    }
    let unless_declined = rules.usage_unless_declined;
    let options = fields.stream_options;
    let include_usage = options.is_some_and(|options| options.include_usage.unwrap_or(unless_declined));
    let continuous = options.is_some_and(|options| options.continuous_usage_stats.unwrap_or(unless_declined));
    Ok(Call {
        collected,
        max_tokens: fields.max_completion_tokens.or(fields.max_tokens),
        min_tokens: fields.min_tokens.filter(|_| rules.min_tokens).unwrap_or(0),
        ignore_eos: rules.ignore_eos && fields.ignore_eos.unwrap_or(false),
        seed: fields.seed,
        stream: fields.stream.unwrap_or(false),
        label: fields.user,
        include_usage,
        continuous_usage: rules.continuous_usage && include_usage && continuous,
        progress: fields.return_progress.unwrap_or(false),
        model: fields.model,
    })
}

/// Output tokens that the request may have: as many as it asks, as far as the model's length has room.
fn max_tokens(app: &App, call: &mut Call, route: Route, rules: &Rules) -> Result<u64, Refusal> {
    let max_length = app.profile.max_model_length();
    let prompt = &mut call.collected.prompt;
    if prompt.tokens == 0 {
        return Err(Refusal::bad_request("the prompt has no tokens"));
    }
    if rules.cuts_prompts {
        let output = call.max_tokens.unwrap_or(1).clamp(1, max_length.div_ceil(2));
        prompt.truncate(max_length.saturating_sub(output).max(1));
    }
    let prompt_tokens = prompt.tokens;
    let room = max_length.saturating_sub(prompt_tokens);
    if room == 0 {
        return Err(Refusal::new(
            Why::TooLong { prompt_tokens, max_length },
            format!(
                "This model's maximum context length is {max_length} tokens, and the prompt has \
                 {prompt_tokens} tokens, which leaves no room for output. Send a shorter prompt."
            ),
        ));
    }
    let default = if route == Route::Chat { room } else { rules.completion_tokens.unwrap_or(room) };
    match call.max_tokens.unwrap_or(default) {
        0 => Err(Refusal::bad_request("`max_tokens` must be at least 1")),
        asked if asked < call.min_tokens => {
            Err(Refusal::bad_request("`min_tokens` must not be larger than `max_tokens`"))
        }
        asked => Ok(asked.min(room)),
    }
}

/// Waits for all output.
async fn collect(mut ticket: Ticket, common: &Common, seed: u64) -> Output {
    let mut writer = Writer::new(seed);
    let mut text = Vec::new();
    let mut ids = Vec::new();
    let mut completion_tokens = 0;
    let mut first_ns = None;
    loop {
        let delivery = ticket.next().await;
        first_ns.get_or_insert_with(|| common.clock.now_ns());
        completion_tokens += u64::from(delivery.tokens());
        write_text(&mut writer, &delivery, &mut text, |piece| ids.push(piece.map_or(END_TOKEN, token_id)));
        let Some(finish) = delivery.finish else { continue };
        let last_ns = common.clock.now_ns();
        return Output {
            text: String::from_utf8_lossy(&text).into_owned(),
            ids,
            completion_tokens,
            cached_tokens: delivery.cached_tokens,
            finish,
            first_ns: first_ns.unwrap_or(last_ns),
            last_ns,
        };
    }
}
