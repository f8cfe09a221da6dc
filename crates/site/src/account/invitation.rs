//! Invitations: how users come to a site.

use tokometer_wire::Secret;
use uuid::Uuid;

use crate::app::App;
use crate::clock;
use crate::domain::{NewToken, Role, Scopes, User};
use crate::problem::Problem;
use crate::secret;
use crate::start::SiteError;
use crate::store::Store;

/// Days that an invitation holds.
const DAYS: i64 = 14;
/// Names that could be taken for the site itself.
const RESERVED: [&str; 8] =
    ["admin", "site", "root", "system", "moderator", "tokometer", "anonymous", "unknown"];

/// Makes an invitation; its code, which is told once.
pub(crate) async fn invite(store: &Store, role: Role, note: Option<&str>) -> Result<Secret, SiteError> {
    let code = secret::new_code()?;
    let now = clock::now();
    store.add_invitation(&secret::hash(code.expose()), role, note, now, now + DAYS * 86_400_000).await?;
    Ok(code)
}

/// Takes an invitation up: a user with this name, and its first token, which is told once.
pub(crate) async fn accept(app: &App, code: &str, handle: &str) -> Result<(User, Secret), Problem> {
    check_handle(handle).map_err(|why| Problem::refused("bad_name", why, "choose another name"))?;
    let hash = secret::hash(code);
    let now = clock::now();
    let spent = || {
        Problem::new(
            http::StatusCode::GONE,
            "no_invitation",
            "this invitation is not known, was used, or has run out",
            "ask the operator for another one",
        )
    };
    let role = app.store.invitation(&hash, now).await?.ok_or_else(spent)?;
    let made = secret::new_token()?;
    let user = User {
        id: Uuid::now_v7().to_string(),
        handle: handle.to_owned(),
        role,
        created_at: now,
        disabled_at: None,
    };
    let token = NewToken {
        id: made.0,
        hash: secret::hash(made.1.expose()),
        user_id: user.id.clone(),
        scopes: Scopes::of_role(role),
        label: "first".to_owned(),
        expires_at: None,
    };
    if !app.store.accept_invitation(&hash, &user, &token, now).await? {
        return Err(spent());
    }
    Ok((user, made.1))
}

/// Says what is wrong with a public name.
pub(crate) fn check_handle(handle: &str) -> Result<(), String> {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if handle.len() < 2 || handle.len() > 32 || !handle.chars().all(plain) || handle.starts_with('-') {
        return Err("a name has 2 to 32 of a–z, 0–9 and '-', and does not begin with '-'".to_owned());
    }
    if RESERVED.contains(&handle) {
        return Err(format!("{handle:?} is kept for the site"));
    }
    Ok(())
}
