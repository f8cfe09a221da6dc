//! The way of a request to its path, and of the answer back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::HeaderValue;
use http::header::AUTHORIZATION;

use super::answer::{Refusal, Why};
use super::dialect::Manner;
use super::driver::Inbox;
use super::fault::Faults;
use super::frames::Route;
use super::generate::generate;
use super::truth::TruthLog;
use crate::Profile;
use crate::clock::{Clock, unix_seconds};

/// The header that each answer has; its value is the profile.
const SIMULATED: &str = "x-tokometer-simulated";

/// What each request may need.
#[derive(Clone)]
pub(super) struct App {
    pub(super) profile: Arc<Profile>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) clock: Clock,
    /// Number of the worker whose event loop serves the request.
    pub(super) worker: usize,
    /// When the server started, seconds of the Unix epoch.
    pub(super) started: u64,
    pub(super) manner: Arc<dyn Manner>,
    pub(super) faults: Option<Arc<Faults>>,
    /// The comment that is sent while a stream is silent, and after how long.
    pub(super) keep_alive: Option<(Duration, &'static str)>,
    pub(super) api_key: Option<ApiKey>,
    /// Events that are joined in one write; 0: as they come.
    pub(super) events_per_write: u32,
    /// Where each write is noted, if it is.
    pub(super) truth: Option<Arc<TruthLog>>,
    simulated: HeaderValue,
}

/// When the head of the request had been read: the time to first token counts from here, so that it holds
/// the transfer of the body and its tokenizing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival(pub(super) u64);

/// What all workers of a server share.
pub(super) struct Shared {
    pub(super) profile: Arc<Profile>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) clock: Clock,
    pub(super) manner: Arc<dyn Manner>,
    pub(super) faults: Option<Arc<Faults>>,
    pub(super) keep_alive: Option<Duration>,
    pub(super) api_key: Option<ApiKey>,
    pub(super) events_per_write: u32,
    pub(super) truth: Option<Arc<TruthLog>>,
}

impl App {
    pub(super) fn new(shared: &Shared, worker: usize) -> App {
        let profile = Arc::clone(&shared.profile);
        let name: String = profile.name().chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        let simulated =
            HeaderValue::from_str(&name).unwrap_or_else(|_| HeaderValue::from_static("unnamed profile"));
        let (comment, by_default) = shared.manner.keep_alive();
        App {
            profile,
            inbox: Arc::clone(&shared.inbox),
            clock: shared.clock,
            worker,
            started: unix_seconds(),
            manner: Arc::clone(&shared.manner),
            faults: shared.faults.clone(),
            keep_alive: shared.keep_alive.or(by_default).map(|pause| (pause, comment)),
            api_key: shared.api_key.clone(),
            events_per_write: shared.events_per_write,
            truth: shared.truth.clone(),
            simulated,
        }
    }

    /// Refuses models that are not served; a request without one is for the one there is.
    pub(super) fn check_model(&self, model: Option<&str>) -> Result<(), Refusal> {
        match model {
            Some(name) if name != self.profile.served_name() => {
                let message = format!("The model `{name}` does not exist.");
                Err(Refusal::new(Why::UnknownModel { name: name.to_owned() }, message))
            }
            _ => Ok(()),
        }
    }
}

/// All paths of the server.
pub(super) fn router(app: App) -> Router {
    app.manner
        .routes()
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), enter))
        .with_state(app)
}

/// The paths of OpenAI's interface that make output.
pub(super) fn openai() -> Router<App> {
    Router::new().route("/v1/chat/completions", post(chat)).route("/v1/completions", post(completions))
}

/// Stamps the request, looks at its key, and marks the answer as simulated.
async fn enter(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let arrival_ns = app.clock.now_ns();
    request.extensions_mut().insert(Arrival(arrival_ns));
    if let Some(truth) = &app.truth {
        truth.note_arrival(arrival_ns);
    }
    let path = request.uri().path();
    let refused = app.api_key.as_ref().is_some_and(|key| app.manner.guards(path) && !key.allows(&request));
    let mut response = if refused {
        app.manner.unauthorized()
    } else {
        // Few answers are refusals, and few requests need their path again.
        let uri = request.uri().clone();
        let response = next.run(request).await;
        match response.extensions().get::<Refusal>() {
            Some(refusal) => {
                let mut answer = app.manner.refuse(uri.path(), refusal);
                refusal.mark(&mut answer);
                answer
            }
            None => response,
        }
    };
    app.manner.mark(response.headers_mut());
    response.headers_mut().insert(SIMULATED, app.simulated.clone());
    response
}

async fn chat(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    generate(&app, Route::Chat, request).await
}

async fn completions(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    generate(&app, Route::Completions, request).await
}

async fn unknown_path() -> Response {
    Refusal::new(Why::UnknownPath, "Not Found").into_response()
}

async fn wrong_method() -> Response {
    Refusal::new(Why::Method, "this path does not take this method").into_response()
}

/// The key that guarded paths want. It is never printed.
#[derive(Clone)]
pub(super) struct ApiKey(Arc<str>);

impl ApiKey {
    fn allows(&self, request: &Request) -> bool {
        let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        header.and_then(|value| value.strip_prefix(b"Bearer ")).is_some_and(|token| self.equals(token))
    }

    /// Compares in a time that does not tell how much of the key was right.
    fn equals(&self, token: &[u8]) -> bool {
        let key = self.0.as_bytes();
        let differences = key.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differences) == 0 && key.len() == token.len()
    }

    /// The key itself, for the engine that gives it away.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> ApiKey {
        ApiKey(key.into())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}
