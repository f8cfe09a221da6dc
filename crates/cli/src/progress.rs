//! Progress on standard error: a bar on a terminal, one line a cell on a pipe.

use std::sync::Arc;
use std::time::Duration;

use tokometer_load::{Live, LivePhase};
use tokometer_record::{Cell, Phase, Status, context_label};

use crate::out;

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// One line a cell.
    Lines,
    /// One line a cell, and a bar that moves.
    Bar,
}

/// Shows where a run stands.
pub(crate) struct Progress {
    verbosity: Verbosity,
    live: Arc<Live>,
}

impl Progress {
    pub(crate) fn new(quiet: bool, live: Arc<Live>) -> Progress {
        let verbosity = match (quiet, out::stderr_is_terminal()) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Bar,
            (false, false) => Verbosity::Lines,
        };
        Progress { verbosity, live }
    }

    /// A line about the run as a whole.
    pub(crate) fn note(&self, text: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.clear();
            out::say(text);
        }
    }

    /// The result of one cell, or of one of its repeats.
    pub(crate) fn finished(&self, cell: &Cell, repeat: Option<u32>, done: usize, of: usize) {
        let repeat = repeat.map_or_else(String::new, |repeat| format!("repeat {repeat}, "));
        self.note(&format!("[{done:>2}/{of}] {repeat}{}", line(cell)));
    }

    /// Runs `work`, moving the bar meanwhile. `left` is the estimate of the whole run's rest in seconds.
    pub(crate) async fn during<T>(
        &self,
        label: &str,
        done: usize,
        of: usize,
        left: f64,
        work: impl Future<Output = T>,
    ) -> T {
        if self.verbosity != Verbosity::Bar {
            return work.await;
        }
        tokio::pin!(work);
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        let mut shown = 0.0;
        loop {
            tokio::select! {
                biased;
                result = &mut work => {
                    self.clear();
                    return result;
                }
                _ = ticks.tick() => {
                    out::show(&self.bar(label, done, of, (left - shown).max(0.0)));
                    shown += 0.2;
                }
            }
        }
    }

    fn bar(&self, label: &str, done: usize, of: usize, left: f64) -> String {
        let filled = (done * 20).checked_div(of).unwrap_or(0);
        let live = self.live.get();
        let phase = match live.phase {
            LivePhase::Idle => String::new(),
            phase if live.of_seconds > 0.0 => {
                format!(" · {} {:.0}/{:.0} s", phase.word(), live.seconds, live.of_seconds)
            }
            phase => format!(" · {}", phase.word()),
        };
        let rate = if live.rate > 0.0 { format!(" · {:.0} events/s", live.rate) } else { String::new() };
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(20 - filled));
        let line = format!("{bar} {done}/{of} · {label}{phase}{rate} · {} left", time(left));
        // A line that wraps would leave its first part behind.
        let room = out::stderr_width().map_or(usize::MAX, |columns| columns - 1);
        format!("\r\x1b[2K{}", line.chars().take(room).collect::<String>())
    }

    fn clear(&self) {
        if self.verbosity == Verbosity::Bar {
            out::show("\r\x1b[2K");
        }
    }
}

/// `3 m 20 s`, `45 s`.
pub(crate) fn time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} m {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} m"),
    }
}

/// What a cell is called in a line: `prefill 8K`, `8K × 32`.
pub(crate) fn name(phase: Phase, context: u64, concurrency: u32) -> String {
    match phase {
        Phase::Prefill => format!("prefill {}", context_label(context)),
        Phase::Decode => format!("{} × {concurrency}", context_label(context)),
    }
}

/// One line for a finished cell.
fn line(cell: &Cell) -> String {
    let name = name(cell.phase, cell.context_nominal, cell.concurrency);
    let ttft = cell.ttft_ms.as_ref().and_then(|ttft| ttft.p50);
    let ttft = ttft.map_or_else(String::new, |ttft| format!(" · TTFT {ttft:.0} ms"));
    if cell.status != Status::Valid {
        let why = cell.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", reason.text));
        return format!("{name}: {}{why}", cell.status.code());
    }
    if let Some(rate) = cell.prefill_rate {
        return format!("{name}: {rate:.0} tok/s{ttft}");
    }
    let Some(throughput) = &cell.throughput else { return format!("{name}: {}", cell.status.code()) };
    let interval = throughput
        .interval
        .as_ref()
        .map_or_else(String::new, |interval| format!(" ± {:.1} %", interval.half_width_relative * 100.0));
    let window = match (&cell.adaptive, &cell.window) {
        (Some(_), Some(window)) => format!(" in {:.1} s", window.seconds),
        _ => String::new(),
    };
    format!("{name}: {:.1} tok/s{interval}{window}{ttft}", throughput.total)
}
