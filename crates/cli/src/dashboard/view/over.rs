//! What lies over the dashboard: help, and the text of a stream.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};
use tokometer_wire::Channel;

use super::{Snapshot, panel};

/// Characters of a tab.
const TAB: &str = "    ";

/// The keys.
pub(super) fn help(frame: &mut Frame<'_>, area: Rect) {
    const KEYS: [(&str, &str); 9] = [
        ("q", "finish: save what is measured, show the report"),
        ("Ctrl-C", "the same; a second time ends at once"),
        ("s", "skip the running cell, and its later repeats"),
        ("o", "look at the output of a stream; arrows: another stream"),
        ("arrows", "walk the cells; Esc: back to the running one"),
        ("Ctrl-Z", "to the shell; fg comes back (a stopped client measures nothing)"),
        ("?", "this help"),
        ("∅ · ▶", "does not fit, not reached yet, running"),
        ("", "tokometer explain WORD says what any word means"),
    ];
    let lines: Vec<Line<'_>> = KEYS.iter().map(|(key, does)| Line::raw(format!(" {key:<8}{does}"))).collect();
    let place = centred(area, 78, lines.len() as u16 + 2);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(panel(" keys ")), place);
}

/// The end of a stream's text.
pub(super) fn text(frame: &mut Frame<'_>, area: Rect, seen: &Snapshot, stream: u32) {
    let place = centred(area, area.width.saturating_sub(8), area.height.saturating_sub(6));
    let count = seen.live.streams.map_or(0, |streams| streams.count);
    let request = seen.text.as_ref().and_then(|text| text.request);
    let request = request.map_or_else(|| "no output yet".to_owned(), |request| format!("request {request}"));
    let title = format!(" stream {} of {count}, {request} · arrows: another · o: close ", stream + 1);
    let block = panel(&title);
    let inner = block.inner(place);
    frame.render_widget(Clear, place);
    frame.render_widget(block, place);
    let mut lines = Vec::new();
    for (channel, bytes) in seen.text.iter().flat_map(|text| &text.channels) {
        if *channel != Channel::Content {
            lines.push(format!("[{}]", format!("{channel:?}").to_lowercase()));
        }
        lines.extend(wrapped(&readable(bytes), usize::from(inner.width)));
    }
    let first = lines.len().saturating_sub(usize::from(inner.height));
    let lines: Vec<Line<'_>> = lines.into_iter().skip(first).map(Line::raw).collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Text that does nothing to a terminal: a model may write escape codes.
pub(super) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => plain.push('\n'),
            '\t' => plain.push_str(TAB),
            // Those that turn the order of letters around are no letters either.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffd}' => {}
            other if other.is_control() => {}
            other => plain.push(other),
        }
    }
    plain
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width.max(1) {
            let at = rest[..width].iter().rposition(|letter| *letter == ' ').map_or(width, |at| at + 1);
            let behind = rest.split_off(at);
            lines.push(rest.into_iter().collect());
            rest = behind;
        }
        lines.push(rest.into_iter().collect());
    }
    lines
}

fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_cannot_touch_the_terminal() {
        assert_eq!(readable(b"a\x1b[31mb\x07\x00\r\tc\nd\x9b"), "a[31mb    c\nd");
        assert_eq!(readable("x\u{202e}y\u{7f}z\u{85}".as_bytes()), "xyz");
        assert_eq!(readable(&"é".as_bytes()[1..]), "", "half a character");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrapped("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("a\n\nb", 9), ["a", "", "b"]);
    }
}
