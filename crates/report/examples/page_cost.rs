//! What the page of a large run costs: 48 cells, about 5 million events.
//!
//! `cargo run --release -p tokometer-report --example page_cost -- make DIR` writes the run; then
//! `… -- page DIR` makes its page as `tokometer report` does, and tells seconds, memory and size. The two are apart so
//! that the memory is that of making the page alone.

#![expect(clippy::print_stdout, reason = "an example tells what it found")]

use std::path::Path;

use tokometer_analysis::{Context, detail, summarise};
use tokometer_record::{
    CellTrace, EventRow, Outcome, Phase, Ready, RequestKind, RequestRow, Run, RunFolder, StampSource,
    TokenSource, TraceMeta, import, published,
};

const SECOND: u64 = 1_000_000_000;
/// Ready phase and window of each cell.
const READY: u64 = 8 * SECOND;
const END: u64 = 38 * SECOND;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", folder] => make(Path::new(folder)),
        ["page", folder] => page(Path::new(folder)),
        _ => Err("usage: page_cost make DIR | page_cost page DIR/<run id>".into()),
    }
}

/// A run like the published one, each cell with a trace.
fn make(folder: &Path) -> Result<()> {
    let mut run: Run = import::published(published::H200_X4, "h200-x4.json")?;
    run.imported = None;
    let folder = RunFolder::create(folder, &run.id)?;
    let mut events = 0;
    let settings = run.settings.clone();
    for cell in run.cells.iter_mut().filter(|cell| cell.phase == Phase::Decode) {
        let rate = 260.0 * f64::from(cell.concurrency).powf(0.74);
        let trace = trace(&run.id, cell.context_nominal, cell.concurrency, rate);
        events += trace.events.len();
        let file = folder.save_trace(&trace)?;
        *cell = summarise(&trace, &Context::new(&settings));
        cell.trace = Some(file);
    }
    folder.save_run(&run)?;
    println!("{}: {} cells, {events} events", folder.path.display(), run.cells.len());
    Ok(())
}

/// Streams that send one request after the other; gaps vary by a fixed pattern.
fn trace(run: &str, context: u64, concurrency: u32, rate: f64) -> CellTrace {
    let gap = (1e9 * f64::from(concurrency) / rate) as u64;
    let mut trace = CellTrace {
        meta: TraceMeta {
            schema: TraceMeta::SCHEMA.to_owned(),
            run: run.to_owned(),
            phase: Phase::Decode,
            context_nominal: context,
            concurrency,
            max_output_tokens: 4096,
            repeat: None,
            adaptive: None,
            counters_window_start: None,
            counters_window_end: None,
            counters_by_request: Vec::new(),
            duration_seconds: 30.0,
            window_start_ns: Some(READY),
            window_end_ns: Some(END),
            ready: Some(Ready { reached: true, seconds: 8.0, limit_seconds: 60.0, missing: Vec::new() }),
            counters_before: None,
            counters_after: None,
            drained: true,
            stamp_source: StampSource::Kernel,
            clock_step_ns: 0,
            resent: 0,
            interrupted: false,
            failure: None,
            loops: Vec::new(),
        },
        requests: Vec::new(),
        events: Vec::new(),
        samples: Vec::new(),
    };
    let mut noise = u64::from(concurrency) * 7919 + context;
    for stream in 0..concurrency {
        let mut send = u64::from(stream) * 1_000_000;
        while send < END {
            let request = trace.requests.len() as u32;
            let mut arrival = send + 20 * gap;
            let mut tokens = 0;
            // Requests end apart from each other, so that each cell has many.
            let output = 256 + (u64::from(stream) * 37 + context) % 512;
            while arrival < END && u64::from(tokens) < output {
                tokens += 1;
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                trace.events.push(EventRow {
                    request,
                    arrival_ns: arrival,
                    lag_ns: 20_000 + noise % 5000,
                    tokens: Some(tokens),
                    bytes: 240,
                    payload: true,
                    answer: true,
                    last_of_read: true,
                });
                arrival += gap * 9 / 10 + (noise >> 33) % (gap / 5).max(1);
            }
            let cut = arrival >= END;
            trace.requests.push(RequestRow {
                request,
                stream,
                kind: RequestKind::Stream,
                send_ns: send,
                connect_ns: None,
                first_byte_ns: Some(send + gap),
                end_ns: arrival.min(END),
                outcome: if cut { Outcome::Cut } else { Outcome::Ended },
                finish_reason: (!cut).then(|| "length".to_owned()),
                failure: None,
                prompt_tokens: Some(context),
                cached_tokens: Some(context - 16),
                completion_tokens: (!cut).then_some(u64::from(tokens)),
                reasoning_tokens: Some(0),
                token_source: TokenSource::Usage,
                reads: tokens,
                events: tokens,
                unknown_events: Some(0),
            });
            send = arrival.min(END);
        }
    }
    trace
}

/// Reads the traces one at a time and makes the page.
#[expect(clippy::disallowed_methods, reason = "the cost of making a page is what is measured here")]
fn page(path: &Path) -> Result<()> {
    let start = std::time::Instant::now();
    let folder = RunFolder::open(path)?;
    let run = folder.load_run()?;
    let mut details = Vec::new();
    let mut events = 0;
    for file in run.cells.iter().filter_map(|cell| cell.trace.as_ref()) {
        let trace = folder.load_trace(file)?;
        events += trace.events.len();
        details.push(detail(&trace));
    }
    let read = start.elapsed().as_secs_f64();
    let page = tokometer_report::page(&run, &details)?;
    let whole = start.elapsed().as_secs_f64();
    println!("{} cells with traces, {events} events", details.len());
    println!("{read:.2} s to read and condense the traces, {whole:.2} s in all");
    std::fs::write(path.join("report.html"), &page)?;
    println!("page: {} bytes, in report.html beside the record", page.len());
    if let Some(peak) = peak_memory() {
        println!("most memory: {peak}");
    }
    Ok(())
}

/// The largest resident size of this process, as Linux tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.trim_start_matches("VmHWM:").trim().to_owned())
}
