//! The request that teaches the tokens per event, sent only when it is needed.

use tokometer_record::{CellTrace, RequestKind};

use crate::bench::{Bench, ms};
use crate::facts::{check, of_kind, outcomes, window_is_whole};
use crate::scripted::{self, Counts};

/// A cell on a server that tells these counts, its requests of so many tokens; with a scout if wanted.
async fn measure(counts: Counts, tokens: usize, scout: bool) -> CellTrace {
    let server = scripted::serve(move |asked, stream| {
        let tokens = match () {
            () if asked.wants(1) => 1,
            () if asked.wants(256) => 25,
            () => tokens,
        };
        scripted::stream(stream, tokens, counts)
    });
    let bench = Bench::new(server.port);
    let mut spec = bench.cell(2, 100_000, ms(200));
    spec.calibration = Some(bench.request("Say something.", 256));
    if scout {
        spec.scouts = vec![bench.request("Say something.", 1)];
    }
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    assert!(window_is_whole(&trace));
    trace
}

fn calibrations(trace: &CellTrace) -> usize {
    of_kind(trace, RequestKind::Calibration).count()
}

#[tokio::test]
async fn it_is_sent_where_only_whole_responses_are_counted_and_none_was_whole() {
    let trace = measure(Counts::AtEnd, 100_000, true).await;
    assert_eq!(outcomes(&trace), (0, 2, 0));
    let row = of_kind(&trace, RequestKind::Calibration).next().unwrap();
    assert_eq!((calibrations(&trace), row.completion_tokens), (1, Some(25)));
    assert!(row.send_ns >= trace.meta.window_end_ns.unwrap());
}

#[tokio::test]
async fn it_is_not_sent_where_a_request_was_whole() {
    let trace = measure(Counts::AtEnd, 20, true).await;
    assert!(outcomes(&trace).0 > 0);
    assert_eq!(calibrations(&trace), 0);
}

#[tokio::test]
async fn it_is_not_sent_where_each_event_is_counted() {
    assert_eq!(calibrations(&measure(Counts::Each, 100_000, false).await), 0);
}

#[tokio::test]
async fn it_is_not_sent_where_the_scout_was_not_counted_either() {
    assert_eq!(calibrations(&measure(Counts::Never, 100_000, true).await), 0);
}
