//! Foreign result files as run documents.
//!
//! One file per foreign format. An import keeps what the file states and nothing more: what it does not
//! tell is null with a reason, and what this program does not know is an error, never dropped.

mod published;

pub use published::published;
