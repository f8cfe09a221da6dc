//! Device login for programs: RFC 8628, so that any client of it can use this site.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use crate::account::device::{self, Answer};
use crate::app::App;
use crate::problem::Problem;
use crate::web::body;
use crate::web::client::Client;

/// What a device asks with at the end.
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Where devices ask.
const CODE: &str = "/api/v1/device/code";
/// Where they get their token.
const TOKEN: &str = "/api/v1/device/token";

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
pub(crate) async fn code(
    State(app): State<App>,
    client: Client,
    request: Request,
) -> Result<Response, Problem> {
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
    Ok(unkept(Json(json!({
        "device_code": asked.device_code.expose(),
        "user_code": asked.user_code,
        "verification_uri": format!("{url}/device"),
        "verification_uri_complete": format!("{url}/device?user_code={}", asked.user_code),
        "expires_in": device::TIME_MS / 1000,
        "interval": device::PAUSE,
    }))))
}

/// A device asks for its token.
pub(crate) async fn token(
    State(app): State<App>,
    client: Client,
    request: Request,
) -> Result<Response, Problem> {
    client.may_try(&app)?;
    let fields = fields(&app, request).await?;
    if field(&fields, "grant_type") != GRANT {
        return Ok(refusal("unsupported_grant_type", "only the code of a device leads to a token here"));
    }
    match device::poll(&app, field(&fields, "device_code")).await? {
        Answer::Token(token, scopes) => Ok(unkept(Json(json!({
            "access_token": token.expose(),
            "token_type": "Bearer",
            "scope": scopes.to_string(),
        })))),
        Answer::No(word) => {
            if word == "invalid_grant" {
                client.was_wrong(&app);
            }
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
    let limits = &app.config.limits;
    let bytes = body::read(&parts.headers, body, limits.form_bytes, limits).await?;
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}

fn field<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim())
}

/// As RFC 6749 says it, section 5.2.
fn refusal(word: &str, why: &str) -> Response {
    unkept((StatusCode::BAD_REQUEST, Json(json!({ "error": word, "error_description": why }))))
}

fn unkept(answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
