//! The requests of a conformance report.

use serde_json::{Map, Value, json};
use tokio::time::sleep;
use tokometer_record::Endpoint;
use tokometer_wire::{
    self as wire, Answer, Connector, Control, Event, Expect, Failure, Outcome, TokenSource,
};

use super::events::Stream;
use super::framing::{self, shortened};
use super::{
    CachedTokens, Conformance, ConformanceOptions, Finding, Quirk, Reading, RouteConformance, UnknownFields,
    quirks,
};
use crate::request::RequestSpec;
use crate::target::Target;

/// A field that no server knows.
const UNKNOWN_FIELD: &str = "tokometer_unknown_field";
/// Longest excerpt of a refusal.
const REFUSAL: usize = 240;
/// The words of the prompts: as many different tokens as it takes, and nothing to trip a filter.
const WORDS: [&str; 12] = [
    "river", "seven", "lantern", "copper", "meadow", "engine", "window", "salt", "paper", "north", "violin",
    "cloud",
];

pub(super) async fn all(connector: &Connector, target: &Target, options: &ConformanceOptions) -> Conformance {
    let mut asker =
        Asker { connector, control: Control::new(connector.clone()), target, options, requests: 0 };
    let mut routes = Vec::new();
    let mut quirks = Vec::new();
    for endpoint in [Endpoint::Chat, Endpoint::Completions] {
        let (route, met) = asker.route(endpoint).await;
        routes.push(route);
        quirks.extend(met);
    }
    let unknown_fields = asker.unknown_field().await;
    Conformance { requests: asker.requests, routes, unknown_fields, quirks }
}

struct Asker<'a> {
    connector: &'a Connector,
    control: Control,
    target: &'a Target,
    options: &'a ConformanceOptions,
    requests: u32,
}

impl Asker<'_> {
    async fn route(&mut self, endpoint: Endpoint) -> (RouteConformance, Vec<Quirk>) {
        let wire_endpoint = match endpoint {
            Endpoint::Chat => wire::Endpoint::Chat,
            Endpoint::Completions => wire::Endpoint::Completions,
        };
        let path = wire_endpoint.path();
        let mut report = RouteConformance {
            path,
            status: None,
            problem: None,
            framing: None,
            first_payload: None,
            usage: None,
            exact_length: None,
            cached_tokens: None,
            reading: None,
        };
        let body = self.body(endpoint);
        let answer = match self.post(path, &body).await {
            Ok(answer) => answer,
            Err(failure) => {
                report.problem = Some(failure.message);
                return (report, Vec::new());
            }
        };
        report.status = Some(answer.status);
        if !answer.is_success() {
            report.problem = Some(refusal(&answer));
            return (report, Vec::new());
        }
        let body_read = framing::read(&answer.body, answer.header("content-type"));
        let stream = Stream::read(&body_read.events);
        let encoding = answer.header("content-encoding").filter(|encoding| *encoding != "identity");
        let mut met = quirks::of_stream(path, &body_read.framing, &stream, encoding);
        if stream.payload().next().is_none() {
            report.problem = Some("the answer holds no output".to_owned());
        } else {
            report.exact_length = Some(stream.exact_length(self.options.output_tokens));
        }
        report.first_payload = stream.first_payload();
        report.usage = Some(stream.usage());
        report.framing = Some(body_read.framing);

        match self.read(wire_endpoint, &body).await {
            Ok(reading) => {
                report.cached_tokens = Some(cached(&reading));
                met.extend(quirks::of_reading(path, &reading));
                report.reading = Some(reading);
            }
            Err(failure) => report.problem = Some(failure.message),
        }
        (report, met)
    }

    /// The same body for both requests of a route: the second may find the first one's prompt cached.
    fn body(&self, endpoint: Endpoint) -> Value {
        let fits = self.target.model.max_length.map_or(usize::MAX, |max| (max / 8) as usize);
        let words: Vec<&str> = (0..self.options.prompt_words.min(fits))
            .map(|at| WORDS[(at.wrapping_mul(at) / 3 + at) % WORDS.len()])
            .collect();
        let route = match endpoint {
            Endpoint::Chat => "chat",
            Endpoint::Completions => "text",
        };
        let prompt =
            format!("{} {route}: {}. Write on about these words.", self.options.salt, words.join(" "));
        let bytes = self.target.request(&RequestSpec {
            endpoint,
            prompt: &prompt,
            max_output_tokens: self.options.output_tokens,
            respect_eos: false,
            temperature: None,
            top_p: None,
            seed: None,
            request_json: self.options.request_json.as_ref(),
        });
        serde_json::from_slice(&bytes).unwrap_or_else(|_| Value::Object(Map::new()))
    }

    async fn post(&mut self, path: &str, body: &Value) -> Result<Answer, Failure> {
        self.requests += 1;
        self.control.post_json(path, body, self.options.timeout).await
    }

    /// Sends the body as a measurement does, and reads it so.
    async fn read(&mut self, endpoint: wire::Endpoint, body: &Value) -> Result<Reading, Failure> {
        self.requests += 1;
        let request = self.connector.prepare(endpoint.path(), body.to_string().into());
        let expect = Expect { endpoint, dialect: self.target.dialect };
        let mut connection = self.connector.connect().await?;
        let mut events: Vec<Event> = Vec::new();
        let limit = sleep(self.options.timeout);
        let exchange = connection.stream(&request, expect, &mut events, limit).await;
        let first = events.iter().find(|event| event.payload.is_some());
        Ok(Reading {
            outcome: match exchange.outcome {
                Outcome::Ended => "ended",
                Outcome::Cut => "cut",
                Outcome::Failed => "failed",
            },
            failure: exchange.failure.map(|failure| failure.message),
            token_source: match exchange.token_source {
                TokenSource::Usage => "usage",
                TokenSource::TokenIds => "token_ids",
                TokenSource::EngineEvents => "engine_events",
                TokenSource::UsageFinal => "usage_final",
                TokenSource::Events => "events",
            },
            events: exchange.events,
            payload_events: exchange.payload_events,
            reads: exchange.reads,
            unknown_events: exchange.unknown_events,
            prompt_tokens: exchange.prompt_tokens,
            cached_tokens: exchange.cached_tokens,
            completion_tokens: exchange.completion_tokens,
            finish_reason: exchange.finish_reason,
            first_channel: first.and_then(|event| event.payload).map(wire::Channel::name),
            first_payload_ms: first
                .map(|event| event.arrival_ns.saturating_sub(exchange.send_ns) as f64 / 1e6),
        })
    }

    /// A chat request of one token with a field that nobody knows.
    async fn unknown_field(&mut self) -> Finding<UnknownFields> {
        let body = json!({
            "model": self.target.served_name(),
            "messages": [{"role": "user", "content": "Say yes."}],
            "max_tokens": 1,
            "stream": false,
            UNKNOWN_FIELD: true,
        });
        match self.post("/v1/chat/completions", &body).await {
            Ok(answer) if answer.is_success() => {
                Finding::new(UnknownFields::Ignored, format!("HTTP {} with {UNKNOWN_FIELD}", answer.status))
            }
            Ok(answer) => {
                let refused = matches!(answer.status, 400 | 422);
                let found = if refused { UnknownFields::Rejected } else { UnknownFields::Unclear };
                Finding::new(found, refusal(&answer))
            }
            Err(failure) => Finding::new(UnknownFields::Unclear, failure.message),
        }
    }
}

fn cached(reading: &Reading) -> Finding<CachedTokens> {
    let prompt = reading.prompt_tokens.map_or("an unknown number of".to_owned(), |tokens| tokens.to_string());
    match reading.cached_tokens {
        Some(0) => Finding::new(
            CachedTokens::Zero,
            format!(
                "0 of {prompt} prompt tokens of the same request sent again: no cache, or blocks longer than that"
            ),
        ),
        Some(cached) => Finding::new(
            CachedTokens::Some,
            format!("{cached} of {prompt} prompt tokens of the same request sent again"),
        ),
        None => Finding::new(
            CachedTokens::Untold,
            format!("usage of {prompt} prompt tokens names none that were cached"),
        ),
    }
}

/// Status and first words of an answer that is none.
fn refusal(answer: &Answer) -> String {
    let body = answer.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let body = shortened(&body, REFUSAL);
    if body.is_empty() {
        format!("HTTP {}", answer.status)
    } else {
        format!("HTTP {}: {body}", answer.status)
    }
}
