//! Widths, colours and line breaks of terminal text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::heat;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// As the terminal has it.
    #[default]
    Plain,
    /// Bold.
    Bold,
    /// Fainter than the rest.
    Dim,
    /// Yellow.
    Warn,
    /// Red.
    Bad,
    /// On a step of the palette.
    Heat(usize),
}

/// Columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text in its style; unchanged without colour.
pub(super) fn paint(text: &str, style: Style, colour: bool) -> String {
    let code = match style {
        _ if !colour || text.is_empty() => return text.to_owned(),
        Style::Plain => return text.to_owned(),
        Style::Bold => "1".to_owned(),
        Style::Dim => "2".to_owned(),
        Style::Warn => "33".to_owned(),
        Style::Bad => "31".to_owned(),
        Style::Heat(step) => {
            let (ground, ink) = heat::TERMINAL[step.min(heat::STEPS - 1)];
            format!("48;5;{ground};38;5;{ink}")
        }
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Breaks a text at spaces so that no line is wider than `most`; lines after the first are set in by `hang`.
/// A word that is wider than a line is broken.
pub(super) fn wrap(text: &str, most: usize, hang: usize) -> Vec<String> {
    let indent = " ".repeat(hang);
    let mut lines = Vec::new();
    let mut line = String::new();
    // Leading spaces and runs of spaces are part of the layout, so each word keeps what stands before it.
    for piece in text.split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        if width(&line) + width(word) > most && !line.trim().is_empty() {
            lines.push(line.trim_end().to_owned());
            line.clone_from(&indent);
        }
        if width(&line) + width(word) <= most {
            line.push_str(piece);
            continue;
        }
        for letter in word.chars() {
            if width(&line) + letter.width().unwrap_or(0) > most {
                lines.push(std::mem::replace(&mut line, indent.clone()));
            }
            line.push(letter);
        }
        line.push(' ');
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_with_a_hanging_indent() {
        assert_eq!(wrap("one two three four", 9, 2), ["one two", "  three", "  four"]);
        assert_eq!(wrap("  in  wide", 20, 0), ["  in  wide"]);
        assert_eq!(wrap("abcdefghij", 4, 1), ["abcd", " efg", " hij"]);
        assert!(wrap("", 10, 0).is_empty());
        assert!(wrap("模型名称很长", 5, 0).iter().all(|line| width(line) <= 5));
    }

    #[test]
    fn paints_only_with_colour() {
        assert_eq!(paint("x", Style::Bad, false), "x");
        assert_eq!(paint("x", Style::Bad, true), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(paint("x", Style::Plain, true), "x");
    }
}
