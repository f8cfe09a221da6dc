//! Slips of the pen where nothing else would tell them.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::catalogue::Setting;
use super::nearest;

/// What variables of ours begin with.
const OURS: &str = "TOKOMETER_";
/// Letters that are wrong, at most. Other names may be those of other programs.
const SLIPS: usize = 2;
/// Shorter names are too much like each other.
const LEAST: usize = 5;

/// Variables of the environment that look like those of settings and are none, each with what was meant. All settings
/// are asked for only where there is such a variable: every start comes by here.
pub(super) fn variables(settings: impl FnOnce() -> Vec<Setting>) -> Vec<(String, String)> {
    let own = |name: &String| name.strip_prefix(OURS).is_some_and(|own| own.len() >= LEAST);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let set: Vec<String> = names.filter(own).collect();
    if set.is_empty() {
        return Vec::new();
    }
    let settings = settings();
    set.into_iter()
        .filter_map(|name| {
            let own = name.strip_prefix(OURS)?;
            let known = settings.iter().filter_map(|setting| setting.variable.strip_prefix(OURS));
            let slips = |known: &str| strsim::damerau_levenshtein(own, known);
            let (slips, meant) = known.map(|known| (slips(known), known)).min()?;
            (1..=SLIPS).contains(&slips).then(|| (name.clone(), format!("{OURS}{meant}")))
        })
        .collect()
}

/// An error of a command that is not there, with the one that may have been meant.
pub(super) fn command(mut error: clap::Error, commands: &[String]) -> clap::Error {
    if error.kind() == ErrorKind::InvalidSubcommand
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(meant) = nearest(word, commands.iter().map(String::as_str))
    {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}
