//! Device login for programs: RFC 8628, so that any client of it can use this site.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::operation::{Content, Operation};
use crate::account::device::{self, Answer};
use crate::app::App;
use crate::domain::NewDevice;
use crate::problem::{Problem, ProblemBody};
use crate::web::body;
use crate::web::client::Client;

/// What a device asks with at the end.
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Where devices ask.
const CODE: &str = "/api/v1/device/code";
/// Where they get their token.
const TOKEN: &str = "/api/v1/device/token";

/// Kind of what devices send.
const FORM: &str = "application/x-www-form-urlencoded";

/// What a device begins with.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it describes the fields of a form")]
struct Begin {
    /// What the program is called.
    client_id: String,
    /// What the token has to be good for: `read publish`.
    scope: Option<String>,
    /// Name of the device, for whoever allows it.
    host: Option<String>,
}

/// What a device asks with until it has its token.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it describes the fields of a form")]
struct Ask {
    /// `urn:ietf:params:oauth:grant-type:device_code`.
    grant_type: String,
    /// The code that the device was given.
    device_code: String,
}

/// The codes of a device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Codes {
    /// What the device asks with. Secret.
    device_code: String,
    /// What the user types.
    user_code: String,
    /// Where the user types it.
    verification_uri: String,
    /// The same with the code in it.
    verification_uri_complete: String,
    /// Seconds that the codes hold.
    expires_in: i64,
    /// Seconds between two times of asking.
    interval: i64,
}

/// A token for a device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Granted {
    /// The token. It is told here, and never again.
    access_token: String,
    /// `Bearer`.
    token_type: &'static str,
    /// What it is good for.
    scope: String,
}

/// Why not, or not yet (RFC 6749, section 5.2).
#[derive(Serialize, JsonSchema)]
pub(crate) struct NotGranted {
    /// A stable word: `authorization_pending`, `slow_down`, `access_denied`, `expired_token`.
    error: &'static str,
    /// The same in words.
    error_description: &'static str,
}

pub(super) fn operations() -> Vec<Operation> {
    // Both answer a form that can't be read as the site refuses everything, and what it says as the RFC does.
    let not_granted = || {
        vec![
            ("application/json", Content::of::<NotGranted>()),
            ("application/problem+json", Content::of::<ProblemBody>()),
        ]
    };
    vec![
        Operation::new(Method::POST, "/device/code", post(code), "Begin a device login")
            .text("RFC 8628: a program shows `user_code` and asks for its token until the user has answered.")
            .takes_content(&[FORM], Content::of::<Begin>(), "Who asks.")
            .gives::<Codes>(200, "The codes.")
            .gives_content(400, "The form lacks something.", not_granted()),
        Operation::new(Method::POST, "/device/token", post(token), "Ask for the token of a device")
            .takes_content(&[FORM], Content::of::<Ask>(), "The device's code.")
            .gives::<Granted>(200, "The token.")
            .gives_content(400, "Not yet, or no: `error` says which.", not_granted()),
    ]
}

/// What this site offers to programs (RFC 8414).
pub(crate) async fn metadata(State(app): State<App>) -> Json<Value> {
    let url = app.config.url();
    Json(json!({
        "issuer": url,
        "device_authorization_endpoint": format!("{url}{CODE}"),
        "token_endpoint": format!("{url}{TOKEN}"),
        "token_endpoint_auth_methods_supported": ["none"],
        "grant_types_supported": [GRANT],
        "response_types_supported": [],
        "scopes_supported": ["read", "publish"],
    }))
}

/// A device asks for its codes.
async fn code(State(app): State<App>, client: Client, request: Request) -> Result<Response, Problem> {
    client.begins(&app)?;
    let fields = fields(&app, request).await?;
    let program = field(&fields, "client_id");
    if program.is_empty() {
        return Ok(refusal("invalid_request", "client_id is missing: it is what your program is called"));
    }
    let Some(scopes) = device::scopes(field(&fields, "scope")) else {
        return Ok(refusal("invalid_scope", "a device can ask for `read` and `publish`"));
    };
    let host = field(&fields, "host");
    let asked = device::ask(&app, program, host, client.0.to_string(), scopes).await?;
    let url = app.config.url();
    Ok(unkept(Json(Codes {
        device_code: asked.device_code.expose().to_owned(),
        verification_uri: format!("{url}/device"),
        verification_uri_complete: format!("{url}/device?user_code={}", asked.user_code),
        user_code: asked.user_code,
        expires_in: device::TIME_MS / 1000,
        interval: NewDevice::PAUSE,
    })))
}

/// A device asks for its token.
///
/// The code of a device is too long to be guessed, so a wrong one counts as no attempt at a secret: a page elsewhere could
/// use those up.
async fn token(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let fields = fields(&app, request).await?;
    if field(&fields, "grant_type") != GRANT {
        return Ok(refusal("unsupported_grant_type", "only the code of a device leads to a token here"));
    }
    match device::poll(&app, field(&fields, "device_code")).await? {
        Answer::Token(token, scopes) => Ok(unkept(Json(Granted {
            access_token: token.expose().to_owned(),
            token_type: "Bearer",
            scope: scopes.to_string(),
        }))),
        Answer::No(word) => {
            let why = match word {
                "authorization_pending" => "the user has not answered yet",
                "slow_down" => "ask less often: five seconds more between two times",
                "access_denied" => "the user said no",
                "expired_token" => "the user did not answer in time; ask for new codes",
                _ => "this code is not known, or was used",
            };
            Ok(refusal(word, why))
        }
    }
}

async fn fields(app: &App, request: Request) -> Result<Vec<(String, String)>, Problem> {
    let (parts, body) = request.into_parts();
    body::is_of(&parts.headers, &[FORM])?;
    let limits = &app.config.limits;
    let bytes = body::read(&parts.headers, body, limits.form_bytes, limits).await?;
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}

fn field<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim())
}

/// As RFC 6749 says it, section 5.2.
fn refusal(error: &'static str, error_description: &'static str) -> Response {
    unkept((StatusCode::BAD_REQUEST, Json(NotGranted { error, error_description })))
}

fn unkept(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
