//! What a display may look at while a cell runs. Nothing reported comes from here.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokometer_record::SampleRow;
use tokometer_wire::Channel;

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
    /// The word on a display.
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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveCell {
    /// Phase.
    pub phase: LivePhase,
    /// Seconds in this phase.
    pub seconds: f64,
    /// Its length or limit in seconds; 0 where it has none.
    pub of_seconds: f64,
    /// What still keeps the window from starting (ready phase).
    pub missing: Vec<String>,
    /// The cell's streams; none where a single request runs.
    pub streams: Option<LiveStreams>,
    /// The last reading of the server's gauges in this run, where it has them.
    pub server: Option<SampleRow>,
}

/// A glance at the streams of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveStreams {
    /// All of them.
    pub count: u32,
    /// Those that have not stopped.
    pub running: u32,
    /// Those that have had output.
    pub with_token: u32,
    /// Requests that ended by themselves.
    pub ended: u32,
    /// Events so far. An event is not a token.
    pub events: u64,
    /// The longest that any stream's last event waited for the client, ns.
    pub lag_ns: u64,
}

/// The glance, shared between the conductor (one writer, a few times a second) and a display.
#[derive(Debug, Default)]
pub struct Live {
    cell: Mutex<LiveCell>,
    tap: Arc<Tap>,
}

impl Live {
    /// The latest glance.
    pub fn get(&self) -> LiveCell {
        self.lock().clone()
    }

    /// A look at one stream's text.
    pub fn tap(&self) -> &Arc<Tap> {
        &self.tap
    }

    /// The phase changes or goes on; what is known of the server stays.
    pub(crate) fn set(&self, cell: LiveCell) {
        let mut held = self.lock();
        let server = cell.server.or(held.server);
        *held = LiveCell { server, ..cell };
    }

    pub(crate) fn set_server(&self, sample: SampleRow) {
        self.lock().server = Some(sample);
    }

    fn lock(&self) -> MutexGuard<'_, LiveCell> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at no stream.
const NOBODY: u32 = u32::MAX;

/// The text of one stream, kept only while somebody looks: the end of what its request has brought so far.
#[derive(Debug)]
pub struct Tap {
    /// The stream that is looked at. Streams read it once a read; nothing else of this is touched while nobody looks.
    stream: AtomicU32,
    shown: Mutex<TappedText>,
}

/// What a tap shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TappedText {
    /// The request of the cell whose text it is.
    pub request: Option<u32>,
    /// The end of each channel's text, as UTF-8 that may be cut at both ends.
    pub channels: Vec<(Channel, Vec<u8>)>,
}

impl Default for Tap {
    fn default() -> Tap {
        Tap { stream: AtomicU32::new(NOBODY), shown: Mutex::default() }
    }
}

impl Tap {
    /// Looks at this stream from now on; none: at no stream.
    pub fn look_at(&self, stream: Option<u32>) {
        self.stream.store(stream.unwrap_or(NOBODY), Ordering::Relaxed);
        *self.lock() = TappedText::default();
    }

    /// The text of the stream that is looked at.
    pub fn text(&self) -> TappedText {
        self.lock().clone()
    }

    #[inline]
    pub(crate) fn is_at(&self, stream: u32) -> bool {
        self.stream.load(Ordering::Relaxed) == stream
    }

    pub(crate) fn show(&self, request: u32, channel: Channel, tail: &[u8]) {
        let mut shown = self.lock();
        if shown.request != Some(request) {
            *shown = TappedText { request: Some(request), channels: Vec::new() };
        }
        let known = shown.channels.iter().position(|(of, _)| *of == channel);
        let index = known.unwrap_or_else(|| {
            shown.channels.push((channel, Vec::new()));
            shown.channels.len() - 1
        });
        let text = &mut shown.channels[index].1;
        text.clear();
        text.extend_from_slice(tail);
    }

    fn lock(&self) -> MutexGuard<'_, TappedText> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_shows_the_last_text_of_the_request_that_is_looked_at() {
        let tap = Tap::default();
        assert!(!tap.is_at(0) && !tap.is_at(7));
        tap.look_at(Some(7));
        assert!(tap.is_at(7) && !tap.is_at(0));
        tap.show(3, Channel::Content, b"one");
        tap.show(3, Channel::Content, b"one two");
        tap.show(4, Channel::Content, b"new");
        assert_eq!(
            tap.text(),
            TappedText { request: Some(4), channels: vec![(Channel::Content, b"new".to_vec())] }
        );
        tap.look_at(None);
        assert!(!tap.is_at(7) && tap.text().channels.is_empty());
    }
}
