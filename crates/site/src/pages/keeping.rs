//! One's own account: tokens, identities; for admins everybody's roles.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;

use super::account::{frame, private};
use super::words;
use crate::account::{self, Form, Visitor};
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, Millis, Role, Scope, Scopes};
use crate::problem::Problem;

/// Longest time that a token made here can be given, days.
const LONGEST: u32 = 3650;

struct Token {
    id: String,
    label: String,
    scopes: String,
    made: String,
    used: String,
    ends: String,
    holds: bool,
}

struct Linked {
    issuer: String,
    subject: String,
    name: String,
    since: String,
    used: String,
}

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    form_key: &'a str,
    handle: &'a str,
    role: &'static str,
    deeds: Vec<&'static str>,
    tokens: Vec<Token>,
    identities: Vec<Linked>,
    scopes: Vec<&'static str>,
    provider: Option<&'a str>,
    is_admin: bool,
}

#[derive(Template)]
#[template(path = "new_token.html")]
struct NewTokenPage<'a> {
    label: &'a str,
    token: &'a str,
}

struct Person {
    handle: String,
    role: &'static str,
    since: String,
    closed: bool,
    is_self: bool,
}

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage<'a> {
    form_key: &'a str,
    people: Vec<Person>,
    roles: [&'static str; 4],
}

pub(super) async fn page(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    if visitor.session.is_none() {
        return Ok(Redirect::to("/sign-in?next=%2Faccount").into_response());
    }
    let user = &visitor.may(Deed::KeepAccount)?.user;
    let now = clock::now();
    let tokens = app.store.tokens(&user.id).await?.into_iter().map(|token| Token {
        made: words::day(token.created_at),
        used: day_or(token.last_used_at, "never"),
        ends: match token.revoked_at {
            Some(at) => format!("ended {}", words::day(at)),
            None => day_or(token.expires_at, "when you end it"),
        },
        holds: token.revoked_at.is_none() && token.expires_at.is_none_or(|end| end > now),
        scopes: token.scopes.to_string(),
        label: token.label,
        id: token.id,
    });
    let identities = app.store.identities(&user.id).await?.into_iter().map(|identity| Linked {
        issuer: identity.subject.issuer,
        subject: identity.subject.subject,
        name: identity.subject.name,
        since: words::day(identity.created_at),
        used: words::day(identity.used_at),
    });
    let page = AccountPage {
        form_key: visitor.form_key(),
        handle: &user.handle,
        role: user.role.code(),
        deeds: Deed::ALL.into_iter().filter(|deed| deed.least() <= user.role).map(Deed::words).collect(),
        tokens: tokens.collect(),
        identities: identities.collect(),
        scopes: Scopes::of_role(user.role).0.into_iter().map(Scope::code).collect(),
        provider: app.openid.as_ref().map(|openid| openid.settings().name.as_str()),
        is_admin: visitor.may(Deed::SeeUsers).is_ok(),
    };
    frame(&app, &visitor)?.page(StatusCode::OK, "Your account", &page)
}

/// Makes a token, and shows it once.
pub(super) async fn new_token(State(app): State<App>, form: Form) -> Result<Response, Problem> {
    let user = &form.visitor.may(Deed::KeepAccount)?.user;
    let bad = |why: String| Problem::bad("bad_form", why, "open the page again, and send its form");
    let words: Vec<&str> = form.fields("scope").collect();
    let scopes: Scopes = words.join(" ").parse().map_err(bad)?;
    let days = match form.field("days") {
        "" => None,
        text => match text.parse() {
            Ok(days) if (1..=LONGEST).contains(&days) => Some(days),
            _ => return Err(bad(format!("{text:?} is no number of days from 1 to {LONGEST}"))),
        },
    };
    let label = form.field("label");
    let token = account::new_token(&app, user, label, scopes, days).await?;
    let page = NewTokenPage { label, token: token.expose() };
    let mut response = frame(&app, &form.visitor)?.page(StatusCode::OK, "New token", &page)?;
    private(&mut response);
    Ok(response)
}

/// Ends a token.
pub(super) async fn revoke(
    State(app): State<App>,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Problem> {
    let user = &form.visitor.may(Deed::KeepAccount)?.user;
    account::revoke(&app, user, &id).await?;
    Ok(Redirect::to("/account#tokens").into_response())
}

/// Takes an identity away.
pub(super) async fn unlink(State(app): State<App>, form: Form) -> Result<Response, Problem> {
    let user = &form.visitor.may(Deed::KeepAccount)?.user;
    account::unlink(&app, user, form.field("issuer"), form.field("subject")).await?;
    Ok(Redirect::to("/account#identities").into_response())
}

pub(super) async fn users(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let admin = &visitor.may(Deed::SeeUsers)?.user;
    let people = app.store.users().await?.into_iter().map(|user| Person {
        is_self: user.id == admin.id,
        handle: user.handle,
        role: user.role.code(),
        since: words::day(user.created_at),
        closed: user.disabled_at.is_some(),
    });
    let page = UsersPage {
        form_key: visitor.form_key(),
        people: people.collect(),
        roles: Role::ALL.map(Role::code),
    };
    frame(&app, &visitor)?.page(StatusCode::OK, "Users", &page)
}

/// Gives a user another role.
pub(super) async fn set_role(
    State(app): State<App>,
    Path(handle): Path<String>,
    form: Form,
) -> Result<Response, Problem> {
    let admin = &form.visitor.may(Deed::ChangeRoles)?.user;
    let role: Role = form
        .field("role")
        .parse()
        .map_err(|why: String| Problem::bad("bad_form", why, "open the page again, and send its form"))?;
    account::set_role(&app, admin, &handle, role, form.field("reason")).await?;
    Ok(Redirect::to("/users").into_response())
}

fn day_or(at: Option<Millis>, otherwise: &str) -> String {
    at.map_or_else(|| otherwise.to_owned(), words::day)
}
