//! What the site believes, and why: nothing that an upload claims of itself.
//!
//! [`check`] takes a document and the files that it names apart: is it a record ([`identity`]), does every number
//! follow from the traces (`tokometer_analysis::verify`), what stands behind it ([`evidence`]), and was it seen before
//! ([`prints`]).

mod check;
mod evidence;
mod identity;
mod prints;
pub(crate) mod replicates;
pub(crate) mod suspicion;

pub(crate) use check::{Checked, check, document, files};
pub(crate) use identity::{SAID, SAID_SOMETHING, text_of, words};
