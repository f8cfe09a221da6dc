//! What goes wrong on purpose, so that clients can be tried.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stream::Delivery;
use crate::SimError;

/// Tokens before a fault in a stream that does not say how many.
const AFTER_TOKENS: u32 = 3;

/// Seconds that a busy server asks to wait.
pub(super) const RETRY_AFTER_SECONDS: u32 = 2;

/// What goes wrong. Faults of streams do nothing to answers in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An error within a stream of status 200.
    Error,
    /// The stream ends without the reason of its end, usage or end mark.
    Truncated,
    /// The stream has its end mark alone.
    Tokenless,
    /// The connection is reset within the stream.
    Reset,
    /// The stream falls silent and stays open.
    Stall,
    /// Status 429, with the header that says when to come back.
    RateLimit,
    /// The prefix cache knows the prompt although nobody has sent it: a warm cache that is sold as cold.
    WarmCache,
}

/// A fault: what, where in the stream, and for which requests. In text `NAME`, `NAME@TOKENS`, `NAME/EVERY` or
/// `NAME@TOKENS/EVERY`, as `reset@5/4`: every fourth request is reset behind its fifth token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// Output tokens before it; an output that ends earlier ends well.
    pub after_tokens: u32,
    /// It befalls one request in this many, at least 1; the last of them.
    pub every: u64,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [FaultKind; 7] = [
        FaultKind::Error,
        FaultKind::Truncated,
        FaultKind::Tokenless,
        FaultKind::Reset,
        FaultKind::Stall,
        FaultKind::RateLimit,
        FaultKind::WarmCache,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Error => "error",
            FaultKind::Truncated => "truncated",
            FaultKind::Tokenless => "tokenless",
            FaultKind::Reset => "reset",
            FaultKind::Stall => "stall",
            FaultKind::RateLimit => "rate-limit",
            FaultKind::WarmCache => "warm-cache",
        }
    }
}

impl From<FaultKind> for Fault {
    /// For every request, behind its third token.
    fn from(kind: FaultKind) -> Fault {
        Fault { kind, after_tokens: AFTER_TOKENS, every: 1 }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.kind.name(), self.after_tokens, self.every)
    }
}

impl FromStr for Fault {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Fault, SimError> {
        let unknown = || SimError::UnknownFault {
            text: text.to_owned(),
            known: FaultKind::ALL.map(FaultKind::name).join(", "),
        };
        let (rest, every) = text.split_once('/').map_or((text, None), |(rest, every)| (rest, Some(every)));
        let (name, after) = rest.split_once('@').map_or((rest, None), |(name, after)| (name, Some(after)));
        let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(unknown)?;
        let mut fault = Fault::from(kind);
        if let Some(after) = after {
            fault.after_tokens = after.parse().map_err(|_| unknown())?;
        }
        if let Some(every) = every {
            fault.every = every.parse().ok().filter(|&every| every > 0).ok_or_else(unknown)?;
        }
        Ok(fault)
    }
}

/// The faults of a server, and how many requests it has seen.
pub(super) struct Faults {
    faults: Vec<Fault>,
    requests: AtomicU64,
}

impl Faults {
    /// None without faults.
    pub(super) fn new(faults: Vec<Fault>) -> Option<Arc<Faults>> {
        (!faults.is_empty()).then(|| Arc::new(Faults { faults, requests: AtomicU64::new(0) }))
    }

    /// The fault of the next request, if it has one: the first in the list that befalls it.
    pub(super) fn next(&self) -> Option<Fault> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.faults.iter().copied().find(|fault| number.is_multiple_of(fault.every.max(1)))
    }
}

/// A fault on its way through a stream.
pub(super) struct Lurking {
    kind: FaultKind,
    left: u32,
    /// Set once the tokens before it are out.
    pub(super) strikes: bool,
}

impl Lurking {
    pub(super) fn new(fault: Fault) -> Lurking {
        let left = if fault.kind == FaultKind::Tokenless { 0 } else { fault.after_tokens };
        Lurking { kind: fault.kind, left, strikes: left == 0 }
    }

    pub(super) fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The tokens that come before the fault.
    pub(super) fn pass(&mut self, delivery: &Delivery) -> Delivery {
        let (before, rest) = delivery.split(self.left);
        self.left -= before.tokens();
        self.strikes = before.finish.is_none() && (rest.is_some() || self.left == 0);
        before
    }
}
