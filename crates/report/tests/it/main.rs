//! Tests of the crate from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod formats;
mod hostile;
mod html;
mod published;
mod support;
mod terminal;
