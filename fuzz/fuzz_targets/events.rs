//! Any bytes as a response: no panic, and where they are cut changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokometer_wire::response::{Close, Progress, ResponseReader};
use tokometer_wire::{Dialect, Endpoint, Event, Exchange, Expect, Stamp};

fn read(dialect: Dialect, bytes: &[u8], width: usize) -> (Exchange, Vec<Event>) {
    let mut reader = ResponseReader::new(Expect { endpoint: Endpoint::Chat, dialect });
    let mut events = Vec::new();
    for piece in bytes.chunks(width.max(1)) {
        if reader.feed(piece, Stamp::default(), &mut events) == Progress::Complete {
            reader.end_of_read(&mut events);
            return (reader.exchange(0, None, 0), events);
        }
        reader.end_of_read(&mut events);
    }
    reader.close(Close::Eof, &mut events);
    reader.end_of_read(&mut events);
    (reader.exchange(0, None, 0), events)
}

fuzz_target!(|bytes: &[u8]| {
    // The length chooses, so that files of the test fixtures can serve as they are.
    let dialect = Dialect::ALL[bytes.len() % Dialect::ALL.len()];
    let width = 1 + bytes.len() % 61;
    let (whole, events) = read(dialect, bytes, bytes.len());
    let (cut, cut_events) = read(dialect, bytes, width);
    let compressed = bytes.windows(16).any(|part| part.eq_ignore_ascii_case(b"content-encoding"));
    if compressed {
        return;
    }
    assert_eq!(whole.outcome, cut.outcome);
    assert_eq!(whole.finish_reason, cut.finish_reason);
    assert_eq!(whole.completion_tokens, cut.completion_tokens);
    assert_eq!(whole.token_source, cut.token_source);
    assert_eq!(whole.events, cut.events);
    assert_eq!(whole.failure.map(|failure| failure.kind), cut.failure.map(|failure| failure.kind));
    let told =
        |events: &[Event]| events.iter().map(|event| (event.payload, event.tokens)).collect::<Vec<_>>();
    assert_eq!(told(&events), told(&cut_events));
});
