//! A comparison of runs, ready to print: what differs first, then ratios.

mod overlays;
mod ratios;

use tokometer_record::comparison::{Comparison, SettingDifference, SettingValue, Severity};
use tokometer_record::{Run, context_label};

use crate::number;
use crate::svg::Chart;
use crate::words::{clean, counted, missed_below, sentence, shorten};
use ratios::Against;

/// Longest foreign text that is shown whole.
const FOREIGN: usize = 300;

/// The page of a comparison.
#[derive(Debug)]
pub(crate) struct CompareView {
    /// `A against B`.
    pub(crate) title: String,
    /// True if any run is simulated.
    pub(crate) simulated: bool,
    /// The runs, the base first.
    pub(crate) runs: Vec<RunRow>,
    /// Columns of the tables that have one for each run.
    pub(crate) letters: Vec<&'static str>,
    /// What has to be read before the ratios.
    pub(crate) notices: Vec<String>,
    /// Settings that differ and may change speed.
    pub(crate) differences: Vec<Difference>,
    /// Settings that are only written differently, or hardly matter.
    pub(crate) minor: Vec<Difference>,
    /// Ratios, one for each run behind the base.
    pub(crate) against: Vec<Against>,
    /// Throughput against interactivity, a chart for each context.
    pub(crate) overlays: Vec<Chart>,
    /// Prefill rate by context.
    pub(crate) prefill: Option<Chart>,
    /// Users served.
    pub(crate) users: Option<UsersTable>,
    /// Gates: gate, run, verdict, what failed.
    pub(crate) gates: Vec<Gate>,
    /// How intervals and verdicts were made.
    pub(crate) rules: String,
}

/// A run of the comparison.
#[derive(Debug)]
pub(crate) struct RunRow {
    pub(crate) letter: &'static str,
    pub(crate) title: String,
    pub(crate) label: String,
    pub(crate) created_at: String,
    pub(crate) valid_cells: u32,
}

/// A setting that differs.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) severity: &'static str,
    /// The severity as a symbol: never by colour alone.
    pub(crate) glyph: &'static str,
    pub(crate) name: String,
    /// Values in effect with where they come from, one for each run.
    pub(crate) values: Vec<String>,
    pub(crate) why: String,
}

/// Users by context and run.
#[derive(Debug)]
pub(crate) struct UsersTable {
    pub(crate) limits: String,
    /// Context, then an answer for each run.
    pub(crate) rows: Vec<(String, Vec<String>)>,
}

/// What became of a gate.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) limit: String,
    pub(crate) run: &'static str,
    pub(crate) failed: bool,
    pub(crate) said: String,
}

/// Names of runs in tables and charts.
const LETTERS: [&str; Comparison::MOST_RUNS] = ["A", "B", "C", "D", "E", "F"];

/// The letter of a run.
fn letter(run: usize) -> &'static str {
    LETTERS.get(run).copied().unwrap_or("?")
}

impl CompareView {
    /// Prepares a comparison; `runs` are those that it was made of, in its order.
    pub(crate) fn of(comparison: &Comparison, runs: &[Run]) -> CompareView {
        let text = |text: &str| shorten(&clean(text), FOREIGN);
        let (main, minor): (Vec<_>, Vec<_>) =
            comparison.differences.iter().partition(|difference| difference.severity.decides());
        CompareView {
            title: title(comparison),
            simulated: comparison.simulated(),
            letters: (0..comparison.runs.len()).map(letter).collect(),
            runs: comparison
                .runs
                .iter()
                .enumerate()
                .map(|(place, run)| RunRow {
                    letter: letter(place),
                    title: text(&run.title),
                    label: text(&run.label),
                    created_at: run.created_at.as_deref().map_or_else(|| number::NONE.to_owned(), text),
                    valid_cells: run.valid_cells,
                })
                .collect(),
            notices: comparison.notices.iter().map(|notice| sentence(&text(&notice.text))).collect(),
            differences: main.into_iter().map(difference).collect(),
            minor: minor.into_iter().map(difference).collect(),
            against: comparison.against.iter().map(Against::of).collect(),
            overlays: overlays::interactivity(runs),
            prefill: overlays::prefill(runs),
            users: comparison.users.as_ref().map(|users| UsersTable {
                limits: limits(&users.level),
                rows: users
                    .contexts
                    .iter()
                    .map(|context| {
                        (context_label(context.context_nominal), context.runs.iter().map(answer).collect())
                    })
                    .collect(),
            }),
            gates: comparison
                .gates
                .iter()
                .map(|gate| Gate {
                    limit: text(&gate.gate),
                    run: letter(gate.run as usize),
                    failed: gate.failed,
                    said: {
                        let mut said = counted(u64::from(gate.cells), "cell");
                        if !gate.failures.is_empty() {
                            let cells: Vec<String> =
                                gate.failures.iter().map(|failure| text(&failure.cell)).collect();
                            said = format!("{said}; failed: {}", cells.join(", "));
                        }
                        for note in &gate.notes {
                            said = format!("{said}; {}", text(note));
                        }
                        said
                    },
                })
                .collect(),
            rules: rules(comparison),
        }
    }
}

/// `Qwen3: 8 × H200 against 4 × H200`: titles, and of runs with the same title what tells them apart.
fn title(comparison: &Comparison) -> String {
    let runs = &comparison.runs;
    let text = |text: &str| shorten(&clean(text), 80);
    let [base, others @ ..] = &runs[..] else { return String::new() };
    let alike = others.iter().all(|run| run.title == base.title);
    let names: Vec<String> = if alike {
        let parts: Vec<Vec<&str>> = runs.iter().map(|run| run.label.split(" · ").collect()).collect();
        let is_common = |part: &&str| parts.iter().all(|other| other.contains(part));
        let own = |of: &Vec<&str>| {
            let own: Vec<&str> = of.iter().filter(|part| !is_common(part)).copied().collect();
            text(&own.join(" · "))
        };
        parts.iter().map(own).collect()
    } else {
        runs.iter().map(|run| text(&run.title)).collect()
    };
    let common = if alike { format!("{}: ", text(&base.title)) } else { String::new() };
    match &names[..] {
        [one, other] if !one.is_empty() && !other.is_empty() => format!("{common}{other} against {one}"),
        [one, rest @ ..] if !one.is_empty() => {
            format!("{common}{} compared with {one}", counted(rest.len() as u64, "run"))
        }
        _ => format!("{}: {} compared", text(&base.title), counted(runs.len() as u64, "run")),
    }
}

fn difference(difference: &SettingDifference) -> Difference {
    Difference {
        severity: difference.severity.code(),
        glyph: match difference.severity {
            Severity::High => "▲▲",
            Severity::Medium => "▲",
            Severity::Low | Severity::None => "·",
        },
        name: sentence(&shorten(&clean(&difference.name), FOREIGN)),
        values: difference.values.iter().map(value).collect(),
        why: sentence(&shorten(&clean(&difference.why), FOREIGN)),
    }
}

fn value(value: &SettingValue) -> String {
    use tokometer_record::comparison::Origin;
    let effective = value
        .effective
        .as_deref()
        .map_or_else(|| "not known".to_owned(), |text| shorten(&clean(text), FOREIGN));
    match value.origin {
        Origin::Default => format!("{effective} (default)"),
        Origin::Stated | Origin::Record | Origin::Unknown => effective,
    }
}

fn limits(level: &tokometer_record::comparison::ServiceLevel) -> String {
    let rate = level.least_rate.map(|rate| format!("≥ {} tok/s each", number::plain(rate)));
    let ttft = level.most_ttft_ms.map(|ms| format!("TTFT ≤ {} s", number::plain(ms / 1000.0)));
    let parts: Vec<String> = [rate, ttft].into_iter().flatten().collect();
    parts.join(" and ")
}

fn answer(answer: &tokometer_record::comparison::SloAnswer) -> String {
    let users = match answer.users {
        None => number::NONE.to_owned(),
        Some(0) => "none".to_owned(),
        Some(users) => users.to_string(),
    };
    let mut said: Vec<String> = Vec::new();
    said.extend(answer.next.as_ref().map(|next| format!("at {}: {}", next.concurrency, clean(&next.why))));
    said.extend(missed_below(&answer.below));
    if said.is_empty() { users } else { format!("{users} ({})", shorten(&said.join("; "), FOREIGN)) }
}

fn rules(comparison: &Comparison) -> String {
    let rules = &comparison.rules;
    format!(
        "Ratios are new ÷ base with {level} % intervals (Welch's t on logarithms). A ratio counts as a difference where its interval leaves 1 out, the false discovery rate over the cells of a run stays within {rate} % (Benjamini–Hochberg), and the change is over the noise floor ({floor} % or more). Cells are paired where actual token counts agree within {tolerance} %.",
        level = number::plain(100.0 * rules.level),
        rate = number::plain(100.0 * rules.false_discovery_rate),
        floor = number::plain(100.0 * rules.noise_floor),
        tolerance = number::plain(100.0 * rules.token_tolerance)
    )
}
