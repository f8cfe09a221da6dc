//! `tokometer man`.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;
use crate::args::tool::ManArgs;
use crate::failure::Hinted;
use crate::out;

/// Prints the program's page, or writes one for each command.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    let mut program = Cli::command();
    program.build();
    let Some(folder) = &args.folder else {
        out::result_bytes(&page(program, "tokometer")?)?;
        return Ok(0);
    };
    let unwritable = || {
        let message = format!("the pages can't be written to {}", folder.display());
        Hinted::new(message, "give a folder that you may write to")
    };
    std::fs::create_dir_all(folder).with_context(unwritable)?;
    let written = write(&program, "tokometer", folder).with_context(unwritable)?;
    out::say(&format!("{} in {}", out::count(written, "page"), folder.display()));
    Ok(0)
}

/// Writes the page of a command and those of the commands below it; how many.
fn write(command: &Command, name: &str, folder: &Path) -> std::io::Result<usize> {
    std::fs::write(folder.join(format!("{name}.1")), page(command.clone(), name)?)?;
    let mut written = 1;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        written += write(sub, &format!("{name}-{}", sub.get_name()), folder)?;
    }
    Ok(written)
}

fn page(command: Command, name: &str) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command.name(name.to_owned()).display_name(name.to_owned())).render(&mut text)?;
    Ok(text)
}
