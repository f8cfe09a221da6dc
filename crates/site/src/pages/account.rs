//! Signing in and out: with a token, at a provider, and by an invitation.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::frame::{About, Frame, Here};
use crate::account::way::{self, Returned, Step};
use crate::account::{self, Form, Visitor};
use crate::app::App;
use crate::problem::Problem;
use crate::web::client::Client;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    form_key: &'a str,
    refused: bool,
    provider: Option<&'a str>,
    next: &'a str,
    next_in_query: String,
    is_private: bool,
}

impl<'a> SignInPage<'a> {
    fn of(app: &'a App, visitor: &'a Visitor, next: &'a str, refused: bool) -> SignInPage<'a> {
        let next = way::safe_next(next);
        SignInPage {
            form_key: visitor.form_key(),
            refused,
            provider: app.openid.as_ref().map(|openid| openid.settings().name.as_str()),
            next,
            next_in_query: form_urlencoded::byte_serialize(next.as_bytes()).collect(),
            is_private: app.config.require_sign_in,
        }
    }
}

#[derive(Template)]
#[template(path = "newcomer.html")]
struct NewcomerPage<'a> {
    form_key: &'a str,
    provider: &'a str,
    name: &'a str,
    handle: Option<&'a str>,
    suggested: String,
    next: &'a str,
}

#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage<'a> {
    provider: &'a str,
    url: Option<String>,
}

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Template)]
#[template(path = "invitation.html")]
struct InvitationPage<'a> {
    form_key: &'a str,
    code: &'a str,
}

#[derive(Template)]
#[template(path = "welcome.html")]
struct WelcomePage<'a> {
    handle: &'a str,
    token: &'a str,
    url: String,
}

pub(super) async fn sign_in_page(
    State(app): State<App>,
    visitor: Visitor,
    Query(Next { next }): Query<Next>,
) -> Result<Response, Problem> {
    let page = SignInPage::of(&app, &visitor, &next, false);
    frame(&app, &visitor)?.page(StatusCode::OK, "Sign in", &page)
}

/// Makes a session of a token.
pub(super) async fn sign_in(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Problem> {
    client.may_try(&app)?;
    let next = form.field("next");
    if let Some(cookie) = account::sign_in(&app, &headers, form.field("token")).await? {
        return Ok(([(SET_COOKIE, cookie)], Redirect::to(way::safe_next(next))).into_response());
    }
    client.was_wrong(&app);
    let page = SignInPage::of(&app, &form.visitor, next, true);
    frame(&app, &form.visitor)?.page(StatusCode::UNAUTHORIZED, "Sign in", &page)
}

/// Sends the browser to the provider.
pub(super) async fn start(
    State(app): State<App>,
    client: Client,
    Query(Next { next }): Query<Next>,
) -> Result<Response, Problem> {
    client.begins(&app)?;
    Ok(go(way::begin(&app, &next).await?))
}

/// Takes it back.
pub(super) async fn returned(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    Query(returned): Query<Returned>,
) -> Result<Response, Problem> {
    // No secret that could be guessed comes back here: a page elsewhere that sends browsers here must not use up what
    // wrong tokens have.
    client.begins(&app)?;
    Ok(go(way::finish(&app, &headers, &returned).await?))
}

/// Asks who is new for a name; who is signed in, whether the identity shall be theirs.
pub(super) async fn newcomer(
    State(app): State<App>,
    visitor: Visitor,
    headers: HeaderMap,
    Query(Next { next }): Query<Next>,
) -> Result<Response, Problem> {
    let subject = way::newcomer(&app, &headers).await?;
    let suggested = account::openid::suggested_handle(&subject.name);
    let page = NewcomerPage {
        form_key: visitor.form_key(),
        provider: app.openid.as_ref().map_or("", |openid| openid.settings().name.as_str()),
        name: &subject.name,
        handle: visitor.handle(),
        suggested: free_handle(&app, suggested).await?,
        next: way::safe_next(&next),
    };
    let mut response = frame(&app, &visitor)?.page(StatusCode::OK, "Welcome", &page)?;
    private(&mut response);
    Ok(response)
}

/// The name with the first number that makes it free.
async fn free_handle(app: &App, suggested: String) -> Result<String, Problem> {
    let mut handle = suggested.clone();
    for number in 2..10 {
        if account::check_handle(&handle).is_ok() && app.store.user(&handle).await?.is_none() {
            return Ok(handle);
        }
        handle = format!("{suggested}-{number}");
    }
    Ok(String::new())
}

/// Makes the account, or gives the identity to the one that is signed in.
pub(super) async fn settle(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Problem> {
    client.may_try(&app)?;
    match &form.visitor.session {
        Some(session) => Ok(go(way::link(&app, &headers, session).await?)),
        None => Ok(go(way::settle(&app, &headers, form.field("handle"), form.field("next")).await?)),
    }
}

pub(super) async fn sign_out(
    State(app): State<App>,
    headers: HeaderMap,
    _form: Form,
) -> Result<Response, Problem> {
    let cookie = account::sign_out(&app, &headers).await?;
    let to = if app.openid.is_some() { "/signed-out" } else { "/" };
    Ok(([(SET_COOKIE, cookie)], Redirect::to(to)).into_response())
}

/// Says that the session here has ended, and where the one of the provider can be ended.
pub(super) async fn signed_out(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let Some(openid) = &app.openid else { return Ok(Redirect::to("/").into_response()) };
    let page = SignedOutPage {
        provider: &openid.settings().name,
        url: openid.sign_out_url(&app.config.url()).await,
    };
    frame(&app, &visitor)?.page(StatusCode::OK, "Signed out", &page)
}

fn go(step: Step) -> Response {
    let mut response = Redirect::to(&step.to).into_response();
    for cookie in step.cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    private(&mut response);
    response
}

/// The page of an invitation. It tells nothing of the code: whether it holds is found when it is taken up.
pub(super) async fn invitation(
    State(app): State<App>,
    visitor: Visitor,
    Path(code): Path<String>,
) -> Result<Response, Problem> {
    let page = InvitationPage { form_key: visitor.form_key(), code: &code };
    let mut response = frame(&app, &visitor)?.page(StatusCode::OK, "Invitation", &page)?;
    private(&mut response);
    Ok(response)
}

/// Takes it up, and shows the token once.
pub(super) async fn accept(
    State(app): State<App>,
    Path(code): Path<String>,
    client: Client,
    form: Form,
) -> Result<Response, Problem> {
    client.may_try(&app)?;
    let accepted = account::accept(&app, &code, form.field("handle")).await;
    if accepted.is_err() {
        client.was_wrong(&app);
    }
    let (user, token) = accepted?;
    let page = WelcomePage { handle: &user.handle, token: token.expose(), url: app.config.url() };
    let mut response = frame(&app, &form.visitor)?.page(StatusCode::OK, "Welcome", &page)?;
    private(&mut response);
    Ok(response)
}

pub(super) fn frame(app: &App, visitor: &Visitor) -> Result<Frame, Problem> {
    Frame::new(app, visitor, Here::Elsewhere, &About::default())
}

/// Kept nowhere. (Its address is told to no other site either; to our own it must be, or browsers would hide the origin
/// of its form.)
pub(super) fn private(response: &mut Response) {
    response.headers_mut().insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
}
