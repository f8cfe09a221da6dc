//! Tokens, session keys and invitation codes: made of the system's randomness, kept only as hashes.
//!
//! A token is `tokometer_ID_SECRET` + a checksum: the prefix and the checksum let scanners for leaked secrets find it
//! without asking anybody. It has 190 random bits, so one round of SHA-256 keeps it: there is nothing to guess.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokometer_wire::Secret;

/// What each token begins with.
pub(crate) const TOKEN_PREFIX: &str = "tokometer_";
/// Letters of secrets: base 62, so that a double click takes all of one.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LETTERS: usize = 12;
const SECRET_LETTERS: usize = 32;
const CHECK_LETTERS: usize = 6;

/// The system gave no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}; secrets can't be made without")]
pub struct NoRandomness(getrandom::Error);

/// A new token: its public part, and the whole.
pub(crate) fn new_token() -> Result<(String, Secret), NoRandomness> {
    let id = random_text(ID_LETTERS)?;
    let body = format!("{TOKEN_PREFIX}{id}_{}", random_text(SECRET_LETTERS)?);
    let check = checksum(&body);
    Ok((id, Secret::new(format!("{body}{check}"))))
}

/// The public part of a text that has the form of a token, with its checksum.
pub(crate) fn token_id(text: &str) -> Option<&str> {
    let (id, rest) = text.strip_prefix(TOKEN_PREFIX)?.split_once('_')?;
    let is_text = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if id.len() != ID_LETTERS
        || rest.len() != SECRET_LETTERS + CHECK_LETTERS
        || !is_text(id)
        || !is_text(rest)
    {
        return None;
    }
    let (body, check) = text.split_at(text.len() - CHECK_LETTERS);
    (checksum(body) == check).then_some(id)
}

/// A random code without structure, for sessions, forms and invitations.
pub(crate) fn new_code() -> Result<Secret, NoRandomness> {
    Ok(Secret::new(random_text(40)?))
}

/// What is stored of a secret.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// True if a secret has this hash. Takes the same time whatever they are.
pub(crate) fn is_hash_of(stored: &[u8], secret: &str) -> bool {
    same(stored, &hash(secret))
}

/// True if two texts are the same. Takes the same time wherever they differ.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

fn random_text(length: usize) -> Result<String, NoRandomness> {
    letters(LETTERS, length)
}

/// A random text of these letters (ASCII, fewer than 256).
pub(crate) fn letters(letters: &[u8], length: usize) -> Result<String, NoRandomness> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 64];
    // Bytes beyond the last whole multiple would favour some letters.
    let end = 256 - 256 % letters.len();
    while text.len() < length {
        getrandom::fill(&mut bytes).map_err(NoRandomness)?;
        let fair = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < end);
        let more = fair.map(|byte| char::from(letters[byte % letters.len()]));
        text.extend(more.take(length - text.len()));
    }
    Ok(text)
}

/// CRC-32 of a text in six letters.
fn checksum(text: &str) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(text.as_bytes());
    let mut value = crc.sum();
    let mut letters = [b'0'; CHECK_LETTERS];
    for letter in letters.iter_mut().rev() {
        *letter = LETTERS[(value % 62) as usize];
        value /= 62;
    }
    letters.iter().map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_form() {
        let (id, token) = new_token().unwrap();
        let text = token.expose();
        assert_eq!(token_id(text), Some(id.as_str()));
        assert_ne!(new_token().unwrap().1, token);
        let mut other = text.to_owned();
        other.pop();
        assert_eq!(token_id(&other), None);
        let last = if text.ends_with('a') { 'b' } else { 'a' };
        other.push(last);
        assert_eq!(token_id(&other), None, "the checksum finds a slip");
        assert_eq!(token_id("tokometer_x_y"), None);
        assert_eq!(token_id(&format!("{TOKEN_PREFIX}{}_{}", "é".repeat(6), "0".repeat(38))), None);
    }

    #[test]
    fn a_hash_is_of_one_secret() {
        assert!(is_hash_of(&hash("one"), "one"));
        assert!(!is_hash_of(&hash("one"), "other") && !is_hash_of(b"short", "one"));
    }
}
