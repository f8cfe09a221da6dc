//! Runs cells: sends the requests of a plan, phase by phase, and records what happens.
//!
//! The streams of a cell are spread over worker threads, each with a single-threaded event loop of its
//! own ([`engine`]); what they observe goes into buffers that belong to the worker and are merged when
//! the cell ends (`recording`). The phases of a cell (drain, scout, ready, window, stop) are driven from
//! the caller's event loop ([`cell`]), which tells the streams what to do (`signal`, `flight`) and samples
//! the server's gauges ([`gauges`]).
//!
//! The result is a [`tokometer_record::CellTrace`]: facts only. This crate computes no percentile and
//! prints nothing; a request that fails is a row with an outcome, never an `Err`.

pub mod cell;
mod convert;
pub mod engine;
mod flight;
pub mod gauges;
pub mod live;
mod peek;
mod recording;
mod signal;
mod stream;

pub use cell::{Adaptive, CellSpec, Checked, Conductor, PrefillSpec, Timing, WindowRule};
pub use engine::{LoadEngine, LoadError, LoadOptions};
pub use gauges::Gauges;
pub use live::{Live, LiveCell, LivePhase, LiveStreams, Tap, TappedText};
