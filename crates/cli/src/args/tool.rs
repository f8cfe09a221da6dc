//! Commands about the program itself: `explain`, `completions`, `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(
    after_help = "A term is a quantity (TTFT), a verdict (over_capacity), a flag (few_samples), a field of the record \
                  (throughput.total) or any word in one, or an option (--adaptive). Case, spaces, - and _ don't matter.\n\n\
                  Examples:\n  tokometer explain 'total rate'\n  tokometer explain unstable\n  \
                  tokometer explain cells.window.seconds"
)]
pub(crate) struct ExplainArgs {
    /// What to explain; none: list all terms of a report
    #[arg(value_name = "TERM")]
    pub(crate) term: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tokometer completions bash > ~/.local/share/bash-completion/completions/tokometer\n  \
                  tokometer completions zsh > ~/.zfunc/_tokometer\n  \
                  tokometer completions fish > ~/.config/fish/completions/tokometer.fish\n  \
                  tokometer completions powershell >> $PROFILE"
)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tokometer man | man -l -                  read the page of the program\n  \
                  tokometer man ~/.local/share/man/man1     write the pages of all commands"
)]
pub(crate) struct ManArgs {
    /// Folder that a page for each command is written to; none: print the program's own page
    pub(crate) folder: Option<PathBuf>,
}
