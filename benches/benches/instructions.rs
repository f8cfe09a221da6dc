//! Gates: instructions per event, counted by callgrind, which do not move with the load of the machine.
//!
//! Each row of [`GATES`] is work of two lengths. This program runs itself under valgrind with both, and divides the
//! difference of the instructions by that of the events, so that start-up and set-up count for nothing. It fails if
//! any row is above its limit.
//!
//! ```text
//! cargo bench -p tokometer-benches --bench instructions [-- NAME]
//! ```
#![expect(clippy::print_stdout, reason = "it tells its figures")]

use std::process::{Command, ExitCode};

use tokometer_benches::client;
use tokometer_benches::streams::{Made, Shape};
use tokometer_benches::text;

/// What is counted, and how much of it may be.
struct Gate {
    name: &'static str,
    /// What one unit is.
    unit: &'static str,
    work: Work,
    /// Two lengths: events, or characters.
    lengths: [u64; 2],
    /// Instructions a unit.
    limit: f64,
}

enum Work {
    /// Reads a response in memory, one event per read: parser, ledger, repetition.
    Parse(Shape),
    /// Looks for repetition in a text that has none; a unit is a character.
    Varied,
    /// The same in a text that repeats itself, but never for long enough.
    NearlyRepeating,
    /// The whole client: load engine, sockets, parser, recording; so many streams, one event per read each.
    Client { streams: u32 },
}

/// Events of the longer run of a parser.
const LONGEST: u64 = 6000;

const fn parse(shape: Shape, limit: f64) -> Gate {
    Gate { name: shape.name(), unit: "event", work: Work::Parse(shape), lengths: [2000, LONGEST], limit }
}

const fn client(name: &'static str, streams: u32, limit: f64) -> Gate {
    let lengths = [100 * streams as u64, 500 * streams as u64];
    Gate { name, unit: "read", work: Work::Client { streams }, lengths, limit }
}

const fn repetition(name: &'static str, work: Work, limit: f64) -> Gate {
    Gate { name, unit: "character", work, lengths: [200_000, 1_000_000], limit }
}

/// All gates.
const GATES: [Gate; 11] = [
    parse(Shape::VllmChat, 685.0),
    parse(Shape::VllmCompletions, 665.0),
    parse(Shape::VllmTokenIds, 775.0),
    parse(Shape::SglangChat, 685.0),
    parse(Shape::LlamaCppChat, 1080.0),
    parse(Shape::OpenAiChat, 795.0),
    parse(Shape::OllamaNative, 790.0),
    repetition("repetition-varied", Work::Varied, 55.0),
    repetition("repetition-nearly", Work::NearlyRepeating, 72.0),
    client("client-1-stream", 1, 3500.0),
    client("client-32-streams", 32, 3200.0),
];

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match words.as_slice() {
        [run, name, length] if run == "run" => {
            let gate = GATES.iter().find(|gate| gate.name == name);
            let length = length.parse().ok();
            match (gate, length) {
                (Some(gate), Some(length)) => match gate.work.run(length) {
                    Ok(units) => {
                        println!("{units}");
                        ExitCode::SUCCESS
                    }
                    Err(problem) => {
                        println!("{problem}");
                        ExitCode::FAILURE
                    }
                },
                _ => ExitCode::FAILURE,
            }
        }
        names => judge(names),
    }
}

/// Counts and compares all gates, or those whose names begin with one of `names`.
fn judge(names: &[String]) -> ExitCode {
    let chosen =
        |gate: &&Gate| names.is_empty() || names.iter().any(|name| gate.name.starts_with(name.as_str()));
    let mut all_hold = true;
    for gate in GATES.iter().filter(chosen) {
        match gate.count() {
            Ok(count) => {
                let holds = count <= gate.limit;
                all_hold &= holds;
                let verdict = if holds { "" } else { "  OVER" };
                println!(
                    "{:<20} {count:>8.1} instructions per {:<9} limit {:>6.0}{verdict}",
                    gate.name, gate.unit, gate.limit
                );
            }
            Err(problem) => {
                all_hold = false;
                println!("{:<20} not counted: {problem}", gate.name);
            }
        }
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Gate {
    /// Instructions a unit.
    fn count(&self) -> Result<f64, String> {
        let [short, long] = self.lengths;
        let ((few, fewer_units), (many, units)) = (self.count_of(short)?, self.count_of(long)?);
        if units <= fewer_units {
            return Err(format!("{units} units in the long run, {fewer_units} in the short one"));
        }
        Ok(many.saturating_sub(few) as f64 / (units - fewer_units) as f64)
    }

    /// Instructions and units of a run of this length.
    fn count_of(&self, length: u64) -> Result<(u64, u64), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        let server = match self.work {
            Work::Client { streams } => Some(client::serve(streams, length / u64::from(streams))?),
            _ => None,
        };
        if let Some(server) = &server {
            command.env(client::PORT, server.port.to_string());
        }
        let output = command
            .args(["run", self.name, &length.to_string()])
            .output()
            .map_err(|error| format!("valgrind cannot be started ({error}): install it"))?;
        let told = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let collected = told.split("Collected : ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let collected = collected.and_then(|text| text.parse().ok());
        match (collected, said.parse()) {
            (Some(collected), Ok(units)) if output.status.success() => Ok((collected, units)),
            _ => Err(format!("{said} {}", told.trim())),
        }
    }
}

impl Work {
    /// Does so many units, and says how many it did: of the whole client a unit is a read.
    fn run(&self, length: u64) -> Result<u64, String> {
        let right = match self {
            // Made for the longest run, whatever the length, so that making them falls out of the difference. They
            // are never freed: what that takes depends on all that was allocated beside them.
            Work::Parse(shape) => Box::leak(Box::new(Made::new(*shape, LONGEST))).read(length),
            Work::Varied => text::push(&text::varied(length)),
            Work::NearlyRepeating => text::push(&text::nearly_repeating(length)),
            Work::Client { streams } => return client::run(*streams, length / u64::from(*streams)),
        };
        if right { Ok(length) } else { Err("the stream was not read as it was made".to_owned()) }
    }
}
