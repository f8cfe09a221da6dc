//! Every recorded shape of stream, replayed whole, byte by byte and at random cuts: always the same outcome.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokometer_wire::response::{Close, Progress, ResponseReader};
use tokometer_wire::{
    Channel, Dialect, Endpoint, Event, Exchange, Expect, Failure, FailureKind, Outcome, Stamp, TokenSource,
};

use crate::support::{Act, connector, scripted, stream};

struct Fixture {
    name: String,
    bytes: Vec<u8>,
    expect: Expect,
    expected: Value,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/streams")
}

fn fixtures() -> Vec<Fixture> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "http"))
        .collect();
    paths.sort();
    paths.iter().map(|path| Fixture::read(path)).collect()
}

impl Fixture {
    fn read(path: &std::path::Path) -> Fixture {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let expected: Value =
            serde_json::from_slice(&fs::read(path.with_extension("expected.json")).unwrap()).unwrap();
        let endpoint = match expected["endpoint"].as_str().unwrap() {
            "chat" => Endpoint::Chat,
            "completions" => Endpoint::Completions,
            other => panic!("{name}: no endpoint {other}"),
        };
        let dialect = Dialect::from_name(expected["dialect"].as_str().unwrap()).unwrap();
        Fixture { name, bytes: fs::read(path).unwrap(), expect: Expect { endpoint, dialect }, expected }
    }

    /// Compares what was made of the stream with what is expected.
    fn check(&self, way: &str, (exchange, events, texts): &(Exchange, Vec<Event>, Value)) {
        let mut got = describe(self.expect, exchange, events);
        got["texts"] = texts.clone();
        let expected_message = self.expected["failure"]["message"].as_str();
        if let (Some(part), Some(message)) = (expected_message, got["failure"]["message"].as_str())
            && message.contains(part)
        {
            got["failure"]["message"] = json!(part);
        }
        for (key, value) in self.expected.as_object().unwrap() {
            assert_eq!(&got[key], value, "{} {way}: {key}\n{exchange:#?}", self.name);
        }
    }
}

fn describe(expect: Expect, exchange: &Exchange, events: &[Event]) -> Value {
    let reported: Vec<Value> = events
        .iter()
        .map(|event| json!([event.payload.map(tokometer_wire::Channel::name), event.tokens]))
        .collect();
    json!({
        "endpoint": if expect.endpoint == Endpoint::Chat { "chat" } else { "completions" },
        "dialect": expect.dialect.name(),
        "outcome": match exchange.outcome {
            Outcome::Ended => "ended",
            Outcome::Cut => "cut",
            Outcome::Failed => "failed",
        },
        "finish_reason": exchange.finish_reason,
        "failure": exchange.failure.as_ref().map(describe_failure),
        "prompt_tokens": exchange.prompt_tokens,
        "cached_tokens": exchange.cached_tokens,
        "completion_tokens": exchange.completion_tokens,
        "reasoning_tokens": exchange.reasoning_tokens,
        "token_source": match exchange.token_source {
            TokenSource::Usage => "usage",
            TokenSource::TokenIds => "token_ids",
            TokenSource::EngineEvents => "engine_events",
            TokenSource::UsageFinal => "usage_final",
            TokenSource::Events => "events",
        },
        "events": exchange.events,
        "unknown_events": exchange.unknown_events,
        "done_marker": exchange.done_marker,
        "fingerprint": exchange.fingerprint,
        "reported": reported,
    })
}

fn describe_failure(failure: &Failure) -> Value {
    let kind = match failure.kind {
        FailureKind::Connect => "connect",
        FailureKind::Tls => "tls",
        FailureKind::HttpStatus => "http_status",
        FailureKind::Rejected => "rejected",
        FailureKind::ErrorEvent => "error_event",
        FailureKind::Truncated => "truncated",
        FailureKind::NoToken => "no_token",
        FailureKind::Reset => "reset",
        FailureKind::Timeout => "timeout",
        FailureKind::Malformed => "malformed",
        FailureKind::NotAStream => "not_a_stream",
    };
    json!({ "kind": kind, "message": failure.message, "status": failure.http_status })
}

/// The whole text of each channel that has any.
fn texts(of: impl Fn(Channel) -> Option<String>) -> Value {
    Channel::ALL
        .into_iter()
        .filter_map(|channel| Some((channel.name().to_owned(), json!(of(channel)?))))
        .collect()
}

/// Replays over a loopback socket; the server closes behind the last byte.
async fn over_tcp(fixture: &Fixture, acts: Vec<Act>) -> (Exchange, Vec<Event>, Value) {
    let script = [vec![Act::Read], acts].concat();
    let (port, server) = scripted(vec![script]).await;
    let connector = connector(port);
    let request = connector.prepare(fixture.expect.dialect.path(fixture.expect.endpoint), "{}".into());
    let mut connection = connector.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &request, fixture.expect).await;
    let texts = texts(|channel| connection.received_text(channel).map(String::from));
    drop(connection);
    server.await.unwrap();
    (exchange, events, texts)
}

#[tokio::test]
async fn whole_over_tcp() {
    for fixture in fixtures() {
        let replayed = over_tcp(&fixture, vec![Act::Write(fixture.bytes.clone())]).await;
        fixture.check("whole", &replayed);
    }
}

#[tokio::test]
async fn byte_by_byte_over_tcp() {
    for fixture in fixtures() {
        let replayed = over_tcp(&fixture, vec![Act::Drip(fixture.bytes.clone())]).await;
        fixture.check("byte by byte", &replayed);
    }
}

#[tokio::test]
async fn at_cuts_over_tcp() {
    // A fixed walk through step widths that share no pattern with any framing.
    for (seed, fixture) in fixtures().into_iter().enumerate() {
        let mut state = seed as u32 + 1;
        let mut acts = Vec::new();
        let mut rest = fixture.bytes.as_slice();
        while !rest.is_empty() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (piece, after) = rest.split_at(rest.len().min(1 + (state >> 24) as usize));
            acts.push(Act::Write(piece.to_vec()));
            rest = after;
        }
        let replayed = over_tcp(&fixture, acts).await;
        fixture.check("at cuts", &replayed);
    }
}

/// Replays in memory, one read per piece.
fn in_memory(expect: Expect, reader: &mut ResponseReader, pieces: &[&[u8]]) -> (Exchange, Vec<Event>, Value) {
    let mut events = Vec::new();
    reader.begin(expect);
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
    let texts = texts(|channel| reader.whole_text(channel).map(String::from));
    (reader.exchange(0, None, 0), events, texts)
}

#[test]
fn cut_in_two_at_every_byte() {
    for fixture in fixtures() {
        // One reader for all: nothing may stay from one response to the next.
        let mut reader = ResponseReader::new(fixture.expect);
        for cut in 0..=fixture.bytes.len() {
            let (front, back) = fixture.bytes.split_at(cut);
            let replayed = in_memory(fixture.expect, &mut reader, &[front, back]);
            fixture.check(&format!("cut at {cut}"), &replayed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn at_random_cuts(cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40)) {
        for fixture in fixtures() {
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(fixture.bytes.len())).collect();
            places.extend([0, fixture.bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &fixture.bytes[pair[0]..pair[1]]).collect();
            let mut reader = ResponseReader::new(fixture.expect);
            let replayed = in_memory(fixture.expect, &mut reader, &pieces);
            fixture.check("at random cuts", &replayed);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), at in any::<proptest::sample::Index>()) {
        for fixture in fixtures() {
            // Garbage in the middle of a stream that began well.
            let (front, back) = fixture.bytes.split_at(at.index(fixture.bytes.len()));
            let mut reader = ResponseReader::new(fixture.expect);
            in_memory(fixture.expect, &mut reader, &[front, &bytes, back]);
        }
    }
}

#[test]
fn last_of_read_is_told_for_each_event() {
    let fixture = fixtures().into_iter().find(|fixture| fixture.name == "vllm-rust-chat").unwrap();
    let mut reader = ResponseReader::new(fixture.expect);
    let (exchange, events, _) = in_memory(fixture.expect, &mut reader, &[&fixture.bytes]);
    assert_eq!((exchange.reads, exchange.events), (1, 7));
    // The marker and the finish event came behind all of them in the same read.
    assert!(events.iter().all(|event| !event.last_of_read));

    let text = String::from_utf8(fixture.bytes.clone()).unwrap();
    let third = text.find("\" three\"").unwrap();
    let (front, back) = fixture.bytes.split_at(third);
    let (exchange, events, _) = in_memory(fixture.expect, &mut reader, &[front, back]);
    assert_eq!((exchange.reads, exchange.events), (2, 7));
    let last: Vec<bool> = events.iter().map(|event| event.last_of_read).collect();
    assert_eq!(last, [false, true, false]);
}

#[test]
fn the_readme_has_a_row_for_each_fixture() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let mut table = String::new();
    for fixture in fixtures() {
        writeln!(table, "{}", fixture.row()).unwrap();
    }
    assert!(readme.contains(&table), "the table in tests/fixtures/streams/README.md should be:\n{table}");
}

impl Fixture {
    fn row(&self) -> String {
        let expected = &self.expected;
        let word = |value: &Value| value.as_str().map_or("–".to_owned(), str::to_owned);
        let count = |value: &Value| value.as_u64().map_or("–".to_owned(), |count| count.to_string());
        let first = expected["reported"].as_array().unwrap().iter().find(|event| !event[0].is_null());
        let outcome = match expected["failure"]["kind"].as_str() {
            Some(kind) => kind.to_owned(),
            None => word(&expected["outcome"]),
        };
        let (engine, case) = self.name.split_once('-').unwrap();
        format!(
            "| {engine} | `{case}` | {} | {} | {} | {} | {} |",
            first.map_or("–".to_owned(), |event| word(&event[0])),
            count(&expected["completion_tokens"]),
            word(&expected["token_source"]),
            word(&expected["finish_reason"]),
            outcome
        )
    }
}
