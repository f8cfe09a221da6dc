//! Where options come from: defaults, a preset, `tokometer.toml`, the environment, the command line, in rising order.
//!
//! What can be set is read off clap's own description of the commands, so that no option can be missing. Values from
//! elsewhere become the defaults of the command that is called: clap reads them as it reads the command line.

mod catalogue;
mod file;
mod layers;
mod misspelt;
mod near;
mod preset;
pub(crate) mod show;

use std::ffi::OsString;

use clap::{ArgMatches, Command};

pub(crate) use near::nearest;
pub(crate) use preset::Preset;

use crate::out;

/// The command line with everything that stands elsewhere. A line that can't be read ends the process, with clap's
/// own message.
pub(crate) fn read(command: Command, line: Vec<OsString>) -> anyhow::Result<ArgMatches> {
    let command = match layers::Call::of(&command, &line) {
        Some(call) => {
            let resolved = layers::resolve(&command, &call)?;
            for (name, meant) in misspelt::variables(|| catalogue::all(&command)) {
                out::say(&format!("note: {name} is no setting and changes nothing; did you mean {meant}?"));
            }
            layers::inject(command, &call, &resolved)
        }
        // Help, a version, or a line that clap will refuse.
        None => command,
    };
    let commands: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    command.try_get_matches_from(line).map_err(|error| misspelt::command(error, &commands).exit())
}
