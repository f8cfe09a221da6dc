//! The picture: a pure function of what is known and of what the user looks at.

mod cells;
mod over;
mod panels;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use tokometer_load::{LiveCell, TappedText};
use tokometer_record::{DeviceSample, HostSample, Status};

use super::board::State;
use super::history::SoFar;
use super::keys::{Over, Ui};
use crate::progress;

/// From this width on, what runs stands beside what serves it.
const TWO_COLUMNS: u16 = 110;
/// From this width on, events stand beside both.
const THREE_COLUMNS: u16 = 150;
/// Below this size there is one line only.
const LEAST: (u16, u16) = (60, 12);

/// Everything that is known at one moment.
pub(super) struct Snapshot {
    pub(super) state: State,
    pub(super) live: LiveCell,
    pub(super) machine: Option<(Vec<DeviceSample>, Option<HostSample>)>,
    pub(super) rates: Vec<u64>,
    pub(super) so_far: Option<SoFar>,
    /// The text of the stream that is looked at.
    pub(super) text: Option<TappedText>,
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn colour(self, colour: Color) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new() }
    }

    fn dim(self) -> Style {
        if self.0 { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }

    fn status(self, status: Status) -> Style {
        match status {
            Status::Valid => Style::new(),
            Status::Planned | Status::OverLimit | Status::OverCapacity | Status::Skipped => self.dim(),
            Status::Error | Status::Looped => self.colour(Color::Red),
            _ => self.colour(Color::Yellow),
        }
    }
}

/// What a reader looks for first.
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, seen: &Snapshot, ui: &mut Ui) {
    let area = frame.area();
    let paint = Paint(ui.colour);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return small(frame, area, seen);
    }
    let tables = cells::tables(seen, ui, paint, area.width, area.height.saturating_sub(14));
    let height = tables.len() as u16;
    let [top, matrix, below, footer] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(height),
        Constraint::Min(5),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(header(seen, area.width)), top);
    frame.render_widget(Paragraph::new(tables), matrix);
    let [running, serving, events] = places(below, panels::serving_height(seen));
    panels::running(frame, running, seen, paint);
    panels::serving(frame, serving, seen, paint);
    panels::events(frame, events, seen, paint);
    let keys = " q finish and save · s skip cell · o output · arrows cells · ? help";
    frame.render_widget(Paragraph::new(Line::styled(keys, paint.dim())), footer);
    match ui.over {
        Over::Nothing => {}
        Over::Help => over::help(frame, area),
        Over::Text(stream) => over::text(frame, area, seen, stream),
    }
}

/// Where the panels below the matrix go: the running cell, what serves it, events.
fn places(below: Rect, serving: u16) -> [Rect; 3] {
    const RUNNING: u16 = 7;
    if below.width >= THREE_COLUMNS {
        return Layout::horizontal([
            Constraint::Percentage(36),
            Constraint::Percentage(28),
            Constraint::Percentage(36),
        ])
        .areas(below);
    }
    if below.width >= TWO_COLUMNS {
        let height = RUNNING.max(serving).min(below.height.saturating_sub(3).max(RUNNING));
        let [upper, events] = Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(below);
        let [running, serving] =
            Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(upper);
        return [running, serving, events];
    }
    let serving = serving.min(below.height.saturating_sub(RUNNING + 3));
    Layout::vertical([Constraint::Length(RUNNING), Constraint::Length(serving), Constraint::Min(0)])
        .areas(below)
}

fn header<'a>(seen: &Snapshot, width: u16) -> Vec<Line<'a>> {
    let State { title, server, doing, elapsed, left, ending, .. } = &seen.state;
    let time = progress::time;
    let left = if *ending {
        "saving".to_owned()
    } else if doing.of == 0 {
        String::new()
    } else {
        format!("about {} left", time(*left))
    };
    let right = format!("{}/{} · {} · {left} ", doing.done, doing.of, time(*elapsed));
    let room = usize::from(width).saturating_sub(right.chars().count() + 2);
    let title: String = title.chars().take(room).collect();
    let gap = room.saturating_sub(title.chars().count());
    let filled = (doing.done * usize::from(width)).checked_div(doing.of).unwrap_or(0);
    let server: String = format!(" {server}").chars().take(usize::from(width)).collect();
    let rest = usize::from(width).saturating_sub(server.chars().count());
    // The server's line is the bar of progress, too.
    let padded: Vec<char> = format!("{server}{}", " ".repeat(rest)).chars().collect();
    let (done, todo) = padded.split_at(filled.min(padded.len()));
    vec![
        Line::from(vec![
            Span::styled(format!(" {title}"), STRONG),
            Span::raw(" ".repeat(gap + 1)),
            Span::raw(right),
        ]),
        Line::from(vec![
            Span::styled(done.iter().collect::<String>(), Style::new().add_modifier(Modifier::REVERSED)),
            Span::styled(todo.iter().collect::<String>(), Style::new().add_modifier(Modifier::UNDERLINED)),
        ]),
    ]
}

/// A terminal with no room for more.
fn small(frame: &mut Frame<'_>, area: Rect, seen: &Snapshot) {
    let State { title, doing, elapsed, left, events, .. } = &seen.state;
    let mut lines = vec![
        Line::raw(title.clone()),
        Line::raw(format!("{}/{} · {}", doing.done, doing.of, doing.label)),
        Line::raw(format!(
            "{} {:.0} s · {} · {} left",
            seen.live.phase.word(),
            seen.live.seconds,
            progress::time(*elapsed),
            progress::time(*left)
        )),
    ];
    let room = usize::from(area.height).saturating_sub(lines.len());
    let first = events.len().saturating_sub(room);
    lines.extend(events.iter().skip(first).map(|(_, text)| Line::raw(text.clone())));
    frame.render_widget(Paragraph::new(lines), area);
}

fn panel(title: &str) -> Block<'_> {
    Block::bordered().title(title)
}

/// `1,234`, `95.3`, `12.3K`: at most six characters.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 999_950.0 => format!("{:.2}M", value / 1e6),
        size if size >= 99_995.0 => format!("{:.0}K", value / 1e3),
        size if size >= 9_999.5 => format!("{:.1}K", value / 1e3),
        size if size >= 999.5 => {
            let whole = value.round() as u64;
            format!("{},{:03}", whole / 1000, whole % 1000)
        }
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
