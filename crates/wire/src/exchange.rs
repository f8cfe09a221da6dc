//! What one request leaves behind: its events while they arrive, and one [`Exchange`] at its end.

use crate::failure::Failure;

/// Where arrival stamps come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StampSource {
    /// The kernel's receive timestamp.
    Kernel,
    /// A clock read right after the read returned.
    Read,
}

/// Where token counts come from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenSource {
    /// Cumulative `usage.completion_tokens` on each event.
    Usage,
    /// Token ids on each event.
    TokenIds,
    /// Engine counters on each event.
    EngineEvents,
    /// One count at the end.
    UsageFinal,
    /// Nothing but the payload events themselves: an estimate.
    Events,
}

/// How a request came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// By itself, whole.
    Ended,
    /// Cut by us; never a failure.
    Cut,
    /// With an error.
    Failed,
}

/// What kind of output a payload event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Chat answer text.
    Content,
    /// Reasoning under any of its names.
    Reasoning,
    /// A refusal.
    Refusal,
    /// A tool call's name or arguments.
    ToolCall,
    /// Text of the completions endpoint.
    Text,
    /// Token ids without text.
    TokenIds,
}

impl Channel {
    /// All channels.
    pub const ALL: [Channel; 6] = [
        Channel::Content,
        Channel::Reasoning,
        Channel::Refusal,
        Channel::ToolCall,
        Channel::Text,
        Channel::TokenIds,
    ];

    /// The word in files: `tool_call`.
    pub fn name(self) -> &'static str {
        match self {
            Channel::Content => "content",
            Channel::Reasoning => "reasoning",
            Channel::Refusal => "refusal",
            Channel::ToolCall => "tool_call",
            Channel::Text => "text",
            Channel::TokenIds => "token_ids",
        }
    }

    /// True for answer text (`content` or `text`), which ends the time to answer.
    pub fn is_answer(self) -> bool {
        matches!(self, Channel::Content | Channel::Text)
    }
}

/// A payload event, or an event that changed the token count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When its last byte reached this host.
    pub arrival_ns: u64,
    /// When the client got to it.
    pub handled_ns: u64,
    /// How long it waited for the client: from the arrival with kernel stamps, else from the moment that it
    /// may have begun to wait. Of events that share a read, only the last has an arrival of its own; the others
    /// are counted from the moment that they may have begun to wait, too.
    pub lag_ns: u64,
    /// Its size on the wire, without HTTP framing.
    pub bytes: u32,
    /// What output it carried; none if it only changed the count.
    pub payload: Option<Channel>,
    /// Output tokens of the request up to here, where the server tells per event.
    pub tokens: Option<u32>,
    /// True if no later event came with the same read, so that the stamp is its own.
    pub last_of_read: bool,
}

/// Takes the events of a request while they arrive. Called on the hot path: it must neither block nor allocate
/// per event.
pub trait EventSink {
    /// A payload event, or one that changed the token count.
    fn event(&mut self, event: &Event);

    /// The head of the response arrived.
    fn first_byte(&mut self, arrival_ns: u64) {
        let _ = arrival_ns;
    }

    /// True if somebody looks at the text. Asked once a read.
    fn wants_text(&self) -> bool {
        false
    }

    /// The end of a channel's text so far, behind a read, where it is wanted: up to [`TEXT_SHOWN`] bytes, which may
    /// begin inside of a character.
    fn text(&mut self, channel: Channel, tail: &[u8]) {
        let _ = (channel, tail);
    }
}

/// Bytes of a channel's text that a sink is shown.
pub const TEXT_SHOWN: usize = 4096;

/// Drops every event.
impl EventSink for () {
    fn event(&mut self, _event: &Event) {}
}

/// Keeps every event.
impl EventSink for Vec<Event> {
    fn event(&mut self, event: &Event) {
        self.push(*event);
    }
}

/// Text that repeated itself: at least 4 exact cycles and at least 4096 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repetition {
    /// Where.
    pub channel: Channel,
    /// Length of one cycle in characters.
    pub period: u64,
    /// Whole cycles seen.
    pub cycles: u64,
    /// Characters that repeat.
    pub repeated_characters: u64,
    /// Start of the first cycle, up to 512 characters.
    pub excerpt: String,
}

/// One request, from send to end.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Clock read before the first byte was written.
    pub send_ns: u64,
    /// Set-up time of the connection; only on its first request.
    pub connect_ns: Option<u64>,
    /// Arrival of the response head.
    pub first_byte_ns: Option<u64>,
    /// Arrival of the response's last byte, or the moment of the cut or of the failure.
    pub end_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// As the server said it.
    pub finish_reason: Option<String>,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// Prompt tokens by the server's count.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens that it had cached.
    pub cached_tokens: Option<u64>,
    /// Output tokens by the last usage, or by the engine's counter.
    pub completion_tokens: Option<u64>,
    /// Output tokens that the server called reasoning.
    pub reasoning_tokens: Option<u64>,
    /// The best source of counts that the response offered.
    pub token_source: TokenSource,
    /// Reads that carried at least one event.
    pub reads: u32,
    /// All events, also those without payload.
    pub events: u32,
    /// Events with payload.
    pub payload_events: u32,
    /// Events of a type that this crate does not know; they are not counted as output.
    pub unknown_events: u32,
    /// Text that repeated itself.
    pub repetition: Option<Repetition>,
    /// `system_fingerprint`.
    pub fingerprint: Option<String>,
    /// True if the stream closed with `[DONE]`.
    pub done_marker: bool,
}
