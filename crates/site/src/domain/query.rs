//! Questions to the list of runs.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Millis;
use super::evidence::EvidenceLevel;
use super::run::{RunRow, Shelf};

/// What a list is sorted by.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Most users at the default limits.
    #[default]
    Users,
    /// Highest rate of one user.
    OneUser,
    /// Highest total rate.
    Peak,
    /// Highest total rate by accelerator.
    PeakPerAccelerator,
    /// Highest prefill rate.
    Prefill,
    /// Least energy per token.
    Energy,
    /// Newest first.
    Newest,
}

impl Goal {
    /// All of them, in the order of pages.
    pub const ALL: [Goal; 7] = [
        Goal::Users,
        Goal::OneUser,
        Goal::Peak,
        Goal::PeakPerAccelerator,
        Goal::Prefill,
        Goal::Energy,
        Goal::Newest,
    ];

    /// The word in addresses and answers.
    pub fn code(self) -> &'static str {
        match self {
            Goal::Users => "users",
            Goal::OneUser => "one_user",
            Goal::Peak => "peak",
            Goal::PeakPerAccelerator => "peak_per_accelerator",
            Goal::Prefill => "prefill",
            Goal::Energy => "energy",
            Goal::Newest => "newest",
        }
    }

    /// The words on a page.
    pub fn words(self) -> &'static str {
        match self {
            Goal::Users => "users within limits",
            Goal::OneUser => "one-user rate",
            Goal::Peak => "peak rate",
            Goal::PeakPerAccelerator => "peak rate per accelerator",
            Goal::Prefill => "prefill rate",
            Goal::Energy => "energy per token",
            Goal::Newest => "newest",
        }
    }

    /// The unit of its figure.
    pub fn unit(self) -> &'static str {
        match self {
            Goal::Users => "users",
            Goal::OneUser | Goal::Peak | Goal::Prefill => "tok/s",
            Goal::PeakPerAccelerator => "tok/s/GPU",
            Goal::Energy => "J/tok",
            Goal::Newest => "",
        }
    }

    /// True if more is better.
    pub fn higher_is_better(self) -> bool {
        self != Goal::Energy
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Goal, String> {
        let codes = Goal::ALL.map(Goal::code).join(", ");
        Goal::ALL
            .into_iter()
            .find(|goal| goal.code() == text)
            .ok_or_else(|| format!("{text:?} is no goal; use one of {codes}"))
    }
}

/// What narrows a list. Values of one facet are joined by *or*, facets by *and*; an empty one does not narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filters {
    /// Full names of models.
    pub model: Vec<String>,
    /// Names of accelerators.
    pub hardware: Vec<String>,
    /// Numbers of accelerators.
    pub accelerators: Vec<u32>,
    /// Names of engines.
    pub engine: Vec<String>,
    /// Versions of engines.
    pub engine_version: Vec<String>,
    /// Precisions.
    pub quantization: Vec<String>,
    /// Speculative decoding.
    pub speculative: Vec<String>,
    /// Contexts of valid decode cells, tokens by label.
    pub context: Vec<u64>,
    /// Least level of evidence.
    pub evidence: Option<EvidenceLevel>,
    /// Published at this time or later.
    pub since: Option<Millis>,
    /// Handle of the submitter.
    pub submitter: Option<String>,
    /// A part of the title, the model, the hardware or the engine, in any case.
    pub text: Option<String>,
    /// Only this group.
    pub group: Option<String>,
    /// Only this series.
    pub series: Option<String>,
}

/// A place in a list, to go on behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    /// The figure of the last row; none where it has none.
    pub figure: Option<f64>,
    /// The last row's id.
    pub id: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figure {
            // The bits, so that no rounding moves the place.
            Some(figure) => write!(f, "{:016x}-{}", figure.to_bits(), self.id),
            None => write!(f, "none-{}", self.id),
        }
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Cursor, String> {
        let bad = || "it is no cursor of this list; leave it out to start at the front".to_owned();
        let (figure, id) = text.split_once('-').ok_or_else(bad)?;
        let figure = match figure {
            "none" => None,
            bits if bits.len() == 16 => {
                let figure = f64::from_bits(u64::from_str_radix(bits, 16).map_err(|_| bad())?);
                Some(figure).filter(|figure| figure.is_finite()).ok_or_else(bad).map(Some)?
            }
            _ => return Err(bad()),
        };
        let id: uuid::Uuid = id.parse().map_err(|_| bad())?;
        Ok(Cursor { figure, id: id.to_string() })
    }
}

/// A question to the list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunQuery {
    /// Which list.
    pub shelf: Shelf,
    /// What narrows it.
    pub filters: Filters,
    /// What it is sorted by; rows without the figure come last.
    pub goal: Goal,
    /// True if replicates are folded into one row.
    pub fold: bool,
    /// Behind which row to go on.
    pub after: Option<Cursor>,
    /// Most rows.
    pub limit: u32,
}

impl RunQuery {
    /// Most rows of one answer.
    pub const MOST: u32 = 500;
}

impl Default for RunQuery {
    fn default() -> RunQuery {
        RunQuery {
            shelf: Shelf::Ranked,
            filters: Filters::default(),
            goal: Goal::default(),
            fold: true,
            after: None,
            limit: 50,
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunList {
    /// Its rows, in order.
    pub rows: Vec<RunRow>,
    /// Where to go on; none at the end.
    pub next: Option<Cursor>,
}

/// How many rows of the list have a value, with all *other* facets' filters in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FacetCount {
    /// The value, as in the address.
    pub value: String,
    /// Rows.
    pub count: u64,
    /// True if the list is narrowed to it.
    pub selected: bool,
}

/// The counts of every facet, most first, and of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facets {
    /// Rows with all filters in force.
    pub total: u64,
    /// Models.
    pub model: Vec<FacetCount>,
    /// Accelerators.
    pub hardware: Vec<FacetCount>,
    /// Numbers of accelerators, smallest first.
    pub accelerators: Vec<FacetCount>,
    /// Engines.
    pub engine: Vec<FacetCount>,
    /// Engine versions.
    pub engine_version: Vec<FacetCount>,
    /// Precisions.
    pub quantization: Vec<FacetCount>,
    /// Speculative decoding.
    pub speculative: Vec<FacetCount>,
    /// Contexts, shortest first.
    pub context: Vec<FacetCount>,
    /// Levels of evidence, highest first: rows at this level or above.
    pub evidence: Vec<FacetCount>,
}

/// How long lists are beside the one that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ListCounts {
    /// Rows of each shelf that has any, with the query's filters in force.
    pub shelves: Vec<(Shelf, u64)>,
    /// Rows of the query's own shelf that are as young as each of the times that were asked for.
    pub since: Vec<u64>,
}
