//! What goes wrong on purpose, so that clients can be tried.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stream::Delivery;
use crate::SimError;
use crate::engine::Trick;

/// Tokens before a fault in a stream that does not say how many.
const AFTER_TOKENS: u32 = 3;

/// The same for an answer that ends early: it is still worth reading.
const EARLY_END_TOKENS: u32 = 64;

/// Seconds that a busy server asks to wait.
pub(super) const RETRY_AFTER_SECONDS: u32 = 2;

/// What goes wrong. `error` to `stall` are faults of streams and do nothing to answers in one piece.
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
    /// The text repeats itself, one cycle of 400 characters again and again, to the end of the output.
    Loop,
    /// The answer ends by itself, with the finish reason `stop`, although the request said to ignore that.
    EarlyEnd,
    /// Beside the request runs another one with a short prompt, which no client has sent: gauges and counters have
    /// both. It ends with the request.
    OtherTraffic,
    /// The engine runs at most half of the requests that it has, at least one; the others wait though there is room.
    FewerRunning,
}

/// A fault: what, where in the stream, and for which requests. In text `NAME`, `NAME@TOKENS`, `NAME/EVERY` or
/// `NAME@TOKENS/EVERY`, as `reset@5/4`: every fourth request is reset behind its fifth token. Tokens mean nothing to
/// `rate-limit`, `warm-cache`, `other-traffic` and `fewer-running`, which befall whole requests.
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
    pub const ALL: [FaultKind; 11] = [
        FaultKind::Error,
        FaultKind::Truncated,
        FaultKind::Tokenless,
        FaultKind::Reset,
        FaultKind::Stall,
        FaultKind::RateLimit,
        FaultKind::WarmCache,
        FaultKind::Loop,
        FaultKind::EarlyEnd,
        FaultKind::OtherTraffic,
        FaultKind::FewerRunning,
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
            FaultKind::Loop => "loop",
            FaultKind::EarlyEnd => "early-end",
            FaultKind::OtherTraffic => "other-traffic",
            FaultKind::FewerRunning => "fewer-running",
        }
    }
}

impl From<FaultKind> for Fault {
    /// For every request, behind its third token; an early end comes behind the 64th.
    fn from(kind: FaultKind) -> Fault {
        let after_tokens = if kind == FaultKind::EarlyEnd { EARLY_END_TOKENS } else { AFTER_TOKENS };
        Fault { kind, after_tokens, every: 1 }
    }
}

impl Fault {
    /// What the engine does to the request, if it is the engine that does it.
    pub(super) fn trick(self) -> Option<Trick> {
        match self.kind {
            FaultKind::WarmCache => Some(Trick::KnownPrompt),
            FaultKind::Loop => Some(Trick::Loop { after_tokens: self.after_tokens.into() }),
            FaultKind::FewerRunning => Some(Trick::HeldBack),
            _ => None,
        }
    }

    /// Length of an output that ends early, with the token that ends it.
    pub(super) fn early_end(self) -> Option<u64> {
        (self.kind == FaultKind::EarlyEnd).then(|| u64::from(self.after_tokens) + 1)
    }

    /// The fault on its way through the request's stream, if it is one of streams.
    pub(super) fn lurking(self) -> Option<Lurking> {
        let is_of_streams = matches!(
            self.kind,
            FaultKind::Error
                | FaultKind::Truncated
                | FaultKind::Tokenless
                | FaultKind::Reset
                | FaultKind::Stall
        );
        is_of_streams.then(|| Lurking::new(self))
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
    fn new(fault: Fault) -> Lurking {
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
