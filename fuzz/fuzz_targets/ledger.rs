//! Any sequence of counts: the ledger never panics, never counts backwards, and never makes up a token.
#![no_main]

use std::fmt::Write;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tokometer_wire::response::{Close, ResponseReader};
use tokometer_wire::{Dialect, Endpoint, Event, Expect, Outcome, Stamp, TokenSource};

#[derive(Debug, Arbitrary)]
struct Part {
    text: bool,
    /// None for an event without choices.
    choice: Option<u8>,
    ids: u8,
    prompt: Option<u32>,
    completion: Option<u64>,
    reasoning: Option<u16>,
    predicted: Option<u64>,
    finish: bool,
}

#[derive(Debug, Arbitrary)]
struct Input {
    dialect: u8,
    parts: Vec<Part>,
}

fn render(part: &Part) -> String {
    let mut event = String::from("data: {\"choices\":[");
    let mut add = |text: &str| event.push_str(text);
    if let Some(choice) = part.choice {
        add(&format!("{{\"index\":{},\"delta\":{{", choice % 4));
        add(if part.text { "\"content\":\"x\"" } else { "" });
        let ids = vec!["7"; usize::from(part.ids % 5)].join(",");
        add(&format!("}},\"token_ids\":[{ids}],\"finish_reason\":"));
        add(if part.finish { "\"stop\"}" } else { "null}" });
    }
    add("]");
    if part.prompt.is_some() || part.completion.is_some() {
        add(",\"usage\":{\"x\":0");
        for (name, count) in [
            ("prompt_tokens", part.prompt.map(u64::from)),
            ("completion_tokens", part.completion),
            ("reasoning_tokens", part.reasoning.map(u64::from)),
        ] {
            if let Some(count) = count {
                let _ = write!(event, ",\"{name}\":{count}");
            }
        }
        event.push('}');
    }
    if let Some(count) = part.predicted {
        let _ = write!(event, ",\"timings\":{{\"predicted_n\":{count}}}");
    }
    event + "}\n\n"
}

fuzz_target!(|input: Input| {
    let dialect = Dialect::ALL[usize::from(input.dialect) % Dialect::ALL.len()];
    let mut reader = ResponseReader::new(Expect { endpoint: Endpoint::Chat, dialect });
    let mut events: Vec<Event> = Vec::new();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    reader.feed(head, Stamp::default(), &mut events);
    for part in &input.parts {
        reader.feed(render(part).as_bytes(), Stamp::default(), &mut events);
        reader.end_of_read(&mut events);
    }
    reader.close(Close::Eof, &mut events);
    reader.end_of_read(&mut events);
    let exchange = reader.exchange(0, None, 0);
    let payload = events.iter().filter(|event| event.payload.is_some()).count();
    assert_eq!(payload, exchange.payload_events as usize);
    if exchange.token_source == TokenSource::Events {
        assert_eq!(exchange.completion_tokens, None);
    }
    // A count that was told is one that the server sent, or a sum of such.
    if input.parts.iter().all(|part| part.completion.is_none() && part.predicted.is_none()) {
        assert_eq!(exchange.completion_tokens, None);
    }
    if exchange.outcome == Outcome::Ended {
        assert!(payload > 0 || exchange.completion_tokens.is_some());
    }
});
