//! The plan before anything is sent, and the question whether to go on.

use tokometer_plan::{Plan, SpeedGuess, Step};
use tokometer_record::{Cell, Run, Status, context_label};

use crate::{out, progress};

/// Bytes of English text in one token, roughly.
const BYTES_PER_TOKEN: f64 = 4.5;

/// What will be measured, what not and why, how much is sent and how long it takes.
pub(super) fn plan_text(run: &Run, plan: &Plan) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(heading(run));
    for remark in &run.remarks {
        line(format!("  note: {remark}"));
    }
    let prefill: Vec<String> = plan
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Prefill { context, .. } => Some(context_label(*context)),
            Step::Cell { .. } => None,
        })
        .collect();
    if !prefill.is_empty() {
        line(format!("  prefill: {} ({} cold each)", prefill.join(", "), plan.request.prefill_repeats));
    }
    for context in &plan.contexts {
        let runs: Vec<String> = plan
            .concurrency
            .iter()
            .filter(|concurrency| {
                plan.steps.contains(&Step::Cell { context: *context, concurrency: **concurrency })
            })
            .map(u32::to_string)
            .collect();
        let runs = if runs.is_empty() { "none".to_owned() } else { runs.join(", ") };
        line(format!("  {:>5} × {runs}", context_label(*context)));
    }
    for cell in &plan.not_run {
        line(format!("  not run: {}", not_run(cell)));
    }
    let cells = plan.steps.iter().filter(|step| matches!(step, Step::Cell { .. })).count();
    if plan.steps.is_empty() {
        line("  nothing fits this server: no request is sent".to_owned());
        return text.trim_end().to_owned();
    }
    let guess = SpeedGuess::default();
    let windows = if run.settings.adaptive { "adaptive windows, asked for " } else { "" };
    let rounds = match plan.request.repeats {
        1 => String::new(),
        repeats => format!(", all {repeats} times"),
    };
    line(format!(
        "  {} of {windows}{} s, {}{rounds}; about {} of prompts to send; about {}",
        out::count(cells, "cell"),
        plan.request.duration_seconds,
        out::count(plan.steps.len() - cells, "prefill row"),
        bytes(plan.prompt_bytes(BYTES_PER_TOKEN, &guess)),
        progress::time(plan.estimate_seconds(&guess)),
    ));
    text.trim_end().to_owned()
}

fn heading(run: &Run) -> String {
    let engine = match (&run.engine.name, &run.engine.version) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        (Some(name), None) => name.clone(),
        _ => "unknown engine".to_owned(),
    };
    let url = run.target.url.as_deref().unwrap_or("?");
    format!("{} on {engine} at {url}", run.display_title())
}

fn not_run(cell: &Cell) -> String {
    let name = progress::name(cell.phase, cell.context_nominal, cell.concurrency);
    let word = match cell.status {
        Status::OverLimit => "over limit",
        _ => "over capacity",
    };
    let why = cell.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", reason.text));
    format!("{name}, {word}{why}")
}

fn bytes(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{} KB", count.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.0} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}
