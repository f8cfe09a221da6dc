//! What a display may look at while a cell runs. Nothing reported comes from here.

use std::sync::Mutex;

/// Phase of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LivePhase {
    /// Nothing runs.
    #[default]
    Idle,
    /// Waiting until the server has no request.
    Drain,
    /// Warming the prefix.
    Scout,
    /// Cold prefill samples.
    Prefill,
    /// Streams run, the window has not begun.
    Ready,
    /// The measured window.
    Window,
    /// Streams end.
    Stop,
}

impl LivePhase {
    /// The word on a progress line.
    pub fn word(self) -> &'static str {
        match self {
            LivePhase::Idle => "idle",
            LivePhase::Drain => "drain",
            LivePhase::Scout => "scout",
            LivePhase::Prefill => "prefill",
            LivePhase::Ready => "ready",
            LivePhase::Window => "window",
            LivePhase::Stop => "stop",
        }
    }
}

/// A glance at the running cell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LiveCell {
    /// Phase.
    pub phase: LivePhase,
    /// Seconds in this phase.
    pub seconds: f64,
    /// Its length or limit in seconds; 0 where it has none.
    pub of_seconds: f64,
    /// Events per second, over the last half second or so. An event is not a token.
    pub rate: f64,
}

/// The glance, shared between the conductor (one writer, a few times a second) and a display.
#[derive(Debug, Default)]
pub struct Live(Mutex<LiveCell>);

impl Live {
    /// The latest glance.
    pub fn get(&self) -> LiveCell {
        self.0.lock().map(|cell| *cell).unwrap_or_default()
    }

    pub(crate) fn set(&self, cell: LiveCell) {
        if let Ok(mut slot) = self.0.lock() {
            *slot = cell;
        }
    }
}
