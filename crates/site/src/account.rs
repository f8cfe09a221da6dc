//! Who asks: by token, or by a browser's session.

mod caller;
mod first;
mod invitation;
#[allow(dead_code, reason = "for pages")]
mod visitor;

pub(crate) use caller::Caller;
pub(crate) use first::ensure_admin;
pub(crate) use invitation::{accept, invite};
#[allow(unused_imports, reason = "for pages")]
pub(crate) use visitor::{Form, Visitor, sign_in, sign_out};
