//! Who asks: by token, or by a browser's session.

mod caller;
pub(crate) mod device;
mod first;
mod invitation;
mod keeping;
pub(crate) mod openid;
mod private;
mod visitor;
pub(crate) mod way;

pub(crate) use caller::Caller;
pub(crate) use first::ensure_admin;
pub(crate) use invitation::{accept, check_handle, invite};
pub(crate) use keeping::{new_token, revoke, set_role, unlink};
pub(crate) use private::guard;
pub(crate) use visitor::{Form, Visitor, sign_in, sign_out};
