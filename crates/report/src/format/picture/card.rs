//! The card, and the matrix that it shows.

use tokometer_record::Run;

use crate::svg::Drawing;
use crate::view::View;
use crate::view::matrix::{Matrix, MatrixCell};
use crate::words::{clean, short_word, shorten};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const EDGE: f64 = 48.0;
/// Most rows and columns of a matrix on a card: more would be too small to read.
const MOST_ROWS: usize = 8;
const MOST_COLUMNS: usize = 10;

/// Width of the matrix's labels of rows, and height of those of its columns.
const CORNER: f64 = 76.0;
const HEAD: f64 = 24.0;

/// Title, headline figures, the matrix in small.
pub(super) fn card(view: &View, run: &Run) -> String {
    let mut drawing = Drawing::new();
    drawing.rect("ground", (0.0, 0.0), (WIDTH, HEIGHT), 0.0);
    let top = head(&mut drawing, view);
    let top = figures(&mut drawing, view, top);
    matrix(&mut drawing, &view.matrix, (EDGE, top + 18.0), (WIDTH - 2.0 * EDGE, HEIGHT - top - 70.0));
    drawing.text("foot", (EDGE, HEIGHT - 20.0), &footer(view));
    drawing.text("foot end", (WIDTH - EDGE, HEIGHT - 20.0), &fit(&origin(view, run), 60));
    drawing.into_body()
}

/// The matrix with its title, and how high that is.
pub(super) fn matrix_alone(view: &View, run: &Run) -> (String, f64) {
    let rows = view.matrix.rows.len().min(MOST_ROWS) as f64;
    let mut drawing = Drawing::new();
    let height = 150.0 + 28.0 + rows * 56.0 + 54.0;
    drawing.rect("ground", (0.0, 0.0), (WIDTH, height), 0.0);
    let top = head(&mut drawing, view);
    matrix(&mut drawing, &view.matrix, (EDGE, top + 14.0), (WIDTH - 2.0 * EDGE, height - top - 66.0));
    drawing.text("foot", (EDGE, height - 20.0), &footer(view));
    drawing.text("foot end", (WIDTH - EDGE, height - 20.0), &fit(&origin(view, run), 60));
    (drawing.into_body(), height)
}

/// Who measured, and when.
pub(super) fn origin(view: &View, run: &Run) -> String {
    let date = run.created_at.as_deref().and_then(|stamp| stamp.get(..10)).map(clean);
    let tool = clean(format!("{} {}", run.tool.name, run.tool.version).trim());
    let simulated = view.simulated.then(|| "SIMULATED".to_owned());
    let parts: Vec<String> =
        [simulated, Some(format!("measured by {tool}")), date].into_iter().flatten().collect();
    parts.join(" · ")
}

/// Text that takes no more than so many letters.
pub(super) fn fit(text: &str, letters: usize) -> String {
    shorten(text, letters)
}

fn footer(view: &View) -> String {
    let hidden = hidden(&view.matrix);
    let intervals = if view.matrix.has_intervals { ", ± 95 % interval" } else { "" };
    if view.matrix.rows.is_empty() {
        return String::new();
    }
    format!("total tok/s by context and requests at once{intervals}{hidden}")
}

/// What does not fit on the picture.
fn hidden(matrix: &Matrix) -> String {
    let rows = matrix.rows.len().saturating_sub(MOST_ROWS);
    let columns = matrix.columns.len().saturating_sub(MOST_COLUMNS);
    match (rows, columns) {
        (0, 0) => String::new(),
        _ => format!("; {rows} rows and {columns} columns more are on the page"),
    }
}

/// Title and set-up; returns where they end.
fn head(drawing: &mut Drawing, view: &View) -> f64 {
    let mut top = 0.0;
    if view.simulated {
        drawing.rect("warn", (0.0, 0.0), (WIDTH, 34.0), 0.0);
        drawing.text(
            "warn-text mid",
            (WIDTH / 2.0, 24.0),
            "SIMULATED: figures of a simulated engine, not of hardware",
        );
        top = 24.0;
    }
    let is_long = view.title.chars().count() > 46;
    let class = if is_long { "title long" } else { "title" };
    drawing.text(class, (EDGE, top + 66.0), &fit(&view.title, if is_long { 66 } else { 46 }));
    drawing.text("sub", (EDGE, top + 100.0), &fit(&view.subtitle.join(" · "), 108));
    top + 116.0
}

/// One user, peak, prefill, users served; returns where they end.
fn figures(drawing: &mut Drawing, view: &View, top: f64) -> f64 {
    const TALL: f64 = 108.0;
    let answers = &view.answers;
    if answers.headlines.is_empty() {
        return top;
    }
    let users: Vec<String> =
        answers.users.iter().take(6).map(|users| format!("{} {}", users.context, users.most)).collect();
    let boxes = answers.headlines.len() + usize::from(!users.is_empty());
    let gap = 12.0;
    let wide = (WIDTH - 2.0 * EDGE - gap * (boxes as f64 - 1.0)) / boxes as f64;
    let at = |place: usize| EDGE + place as f64 * (wide + gap);
    for (place, headline) in answers.headlines.iter().enumerate() {
        let left = at(place);
        drawing.rect("surface", (left, top + 6.0), (wide, TALL), 10.0);
        drawing.text("label", (left + 16.0, top + 32.0), headline.title);
        // Five boxes have no room for it; the matrix below has it.
        let half = headline.plus_minus.as_deref().filter(|_| boxes < 5);
        let half = half.map(|half| format!("\u{a0}± {half}")).unwrap_or_default();
        drawing.put(format_args!(
            "<text class=\"big\" x=\"{}\" y=\"{}\">{}<tspan class=\"unit\">{}\u{a0}{}</tspan></text>",
            left + 16.0,
            top + 74.0,
            crate::svg::escape(&headline.value),
            crate::svg::escape(&half),
            headline.unit
        ));
        drawing.text("place", (left + 16.0, top + 100.0), &fit(&headline.place, (wide / 8.0) as usize));
    }
    if !users.is_empty() {
        let left = at(boxes - 1);
        drawing.rect("surface", (left, top + 6.0), (wide, TALL), 10.0);
        drawing.text(
            "place",
            (left + 14.0, top + 30.0),
            &format!("Users ≥ {} tok/s, TTFT ≤ {} s", answers.least_rate, answers.most_ttft_s),
        );
        for (place, said) in answers.users.iter().take(6).enumerate() {
            let x = left + 14.0 + (place % 3) as f64 * (wide - 20.0) / 3.0;
            let y = top + 62.0 + (place / 3) as f64 * 36.0;
            drawing.put(format_args!(
                "<text class=\"place\" x=\"{x}\" y=\"{y}\">{} <tspan class=\"head\">{}</tspan></text>",
                crate::svg::escape(&said.context),
                crate::svg::escape(&said.most)
            ));
        }
    }
    top + TALL + 6.0
}

fn matrix(drawing: &mut Drawing, matrix: &Matrix, at: (f64, f64), size: (f64, f64)) {
    let rows = &matrix.rows[..matrix.rows.len().min(MOST_ROWS)];
    let columns = &matrix.columns[..matrix.columns.len().min(MOST_COLUMNS)];
    if rows.is_empty() {
        return;
    }
    let wide = ((size.0 - CORNER) / columns.len() as f64).min(340.0);
    let tall = ((size.1 - HEAD) / rows.len() as f64).min(80.0);
    for (place, concurrency) in columns.iter().enumerate() {
        let x = at.0 + CORNER + place as f64 * wide + 10.0;
        drawing.text("head", (x, at.1 + 16.0), &format!("×{concurrency}"));
    }
    for (place, row) in rows.iter().enumerate() {
        let y = at.1 + HEAD + place as f64 * tall;
        drawing.text("head", (at.0, y + tall / 2.0 + 5.0), &row.label);
        for (place, cell) in row.cells.iter().take(columns.len()).enumerate() {
            let x = at.0 + CORNER + place as f64 * wide;
            draw_cell(drawing, cell.as_ref(), (x, y), (wide - 3.0, tall - 3.0));
        }
    }
}

fn draw_cell(drawing: &mut Drawing, cell: Option<&MatrixCell>, at: (f64, f64), size: (f64, f64)) {
    let Some(cell) = cell else { return };
    let middle = at.1 + size.1 / 2.0 + 6.0;
    let small = match size {
        (wide, tall) if wide < 100.0 || tall < 26.0 => " small",
        (wide, tall) if wide > 200.0 && tall > 60.0 => " large",
        _ => "",
    };
    if let Some(figures) = &cell.figures {
        drawing.rect(&format!("heat-{}", figures.step), at, size, 5.0);
        drawing.put(format_args!(
            "<text class=\"cell{small} on-{}\" x=\"{}\" y=\"{}\">{}{}</text>",
            figures.step,
            at.0 + 10.0,
            middle,
            crate::svg::escape(&figures.total),
            match &figures.plus_minus {
                Some(half) if size.0 >= 118.0 =>
                    format!("<tspan class=\"half\">\u{a0}± {}</tspan>", crate::svg::escape(half)),
                _ => String::new(),
            }
        ));
        return;
    }
    drawing.rect("none", at, size, 5.0);
    // Lines from the lower left to the upper right, within the cell.
    let mut from = 12.0 - size.1;
    while from < size.0 {
        let start = from.max(0.0);
        let end = (from + size.1).min(size.0);
        drawing.line(
            "hatching",
            (at.0 + start, at.1 + size.1 - (start - from)),
            (at.0 + end, at.1 + size.1 - (end - from)),
        );
        from += 12.0;
    }
    drawing.text(&format!("status{small}"), (at.0 + 10.0, middle), short_word(cell.status));
}
