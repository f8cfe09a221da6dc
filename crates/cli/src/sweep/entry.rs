//! An entry of a sweep as the arguments of its runs.

use std::collections::BTreeMap;

use clap::{ArgAction, CommandFactory, Parser};
use serde_json::json;
use tokometer_plan::sweep::{Entry, Kind, Option as RunOption, Subject};
use tokometer_plan::{Limits, SpeedGuess};
use tokometer_record::store::sha256;
use tokometer_wire::redact;

use crate::args::run::RunArgs;
use crate::args::{Cli, Command};
use crate::session::{launch, settings};

/// Options that say something about a run and change nothing of it.
const WORDS_ONLY: [&str; 2] = ["title", "note"];

/// An entry whose options have been looked through.
pub(crate) struct Prepared {
    /// The arguments of its runs.
    pub(crate) args: RunArgs,
    /// What is measured, secrets removed.
    pub(crate) shown: String,
    /// Its options, secrets removed.
    pub(crate) options: String,
    /// The values of the grid, secrets removed.
    pub(crate) variables: BTreeMap<String, String>,
    /// SHA-256 of all that decides what is measured, secrets removed.
    pub(crate) definition: String,
    /// Seconds of a run, roughly.
    pub(crate) seconds: f64,
}

impl Prepared {
    /// Looks an entry through; else what is wrong with it.
    pub(crate) fn new(entry: &Entry) -> Result<Prepared, String> {
        let place = |why: String| format!("{}: {why}", entry.name);
        let mut entry = entry.clone();
        if !matches!(entry.subject, Subject::Launched { .. }) {
            // Among the options of all it means those that are launched.
            entry.options.retain(|(name, _)| name != "launch-timeout");
        }
        let entry = &entry;
        let mut words = vec!["tokometer".to_owned(), "run".to_owned()];
        words.extend(entry.arguments());
        let shown = match &entry.subject {
            Subject::Launched { command, url } => {
                words.push(format!("--launch={command}"));
                match url {
                    Some(url) => words.push(url.clone()),
                    None => drop(launch::url(command).map_err(|error| place(error.to_string()))?),
                }
                format!("launch {}", redact::line(command))
            }
            Subject::Running { url } => {
                words.push(url.clone());
                format!("measure {}", redact::text(url))
            }
            Subject::Simulated { profile, speculative } => {
                crate::commands::sim::profile(profile).map_err(|error| place(format!("{error:#}")))?;
                if let Some(text) = speculative {
                    let parsed = text.parse::<tokometer_sim::Speculation>();
                    parsed.map_err(|error| place(format!("speculative: {error}")))?;
                }
                let speculative = speculative.as_ref().map(|text| format!(", speculative {text}"));
                format!("simulate {profile}{}", speculative.unwrap_or_default())
            }
        };
        let args = match Cli::try_parse_from(words) {
            Ok(Cli { command: Command::Run(args), .. }) => *args,
            Ok(_) => return Err(place("its options are not those of a run".to_owned())),
            Err(error) => return Err(place(said(&error))),
        };
        let variables = entry
            .variables
            .iter()
            .map(|(name, value)| (name.clone(), redact::variable(name, value)))
            .collect();
        let request = settings::request(&args.matrix);
        let plan =
            tokometer_plan::build(&request, &Limits::default()).map_err(|error| place(error.to_string()))?;
        Ok(Prepared {
            seconds: plan.estimate_seconds(&SpeedGuess::default()),
            args,
            options: redact::command(&entry.arguments()).arguments.join(" "),
            variables,
            definition: definition(entry, &shown),
            shown,
        })
    }
}

/// The options that `tokometer run` has.
pub(crate) fn known_options() -> Vec<RunOption> {
    let command = Cli::command();
    let run = command.find_subcommand("run").map(clap::Command::get_arguments);
    run.into_iter()
        .flatten()
        .filter_map(|argument| {
            let kind = match argument.get_action() {
                ArgAction::SetTrue | ArgAction::SetFalse => Kind::Switch,
                ArgAction::Append => Kind::Several,
                _ => Kind::One,
            };
            Some(RunOption { name: argument.get_long()?.to_owned(), kind })
        })
        .collect()
}

fn definition(entry: &Entry, shown: &str) -> String {
    let deciding = Entry {
        options: entry
            .options
            .iter()
            .filter(|(name, _)| !WORDS_ONLY.contains(&name.as_str()))
            .cloned()
            .collect(),
        ..entry.clone()
    };
    let mut options = redact::command(&deciding.arguments()).arguments;
    options.sort_unstable();
    let url = match &entry.subject {
        Subject::Launched { url: Some(url), .. } => Some(redact::text(url)),
        _ => None,
    };
    sha256(json!({"subject": shown, "url": url, "options": options}).to_string().as_bytes())
}

/// The first paragraph of what the argument parser says, which names the option.
fn said(error: &clap::Error) -> String {
    let text = error.to_string();
    let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    redact::text(first.join(" ").trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::known_options;
    use tokometer_plan::sweep::{Kind, Setting, Sweep};

    #[test]
    fn the_options_are_those_of_run() {
        let known = known_options();
        let kind = |name: &str| known.iter().find(|option| option.name == name).map(|option| option.kind);
        assert_eq!(kind("adaptive"), Some(Kind::Switch));
        assert_eq!(kind("contexts"), Some(Kind::One));
        assert_eq!(kind("header"), Some(Kind::Several));
        assert_eq!(kind("fault"), None);
    }

    #[test]
    fn the_example_is_a_sweep() {
        let text = include_str!("../../../../docs/sweep.toml");
        let sweep = Sweep::parse(text, &known_options()).unwrap();
        assert!(sweep.entries.len() > 2, "{sweep:?}");
        for entry in &sweep.entries {
            super::Prepared::new(entry).map_err(|why| panic!("{why}")).ok();
        }
        assert!(sweep.entries[0].options.iter().any(|(_, setting)| matches!(setting, Setting::Value(_))));
    }
}
