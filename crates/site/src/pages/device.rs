//! The page on which one lets a program in: the code that it shows, what it asks for, yes or no.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use serde::Deserialize;

use super::account::{frame, private};
use crate::account::{Form, Visitor, device};
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Scopes, WaitingDevice};
use crate::problem::Problem;
use crate::web::client::Client;
use crate::web::limits::{Doing, Whose};

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage<'a> {
    form_key: &'a str,
    handle: &'a str,
    code: &'a str,
    wrong: bool,
    found: Option<Found>,
}

struct Found {
    device: WaitingDevice,
    minutes: i64,
    allowed: Vec<&'static str>,
    /// What was asked for, and the user's role does not allow.
    lacking: Vec<&'static str>,
}

#[derive(Template)]
#[template(path = "device_answered.html")]
struct AnsweredPage {
    granted: bool,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    user_code: String,
}

/// The form for the code; what a link brought is filled in, and nothing is looked up yet.
pub(super) async fn page(
    State(app): State<App>,
    visitor: Visitor,
    Query(Asked { user_code }): Query<Asked>,
) -> Result<Response, Problem> {
    if visitor.session.is_none() {
        let code: String = form_urlencoded::byte_serialize(user_code.as_bytes()).collect();
        let place = format!("/device?user_code={code}");
        let next: String = form_urlencoded::byte_serialize(place.as_bytes()).collect();
        return Ok(Redirect::to(&format!("/sign-in?next={next}")).into_response());
    }
    show(&app, &visitor, StatusCode::OK, &user_code, false, None)
}

/// Shows what the program of a code asks for, or takes the answer.
pub(super) async fn answer(State(app): State<App>, client: Client, form: Form) -> Result<Response, Problem> {
    let session = form.visitor.may(Deed::KeepAccount)?;
    // By address, and by user: a code has fewer letters than a token.
    let whose = || Whose::User(session.user.id.clone());
    let rate = app.config.limits.attempts;
    client.may_try(&app)?;
    app.limiter.look(Doing::Trying, whose(), rate).map_err(|wait| Problem::too_many("codes", wait))?;
    let code = form.field("user_code");
    let hash = device::typed(code);
    let now = clock::now();
    let Some(waiting) = app.store.waiting_device(&hash, now).await? else {
        client.was_wrong(&app);
        let _ = app.limiter.take(Doing::Trying, whose(), rate);
        return show(&app, &form.visitor, StatusCode::NOT_FOUND, code, true, None);
    };
    let of_role = Scopes::of_role(session.user.role);
    let (allowed, lacking): (Vec<_>, Vec<_>) =
        waiting.scopes.0.iter().partition(|scope| of_role.has(**scope));
    let granted = match form.field("answer") {
        "yes" => Some(Scopes(allowed)),
        "no" => None,
        _ => {
            let found = Found {
                minutes: (now - waiting.created_at) / 60_000,
                allowed: allowed.iter().map(|scope| scope.code()).collect(),
                lacking: lacking.iter().map(|scope| scope.code()).collect(),
                device: waiting,
            };
            return show(&app, &form.visitor, StatusCode::OK, code, false, Some(found));
        }
    };
    if granted.as_ref().is_some_and(|scopes| scopes.0.is_empty()) {
        return Err(Problem::forbidden("your role allows nothing of it", "ask an admin of this site"));
    }
    if !app.store.answer_device(&hash, &session.user.id, granted.as_ref(), now).await? {
        return show(&app, &form.visitor, StatusCode::NOT_FOUND, code, true, None);
    }
    let page = AnsweredPage { granted: granted.is_some() };
    frame(&app, &form.visitor)?.page(StatusCode::OK, "Device", &page)
}

fn show(
    app: &App,
    visitor: &Visitor,
    status: StatusCode,
    code: &str,
    wrong: bool,
    found: Option<Found>,
) -> Result<Response, Problem> {
    let page = DevicePage {
        form_key: visitor.form_key(),
        handle: visitor.handle().unwrap_or_default(),
        code,
        wrong,
        found,
    };
    let mut response = frame(app, visitor)?.page(status, "Device", &page)?;
    private(&mut response);
    Ok(response)
}
