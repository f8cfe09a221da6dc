//! A run's numbers by another tool's definitions, as text.

use tokometer_record::compat::{Compat, CompatCell};
use tokometer_record::context_label;

/// The tables of `table`, headed by whose definitions they follow.
pub(crate) fn terminal(table: &Compat) -> String {
    let mut text = String::new();
    let mut put = |line: String| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    put(table.title.clone());
    put(format!(
        "Numbers by the definitions of {}, from this run's traces: not tokometer's own",
        table.definitions
    ));
    if !table.prefill.is_empty() {
        put(String::new());
        put(format!("{:<8}{:>9}{:>12}{:>10}  {}", "prefill", "tokens", "tok/s", "TTFT s", "method"));
        for row in &table.prefill {
            let context = context_label(row.context);
            put(format!(
                "{context:<8}{:>9}{:>12.0}{:>10.3}  {} (N = 1)",
                row.prompt_tokens, row.rate, row.ttft_seconds, row.method
            ));
        }
    }
    if !table.cells.is_empty() {
        put(String::new());
        put(format!(
            "{:<8}{:>5}{:>11}{:>11}{:>10}{:>10}{:>9}{:>8}{:>7}{:>9}{:>8}",
            "decode",
            "C",
            "total",
            "per req.",
            "total/C",
            "TTFT ms",
            "TBT ms",
            "active",
            "done",
            "tokens",
            "s"
        ));
        for row in &table.cells {
            put(cell(row));
        }
        put(String::new());
        put("total: aggregate_tps, tokens ÷ time to the last of them · per req.: output_tps_per_user, 1 ÷ time between".to_owned());
        put("tokens · total/C: per_request_avg_tps · TTFT with connecting · active: the server's gauge · ∅: no number".to_owned());
        put("its context 0 (a prompt of one sentence) has no cell here: a context is a length in tokens"
            .to_owned());
    }
    text
}

fn cell(row: &CompatCell) -> String {
    let head = format!("{:<8}{:>5}", context_label(row.context), row.concurrency);
    if let Some(void) = row.void {
        return format!("{head}{:>11}  {void}", "∅");
    }
    let figure = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    };
    format!(
        "{head}{:>11}{:>11}{:>10}{:>10}{:>9}{:>8}{:>7}{:>9}{:>8}",
        figure(row.total, 1),
        figure(row.per_request, 1),
        figure(row.total_by_concurrency, 1),
        figure(row.ttft_ms, 1),
        figure(row.time_between_tokens_ms, 2),
        figure(row.average_active, 1),
        row.completed,
        row.output_tokens,
        figure(row.measured_seconds, 1),
    )
}
