//! The lines of a body, looked at one by one.

use super::{Framing, LineEnds, StreamForm};

/// Longest excerpt of a line.
const EXCERPT: usize = 80;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A body, and the data of its events in order.
pub(super) struct Body {
    pub(super) framing: Framing,
    pub(super) events: Vec<String>,
}

/// Cuts a body into its events.
pub(super) fn read(bytes: &[u8], content_type: Option<&str>) -> Body {
    let kind = content_type.unwrap_or_default().to_lowercase();
    let mut framing = Framing {
        content_type: content_type.map(str::to_owned),
        byte_order_mark: bytes.starts_with(BYTE_ORDER_MARK),
        bytes: bytes.len() as u64,
        ..Framing::default()
    };
    let (lines, ends) = lines(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes));
    framing.line_ends = ends;
    let is_field =
        |line: &String| ["data:", "event:", "id:", "retry:", ":"].iter().any(|start| line.starts_with(start));
    if kind.contains("ndjson") || kind.contains("jsonl") || !lines.iter().any(is_field) {
        let events: Vec<String> = lines.into_iter().filter(|line| is_object(line)).collect();
        framing.form =
            if events.len() > 1 || kind.contains("json") { StreamForm::JsonLines } else { StreamForm::Other };
        framing.events = events.len() as u32;
        return Body { framing, events };
    }
    framing.form = StreamForm::Events;
    let mut events = Vec::new();
    let mut data: Vec<String> = Vec::new();
    let mut close = |data: &mut Vec<String>, framing: &mut Framing| {
        if data.is_empty() {
            return;
        }
        let whole = std::mem::take(data).join("\n");
        if whole.trim() == "[DONE]" {
            framing.done_marker = true;
        } else {
            framing.events += 1;
            events.push(whole);
        }
    };
    for line in lines {
        if line.is_empty() {
            close(&mut data, &mut framing);
        } else if let Some(value) = line.strip_prefix("data:") {
            framing.data_lines += 1;
            framing.without_space += u32::from(!value.starts_with(' '));
            framing.trailing_space += u32::from(value.ends_with(' '));
            data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        } else if let Some(kind) = line.strip_prefix("event:") {
            let kind = kind.trim().to_owned();
            if !framing.event_types.contains(&kind) {
                framing.event_types.push(kind);
            }
        } else if line.starts_with(':') {
            framing.comments += 1;
            framing.first_comment.get_or_insert_with(|| excerpt(&line));
        } else if !line.starts_with("id:") && !line.starts_with("retry:") {
            framing.stray_lines += 1;
            framing.first_stray.get_or_insert_with(|| excerpt(&line));
        }
    }
    close(&mut data, &mut framing);
    Body { framing, events }
}

fn lines(bytes: &[u8]) -> (Vec<String>, LineEnds) {
    let mut lines = Vec::new();
    let mut seen = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let (kind, length) = match &rest[end..] {
            [b'\r', b'\n', ..] => (LineEnds::CrLf, 2),
            [b'\r', ..] => (LineEnds::Cr, 1),
            _ => (LineEnds::Lf, 1),
        };
        if !seen.contains(&kind) {
            seen.push(kind);
        }
        lines.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = &rest[end + length..];
    }
    if !rest.is_empty() {
        lines.push(String::from_utf8_lossy(rest).into_owned());
    }
    let ends = match seen.as_slice() {
        [] => LineEnds::default(),
        [only] => *only,
        _ => LineEnds::Mixed,
    };
    (lines, ends)
}

fn is_object(line: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
}

/// The first characters of a line.
pub(super) fn excerpt(line: &str) -> String {
    shortened(line, EXCERPT)
}

/// At most `limit` characters of a line.
pub(super) fn shortened(line: &str, limit: usize) -> String {
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
