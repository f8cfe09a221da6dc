//! A sweep: a file that lists servers (commands that start them, addresses where they run, simulated profiles), how
//! often each is measured, and in which order.
//!
//! The file is TOML and taken at its word: what is not known is an error that names the nearest thing that is. An
//! entry with a `grid` stands for one entry for each combination of its values, which replace `{name}` wherever it
//! stands in the entry's texts.
//!
//! ```
//! use tokometer_plan::sweep::{Option as RunOption, Kind, Sweep};
//!
//! let known = [RunOption { name: "contexts".to_owned(), kind: Kind::One }];
//! let text = r#"
//!     options.contexts = ["8k", "32k"]
//!     [[entry]]
//!     name = "tp{tp}"
//!     launch = "vllm serve org/model --tensor-parallel-size {tp}"
//!     grid.tp = [1, 2]
//! "#;
//! let sweep = Sweep::parse(text, &known).unwrap();
//! assert_eq!(sweep.entries[1].name, "tp2");
//! assert_eq!(sweep.entries[1].arguments(), ["--contexts=8k,32k"]);
//! ```

mod error;
mod file;
mod grid;

use crate::seed;
use crate::text::Random;

pub use error::SweepError;

/// Most entries that a file may stand for: a larger grid is a slip of the pen.
pub const MOST_ENTRIES: usize = 1000;

/// What is to be measured, all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The user's title; none: the file's name serves.
    pub title: std::option::Option<String>,
    /// How often each entry is measured, each time from a fresh start.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// Seed of a shuffled order.
    pub seed: u64,
    /// Index of the entry that the others are compared with.
    pub base: usize,
    /// The entries, grids taken apart, in the order of the file; at least one.
    pub entries: Vec<Entry>,
}

/// In which order the runs of a sweep are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// All repeats of the first entry, then all of the second: fewest changes, and drift favours whoever comes at
    /// the better time.
    Given,
    /// Round by round, each entry once a round.
    #[default]
    Interleaved,
    /// Round by round, each in an order of its own.
    Shuffled,
}

impl Order {
    const ALL: [(&'static str, Order); 3] =
        [("given", Order::Given), ("interleaved", Order::Interleaved), ("shuffled", Order::Shuffled)];

    /// Its word in a file.
    pub fn word(self) -> &'static str {
        Order::ALL.iter().find(|(_, order)| *order == self).map_or("", |(word, _)| word)
    }
}

/// One server with its run's options.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name in tables and titles.
    pub name: String,
    /// The name as a part of a file's name; no other entry has it.
    pub slug: String,
    /// What is measured.
    pub subject: Subject,
    /// The values of its grid that it has, by name.
    pub variables: Vec<(String, String)>,
    /// Options of its runs, in the order of the file.
    pub options: Vec<(String, Setting)>,
}

/// What an entry measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A server that is started for each run, and ended behind it.
    Launched {
        /// The command, as a shell reads it.
        command: String,
        /// Where it will answer; none: as the command says.
        url: std::option::Option<String>,
    },
    /// A server that runs already.
    Running {
        /// Its address.
        url: String,
    },
    /// The simulated engine.
    Simulated {
        /// A built-in profile, or the file of a run record.
        profile: String,
        /// `TOKENS,ACCEPTANCE` of speculative decoding.
        speculative: std::option::Option<String>,
    },
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A switch that is set, or not.
    Switch(bool),
    /// A value; lists are joined by commas.
    Value(String),
    /// An option that is given once for each.
    Values(Vec<String>),
}

/// An option that the runs of a sweep may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Option {
    /// Its long name without the dashes.
    pub name: String,
    /// What it takes.
    pub kind: Kind,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Switch,
    /// One value.
    One,
    /// It may be given several times.
    Several,
}

/// One run of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Job {
    /// Index of its entry.
    pub entry: usize,
    /// Which repeat of it, from 1 on.
    pub repeat: u32,
}

impl Sweep {
    /// Reads a file; `known` are the options that runs may have.
    pub fn parse(text: &str, known: &[Option]) -> Result<Sweep, SweepError> {
        file::read(text, known)
    }

    /// Its runs, in order.
    pub fn jobs(&self) -> Vec<Job> {
        let entries = 0..self.entries.len();
        let mut jobs = Vec::with_capacity(self.entries.len() * self.repeats as usize);
        if self.order == Order::Given {
            for entry in entries {
                jobs.extend((1..=self.repeats).map(|repeat| Job { entry, repeat }));
            }
            return jobs;
        }
        for repeat in 1..=self.repeats {
            let mut round: Vec<Job> = entries.clone().map(|entry| Job { entry, repeat }).collect();
            if self.order == Order::Shuffled {
                Random::new(seed::of_order(self.seed, repeat)).shuffle(&mut round);
            }
            jobs.extend(round);
        }
        jobs
    }
}

impl Entry {
    /// Its options as arguments of a command line.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for (name, setting) in &self.options {
            match setting {
                Setting::Switch(true) => arguments.push(format!("--{name}")),
                Setting::Switch(false) => {}
                Setting::Value(value) => arguments.push(format!("--{name}={value}")),
                Setting::Values(values) => {
                    arguments.extend(values.iter().map(|value| format!("--{name}={value}")));
                }
            }
        }
        arguments
    }
}
