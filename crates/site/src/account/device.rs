//! Device login (RFC 8628): a program without a browser gets a token that its user grants on a page here.

use tokometer_wire::Secret;

use crate::app::App;
use crate::clock;
use crate::domain::{Millis, NewDevice, NewToken, Poll, Scope, Scopes};
use crate::problem::Problem;
use crate::secret;

/// How long a code may be answered, milliseconds.
pub(crate) const TIME_MS: Millis = 15 * 60_000;
/// Letters of user codes: consonants, so that no word comes out, and none that look alike.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Letters of one code.
const LENGTH: usize = 8;
/// Longest text that a device says of itself, characters.
const TEXT: usize = 60;

/// Codes of a device that asks.
pub(crate) struct Asked {
    /// What the device keeps.
    pub(crate) device_code: Secret,
    /// What its user types: `BCDF-GHJK`.
    pub(crate) user_code: String,
}

/// Keeps that a device asks.
pub(crate) async fn ask(
    app: &App,
    program: &str,
    host: &str,
    address: String,
    scopes: Scopes,
) -> Result<Asked, Problem> {
    let now = clock::now();
    let device_code = secret::new_code()?;
    // A code that somebody else has at the moment is as good as impossible.
    for _ in 0..5 {
        let user_code = secret::letters(LETTERS, LENGTH)?;
        let device = NewDevice {
            hash: secret::hash(device_code.expose()),
            user_code: secret::hash(&user_code),
            program: shown(program),
            host: shown(host),
            address: address.clone(),
            scopes: scopes.clone(),
            created_at: now,
            expires_at: now + TIME_MS,
        };
        if app.store.add_device(&device).await? {
            let user_code = format!("{}-{}", &user_code[..LENGTH / 2], &user_code[LENGTH / 2..]);
            return Ok(Asked { device_code, user_code });
        }
    }
    Err(Problem::unavailable())
}

/// What a device says of itself, as it may be shown.
fn shown(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).take(TEXT).collect();
    text.trim().to_owned()
}

/// The hash of a code as somebody typed it: in any case, with or without what stands between its letters.
pub(crate) fn typed(text: &str) -> [u8; 32] {
    let letters: String =
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_uppercase()).collect();
    secret::hash(&letters)
}

/// The scopes that a device may ask for.
pub(crate) fn scopes(text: &str) -> Option<Scopes> {
    if text.trim().is_empty() {
        return Some(Scopes(vec![Scope::Read, Scope::Publish]));
    }
    let scopes: Scopes = text.parse().ok()?;
    let few = scopes.0.iter().all(|scope| matches!(scope, Scope::Read | Scope::Publish));
    few.then_some(scopes)
}

/// The answer to a device that asks for its token.
pub(crate) enum Answer {
    /// The token, and what it is good for.
    Token(Secret, Scopes),
    /// The word of RFC 8628 for why there is none.
    No(&'static str),
}

/// Answers a device.
pub(crate) async fn poll(app: &App, device_code: &str) -> Result<Answer, Problem> {
    let hash = secret::hash(device_code);
    let now = clock::now();
    let (user, label, scopes) = match app.store.poll_device(&hash, now).await? {
        Poll::Unknown => return Ok(Answer::No("invalid_grant")),
        Poll::Expired => return Ok(Answer::No("expired_token")),
        Poll::TooFast => return Ok(Answer::No("slow_down")),
        Poll::Pending => return Ok(Answer::No("authorization_pending")),
        Poll::Denied => return Ok(Answer::No("access_denied")),
        Poll::Granted { user, label, scopes } => (user, label, scopes),
    };
    let (id, token) = secret::new_token()?;
    let new = NewToken {
        id,
        hash: secret::hash(token.expose()),
        user_id: user.id,
        scopes: scopes.clone(),
        label,
        expires_at: None,
    };
    if app.store.redeem_device(&hash, &new, now).await? {
        Ok(Answer::Token(token, scopes))
    } else {
        Ok(Answer::No("invalid_grant"))
    }
}
