//! The paths of the server.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::answer::{Refusal, json_answer, unauthorized, with_type};
use super::body::{self, Fields};
use super::driver::Inbox;
use super::frames::{Route, put_list};
use super::generate::generate;
use super::metrics;
use crate::Profile;
use crate::clock::{Clock, unix_seconds};

/// What `owned_by` says: this engine is simulated.
const OWNER: &str = "tokometer-sim";

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
    api_key: Option<ApiKey>,
    simulated: HeaderValue,
}

/// When the head of the request had been read: the time to first token counts from here, so that it holds
/// the transfer of the body and its tokenizing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival(pub(super) u64);

impl App {
    pub(super) fn new(
        profile: Arc<Profile>,
        inbox: Arc<Inbox>,
        clock: Clock,
        api_key: Option<ApiKey>,
        worker: usize,
    ) -> App {
        let name: String = profile.name().chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        let simulated =
            HeaderValue::from_str(&name).unwrap_or_else(|_| HeaderValue::from_static("unnamed profile"));
        App { profile, inbox, clock, worker, started: unix_seconds(), api_key, simulated }
    }

    /// Refuses models that are not served; a request without one is for the one there is.
    pub(super) fn check_model(&self, model: Option<&str>) -> Result<(), Refusal> {
        match model {
            Some(name) if name != self.profile.served_name() => {
                Err(Refusal::not_found(format!("The model `{name}` does not exist.")))
            }
            _ => Ok(()),
        }
    }
}

/// All paths of the server.
pub(super) fn router(app: App) -> Router {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(completions))
        .route("/tokenize", post(tokenize))
        .route("/metrics", get(show_metrics))
        .route("/version", get(version))
        .route("/health", get(health))
        .route("/ping", get(health).post(health))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), enter))
        .with_state(app)
}

/// Stamps the request, looks at its key, and marks the answer as simulated.
async fn enter(State(app): State<App>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(Arrival(app.clock.now_ns()));
    let allowed = app.api_key.as_ref().is_none_or(|key| key.allows(&request));
    let mut response = if allowed { next.run(request).await } else { unauthorized() };
    response.headers_mut().insert(SIMULATED, app.simulated.clone());
    response
}

async fn chat(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    generate(&app, Route::Chat, request).await
}

async fn completions(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    generate(&app, Route::Completions, request).await
}

async fn models(State(app): State<App>) -> Response {
    json_answer(&json!({
        "object": "list",
        "data": [{
            "id": app.profile.served_name(),
            "object": "model",
            "created": app.started,
            "owned_by": OWNER,
            "root": app.profile.model_id(),
            "parent": null,
            "max_model_len": app.profile.max_model_length(),
        }],
    }))
}

async fn tokenize(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let bytes = body::read(request.into_body()).await?;
    let max_length = app.profile.max_model_length();
    let (model, answer) = body::work(bytes, move |bytes| {
        let fields = Fields::parse(bytes)?;
        let mut ids = Vec::new();
        if fields.messages.is_some() {
            fields.tokenize_messages(|id| ids.push(id))?;
        } else {
            fields.tokenize_prompt(|id| ids.push(id))?;
        }
        let mut answer =
            format!("{{\"count\":{},\"max_model_len\":{max_length},\"tokens\":", ids.len()).into_bytes();
        put_list(&mut answer, &ids);
        answer.extend_from_slice(b",\"token_strs\":null}");
        Ok((fields.model, answer))
    })
    .await?;
    app.check_model(model.as_deref())?;
    Ok(with_type(StatusCode::OK, "application/json", answer))
}

async fn show_metrics(State(app): State<App>) -> Response {
    with_type(StatusCode::OK, metrics::MEDIA_TYPE, metrics::render(&app.profile, &app.inbox.stats()))
}

async fn version(State(app): State<App>) -> Response {
    json_answer(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "engine": OWNER,
        "profile": app.profile.name(),
    }))
}

async fn health() -> StatusCode {
    StatusCode::OK
}

async fn unknown_path() -> Response {
    Refusal::not_found("Not Found").into_response()
}

async fn wrong_method() -> Response {
    Refusal::method_not_allowed().into_response()
}

/// The key that paths below `/v1` want. It is never printed.
#[derive(Clone)]
pub(super) struct ApiKey(Arc<str>);

impl ApiKey {
    fn allows(&self, request: &Request) -> bool {
        let path = request.uri().path();
        if path != "/v1" && !path.starts_with("/v1/") {
            return true;
        }
        let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        header.and_then(|value| value.strip_prefix(b"Bearer ")).is_some_and(|token| self.equals(token))
    }

    /// Compares in a time that does not tell how much of the key was right.
    fn equals(&self, token: &[u8]) -> bool {
        let key = self.0.as_bytes();
        let differences = key.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differences) == 0 && key.len() == token.len()
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
