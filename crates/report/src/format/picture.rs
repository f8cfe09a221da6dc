//! Pictures that stand alone: a card to share, the matrix, and each chart, as SVG or PNG.

mod card;
mod raster;

use std::fmt;
use std::str::FromStr;

use tokometer_record::Run;

use crate::ReportError;
use crate::svg::{Chart, Drawing, escape};
use crate::view::View;

pub(crate) use raster::png;

/// Colours of pictures.
const STYLE: &str = include_str!("../../assets/picture.css");

/// What a picture shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Picture {
    /// A card of 1200 × 630: title, headline figures, the matrix in small.
    #[default]
    Card,
    /// The decode matrix.
    Matrix,
    /// TTFT of cold prompts by context.
    Prefill,
    /// Throughput against interactivity.
    Interactivity,
}

impl Picture {
    /// Every picture, in the order in which help texts name them.
    pub const ALL: [Picture; 4] = [Picture::Card, Picture::Matrix, Picture::Prefill, Picture::Interactivity];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Picture::Card => "card",
            Picture::Matrix => "matrix",
            Picture::Prefill => "prefill",
            Picture::Interactivity => "interactivity",
        }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Picture::ALL.map(Picture::name).join(", ")
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Picture {
    type Err = ReportError;

    fn from_str(name: &str) -> Result<Picture, ReportError> {
        Picture::ALL
            .into_iter()
            .find(|picture| picture.name() == name)
            .ok_or_else(|| ReportError::UnknownPicture { name: name.to_owned() })
    }
}

/// The picture as an SVG file.
pub(crate) fn svg(run: &Run, picture: Picture) -> Result<String, ReportError> {
    let view = View::of(run);
    let nothing = || ReportError::NothingToDraw { picture: picture.name() };
    match picture {
        Picture::Card => Ok(sheet(&view.title, (1200.0, 630.0), 1.0, "", &card::card(&view, run))),
        Picture::Matrix if view.matrix.rows.is_empty() => Err(nothing()),
        Picture::Matrix => {
            let (body, height) = card::matrix_alone(&view, run);
            Ok(sheet(&format!("{}: decode matrix", view.title), (1200.0, height), 1.0, "", &body))
        }
        Picture::Prefill => Ok(chart(&view, run, view.prefill_chart.as_ref().ok_or_else(nothing)?)),
        Picture::Interactivity => Ok(chart(&view, run, view.interactivity.as_ref().ok_or_else(nothing)?)),
    }
}

/// A chart with the run's title above and its origin below.
fn chart(view: &View, run: &Run, chart: &Chart) -> String {
    const SIZE: (f64, f64) = (600.0, 440.0);
    let mut drawing = Drawing::new();
    drawing.rect("ground", (0.0, 0.0), SIZE, 0.0);
    drawing.text("direct", (14.0, 24.0), &card::fit(&view.title, 80));
    drawing.text("name", (14.0, 42.0), &chart.title);
    drawing.put(format_args!("<g transform=\"translate(10 54)\">{}</g>", chart.body(SIZE.0 - 20.0, 350.0)));
    drawing.text("note", (14.0, SIZE.1 - 12.0), &card::fit(&card::origin(view, run), 100));
    sheet(&format!("{}: {}", view.title, chart.title), SIZE, 2.0, "chart", &drawing.into_body())
}

/// An SVG file of this size in its own units, drawn `scale` times as large.
fn sheet(title: &str, size: (f64, f64), scale: f64, class: &str, body: &str) -> String {
    let (width, height) = size;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{}</title><style>{STYLE}</style>{body}</svg>\n",
        width * scale,
        height * scale,
        escape(title)
    )
}
