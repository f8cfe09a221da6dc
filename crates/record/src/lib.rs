//! Every type of tokometer that reaches a file or the network.
//!
//! A *run* is one document, [`Run`] (`run.json`), with one row per cell of the matrix, and beside it one
//! Parquet file per measured cell ([`CellTrace`]): each event that carried output, each request, each
//! sample of the server's own gauges. The run document says what was found; the traces are the facts
//! from which `tokometer-analysis` computes every number in it.
//!
//! This crate defines, reads and writes those files. It computes no statistics and knows no HTTP.
//!
//! ```
//! use tokometer_record::{import, Phase};
//!
//! let run = import::published(tokometer_record::published::H200_X4, "h200-x4.json").unwrap();
//! assert_eq!(run.cells.iter().filter(|cell| cell.phase == Phase::Decode).count(), 48);
//! ```

pub mod adaptive;
pub mod calibration;
pub mod cell;
mod columnar;
pub mod comparison;
pub mod detail;
mod error;
pub mod hardware;
pub mod import;
pub mod page;
pub mod published;
pub mod reanalysis;
pub mod repeats;
pub mod run;
pub mod schema;
pub mod speculative;
pub mod store;
pub mod sweep;
pub mod telemetry;
pub mod trace;
pub mod truth;
pub mod verdict;
pub mod verification;

pub use adaptive::{AdaptiveCheck, AdaptiveEnd, AdaptiveWindow};
pub use calibration::Calibration;
pub use cell::{
    Cell, Distribution, Interval, Phase, Ready, Requests, ServerView, Spread, Throughput, Tokens, TraceFile,
    Window, WindowView,
};
pub use comparison::Comparison;
pub use detail::{CellDetail, Curve, RateSeries, RequestColumns};
pub use error::RecordError;
pub use hardware::{Accelerator, Container, Device, DeviceLink, Hardware, Host};
pub use repeats::RepeatSummary;
pub use run::{
    AtEnd, Capacity, Endpoint, Engine, Evidence, Imported, KvBlocks, Method, Model, Order, Prompts, Run,
    RunState, Settings, Target, Tool,
};
pub use speculative::{Speculative, SpeculativeSource};
pub use store::{RunFolder, StoredTrace};
pub use sweep::{SweepPart, SweepSummary};
pub use telemetry::{
    AgentLink, CellTelemetry, ClockOffset, DeviceMeta, DeviceSample, DeviceTelemetry, HostSample, Reading,
    ReasonBit, Sampling, SamplingGap, StoredTelemetry, Telemetry, TelemetryMeta,
};
pub use trace::{
    CellTrace, CounterSnapshot, EventRow, Failure, FailureKind, LoopEvidence, Outcome, RequestKind,
    RequestRow, SampleRow, StampSource, TokenSource, TraceMeta,
};
pub use verdict::{Figure, Flag, FlagCode, Reason, ReasonRule, Status};
pub use verification::Verification;

/// Tokens in one `K` of a context label: labels count in 1024 (`8K` = 8192).
pub const CONTEXT_K: u64 = 1024;

/// The label of a context length: `8K` for 8192, the plain number where it is no multiple of 1024.
pub fn context_label(tokens: u64) -> String {
    if tokens > 0 && tokens.is_multiple_of(CONTEXT_K) {
        format!("{}K", tokens / CONTEXT_K)
    } else {
        tokens.to_string()
    }
}
