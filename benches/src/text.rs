//! Texts for the search for repetition, and how they are pushed through it.

use tokometer_wire::response::ResponseReader;
use tokometer_wire::{Dialect, Endpoint, Event, Expect, Stamp};

const WORDS: [&str; 16] = [
    "river ", "stone ", "seven ", "boats ", "north ", "market ", "glass ", "weight ", "colour ", "buyer ",
    "scales ", "brass ", "wood ", "bread ", "stars ", "numbers ",
];

/// So many characters of words in no order.
pub fn varied(length: u64) -> String {
    let mut text = String::with_capacity(length as usize + 8);
    let mut state = 1u64;
    while (text.len() as u64) < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS[(state >> 60) as usize]);
    }
    text.truncate(length as usize);
    text
}

/// So many characters of sentences that come three times each: the search finds a period again and again, and gives
/// it up.
pub fn nearly_repeating(length: u64) -> String {
    let source = varied(length / 3 + 4000);
    let mut text = String::with_capacity(length as usize + 4000);
    for sentence in source.as_bytes().chunks(1200) {
        for _ in 0..3 {
            text.extend(sentence.iter().map(|&byte| char::from(byte)));
        }
    }
    text.truncate(length as usize);
    text
}

/// Pushes a text through a response, 4096 characters an event; false if a repetition was found.
pub fn push(text: &str) -> bool {
    let expect = Expect { endpoint: Endpoint::Completions, dialect: Dialect::OpenAi };
    let mut reader = ResponseReader::new(expect);
    let mut events: Vec<Event> = Vec::new();
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    reader.feed(head, Stamp::default(), &mut events);
    for piece in text.as_bytes().chunks(4096) {
        let piece = String::from_utf8_lossy(piece);
        let event = format!("data: {{\"choices\":[{{\"index\":0,\"text\":\"{piece}\"}}]}}\n\n");
        reader.feed(event.as_bytes(), Stamp::default(), &mut events);
        reader.end_of_read(&mut events);
    }
    events.len() == text.len().div_ceil(4096) && reader.exchange(0, None, 0).repetition.is_none()
}
