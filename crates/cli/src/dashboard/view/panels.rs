//! The running cell, what serves it, and what happened.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline};
use tokometer_load::LivePhase;
use tokometer_record::{DeviceSample, SampleRow};

use super::{Paint, STRONG, Snapshot, number, panel};

/// The running cell: its phase, what is missing, its streams, its rate.
pub(super) fn running(frame: &mut Frame<'_>, area: Rect, seen: &Snapshot, paint: Paint) {
    let doing = &seen.state.doing;
    let repeat = doing.repeat.map_or_else(String::new, |repeat| format!(", repeat {repeat}"));
    let title = format!(" {}{repeat} ", if doing.label.is_empty() { "waiting" } else { &doing.label });
    let block = panel(&title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let live = &seen.live;
    let mut lines = vec![Line::styled(phase(seen), STRONG)];
    if live.phase == LivePhase::Ready && !live.missing.is_empty() {
        lines.push(Line::styled(
            format!("waits for: {}", live.missing.join("; ")),
            paint.colour(Color::Yellow),
        ));
    }
    if let Some(streams) = live.streams {
        lines.push(Line::raw(format!(
            "{} of {} streams active, {} with output, {} requests ended",
            streams.running, streams.count, streams.with_token, streams.ended
        )));
        lines.push(Line::raw(format!("client lag {} ms (longest of the last events)", lag(streams.lag_ns))));
    }
    if let Some(so_far) = seen.so_far {
        let half = match so_far.half_width {
            Some(half) => format!("± {:.1} % so far", half * 100.0),
            None => "interval from 3 s on".to_owned(),
        };
        lines.push(Line::raw(format!("{} events/s {half}", number(so_far.per_second))));
    }
    let [text, bars] =
        Layout::vertical([Constraint::Length(lines.len() as u16), Constraint::Min(0)]).areas(inner);
    frame.render_widget(Paragraph::new(lines), text);
    if bars.height > 0 && !seen.rates.is_empty() {
        let first = seen.rates.len().saturating_sub(usize::from(bars.width));
        let bar = Rect { height: bars.height.min(3), ..bars };
        frame.render_widget(
            Sparkline::default().data(&seen.rates[first..]).style(paint.colour(Color::Cyan)),
            bar,
        );
    }
}

fn phase(seen: &Snapshot) -> String {
    let live = &seen.live;
    match live.phase {
        LivePhase::Idle => "idle".to_owned(),
        phase if live.of_seconds > 0.0 => {
            format!("{} {:.0} of {:.0} s", phase.word(), live.seconds, live.of_seconds)
        }
        phase => phase.word().to_owned(),
    }
}

fn lag(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}

/// Lines that the panel of what serves needs, its border included.
pub(super) fn serving_height(seen: &Snapshot) -> u16 {
    let devices = seen.machine.as_ref().map_or(0, |(devices, _)| devices.len().min(8));
    let host = seen.machine.as_ref().is_some_and(|(_, host)| host.is_some());
    let server = seen.live.server.is_some();
    match devices + usize::from(host) + 2 * usize::from(server) {
        0 => 0,
        lines => lines as u16 + 2,
    }
}

/// The server by its own gauges, the accelerators, the host.
pub(super) fn serving(frame: &mut Frame<'_>, area: Rect, seen: &Snapshot, paint: Paint) {
    if area.height < 3 {
        return;
    }
    let mut lines = Vec::new();
    if let Some(server) = &seen.live.server {
        lines.extend(gauges(server).into_iter().map(Line::raw));
    }
    let (devices, host) = seen.machine.clone().unwrap_or_default();
    for device in devices.iter().take(8) {
        let name = seen.state.devices.get(device.device as usize).map_or("device", String::as_str);
        let style =
            if device.slowed == Some(true) { paint.colour(Color::Red) } else { ratatui::style::Style::new() };
        lines.push(Line::styled(accelerator(device, name), style));
    }
    if let Some(host) = host {
        let share =
            |share: Option<f64>| share.map_or("?".to_owned(), |share| format!("{:.0} %", share * 100.0));
        let free =
            host.memory_available_bytes.map_or("?".to_owned(), |bytes| format!("{:.0} GB", bytes / 1e9));
        lines.push(Line::raw(format!("host: CPU {}, {free} of memory free", share(host.cpu_busy))));
    }
    if lines.is_empty() {
        lines.push(Line::styled("nothing is known of server and machine", paint.dim()));
    }
    frame.render_widget(Paragraph::new(lines).block(panel(" server and machine ")), area);
}

fn gauges(server: &SampleRow) -> Vec<String> {
    let count = |count: Option<f64>| count.map_or("?".to_owned(), |count| format!("{count:.0}"));
    let mut lines =
        vec![format!("server: {} running, {} waiting", count(server.running), count(server.waiting))];
    let mut more = Vec::new();
    if let Some(used) = server.kv_used {
        more.push(format!("KV cache {:.0} % used", used * 100.0));
    }
    if let Some(length) = server.acceptance_length {
        more.push(format!("{length:.2} tokens a step"));
    }
    lines.push(more.join(", "));
    lines
}

fn accelerator(device: &DeviceSample, name: &str) -> String {
    let mut parts = vec![format!("{} {name}", device.device)];
    let mut put = |value: Option<f64>, scale: f64, unit: &str| {
        parts.extend(value.map(|value| format!("{:.0} {unit}", value * scale)));
    };
    put(device.busy, 100.0, "%");
    put(device.core_clock_mhz, 1.0, "MHz");
    put(device.power_watts, 1.0, "W");
    put(device.temperature_c, 1.0, "°C");
    put(device.memory_used_bytes, 1e-9, "GB");
    if device.power_capped == Some(true) {
        parts.push("power limit".to_owned());
    }
    if device.slowed == Some(true) {
        parts.push("SLOWED".to_owned());
    }
    parts.join("  ")
}

/// The last things that happened, the newest at the bottom.
pub(super) fn events(frame: &mut Frame<'_>, area: Rect, seen: &Snapshot, paint: Paint) {
    if area.height < 3 {
        return;
    }
    let room = usize::from(area.height) - 2;
    let events = &seen.state.events;
    let lines: Vec<Line<'_>> = events
        .iter()
        .skip(events.len().saturating_sub(room))
        .map(|(at, text)| {
            let at = at.round() as u64;
            Line::from(vec![
                ratatui::text::Span::styled(format!("{:>3}:{:02} ", at / 60, at % 60), paint.dim()),
                ratatui::text::Span::raw(text.clone()),
            ])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).block(panel(" events ")), area);
}
