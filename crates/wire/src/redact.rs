//! Keeps secrets out of what is stored and shown.
//!
//! What is hidden: the user's own headers wherever they come back (`Redactor`), and in commands, variables, JSON
//! and text of others whatever has a secret's name (`names`) or a secret's look ([`text()`]). A mark takes its
//! place, never a hash or a length.

mod command;
mod names;
mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::headers::Headers;

pub use command::{Command, command, json, line, secrets_of, variable, words};
pub use text::text;

/// What stands in a secret's place.
pub const REDACTED: &str = "<redacted>";
/// A shorter value is only hidden where it stands alone: it may well be a part of ordinary words.
const SHORT: usize = 4;

pub(crate) use names::is_secret_header;

/// `text` without these values, whatever they look like.
pub fn values(text: &str, secrets: &[String]) -> String {
    hide(text.to_owned(), secrets)
}

/// Hides values, the longest first in `secrets`, so that a value inside another leaves nothing of it.
fn hide(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(text, |text, value| {
        if value.is_empty() || !text.contains(value.as_str()) {
            text
        } else if value.len() >= SHORT {
            text.replace(value.as_str(), REDACTED)
        } else {
            replace_word(&text, value)
        }
    })
}

/// The values that must not be shown: those of the user's headers, and keys inside them.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    values: Vec<String>,
}

impl Redactor {
    pub(crate) fn new(headers: &Headers) -> Redactor {
        let mut values = Vec::new();
        for (_, value) in headers.iter() {
            let value = value.expose().trim();
            values.push(value.to_owned());
            // `Bearer KEY`, `Basic …`: the key alone is as secret as the whole.
            if let Some((_, key)) = value.split_once(' ') {
                values.push(key.trim().to_owned());
            }
        }
        values.retain(|value| !value.is_empty());
        // Longest first, so that a value inside another leaves nothing of it.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Redactor { values }
    }

    /// `text` without secrets.
    pub(crate) fn text(&self, text: String) -> String {
        hide(text, &self.values)
    }

    /// Removes secrets from every part of a failure.
    pub(crate) fn failure(&self, mut failure: Failure) -> Failure {
        failure.message = self.text(failure.message);
        failure.body = failure.body.map(|body| self.text(body));
        failure.headers = self.headers(failure.headers);
        failure
    }

    /// Removes secrets from headers.
    pub(crate) fn headers(&self, mut headers: BTreeMap<String, String>) -> BTreeMap<String, String> {
        headers.retain(|name, _| !is_secret_header(name));
        for value in headers.values_mut() {
            *value = self.text(std::mem::take(value));
        }
        headers
    }
}

fn replace_word(text: &str, word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let joined = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let inside = joined(before.chars().next_back()) || joined(after.chars().next());
        out.push_str(before);
        out.push_str(if inside { word } else { REDACTED });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The first `limit` bytes as text, cut at a character; bytes that are no UTF-8 are replaced.
pub(crate) fn excerpt(bytes: &[u8], limit: usize) -> String {
    let cut = &bytes[..bytes.len().min(limit)];
    let whole = match std::str::from_utf8(cut) {
        // A character cut in two at the end is left out, not replaced.
        Err(error) if error.error_len().is_none() => &cut[..error.valid_up_to()],
        _ => cut,
    };
    match String::from_utf8_lossy(whole) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Redactor, excerpt};
    use crate::headers::{Headers, Secret};

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let mut headers = Headers::new();
        headers.bearer(&Secret::new("sk-very-secret")).unwrap();
        headers.insert("X-Tenant", Secret::new("ab")).unwrap();
        let redactor = Redactor::new(&headers);
        let text = redactor.text("key sk-very-secret of ab is about wrong".into());
        assert_eq!(text, "key <redacted> of <redacted> is about wrong");
    }

    #[test]
    fn an_excerpt_ends_at_a_character() {
        assert_eq!(excerpt("aé".as_bytes(), 2), "a");
        assert_eq!(excerpt(b"a\xffb", 9), "a\u{fffd}b");
    }
}
