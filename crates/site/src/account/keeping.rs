//! What is done with accounts: tokens are made and ended, roles changed.

use tokometer_wire::Secret;

use super::way::changed;
use crate::app::App;
use crate::clock;
use crate::domain::{Action, ModerationEntry, NewToken, Role, Scopes, TokenRow, User};
use crate::problem::Problem;
use crate::{secret, trust};

/// Most tokens of one user that hold.
const MOST: usize = 50;
/// Longest label, characters.
const LABEL: usize = 100;
/// Longest reason, characters.
const REASON: usize = 4000;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Makes a token for a user; it is told once.
pub(crate) async fn new_token(
    app: &App,
    user: &User,
    label: &str,
    scopes: Scopes,
    days: Option<u32>,
) -> Result<Secret, Problem> {
    trust::text_of("label", label, LABEL)?;
    if label.is_empty() || scopes.0.is_empty() {
        return Err(Problem::refused(
            "no_label",
            "a token needs a label, and something that it is good for",
            "say what the token is for, and choose at least one scope",
        ));
    }
    let allowed = Scopes::of_role(user.role);
    if let Some(scope) = scopes.0.iter().find(|scope| !allowed.has(**scope)) {
        return Err(Problem::forbidden(
            format!("a {} can't have a token for `{}`", user.role.code(), scope.code()),
            "leave it out, or ask an admin for another role",
        ));
    }
    let now = clock::now();
    let holding = app.store.tokens(&user.id).await?;
    let holds = |end: Option<i64>| end.is_none_or(|end| end > now);
    if holding.iter().filter(|token| token.revoked_at.is_none() && holds(token.expires_at)).count() >= MOST {
        return Err(Problem::refused(
            "too_many_tokens",
            format!("you have {MOST} tokens that hold"),
            "end those that you do not use",
        ));
    }
    let (id, token) = secret::new_token()?;
    let new = NewToken {
        id,
        hash: secret::hash(token.expose()),
        user_id: user.id.clone(),
        scopes,
        label: label.to_owned(),
        expires_at: days.map(|days| now + i64::from(days) * DAY),
    };
    app.store.add_token(&new, now).await?;
    Ok(token)
}

/// Ends a token of the user's own.
pub(crate) async fn revoke(app: &App, user: &User, id: &str) -> Result<(), Problem> {
    let row = app.store.token(id).await?.filter(|row| row.user.id == user.id);
    if row.is_none() || !app.store.revoke_token(id, clock::now()).await? {
        return Err(Problem::not_found("token of yours that holds"));
    }
    Ok(())
}

/// Takes a sign-in identity from a user, who must keep another way in.
pub(crate) async fn unlink(app: &App, user: &User, issuer: &str, subject: &str) -> Result<(), Problem> {
    let others = app.store.identities(&user.id).await?.len() > 1;
    let now = clock::now();
    let signs_in = |token: &TokenRow| {
        let holds = token.revoked_at.is_none() && token.expires_at.is_none_or(|end| end > now);
        holds && token.scopes.lacking(user.role).is_none()
    };
    if !others && !app.store.tokens(&user.id).await?.iter().any(signs_in) {
        return Err(Problem::refused(
            "last_way_in",
            "this is your only way in",
            "make a token first that is good for all that your role may do, and keep it",
        ));
    }
    if !app.store.remove_identity(&user.id, issuer, subject).await? {
        return Err(Problem::not_found("identity of yours"));
    }
    Ok(())
}

/// Gives a user another role, and says so in the public log.
pub(crate) async fn set_role(
    app: &App,
    admin: &User,
    handle: &str,
    role: Role,
    reason: &str,
) -> Result<User, Problem> {
    let reason = reason.trim();
    trust::text_of("reason", reason, REASON)?;
    if reason.is_empty() {
        return Err(Problem::refused("no_reason", "the reason is empty", "say why; it is public"));
    }
    let user = app.store.user(handle).await?.filter(|user| user.disabled_at.is_none());
    let user = user.ok_or_else(|| Problem::not_found("open account of this name"))?;
    if user.id == admin.id {
        // So there is always an admin.
        return Err(Problem::refused("own_role", "nobody changes the own role", "ask another admin"));
    }
    let entry = ModerationEntry {
        at: clock::now(),
        actor: admin.handle.clone(),
        action: Action::RoleChanged,
        run_id: None,
        reason: changed(handle, user.role, role, reason),
    };
    app.store.set_role(handle, role, &entry).await?;
    Ok(User { role, ..user })
}
