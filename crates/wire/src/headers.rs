//! Extra request headers, whose values are secrets.

use std::fmt;

use http::{HeaderName, HeaderValue};

use crate::error::WireError;

/// Headers that frame the message; only this crate may set them.
const OWN: [&str; 6] = ["connection", "content-length", "expect", "te", "transfer-encoding", "upgrade"];

/// Text that must never be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The secret itself, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

/// Extra headers of every request, `Authorization` among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    entries: Vec<(String, Secret)>,
}

impl Headers {
    /// No extra headers.
    pub fn new() -> Headers {
        Headers::default()
    }

    /// Adds one header; a header of the same name is replaced.
    pub fn insert(&mut self, name: &str, value: Secret) -> Result<(), WireError> {
        let fail = |problem| WireError::Header { name: name.to_owned(), problem };
        let lower =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| fail("its name is no header name"))?;
        if OWN.contains(&lower.as_str()) {
            return Err(fail("it belongs to the framing of the request; leave it out"));
        }
        HeaderValue::from_bytes(value.expose().as_bytes())
            .map_err(|_| fail("its value holds a line break or a control character"))?;
        self.entries.retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self.entries.push((name.to_owned(), value));
        Ok(())
    }

    /// Adds a header as the user writes it: `Name: value`.
    pub fn insert_line(&mut self, line: &str) -> Result<(), WireError> {
        // Without a colon the whole line may be a secret, so it is not shown.
        let (name, value) = line
            .split_once(':')
            .ok_or(WireError::Header { name: "…".to_owned(), problem: "write it as 'Name: value'" })?;
        self.insert(name.trim(), Secret::new(value.trim()))
    }

    /// Sends `Authorization: Bearer …`.
    pub fn bearer(&mut self, key: &Secret) -> Result<(), WireError> {
        let key = key.expose().trim();
        if key.is_empty() {
            return Err(WireError::Header { name: "Authorization".to_owned(), problem: "the key is empty" });
        }
        self.insert("Authorization", Secret::new(format!("Bearer {key}")))
    }

    /// Names and values in the order in which they are sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Names alone, fit to be recorded.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// True if a header of this name, in any case, is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|present| present.eq_ignore_ascii_case(name))
    }
}
