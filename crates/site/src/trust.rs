//! What the site believes, and why: nothing that an upload claims of itself.

pub(crate) mod replicates;
