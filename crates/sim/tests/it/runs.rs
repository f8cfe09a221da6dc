//! Run records to make profiles of.

use std::fmt::Write;

use tokometer_record::{
    Cell, Distribution, Order, Phase, Reason, ReasonRule, Run, Settings, Status, Throughput, Tool,
};
use tokometer_sim::{Overrides, Profile};

/// A record without cells.
pub(crate) fn run(cells: Vec<Cell>) -> Run {
    let settings = Settings {
        contexts: vec![],
        concurrency: vec![],
        prefill_contexts: vec![],
        prefill_repeats: 1,
        duration_seconds: 30.0,
        adaptive: false,
        repeats: 1,
        order: Order::Standard,
        max_output_tokens: 4096,
        decode_test: "fixed_duration".to_owned(),
        prefill_mode: "cold_alone".to_owned(),
        prompts: None,
        cold: None,
        endpoint: None,
        respect_eos: None,
        temperature: None,
        top_p: None,
        seed: None,
        request_json: None,
        request_fields: None,
        at_end: None,
        timeout_seconds: None,
        corpus: None,
        prompt_sizing: None,
        allow_busy: None,
        load_threads: None,
    };
    let mut run = Run::new("test".to_owned(), Tool::default(), settings);
    run.model.id = Some("Example/Model-7B".to_owned());
    run.model.served_name = Some("model".to_owned());
    run.cells = cells;
    run
}

/// A measured decode cell.
pub(crate) fn decode(context: u64, concurrency: u32, total: f64, ttft_ms: f64) -> Cell {
    let mut cell = Cell::planned(Phase::Decode, context, concurrency);
    cell.status = Status::Valid;
    cell.throughput = Some(Throughput {
        total,
        interval: None,
        decoding: None,
        restart_share: None,
        batches: vec![],
        lag1: None,
    });
    cell.ttft_ms = Some(Distribution { p50: Some(ttft_ms), ..Distribution::default() });
    cell
}

/// A decode cell without figures.
pub(crate) fn without_figures(context: u64, concurrency: u32, status: Status) -> Cell {
    let mut cell = Cell::planned(Phase::Decode, context, concurrency);
    cell.status = status;
    cell.reason = Some(Reason {
        rule: ReasonRule::Stated,
        text: String::new(),
        figures: vec![],
        needed: None,
        available: None,
    });
    cell
}

/// A prefill row.
pub(crate) fn prefill(context: u64, rate: f64) -> Cell {
    let mut cell = Cell::planned(Phase::Prefill, context, 1);
    cell.status = Status::Valid;
    cell.prefill_rate = Some(rate);
    cell
}

/// A small, fast engine: steps of 1 ms alone and 2 ms with eight, first tokens after 5 and 10 ms, a million
/// prompt tokens per second. It loops at 4K with eight.
pub(crate) fn fast() -> Profile {
    let run = run(vec![
        prefill(1024, 1e6),
        decode(1024, 1, 1000.0, 5.0),
        decode(1024, 8, 4000.0, 10.0),
        decode(4096, 1, 1000.0, 5.0),
        without_figures(4096, 8, Status::Looped),
        without_figures(4096, 16, Status::OverCapacity),
    ]);
    let overrides = Overrides {
        name: Some("fast".to_owned()),
        max_model_length: Some(16_384),
        kv_tokens: Some(65_536),
        ..Overrides::default()
    };
    Profile::from_run(&run, &overrides).unwrap()
}

/// ` word0 "quoted"`, ` word1 "quoted"`, and so on, a line each.
pub(crate) fn numbered_words(count: u32) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        writeln!(text, " word{number} \"quoted\"").unwrap();
        text
    })
}
