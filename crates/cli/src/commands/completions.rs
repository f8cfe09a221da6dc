//! `tokometer completions SHELL`.

use clap::CommandFactory;

use crate::args::Cli;
use crate::args::tool::CompletionsArgs;
use crate::out;

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tokometer", &mut text);
    out::result_bytes(&text)?;
    Ok(0)
}
