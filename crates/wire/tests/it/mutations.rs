//! Streams with damaged bytes: they may end in any way, but nothing panics and memory stays bounded.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::Index;
use tokometer_wire::response::{Close, Progress, ResponseReader};
use tokometer_wire::{Dialect, Endpoint, Event, Exchange, Expect, FailureKind, Outcome, Stamp};

use crate::allocation::peak_bytes;
use crate::support::HEAD;

/// An event of the greatest length, its copy while it grows, and a decoded piece.
const MOST_BYTES: usize = 64 << 20;

fn streams() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/streams");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "http"));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// One damage to a stream.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Remove(Index, u8),
    Insert(Index, Vec<u8>),
    /// Repeats a part.
    Repeat(Index, u8, u8),
    /// Goes on with another stream from somewhere.
    Splice(Index, Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let words: Vec<&[u8]> = vec![
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b"\0",
        b"data:",
        b"data: [DONE]\n\n",
        b"event: error\n",
        b": ",
        b"\xef\xbb\xbf",
        b"\\u",
        b"\\ud83d",
        b"\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b"-1",
        b"1e999",
        b"18446744073709551616",
        b"null",
        b"ffffffffffffff\r\n",
        b"0\r\n\r\n",
        b"\xff\xfe",
        b"\xf0\x9f",
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, length)| Damage::Remove(at, length)),
        (any::<Index>(), proptest::sample::select(words))
            .prop_map(|(at, word)| Damage::Insert(at, word.to_vec())),
        (any::<Index>(), any::<u8>(), any::<u8>())
            .prop_map(|(at, length, times)| Damage::Repeat(at, length, times)),
        (any::<Index>(), any::<Index>(), any::<Index>())
            .prop_map(|(at, other, from)| Damage::Splice(at, other, from)),
    ]
}

impl Damage {
    fn apply(self, bytes: &mut Vec<u8>, all: &[Vec<u8>]) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Damage::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Damage::Remove(at, length) => {
                let at = at.index(bytes.len());
                bytes.drain(at..bytes.len().min(at + usize::from(length)));
            }
            Damage::Insert(at, word) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, word);
            }
            Damage::Repeat(at, length, times) => {
                let at = at.index(bytes.len());
                let part = bytes[at..bytes.len().min(at + usize::from(length))].repeat(usize::from(times));
                bytes.splice(at..at, part);
            }
            Damage::Splice(at, other, from) => {
                let other = &all[other.index(all.len())];
                bytes.truncate(at.index(bytes.len()));
                bytes.extend_from_slice(&other[from.index(other.len())..]);
            }
        }
    }
}

fn read(expect: Expect, pieces: &[&[u8]]) -> (Exchange, Vec<Event>) {
    let mut reader = ResponseReader::new(expect);
    let mut events = Vec::new();
    let mut progress = Progress::More;
    for (number, piece) in pieces.iter().enumerate() {
        let at = number as u64;
        progress = reader.feed(piece, Stamp { arrival_ns: at, handled_ns: at, lag_ns: 0 }, &mut events);
        reader.end_of_read(&mut events);
        if progress == Progress::Complete {
            break;
        }
    }
    if progress == Progress::More {
        reader.close(Close::Eof, &mut events);
        reader.end_of_read(&mut events);
    }
    (reader.exchange(0, None, 0), events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_streams_do_no_harm(
        which: Index,
        dialect in proptest::sample::select(Dialect::ALL.to_vec()),
        damages in proptest::collection::vec(damage(), 1..6),
        cuts in proptest::collection::vec(any::<Index>(), 0..6),
    ) {
        let all = streams();
        let mut bytes = all[which.index(all.len())].clone();
        for damage in damages {
            damage.apply(&mut bytes, &all);
        }
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let expect = Expect { endpoint: Endpoint::Chat, dialect };
        let (peak, (cut, events)) = peak_bytes(|| read(expect, &pieces));
        prop_assert!(peak < MOST_BYTES, "{peak} bytes");
        prop_assert_eq!(cut.failure.is_some(), cut.outcome == Outcome::Failed);
        prop_assert_eq!(cut.payload_events as usize, events.iter().filter(|event| event.payload.is_some()).count());
        // However it is damaged, where it is cut changes nothing. Only of broken compressed data one cut may
        // still bring a little more than another.
        if bytes.windows(16).any(|part| part.eq_ignore_ascii_case(b"content-encoding")) {
            return Ok(());
        }
        let (whole, _) = read(expect, &[&bytes]);
        prop_assert_eq!(cut.outcome, whole.outcome);
        prop_assert_eq!(cut.completion_tokens, whole.completion_tokens);
        prop_assert_eq!(cut.payload_events, whole.payload_events);
        prop_assert_eq!(cut.failure.map(|failure| failure.kind), whole.failure.map(|failure| failure.kind));
    }
}

/// Feeds the same piece for ever; it must end with this kind of failure in bounded memory.
fn check_endless(head: &str, piece: &[u8], kind: FailureKind) {
    let (peak, exchange) = peak_bytes(|| {
        let expect = Expect { endpoint: Endpoint::Chat, dialect: Dialect::OllamaNative };
        let mut reader = ResponseReader::new(expect);
        reader.feed(head.as_bytes(), Stamp::default(), &mut ());
        for _ in 0..1000 {
            if reader.feed(piece, Stamp::default(), &mut ()) == Progress::Complete {
                return reader.exchange(0, None, 0);
            }
        }
        panic!("a thousand pieces were not too much");
    });
    assert_eq!(exchange.failure.unwrap().kind, kind);
    assert!(peak < MOST_BYTES, "{peak} bytes");
}

#[test]
fn endless_input_ends() {
    let open_ended = |kind: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n");
    let events = open_ended("text/event-stream");
    let megabyte = vec![b'x'; 1 << 20];
    let lines = b"data: x\n".repeat(1 << 17);
    let comments = b": the engine is gone\n".repeat(1 << 16);
    check_endless(&(events.clone() + "data: "), &megabyte, FailureKind::Malformed);
    check_endless(&events, &lines, FailureKind::Malformed);
    check_endless(&(events + "event: error\n"), &comments, FailureKind::Malformed);
    check_endless(&open_ended("application/x-ndjson"), &megabyte, FailureKind::Malformed);
    check_endless(&open_ended("text/html"), &megabyte, FailureKind::NotAStream);
    check_endless("HTTP/1.1 200 OK\r\nX: ", &megabyte, FailureKind::Malformed);
    check_endless(&HEAD.replace("\r\n\r\n", "\r\nX: "), &megabyte, FailureKind::Malformed);
}
