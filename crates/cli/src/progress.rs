//! Progress on standard error: a dashboard on a terminal, one line a cell elsewhere.

use std::sync::Arc;

use tokometer_load::Live;
use tokometer_record::{Cell, Phase, Status, context_label};
use tokometer_telemetry::Latest;

use crate::dashboard::{Board, Dashboard, Doing, Wishes};
use crate::out;

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// One line a cell.
    Lines,
    /// A dashboard.
    Dashboard,
}

impl Verbosity {
    /// What the user asks for, as far as the place allows it.
    pub(crate) fn of(quiet: bool, plain: bool) -> Verbosity {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        // A service that builds sets it, and keeps a log of lines.
        let builds = !matches!(variable("CI").as_str(), "" | "0" | "false");
        let dumb = matches!(variable("TERM").as_str(), "" | "dumb");
        match quiet {
            true => Verbosity::Quiet,
            false if plain || builds || dumb || !out::can_ask() => Verbosity::Lines,
            false => Verbosity::Dashboard,
        }
    }
}

/// Shows where a run stands.
pub(crate) struct Progress {
    verbosity: Verbosity,
    board: Arc<Board>,
    /// Until it is dropped.
    dashboard: Option<Dashboard>,
}

impl Progress {
    /// Begins to show. Where the terminal can't be taken over, there are lines.
    pub(crate) fn new(
        verbosity: Verbosity,
        board: Board,
        live: Arc<Live>,
        machine: Option<Latest>,
        wishes: Wishes,
    ) -> Progress {
        let board = Arc::new(board);
        let mut progress = Progress { verbosity, board, dashboard: None };
        if verbosity == Verbosity::Dashboard {
            let board = Arc::clone(&progress.board);
            match Dashboard::start(board, live, machine, wishes, out::stderr_colour()) {
                Ok(dashboard) => progress.dashboard = Some(dashboard),
                Err(_) => progress.verbosity = Verbosity::Lines,
            }
        }
        progress
    }

    /// A line about the run as a whole.
    pub(crate) fn note(&self, text: &str) {
        if self.verbosity != Verbosity::Quiet {
            out::say(text);
        }
    }

    /// The row of the record that a measurement led to, and the line of the measurement itself.
    pub(crate) fn finished(&self, row: &Cell, cell: &Cell, repeat: Option<u32>, done: usize, of: usize) {
        self.board.finished(row);
        let repeat = repeat.map_or_else(String::new, |repeat| format!("repeat {repeat}, "));
        self.note(&format!("[{done:>2}/{of}] {repeat}{}", line(cell)));
    }

    /// Runs `work`, which is what is being done meanwhile.
    pub(crate) async fn during<T>(&self, doing: Doing, work: impl Future<Output = T>) -> T {
        self.board.begin(doing);
        let result = work.await;
        self.board.pause();
        result
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
