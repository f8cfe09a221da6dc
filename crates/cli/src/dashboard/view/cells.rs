//! The prefill row and the matrix, as many of its figures as there is room for, and the cell that is looked at.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use tokometer_record::{Phase, Status, context_label};

use super::{Paint, STRONG, Snapshot, number};
use crate::dashboard::board::{Place, Row};
use crate::dashboard::keys::Ui;
use crate::progress;

/// Columns of a context's label.
const LABEL: usize = 7;
/// Columns between two tables.
const GAP: usize = 3;

/// A figure of the matrix.
#[derive(Debug, Clone, Copy)]
enum Figure {
    Total,
    Ttft,
    Between,
}

impl Figure {
    const ALL: [Figure; 3] = [Figure::Total, Figure::Ttft, Figure::Between];

    fn title(self) -> &'static str {
        match self {
            Figure::Total => "total tok/s",
            Figure::Ttft => "TTFT ms",
            Figure::Between => "time between tokens ms",
        }
    }

    fn width(self) -> usize {
        match self {
            Figure::Total => 8,
            Figure::Ttft | Figure::Between => 7,
        }
    }

    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Figure::Total => row.total,
            Figure::Ttft => row.ttft_ms,
            Figure::Between => row.between_ms,
        }
    }
}

/// All lines above the panels, at most so many.
pub(super) fn tables<'a>(seen: &Snapshot, ui: &Ui, paint: Paint, width: u16, height: u16) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    if !seen.state.prefill.is_empty() {
        lines.extend(prefill(seen, ui, paint, usize::from(width)));
    }
    lines.extend(matrix(
        seen,
        ui,
        paint,
        usize::from(width),
        usize::from(height).saturating_sub(lines.len() + 1),
    ));
    lines.push(detail(seen, ui, paint));
    lines
}

fn prefill<'a>(seen: &Snapshot, ui: &Ui, paint: Paint, width: usize) -> Vec<Line<'a>> {
    let mut heads = vec![Span::styled(format!("{:<LABEL$}", " prefill"), STRONG), Span::raw(" ")];
    let mut values = vec![Span::styled(format!("{:<LABEL$}", " tok/s"), paint.dim()), Span::raw(" ")];
    let room = width.saturating_sub(LABEL + 1) / 8;
    for context in seen.state.prefill.iter().take(room) {
        let place = (Phase::Prefill, *context, 1);
        heads.push(Span::styled(format!("{:>8}", context_label(*context)), paint.dim()));
        let (text, style) = shown(seen, ui, paint, place, |row| row.prefill_rate);
        values.push(Span::raw("  "));
        values.push(Span::styled(format!("{text:>6}"), style));
    }
    vec![Line::from(heads), Line::from(values)]
}

/// The tables side by side as far as the width allows, the rest below as far as the height does.
fn matrix<'a>(seen: &Snapshot, ui: &Ui, paint: Paint, width: usize, height: usize) -> Vec<Line<'a>> {
    let state = &seen.state;
    if state.contexts.is_empty() || state.concurrency.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<Line<'a>> = Vec::new();
    let mut rest = Figure::ALL.as_slice();
    let wide = |figure: &Figure| LABEL + figure.width() * state.concurrency.len();
    while let Some((first, others)) = rest.split_first() {
        let mut beside = vec![*first];
        let mut used = wide(first);
        rest = others;
        while let Some((next, others)) = rest.split_first()
            && used + GAP + wide(next) <= width
        {
            used += GAP + wide(next);
            beside.push(*next);
            rest = others;
        }
        let block = block(seen, ui, paint, &beside);
        if !lines.is_empty() && lines.len() + block.len() > height {
            break;
        }
        lines.extend(block);
    }
    lines
}

fn block<'a>(seen: &Snapshot, ui: &Ui, paint: Paint, figures: &[Figure]) -> Vec<Line<'a>> {
    let state = &seen.state;
    let mut titles = Vec::new();
    let mut heads = Vec::new();
    for (index, figure) in figures.iter().enumerate() {
        if index > 0 {
            titles.push(Span::raw(" ".repeat(GAP)));
            heads.push(Span::raw(" ".repeat(GAP)));
        }
        let width = LABEL + figure.width() * state.concurrency.len();
        titles.push(Span::styled(format!("{:<width$.width$}", format!(" {}", figure.title())), STRONG));
        heads.push(Span::styled(format!("{:<LABEL$}", " at once"), paint.dim()));
        for (column, concurrency) in state.concurrency.iter().enumerate() {
            // The label is one wider than its column.
            let width = figure.width() - usize::from(column == 0);
            heads.push(Span::styled(format!("{concurrency:>width$}"), paint.dim()));
        }
    }
    let mut lines = vec![Line::from(titles), Line::from(heads)];
    for context in &state.contexts {
        let mut spans = Vec::new();
        for (index, figure) in figures.iter().enumerate() {
            if index > 0 {
                spans.push(Span::raw(" ".repeat(GAP)));
            }
            spans.push(Span::styled(
                format!("{:<LABEL$}", format!(" {}", context_label(*context))),
                paint.dim(),
            ));
            for concurrency in &state.concurrency {
                let place = (Phase::Decode, *context, *concurrency);
                let (text, style) = shown(seen, ui, paint, place, |row| figure.of(row));
                spans.push(Span::raw(" ".repeat(figure.width() - 6)));
                spans.push(Span::styled(format!("{text:>6}"), style));
            }
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// What stands in a cell, six characters at most.
fn shown(
    seen: &Snapshot,
    ui: &Ui,
    paint: Paint,
    place: Place,
    figure: impl Fn(&Row) -> Option<f64>,
) -> (String, Style) {
    let row = seen.state.rows.get(&place);
    let is_running = seen.state.doing.place == Some(place);
    let status = row.map_or(Status::Planned, |row| row.status);
    let value = row.filter(|row| row.status == Status::Valid).and_then(figure);
    let text = match (status, value) {
        _ if is_running => "▶".to_owned(),
        (_, Some(value)) => number(value),
        (status, None) => short(status).to_owned(),
    };
    let mut style = paint.status(status);
    if is_running {
        style = STRONG;
    }
    if ui.selected == Some(place) {
        style = style.add_modifier(Modifier::REVERSED);
    }
    (text, style)
}

fn short(status: Status) -> &'static str {
    match status {
        Status::Planned => "·",
        Status::OverLimit | Status::OverCapacity => "∅",
        Status::Skipped => "skip",
        Status::Interrupted => "cut",
        Status::Error => "error",
        Status::Looped => "loop",
        Status::ClientLimited => "client",
        Status::Contaminated => "other",
        Status::Queued => "queued",
        Status::Short => "short",
        Status::Throttled => "slowed",
        Status::Unstable => "moving",
        Status::Valid => "–",
    }
}

/// The selected cell, else the running one, in words.
fn detail<'a>(seen: &Snapshot, ui: &Ui, paint: Paint) -> Line<'a> {
    let Some(place) = ui.selected.or(seen.state.doing.place) else { return Line::raw("") };
    let name = progress::name(place.0, place.1, place.2);
    let Some(row) = seen.state.rows.get(&place) else { return Line::raw(format!(" {name}")) };
    let is_running = seen.state.doing.place == Some(place);
    let status = if is_running { "running".to_owned() } else { row.status.words().to_lowercase() };
    let mut parts = vec![format!(" {name}: {status}")];
    if let Some(total) = row.total {
        let half = row.half_width.map_or_else(String::new, |half| format!(" ± {:.1} %", half * 100.0));
        parts.push(format!("{} tok/s{half}", number(total)));
    }
    if let Some(rate) = row.prefill_rate {
        parts.push(format!("{} prompt tok/s", number(rate)));
    }
    if let Some(ttft) = row.ttft_ms {
        let n = row.requests.map_or_else(String::new, |n| format!(" (n {n})"));
        parts.push(format!("TTFT {} ms{n}", number(ttft)));
    }
    if let Some(between) = row.between_ms {
        parts.push(format!("{} ms between tokens", number(between)));
    }
    if let Some(reason) = row.reason.as_ref().filter(|_| row.status != Status::Valid) {
        parts.push(reason.clone());
    }
    Line::styled(parts.join(" · "), paint.status(row.status))
}
