//! A comparison for a terminal: what differs first, then the ratios.

use tokometer_record::comparison::{
    Comparison, GateKind, GateOutcome, Metric, MetricRatio, Origin, PairedBy, RunRatios, ServiceLevel,
    SettingValue, SloAnswer, SloMiss, Unpaired, Verdict,
};
use tokometer_record::{Phase, context_label};

use super::grid::{self, Entry, Grid};
use super::ink::Style;
use super::{LEAST_WIDTH, Page};
use crate::Terminal;
use crate::number;
use crate::words::{clean, missed_below};

/// The whole comparison.
pub(crate) fn render(comparison: &Comparison, terminal: Terminal) -> String {
    let width = terminal.width.max(LEAST_WIDTH);
    let mut page = Page { text: String::new(), width, colour: terminal.colour };
    page.runs(comparison);
    page.differences(comparison);
    for ratios in &comparison.against {
        page.ratios(comparison, ratios);
    }
    page.users(comparison);
    page.gates(comparison);
    page.legend(comparison);
    page.text
}

impl Page {
    fn runs(&mut self, comparison: &Comparison) {
        let simulated = if comparison.simulated() { "SIMULATED · " } else { "" };
        self.paragraph(&format!("{simulated}COMPARISON"), 0, Style::Bold);
        for (index, run) in comparison.runs.iter().enumerate() {
            let role = if index == 0 { "base " } else { "run  " };
            let imported = run.imported.as_ref().map(|_| " · imported, no trace").unwrap_or_default();
            let line =
                format!("{role}{}  {} · {}{imported}", index + 1, clean(&run.title), clean(&run.label));
            self.paragraph(&line, 8, Style::Plain);
            self.paragraph(&format!("        {}", clean(&run.id)), 8, Style::Dim);
        }
        self.blank();
        for notice in &comparison.notices {
            self.paragraph(&format!("! {}", clean(&notice.text)), 2, Style::Warn);
        }
    }

    fn differences(&mut self, comparison: &Comparison) {
        self.blank();
        if comparison.differences.is_empty() {
            self.paragraph("SETTINGS  none that is known differs", 0, Style::Bold);
            return;
        }
        self.paragraph("SETTINGS THAT DIFFER  by weight", 0, Style::Bold);
        for difference in &comparison.differences {
            let values: Vec<String> = difference.values.iter().map(value).collect();
            let text = format!(
                "{:<7}{}: {}",
                difference.severity.code(),
                clean(&difference.name),
                values.join(" → ")
            );
            let style = if difference.severity.decides() { Style::Plain } else { Style::Dim };
            self.paragraph(&text, 9, style);
            self.paragraph(&format!("         {}", clean(&difference.why)), 9, Style::Dim);
        }
    }

    fn ratios(&mut self, comparison: &Comparison, ratios: &RunRatios) {
        let simulated = if comparison.simulated() { "SIMULATED · " } else { "" };
        let number = ratios.run + 1;
        for phase in [Phase::Prefill, Phase::Decode] {
            let Some(grid) = matrix(ratios, phase) else { continue };
            self.blank();
            let what = match phase {
                Phase::Prefill => "PREFILL RATE".to_owned(),
                Phase::Decode => "DECODE, TOTAL RATE".to_owned(),
            };
            let title = format!("{simulated}{what}  run {number} ÷ base");
            self.paragraph(&title, 0, Style::Bold);
            let lines = grid.lines(self.width, self.colour);
            self.lines(&lines);
        }
        self.blank();
        self.paragraph(&count(ratios), 2, Style::Plain);
        for (reason, cells) in reasons(&ratios.unpaired) {
            self.paragraph(&format!("  not paired, {}: {}", clean(&reason), cells.join(", ")), 4, Style::Dim);
        }
        if !ratios.means.is_empty() {
            self.paragraph(
                "Geometric mean of the ratios, with how much it changes from cell to cell:",
                0,
                Style::Plain,
            );
        }
        for mean in &ratios.means {
            let is_bare = mean.phase == Phase::Prefill && mean.metric != Metric::PrefillRate;
            let phase = if is_bare { "prefill " } else { "" };
            let interval = mean
                .interval
                .map(|[low, high]| format!(" [{}, {}]", fold(low), fold(high)))
                .unwrap_or_default();
            let name = format!("{phase}{}", mean.metric.words());
            let line = format!("  {name:<22}{}{interval} over {}", fold(mean.ratio), cells(mean.n));
            self.paragraph(&line, 4, Style::Plain);
        }
    }

    fn users(&mut self, comparison: &Comparison) {
        let Some(users) = &comparison.users else { return };
        self.blank();
        self.paragraph(&format!("USERS  at {}, by medians", limits(users.level)), 0, Style::Bold);
        let grid = Grid {
            title: None,
            corner: ("context".to_owned(), String::new()),
            head: (0..comparison.runs.len())
                .map(|index| if index == 0 { "base".to_owned() } else { format!("run {}", index + 1) })
                .collect(),
            rows: users
                .contexts
                .iter()
                .map(|context| grid::Row {
                    label: context_label(context.context_nominal),
                    aside: String::new(),
                    entries: context.runs.iter().map(served).collect(),
                })
                .collect(),
        };
        let lines = grid.lines(self.width, self.colour);
        self.lines(&lines);
    }

    fn gates(&mut self, comparison: &Comparison) {
        for gate in &comparison.gates {
            self.blank();
            let (word, style) = if gate.failed { ("failed", Style::Bad) } else { ("kept", Style::Plain) };
            let text = format!(
                "GATE {} on run {}: {word}, judged on {}",
                clean(&gate.gate),
                gate.run + 1,
                cells(gate.cells)
            );
            self.paragraph(&text, 2, style);
            for failure in &gate.failures {
                let tested = if failure.tested { "" } else { " (no interval)" };
                let line = format!(
                    "  {}: {} {}{tested}",
                    clean(&failure.cell),
                    failure.metric.words(),
                    found(gate, failure.found)
                );
                self.paragraph(&line, 4, Style::Plain);
            }
            for note in &gate.notes {
                self.paragraph(&format!("  {}", clean(note)), 4, Style::Dim);
            }
        }
    }

    fn legend(&mut self, comparison: &Comparison) {
        let rules = &comparison.rules;
        self.blank();
        self.paragraph(
            &format!(
                "▲ faster, ▼ slower: detectable at a false discovery rate of {} % over the cells and above {} % or twice \
                 the spread of repeats; = no detectable difference; ? not tested, since there is no interval. Brackets are \
                 {} % intervals from within the runs, or over their repeats. Only valid cells are compared.",
                number::plain(rules.false_discovery_rate * 100.0),
                number::plain(rules.noise_floor * 100.0),
                number::plain(rules.level * 100.0)
            ),
            0,
            Style::Dim,
        );
    }
}

fn value(value: &SettingValue) -> String {
    let text = clean(value.effective.as_deref().unwrap_or("not known"));
    match value.origin {
        Origin::Default => format!("{text} (default)"),
        Origin::Stated | Origin::Record | Origin::Unknown => text,
    }
}

/// The ratios of one phase; none without a pair.
fn matrix(ratios: &RunRatios, phase: Phase) -> Option<Grid> {
    let of_phase = || ratios.pairs.iter().filter(|pair| pair.phase == phase);
    let mut contexts: Vec<u64> = of_phase().map(|pair| pair.context_nominal).collect();
    let mut columns: Vec<u32> = of_phase().map(|pair| pair.concurrency).collect();
    contexts.dedup();
    columns.sort_unstable();
    columns.dedup();
    let entry = |context: u64, concurrency: u32| {
        let pair = ratios.pair(phase, context, concurrency);
        match pair.and_then(|pair| pair.headline()) {
            Some(ratio) => of_ratio(ratio),
            None => Entry { text: number::NONE.to_owned(), style: Style::Dim, ..Entry::default() },
        }
    };
    (!contexts.is_empty()).then(|| Grid {
        title: None,
        corner: ("context".to_owned(), String::new()),
        head: columns.iter().map(u32::to_string).collect(),
        rows: contexts
            .iter()
            .map(|context| grid::Row {
                label: context_label(*context),
                aside: String::new(),
                entries: columns.iter().map(|concurrency| entry(*context, *concurrency)).collect(),
            })
            .collect(),
    })
}

fn of_ratio(ratio: &MetricRatio) -> Entry {
    let (mark, style) = match ratio.verdict {
        Verdict::Faster => ("▲", Style::Bold),
        Verdict::Slower => ("▼", Style::Bad),
        Verdict::NoDetectableDifference => ("=", Style::Dim),
        Verdict::NotTested => ("?", Style::Plain),
        Verdict::NotComparable => ("", Style::Dim),
    };
    Entry {
        text: ratio.ratio.map_or_else(|| number::NONE.to_owned(), fold),
        below: ratio.interval.map(|[low, high]| format!("[{}, {}]", fold(low), fold(high))),
        marks: mark.to_owned(),
        style,
        ..Entry::default()
    }
}

/// A ratio with two digits behind the point, more near 1 where they tell something.
fn fold(ratio: f64) -> String {
    let digits = if (0.9..1.1).contains(&ratio) { 3 } else { 2 };
    number::fixed(ratio, digits)
}

fn cells(count: u32) -> String {
    if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") }
}

/// `28 decode cells and 6 prefill rows paired, all by label; 20 not paired.`
fn count(ratios: &RunRatios) -> String {
    let by_label = ratios.pairs.iter().filter(|pair| pair.paired_by == PairedBy::Label).count();
    let how = match by_label {
        0 => "by actual tokens".to_owned(),
        some if some == ratios.pairs.len() => "by label".to_owned(),
        some => format!("{some} of them by label"),
    };
    format!(
        "Paired {how}: {} of the decode matrix, {} of the prefill row. Not paired: {}.",
        cells(ratios.decode_pairs),
        cells(ratios.prefill_pairs),
        cells(ratios.unpaired.len() as u32)
    )
}

/// Cells without a partner, by reason.
fn reasons(unpaired: &[Unpaired]) -> Vec<(String, Vec<String>)> {
    let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
    for cell in unpaired {
        let context = context_label(cell.context_nominal);
        let name = match cell.phase {
            Phase::Prefill => format!("prefill\u{a0}{context}"),
            Phase::Decode => format!("{context}\u{a0}×\u{a0}{}", cell.concurrency),
        };
        match by_reason.iter_mut().find(|(reason, _)| *reason == cell.reason) {
            Some((_, cells)) => cells.push(name),
            None => by_reason.push((cell.reason.clone(), vec![name])),
        }
    }
    by_reason
}

pub(super) fn served(answer: &SloAnswer) -> Entry {
    let users = answer.users.map_or_else(|| number::NONE.to_owned(), |users| users.to_string());
    let miss = |miss: &SloMiss| format!("{}: {}", miss.concurrency, clean(&miss.why));
    let said: Vec<String> = answer.next.iter().map(miss).chain(missed_below(&answer.below)).collect();
    let said = (!said.is_empty()).then(|| format!("({})", said.join("; ")));
    Entry { text: users, below: said, ..Entry::default() }
}

/// `≥ 50 tok/s each and TTFT ≤ 1 s`.
pub(super) fn limits(level: ServiceLevel) -> String {
    let rate = level.least_rate.map(|rate| format!("≥ {} tok/s each", number::plain(rate)));
    let ttft = level.most_ttft_ms.map(|ms| format!("TTFT ≤ {} s", number::plain(ms / 1000.0)));
    rate.into_iter().chain(ttft).collect::<Vec<_>>().join(" and ")
}

fn found(gate: &GateOutcome, value: f64) -> String {
    match gate.kind {
        GateKind::RelativeChange => format!("{:+.1} %", value * 100.0),
        GateKind::Change => format!("{value:+.2} {}", gate.metric.unit()),
        GateKind::Value => format!("{value:.2} {}", gate.metric.unit()),
    }
}
