//! `calibrate`: how true this client is on this machine.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

use super::values::{parse_duration, parse_steady_rate};

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Streams at once: the largest concurrency that you mean to measure
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) streams: u32,
    /// Tokens a second for each stream: the fastest that the server gives one request
    #[arg(long, value_name = "TOKENS", default_value_t = 50.0, value_parser = parse_steady_rate)]
    pub(crate) rate: f64,
    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "10s", allow_negative_numbers = true, value_parser = parse_duration)]
    pub(crate) duration: f64,
    /// Let the engine join so many events of a stream in one write
    #[arg(long, value_name = "N")]
    pub(crate) events_per_write: Option<NonZeroU32>,
    /// Threads that read streams (default: all cores of the client but one)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) load_threads: Option<u16>,
    /// Keep the result in this file (default: the user's state folder, or the file named by TOKOMETER_CALIBRATION)
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}
