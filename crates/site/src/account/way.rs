//! The way of a browser to the provider and back.

use http::{HeaderMap, HeaderValue};
use uuid::Uuid;

use super::invitation::check_handle;
use super::openid::{self, OpenId};
use super::visitor::{begin_session, cookie, set_cookie};
use crate::app::App;
use crate::clock;
use crate::domain::{Action, Millis, ModerationEntry, Role, Session, Subject, User};
use crate::problem::Problem;
use crate::secret;

/// The cookie of a sign-in under way: its key, and where the browser goes afterwards.
const WAY: &str = "tokometer-way";
/// The cookie of who signed in and has no account yet.
const NEWCOMER: &str = "tokometer-new";
/// How long both may take, milliseconds.
const TIME_MS: Millis = 15 * 60_000;
/// Longest address to go to afterwards.
const NEXT: usize = 512;

/// Where a browser goes next, and with which cookies.
pub(crate) struct Step {
    /// The address.
    pub(crate) to: String,
    /// Values for `Set-Cookie`.
    pub(crate) cookies: Vec<HeaderValue>,
}

/// Sends a browser to the provider.
pub(crate) async fn begin(app: &App, next: &str) -> Result<Step, Problem> {
    let openid = provider(app)?;
    let key = secret::new_code()?;
    let to = openid.begin(key.expose()).await?;
    let next: String = form_urlencoded::byte_serialize(safe_next(next).as_bytes()).collect();
    let cookie = set_cookie(app, WAY, &format!("{}.{next}", key.expose()), TIME_MS / 1000);
    Ok(Step { to, cookies: vec![cookie] })
}

/// What the provider sent a browser back with.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct Returned {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    iss: String,
}

/// Takes a browser that comes back: it is signed in, or asked for a name.
pub(crate) async fn finish(app: &App, headers: &HeaderMap, returned: &Returned) -> Result<Step, Problem> {
    let openid = provider(app)?;
    let way = cookie(app, headers, WAY).unwrap_or_default();
    let (key, next) = way.split_once('.').unwrap_or_default();
    if key.is_empty() || !secret::same(openid::state(key).as_bytes(), returned.state.as_bytes()) {
        return Err(openid::turned_away("this browser did not begin that sign-in here, or it took too long"));
    }
    if !returned.iss.is_empty() && returned.iss != openid.settings().issuer {
        return Err(openid::turned_away("the answer is of another provider"));
    }
    if returned.error == "access_denied" {
        return Err(openid::turned_away("the provider says that you do not want to sign in"));
    }
    if !returned.error.is_empty() || returned.code.is_empty() {
        return Err(openid::turned_away("the provider could not sign you in"));
    }
    let subject = openid.finish(&returned.code, key).await?;
    let next =
        form_urlencoded::parse(format!("n={next}").as_bytes()).next().map(|(_, next)| next.into_owned());
    let next = next.unwrap_or_default();
    // One way leads back once.
    let mut cookies = vec![set_cookie(app, WAY, "", 0)];
    let now = clock::now();
    if let Some((user, known)) = app.store.identity(&subject.issuer, &subject.subject).await? {
        if user.disabled_at.is_some() {
            return Err(Problem::forbidden("this account is closed", "ask the operator of this site"));
        }
        if known.subject.mapped != subject.mapped {
            follow_groups(app, openid, &user, &subject, now).await?;
        }
        app.store.used_identity(&subject, now).await?;
        cookies.push(begin_session(app, headers, &user.id, None).await?);
        return Ok(Step { to: safe_next(&next).to_owned(), cookies });
    }
    let key = secret::new_code()?;
    app.store.add_newcomer(&secret::hash(key.expose()), &subject, now, now + TIME_MS).await?;
    cookies.push(set_cookie(app, NEWCOMER, key.expose(), TIME_MS / 1000));
    let next: String = form_urlencoded::byte_serialize(safe_next(&next).as_bytes()).collect();
    Ok(Step { to: format!("/sign-in/new?next={next}"), cookies })
}

/// Gives the role that the groups of today lead to, where they led to another one before.
async fn follow_groups(
    app: &App,
    openid: &OpenId,
    user: &User,
    subject: &Subject,
    now: Millis,
) -> Result<(), Problem> {
    let role = subject.mapped.unwrap_or(openid.settings().role);
    let entry = ModerationEntry {
        at: now,
        actor: "site".to_owned(),
        action: Action::RoleChanged,
        run_id: None,
        reason: changed(&user.handle, user.role, role, "the provider's groups"),
    };
    app.store.set_role(&user.handle, role, &entry).await?;
    Ok(())
}

/// A line of the log: whose role became which, and why.
pub(crate) fn changed(handle: &str, from: Role, to: Role, why: &str) -> String {
    format!("{handle}: {} became {}: {why}", from.code(), to.code())
}

/// Who signed in with this browser and has no account yet.
pub(crate) async fn newcomer(app: &App, headers: &HeaderMap) -> Result<Subject, Problem> {
    let key = cookie(app, headers, NEWCOMER).unwrap_or_default();
    app.store.newcomer(&secret::hash(&key), clock::now()).await?.ok_or_else(too_late)
}

/// Makes the newcomer's account.
pub(crate) async fn settle(
    app: &App,
    headers: &HeaderMap,
    handle: &str,
    next: &str,
) -> Result<Step, Problem> {
    check_handle(handle).map_err(|why| Problem::refused("bad_name", why, "choose another name"))?;
    let subject = newcomer(app, headers).await?;
    let now = clock::now();
    let user = User {
        id: Uuid::now_v7().to_string(),
        handle: handle.to_owned(),
        role: subject.mapped.unwrap_or(provider(app)?.settings().role),
        created_at: now,
        disabled_at: None,
    };
    let key = cookie(app, headers, NEWCOMER).unwrap_or_default();
    if !app.store.settle_newcomer(&secret::hash(&key), &user, true, now).await? {
        return Err(too_late());
    }
    let cookies = vec![set_cookie(app, NEWCOMER, "", 0), begin_session(app, headers, &user.id, None).await?];
    Ok(Step { to: safe_next(next).to_owned(), cookies })
}

/// Gives the newcomer's identity to who is signed in.
pub(crate) async fn link(app: &App, headers: &HeaderMap, session: &Session) -> Result<Step, Problem> {
    let key = cookie(app, headers, NEWCOMER).unwrap_or_default();
    if !app.store.settle_newcomer(&secret::hash(&key), &session.user, false, clock::now()).await? {
        return Err(too_late());
    }
    let cookies =
        vec![set_cookie(app, NEWCOMER, "", 0), begin_session(app, headers, &session.user.id, None).await?];
    Ok(Step { to: "/account".to_owned(), cookies })
}

fn too_late() -> Problem {
    openid::turned_away("this sign-in took too long, or was finished already")
}

fn provider(app: &App) -> Result<&OpenId, Problem> {
    app.openid.as_ref().ok_or_else(|| Problem::not_found("sign-in by a provider"))
}

/// An address of this site, and of no other: a path. Anything else: the front page.
pub(crate) fn safe_next(next: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let is_path = next.starts_with('/') && !next.starts_with("//") && next.bytes().all(plain);
    if is_path && next.len() <= NEXT { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stays_on_the_site() {
        for next in ["/", "/device?user_code=BCDF-GHJK", "/runs/x#cells"] {
            assert_eq!(safe_next(next), next);
        }
        for next in [
            "",
            "//evil.test",
            "/\\evil.test",
            "https://evil.test",
            "evil.test",
            "/a\r\nSet-Cookie: x",
            "/\tx",
            "\\\\e",
            "javascript:alert(1)",
        ] {
            assert_eq!(safe_next(next), "/", "{next:?}");
        }
    }
}
