//! Text that repeats itself.

use tokometer_record::Outcome;

use crate::bench::{Bench, ms};
use crate::facts::{check, streams};
use crate::scripted::{self, HEAD, Next};

#[tokio::test]
async fn a_loop_that_the_engine_stopped_is_evidence() {
    let server = scripted::serve(|_, stream| {
        let whole =
            format!("{HEAD}{}{}", scripted::token("same", Some(1)), scripted::finish("repetition", Some(1)));
        scripted::send(stream, &whole);
        Next::Keep
    });
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_cell(&bench.cell(2, 10, ms(100))).await;
    check(&trace);
    let ended = streams(&trace).filter(|row| row.outcome == Outcome::Ended).count();
    assert_eq!(trace.meta.loops.len(), ended);
    let first = &trace.meta.loops[0];
    assert_eq!((first.channel.as_str(), first.period, first.cycles), ("content", 0, 0));
    assert!(first.excerpt.contains("repetition"), "{}", first.excerpt);
    assert!(trace.meta.loops.is_sorted_by_key(|found| found.request));
}

#[tokio::test]
async fn a_loop_in_a_request_that_was_cut_is_evidence() {
    let server = scripted::serve(|_, stream| {
        let text = "the same sentence comes again and again and it never ends ".repeat(120);
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::token(&text, Some(1000)));
        scripted::hang(stream)
    });
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_cell(&bench.cell(2, 10, ms(100))).await;
    check(&trace);
    assert_eq!(trace.meta.loops.len(), 2);
    assert_eq!((trace.meta.loops[0].channel.as_str(), trace.meta.loops[0].period), ("content", 58));
    assert!(trace.meta.loops[0].cycles >= 100);
}
