//! Tests of the crate from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod answers;
mod compare;
mod failures;
mod formats;
mod golden;
mod hostile;
mod html;
mod page;
mod pictures;
mod published;
mod resent;
mod setup;
mod shell;
mod support;
mod terminal;
