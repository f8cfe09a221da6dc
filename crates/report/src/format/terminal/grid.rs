//! A table that fits its terminal: it drops words, moves what stands beside figures below them, leaves a
//! column out, and at last becomes several tables; it never wraps.

use super::ink::{self, Style, width};

/// Space between columns.
const GAP: usize = 2;

/// A table of right-aligned figures.
#[derive(Debug)]
pub(super) struct Grid {
    /// A line above it.
    pub(super) title: Option<String>,
    /// Headers of the label and of what stands beside it.
    pub(super) corner: (String, String),
    /// Headers of the columns.
    pub(super) head: Vec<String>,
    /// Rows.
    pub(super) rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// What the row is about.
    pub(super) label: String,
    /// What may be left out beside it.
    pub(super) aside: String,
    /// One entry for each column.
    pub(super) entries: Vec<Entry>,
}

/// A cell of a table.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Text.
    pub(super) text: String,
    /// Shorter text for narrow terminals.
    pub(super) narrow: Option<String>,
    /// What stands beside the text where there is room, else below it.
    pub(super) below: Option<String>,
    /// Raised letters behind the text.
    pub(super) marks: String,
    /// How the text looks.
    pub(super) style: Style,
}

/// A finished line.
#[derive(Debug)]
pub(super) struct Line {
    /// With escape codes, where there are colours.
    pub(super) text: String,
    /// Columns that it takes.
    pub(super) width: usize,
}

/// What a table gives up to become narrower.
#[derive(Debug, Clone, Copy)]
struct Layout {
    inline: bool,
    words: bool,
    aside: bool,
}

/// From wide to narrow.
const LAYOUTS: [Layout; 4] = [
    Layout { inline: true, words: true, aside: true },
    Layout { inline: false, words: true, aside: true },
    Layout { inline: false, words: false, aside: true },
    Layout { inline: false, words: false, aside: false },
];

impl Entry {
    /// Text as it is.
    pub(super) fn plain(text: &str) -> Entry {
        Entry { text: text.to_owned(), ..Entry::default() }
    }

    /// Faint text.
    pub(super) fn dim(text: &str) -> Entry {
        Entry { style: Style::Dim, ..Entry::plain(text) }
    }

    fn main(&self, layout: Layout) -> String {
        let text = match &self.narrow {
            Some(narrow) if !layout.words => narrow,
            _ => &self.text,
        };
        match &self.below {
            Some(below) if layout.inline => format!("{text} {below}"),
            _ => text.clone(),
        }
    }
}

impl Grid {
    /// The table in lines of at most `most` columns.
    pub(super) fn lines(&self, most: usize, colour: bool) -> Vec<Line> {
        let all: Vec<usize> = (0..self.head.len()).collect();
        let fitting = LAYOUTS.into_iter().find(|&layout| self.measure(&all, layout).total() <= most);
        let mut writer = Writer { lines: Vec::new(), colour };
        if let Some(title) = &self.title {
            for line in ink::wrap(title, most, 0) {
                writer.push(&[(line, Style::Bold)]);
            }
        }
        if let Some(layout) = fitting {
            self.write(&mut writer, &all, layout);
            return writer.lines;
        }
        // Several tables: words stay, since few columns have room for them.
        let layout = Layout { inline: false, words: true, aside: false };
        let mut rest = &all[..];
        while !rest.is_empty() {
            let count =
                (1..=rest.len()).rev().find(|&count| self.measure(&rest[..count], layout).total() <= most);
            let (now, later) = rest.split_at(count.unwrap_or(1));
            if rest.len() < all.len() {
                writer.push(&[]);
            }
            self.write(&mut writer, now, layout);
            rest = later;
        }
        writer.lines
    }

    fn measure(&self, columns: &[usize], layout: Layout) -> Widths {
        let has_aside = layout.aside && self.rows.iter().any(|row| !row.aside.is_empty());
        let over_rows = |get: &dyn Fn(&Row) -> usize| self.rows.iter().map(get).max().unwrap_or(0);
        Widths {
            label: over_rows(&|row| width(&row.label)).max(width(&self.corner.0)),
            aside: has_aside.then(|| over_rows(&|row| width(&row.aside)).max(width(&self.corner.1))),
            columns: columns
                .iter()
                .map(|&column| {
                    let text = over_rows(&|row| {
                        let entry = &row.entries[column];
                        width(&entry.main(layout)).max(entry.below.as_deref().map_or(0, width))
                    });
                    (text.max(width(&self.head[column])), over_rows(&|row| width(&row.entries[column].marks)))
                })
                .collect(),
        }
    }

    fn write(&self, writer: &mut Writer, columns: &[usize], layout: Layout) {
        let widths = self.measure(columns, layout);
        let mut head = vec![(left(&self.corner.0, widths.label), Style::Dim)];
        if let Some(aside) = widths.aside {
            head.push((right(&self.corner.1, aside + GAP), Style::Dim));
        }
        for (&column, &(text, marks)) in columns.iter().zip(&widths.columns) {
            head.push((right(&self.head[column], text + GAP), Style::Dim));
            head.push((" ".repeat(marks), Style::Plain));
        }
        writer.push(&head);
        for row in &self.rows {
            let mut line = vec![(left(&row.label, widths.label), Style::Plain)];
            if let Some(aside) = widths.aside {
                line.push((right(&row.aside, aside + GAP), Style::Dim));
            }
            let mut below =
                vec![(" ".repeat(widths.label + widths.aside.map_or(0, |aside| aside + GAP)), Style::Plain)];
            for (&column, &(text, marks)) in columns.iter().zip(&widths.columns) {
                let entry = &row.entries[column];
                line.push((" ".repeat(GAP), Style::Plain));
                line.push((right(&entry.main(layout), text), entry.style));
                line.push((left(&entry.marks, marks), Style::Plain));
                below.push((right(entry.below.as_deref().unwrap_or_default(), text + GAP), Style::Dim));
                below.push((" ".repeat(marks), Style::Plain));
            }
            writer.push(&line);
            if !layout.inline && columns.iter().any(|&column| row.entries[column].below.is_some()) {
                writer.push(&below);
            }
        }
    }
}

/// Columns that the parts of a table take.
#[derive(Debug)]
struct Widths {
    label: usize,
    aside: Option<usize>,
    /// Text and marks.
    columns: Vec<(usize, usize)>,
}

impl Widths {
    fn total(&self) -> usize {
        self.label
            + self.aside.map_or(0, |aside| aside + GAP)
            + self.columns.iter().map(|(text, marks)| GAP + text + marks).sum::<usize>()
    }
}

struct Writer {
    lines: Vec<Line>,
    colour: bool,
}

impl Writer {
    fn push(&mut self, pieces: &[(String, Style)]) {
        self.lines.push(Line {
            text: pieces.iter().map(|(text, style)| ink::paint(text, *style, self.colour)).collect(),
            width: pieces.iter().map(|(text, _)| width(text)).sum(),
        });
    }
}

fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}
