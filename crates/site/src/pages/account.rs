//! Signing in with a token, and taking up an invitation.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};

use super::frame::{About, Frame, Here};
use crate::account::{self, Form, Visitor};
use crate::app::App;
use crate::problem::Problem;
use crate::web::client::Client;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    form_key: &'a str,
    refused: bool,
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

pub(super) async fn sign_in_page(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let page = SignInPage { form_key: visitor.form_key(), refused: false };
    frame(&app, &visitor)?.page(StatusCode::OK, "Sign in", &page)
}

/// Makes a session of a token.
pub(super) async fn sign_in(State(app): State<App>, client: Client, form: Form) -> Result<Response, Problem> {
    client.may_try(&app)?;
    if let Some(cookie) = account::sign_in(&app, form.field("token")).await? {
        return Ok(([(SET_COOKIE, cookie)], Redirect::to("/")).into_response());
    }
    client.was_wrong(&app);
    let page = SignInPage { form_key: form.visitor.form_key(), refused: true };
    frame(&app, &form.visitor)?.page(StatusCode::UNAUTHORIZED, "Sign in", &page)
}

pub(super) async fn sign_out(
    State(app): State<App>,
    headers: HeaderMap,
    _form: Form,
) -> Result<Response, Problem> {
    let cookie = account::sign_out(&app, &headers).await?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/")).into_response())
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

fn frame(app: &App, visitor: &Visitor) -> Result<Frame, Problem> {
    Frame::new(app, visitor, Here::Elsewhere, &About::default())
}

/// Kept nowhere, and its address told to nobody.
fn private(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    headers.insert(http::header::REFERRER_POLICY, http::HeaderValue::from_static("no-referrer"));
}
