//! Traces as Parquet files: what is written is read back, to the last bit.

use std::path::Path;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tokometer_record::trace::parquet;
use tokometer_record::{
    CellTrace, EventRow, Outcome, RecordError, RequestKind, RequestRow, SampleRow, TokenSource, TraceMeta,
};

use crate::sample;

fn round_trip(trace: &CellTrace) -> CellTrace {
    let bytes = parquet::write(trace).unwrap();
    parquet::read(Bytes::from(bytes), Path::new("a.parquet")).unwrap()
}

fn events() -> impl Strategy<Value = Vec<EventRow>> {
    let event = (any::<(u32, u64, u64)>(), option::of(any::<u32>()), any::<(u32, bool, bool, bool)>());
    let row =
        event.prop_map(|((request, arrival_ns, lag_ns), tokens, (bytes, payload, answer, last_of_read))| {
            EventRow { request, arrival_ns, lag_ns, tokens, bytes, payload, answer, last_of_read }
        });
    vec(row, 0..60)
}

fn requests() -> impl Strategy<Value = Vec<RequestRow>> {
    let kinds = [RequestKind::Stream, RequestKind::Scout, RequestKind::Prefill, RequestKind::Calibration];
    let outcomes = [Outcome::Ended, Outcome::Cut, Outcome::Failed];
    let sources = [
        TokenSource::Usage,
        TokenSource::TokenIds,
        TokenSource::EngineEvents,
        TokenSource::UsageFinal,
        TokenSource::Events,
    ];
    let words = (0..4_usize, 0..3_usize, 0..5_usize, option::of(".*"), any::<bool>());
    let counts = (option::of(any::<u64>()), option::of(any::<u64>()), option::of(any::<u64>()), any::<u64>());
    let row =
        (words, counts, any::<(u32, u32, u64, u64, u32, u32)>()).prop_map(move |(words, counts, plain)| {
            RequestRow {
                request: plain.0,
                stream: plain.1,
                kind: kinds[words.0],
                send_ns: plain.2,
                connect_ns: counts.0,
                first_byte_ns: counts.1,
                end_ns: plain.3,
                outcome: outcomes[words.1],
                finish_reason: words.3,
                failure: words.4.then(sample::failure),
                prompt_tokens: counts.2,
                cached_tokens: counts.0,
                completion_tokens: Some(counts.3),
                reasoning_tokens: counts.1,
                token_source: sources[words.2],
                reads: plain.4,
                events: plain.5,
                unknown_events: counts.3.is_multiple_of(2).then_some(plain.4),
            }
        });
    vec(row, 0..20)
}

fn samples() -> impl Strategy<Value = Vec<SampleRow>> {
    let gauge = || option::of(-1e9..1e9_f64);
    let gauges = (any::<u64>(), gauge(), gauge(), gauge(), gauge());
    let speculative = (gauge(), gauge(), gauge(), gauge());
    let row = (gauges, speculative, (gauge(), gauge(), gauge())).prop_map(
        |((time_ns, running, waiting, generated_tokens, kv_used), speculative, counters)| SampleRow {
            time_ns,
            running,
            waiting,
            generated_tokens,
            kv_used,
            drafts: speculative.0,
            draft_tokens: speculative.1,
            accepted_tokens: speculative.2,
            acceptance_length: speculative.3,
            prefill_tokens: counters.0,
            cached_prefill_tokens: counters.1,
            preemptions: counters.2,
        },
    );
    vec(row, 0..20)
}

proptest! {
    #[test]
    fn any_trace_is_read_back_as_it_was(requests in requests(), events in events(), samples in samples()) {
        let trace = CellTrace { meta: sample::meta(), requests, events, samples };
        prop_assert_eq!(round_trip(&trace), trace);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic(cut in 0..4000_usize, flip in 0..4000_usize) {
        let mut bytes = parquet::write(&sample::trace()).unwrap();
        let at = flip % bytes.len();
        bytes[at] ^= 0x55;
        bytes.truncate(bytes.len() - cut % bytes.len() / 8);
        if let Err(error) = parquet::read(Bytes::from(bytes), Path::new("a.parquet")) {
            prop_assert!(error.to_string().contains("a.parquet"));
        }
    }
}

#[test]
fn more_than_a_million_events_fit_and_stay_small() {
    let mut trace = sample::trace();
    trace.events = (0..1_200_000_u32)
        .map(|index| EventRow {
            request: index / 5000,
            arrival_ns: u64::from(index) * 8_000_000 + u64::from(index % 977) * 1000,
            lag_ns: u64::from(index % 311) * 100,
            tokens: Some(index % 5000),
            bytes: 261,
            payload: true,
            answer: true,
            last_of_read: true,
        })
        .collect();
    let bytes = parquet::write(&trace).unwrap();
    assert!(bytes.len() < 12 * trace.events.len(), "{} bytes", bytes.len());
    assert_eq!(parquet::read(Bytes::from(bytes), Path::new("a.parquet")).unwrap(), trace);
}

#[test]
fn a_trace_from_before_unknown_events_were_kept_has_none() {
    let path =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trace-before-unknown-events.parquet"));
    let old = parquet::read(Bytes::from(std::fs::read(path).unwrap()), path).unwrap();
    let mut expected = sample::trace();
    expected.requests.iter_mut().for_each(|row| row.unknown_events = None);
    // Other things were added since, too; the events have been the same all along.
    assert_eq!((old.requests, old.events), (expected.requests, expected.events));
    assert_eq!((old.meta.loops, old.meta.repeat), (expected.meta.loops, None));
}

#[test]
fn a_trace_of_a_newer_schema_says_what_to_do() {
    let mut trace = sample::trace();
    trace.meta.schema = "tokometer.trace/2".to_owned();
    let bytes = parquet::write(&trace).unwrap();
    let error = parquet::read(Bytes::from(bytes), Path::new("a.parquet")).unwrap_err();
    assert!(matches!(error, RecordError::NewerSchema { .. }));
    assert!(error.to_string().contains("update tokometer"));
    assert_eq!(TraceMeta::SCHEMA, "tokometer.trace/1");
}

#[test]
fn a_repeat_has_a_file_of_its_own() {
    let mut meta = sample::meta();
    assert_eq!(meta.file_name(), "decode-8192-4.2.parquet");
    meta.repeat = None;
    assert_eq!(meta.file_name(), "decode-8192-4.parquet");
}
