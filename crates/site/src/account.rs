//! Who asks: by token, or by a browser's session.

mod caller;
mod first;
mod invitation;
mod visitor;

pub(crate) use caller::Caller;
pub use first::ensure_admin;
pub(crate) use invitation::accept;
pub(crate) use invitation::invite;
pub use visitor::{Form, Visitor};
pub(crate) use visitor::{sign_in, sign_out};
