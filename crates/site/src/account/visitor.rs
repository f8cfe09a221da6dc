//! A reader with a browser, signed in or not.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::caller;
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Millis, NewSession, Session};
use crate::problem::Problem;
use crate::secret;
use crate::web::body;

/// The cookie of a session.
const SESSION: &str = "tokometer";
/// How long a session holds.
const SESSION_MS: Millis = 14 * 86_400_000;

/// A reader with a browser.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visitor {
    /// Who it is; none without a session.
    pub(crate) session: Option<Session>,
}

impl Visitor {
    /// The public name.
    pub(crate) fn handle(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.user.handle.as_str())
    }

    /// Refuses who may not do this.
    pub(crate) fn may(&self, deed: Deed) -> Result<&Session, Problem> {
        let session = self.session.as_ref().ok_or_else(|| {
            Problem::new(
                http::StatusCode::UNAUTHORIZED,
                "not_signed_in",
                "you are not signed in",
                "sign in at /sign-in, and come back",
            )
        })?;
        if session.user.role >= deed.least() {
            return Ok(session);
        }
        Err(Problem::forbidden(
            format!("to {} one must be a {}", deed.words().replace("your", "one's"), deed.least().code()),
            "ask an admin of this site for another role",
        ))
    }

    /// What forms bring along in the field `form_key`; empty without a session.
    pub(crate) fn form_key(&self) -> &str {
        self.session.as_ref().map_or("", |session| session.form_key.as_str())
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Visitor, Problem> {
        let Some(key) = cookie(app, &parts.headers, SESSION) else { return Ok(Visitor::default()) };
        Ok(Visitor { session: app.store.session(&secret::hash(&key), clock::now()).await? })
    }
}

/// A form that this site's own page sent: of the same origin, and with the session's key where there is one.
#[derive(Debug)]
pub(crate) struct Form {
    /// Who sent it.
    pub(crate) visitor: Visitor,
    fields: Vec<(String, String)>,
}

impl Form {
    /// Every value of a field.
    pub(crate) fn fields<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.trim())
    }

    /// A field's value without surrounding space; empty where it is not there.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim())
    }
}

impl FromRequest<App> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Form, Problem> {
        let (mut parts, body) = request.into_parts();
        let foreign = || {
            Problem::forbidden(
                "the form did not come from a page of this site",
                "open the page again, and send its form",
            )
        };
        if !is_own(app, &parts.headers) {
            return Err(foreign());
        }
        let visitor = Visitor::from_request_parts(&mut parts, app).await?;
        let fields = fields(app, &parts.headers, body).await?;
        let form = Form { visitor, fields };
        let brought = form.field("form_key");
        if !secret::same(brought.as_bytes(), form.visitor.form_key().as_bytes()) {
            return Err(foreign());
        }
        Ok(form)
    }
}

async fn fields(app: &App, headers: &HeaderMap, body: Body) -> Result<Vec<(String, String)>, Problem> {
    let limits = &app.config.limits;
    let bytes = body::read(headers, body, limits.form_bytes, limits).await?;
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}

/// True if a browser says that one of our own pages sent it. Every browser says where a form comes from.
fn is_own(app: &App, headers: &HeaderMap) -> bool {
    let text = |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok()).map(str::to_owned);
    match text(headers.get(ORIGIN)) {
        Some(origin) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority.to_owned());
            origin == app.config.url() || (authority.is_some() && authority == text(headers.get(HOST)))
        }
        None => text(headers.get("sec-fetch-site")).as_deref() == Some("same-origin"),
    }
}

/// Signs in with a token; the value for `Set-Cookie`. None for a token that does not hold.
pub(crate) async fn sign_in(
    app: &App,
    headers: &HeaderMap,
    token: &str,
) -> Result<Option<HeaderValue>, Problem> {
    let Some(caller) = caller::holder(app, token).await? else { return Ok(None) };
    // A session may do all that its user may, so a token for less does not become one.
    if let Some(lacking) = caller.scopes.lacking(caller.user.role) {
        return Err(Problem::forbidden(
            format!("this token is not good for `{}`, so it can't sign in", lacking.code()),
            "sign in with a token that is good for all that your role may do, or at the provider",
        ));
    }
    begin_session(app, headers, &caller.user.id, Some(&caller.token_id)).await.map(Some)
}

/// A new session for a user; the value for `Set-Cookie`. The one that the browser had before ends, so that nobody who
/// knew its key is signed in with it. One that a token began ends with that token.
pub(crate) async fn begin_session(
    app: &App,
    headers: &HeaderMap,
    user_id: &str,
    token_id: Option<&str>,
) -> Result<HeaderValue, Problem> {
    if let Some(old) = cookie(app, headers, SESSION) {
        app.store.end_session(&secret::hash(&old)).await?;
    }
    let key = secret::new_code()?;
    let form_key = secret::new_code()?;
    let now = clock::now();
    let hash = secret::hash(key.expose());
    let session = NewSession {
        user_id,
        token_id,
        form_key: form_key.expose(),
        created_at: now,
        expires_at: now + SESSION_MS,
    };
    app.store.add_session(&hash, &session).await?;
    Ok(set_cookie(app, SESSION, key.expose(), SESSION_MS / 1000))
}

/// Signs out; the value for `Set-Cookie`.
pub(crate) async fn sign_out(app: &App, headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    if let Some(key) = cookie(app, headers, SESSION) {
        app.store.end_session(&secret::hash(&key)).await?;
    }
    Ok(set_cookie(app, SESSION, "", 0))
}

fn cookie_name(app: &App, name: &str) -> String {
    // The prefix binds browsers to take it from this host alone, over TLS.
    if app.config.is_secure() { format!("__Host-{name}") } else { name.to_owned() }
}

/// The value for `Set-Cookie`; of no seconds: the cookie ends.
pub(crate) fn set_cookie(app: &App, name: &str, value: &str, seconds: i64) -> HeaderValue {
    let secure = if app.config.is_secure() { "; Secure" } else { "" };
    let name = cookie_name(app, name);
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// A cookie of this site.
pub(crate) fn cookie(app: &App, headers: &HeaderMap, name: &str) -> Option<String> {
    let name = cookie_name(app, name);
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value.to_owned())
}
