//! Many streams.

use tokometer_load::LoadEngine;
use tokometer_record::AtEnd;

use crate::bench::ms;
use crate::facts::{active_streams, check, counted_tokens, outcomes, received_tokens, window_is_whole};
use crate::simulated::{prompt, start};

#[tokio::test]
async fn three_hundred_streams_lose_no_row() {
    LoadEngine::reserve_descriptors(300).unwrap();
    let (server, bench) = start(100.0);
    let mut spec = bench.cell(300, 8, ms(1000));
    spec.requests = vec![bench.request(&prompt("crowd"), 8)];
    spec.scouts = vec![bench.request(&prompt("crowd"), 1)];
    spec.at_end = AtEnd::Finish;
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    let (ended, cut, failed) = outcomes(&trace);
    assert_eq!((cut, failed), (0, 0));
    assert_eq!(active_streams(&trace).len(), 300);
    assert!(trace.meta.drained && window_is_whole(&trace));
    assert_eq!(received_tokens(&trace), 8 * ended as u64 + 1);
    assert_eq!(received_tokens(&trace), counted_tokens(&trace));
    server.stop();
}
