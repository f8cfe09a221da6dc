//! Runs whose every number follows from made-up traces.

use tokometer_analysis::{Context, summarise};
use tokometer_record::store::sha256;
use tokometer_record::trace::parquet;
use tokometer_record::{
    Accelerator, Cell, CellTrace, CounterSnapshot, EventRow, Outcome, Phase, Ready, RequestKind, RequestRow,
    Run, RunState, SampleRow, Settings, StampSource, TokenSource, Tool, TraceFile, TraceMeta,
};
use uuid::Uuid;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// Requests at once of the decode cells.
pub(crate) const CONCURRENCY: [u32; 2] = [1, 4];

/// What a run is made of.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) hardware: String,
    pub(crate) accelerators: u32,
    pub(crate) engine_version: String,
    /// Time to the first token of a decode request, ns.
    pub(crate) ttft_ns: u64,
    /// Time between tokens of a stream, ns.
    pub(crate) step_ns: u64,
    /// Moves each stamp by less than 1 µs, so that no two runs have the same.
    pub(crate) seed: u64,
    /// What the server counts for each token of ours.
    pub(crate) counted: Option<f64>,
    pub(crate) simulated: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        let id = Uuid::now_v7();
        Plan {
            id: id.to_string(),
            model: "example/Model-8B".to_owned(),
            hardware: "H200 SXM".to_owned(),
            accelerators: 4,
            engine_version: "0.33.0".to_owned(),
            ttft_ns: 500 * MS,
            step_ns: 10 * MS,
            seed: id.as_u128() as u64,
            counted: Some(1.0),
            simulated: false,
        }
    }
}

/// A record and its files: name, bytes.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) run: Run,
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Sample {
    pub(crate) fn new() -> Sample {
        Plan::default().make()
    }

    pub(crate) fn id(&self) -> &str {
        &self.run.id
    }

    pub(crate) fn document(&self) -> Vec<u8> {
        serde_json::to_vec(&self.run).unwrap()
    }

    /// The traces, as they are in the files.
    pub(crate) fn traces(&self) -> Vec<CellTrace> {
        let read =
            |(name, bytes): &(String, Vec<u8>)| parquet::read(bytes.clone().into(), name.as_ref()).unwrap();
        self.files.iter().map(read).collect()
    }
}

impl Plan {
    pub(crate) fn make(&self) -> Sample {
        let traces = self.traces();
        self.of_traces(&traces)
    }

    pub(crate) fn traces(&self) -> Vec<CellTrace> {
        let mut traces = vec![self.prefill()];
        traces.extend(CONCURRENCY.map(|concurrency| self.decode(concurrency)));
        traces
    }

    /// A record that follows from these traces.
    pub(crate) fn of_traces(&self, traces: &[CellTrace]) -> Sample {
        let tool = Tool {
            name: "tokometer".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: None,
        };
        let mut run = Run::new(self.id.clone(), tool, settings());
        run.created_at = Some("2026-11-01T12:00:00Z".to_owned());
        run.state = RunState::Finished;
        run.elapsed_seconds = Some(60.0);
        run.simulated = self.simulated;
        run.model.id = Some(self.model.clone());
        run.model.quantization = Some("BF16".to_owned());
        run.model.max_length = Some(131_072);
        run.engine.name = Some("vllm".to_owned());
        run.engine.version = Some(self.engine_version.clone());
        run.hardware.accelerators = vec![Accelerator {
            name: self.hardware.clone(),
            count: self.accelerators,
            memory_gb: Some(141.0),
        }];
        run.launch_command = Some(format!("vllm serve {} --tensor-parallel-size 4", self.model));
        let mut files = Vec::new();
        for trace in traces {
            let meta = &trace.meta;
            let mut cell: Cell = summarise(trace, &Context::of(&run, meta.phase, meta.context_nominal));
            let bytes = parquet::write(trace).unwrap();
            let file = format!("trace/{}", meta.file_name());
            cell.trace =
                Some(TraceFile { file: file.clone(), sha256: sha256(&bytes), bytes: bytes.len() as u64 });
            run.cells.push(cell);
            files.push((file, bytes));
        }
        Sample { run, files }
    }

    fn meta(&self, phase: Phase, concurrency: u32) -> TraceMeta {
        let decode = phase == Phase::Decode;
        TraceMeta {
            schema: TraceMeta::SCHEMA.to_owned(),
            run: self.id.clone(),
            phase,
            context_nominal: 8192,
            concurrency,
            max_output_tokens: if decode { 451 } else { 1 },
            repeat: None,
            segment: None,
            duration_seconds: if decode { 10.0 } else { 0.0 },
            window_start_ns: decode.then_some(5 * SECOND),
            window_end_ns: decode.then_some(15 * SECOND),
            adaptive: None,
            ready: decode.then(|| Ready {
                reached: true,
                seconds: 5.0,
                limit_seconds: 60.0,
                missing: Vec::new(),
            }),
            counters_before: None,
            counters_after: None,
            counters_window_start: None,
            counters_window_end: None,
            counters_by_request: Vec::new(),
            drained: true,
            stamp_source: StampSource::Kernel,
            clock_step_ns: 0,
            resent: 0,
            interrupted: false,
            failure: None,
            loops: Vec::new(),
        }
    }

    fn prefill(&self) -> CellTrace {
        let meta = self.meta(Phase::Prefill, 1);
        let mut row = request(0, 0, 0);
        row.kind = RequestKind::Prefill;
        row.cached_tokens = Some(0);
        row.completion_tokens = Some(1);
        (row.reads, row.events) = (1, 1);
        row.end_ns = 300 * MS + noise(self.seed, 0);
        let events = vec![event(0, row.end_ns, 1)];
        CellTrace { meta, requests: vec![row], events, samples: Vec::new() }
    }

    fn decode(&self, concurrency: u32) -> CellTrace {
        let meta = self.meta(Phase::Decode, concurrency);
        let end = 15 * SECOND;
        let mut trace = CellTrace { meta, requests: Vec::new(), events: Vec::new(), samples: Vec::new() };
        let mut counted = 0;
        for stream in 0..concurrency {
            let mut send = 0;
            while send < end {
                let mut row = request(trace.requests.len() as u32, stream, send);
                let mut arrival = send + self.ttft_ns;
                let mut tokens = 0;
                for number in 0..451_u64 {
                    let stamp = arrival + noise(self.seed, number);
                    if stamp >= end {
                        row.outcome = Outcome::Cut;
                        row.finish_reason = None;
                        break;
                    }
                    tokens += 1;
                    trace.events.push(event(row.request, stamp, tokens));
                    row.end_ns = stamp;
                    row.events += 1;
                    arrival += self.step_ns;
                }
                row.reads = row.events;
                if row.outcome == Outcome::Cut {
                    row.end_ns = end;
                } else {
                    row.completion_tokens = Some(u64::from(tokens));
                }
                send = row.end_ns;
                counted += tokens;
                trace.requests.push(row);
            }
        }
        for second in 0..10 {
            trace.samples.push(SampleRow {
                time_ns: 5 * SECOND + second * SECOND + 1,
                running: Some(f64::from(concurrency)),
                waiting: Some(0.0),
                kv_used: Some(0.25),
                ..SampleRow::default()
            });
        }
        if let Some(times) = self.counted {
            let at = |tokens: f64| {
                Some(CounterSnapshot { generated_tokens: Some(tokens), ..CounterSnapshot::default() })
            };
            trace.meta.counters_before = at(1000.0);
            trace.meta.counters_after = at(1000.0 + (f64::from(counted) * times).round());
        }
        trace
    }
}

/// Less than 1000, by a seed and a number (the mixing of SplitMix64).
fn noise(seed: u64, number: u64) -> u64 {
    let mut value = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (value ^ (value >> 31)) % 1000
}

fn settings() -> Settings {
    Settings {
        contexts: vec![8192],
        concurrency: CONCURRENCY.to_vec(),
        prefill_contexts: vec![8192],
        prefill_repeats: 1,
        duration_seconds: 10.0,
        adaptive: false,
        repeats: 1,
        order: tokometer_record::Order::Standard,
        max_output_tokens: 451,
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
    }
}

fn request(number: u32, stream: u32, send_ns: u64) -> RequestRow {
    RequestRow {
        request: number,
        stream,
        kind: RequestKind::Stream,
        send_ns,
        connect_ns: None,
        first_byte_ns: Some(send_ns + 100 * MS),
        end_ns: send_ns,
        outcome: Outcome::Ended,
        finish_reason: Some("length".to_owned()),
        failure: None,
        prompt_tokens: Some(8190),
        cached_tokens: Some(8176),
        completion_tokens: None,
        reasoning_tokens: None,
        token_source: TokenSource::Usage,
        reads: 0,
        events: 0,
        unknown_events: Some(0),
    }
}

fn event(request: u32, arrival_ns: u64, tokens: u32) -> EventRow {
    EventRow {
        request,
        arrival_ns,
        lag_ns: 50_000,
        tokens: Some(tokens),
        bytes: 261,
        payload: true,
        answer: true,
        last_of_read: true,
    }
}
