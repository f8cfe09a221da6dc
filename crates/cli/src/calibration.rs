//! What `tokometer calibrate` is made of, and what a run keeps of it.

pub(crate) mod cores;
pub(crate) mod host;
pub(crate) mod judge;
pub(crate) mod kept;
pub(crate) mod load;
pub(crate) mod ruler;
pub(crate) mod usage;
pub(crate) mod words;
