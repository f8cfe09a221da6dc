//! The commands in the program's help, by what they are for.

use std::fmt::Write;

use clap::Command;

/// Groups in the order of the help; a command that is in none comes last.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Measure", &["run", "demo", "sweep", "probe", "calibrate", "sim", "agent"]),
    ("Read and check", &["report", "compare", "analyse", "verify", "import"]),
    ("Publish", &["publish", "login", "logout", "whoami", "serve", "site"]),
    ("The program itself", &["config", "explain", "schema", "completions", "man", "help"]),
];
/// Columns before a command's description.
const NAME_WIDTH: usize = 13;

/// The program with its commands in groups.
pub(crate) fn grouped(program: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\nOptions:\n{{options}}{{after-help}}",
        list(&program)
    );
    program.help_template(template)
}

fn list(program: &Command) -> String {
    let mut text = String::new();
    let commands = || program.get_subcommands().filter(|command| !command.is_hide_set());
    let in_none = |command: &&Command| !GROUPS.iter().any(|(_, names)| names.contains(&command.get_name()));
    let rest: Vec<&Command> = commands().filter(in_none).collect();
    let groups = GROUPS.iter().map(|(heading, names)| {
        let of = names.iter().filter_map(|name| commands().find(|command| command.get_name() == *name));
        (*heading, of.collect::<Vec<_>>())
    });
    for (heading, commands) in groups.chain([("More", rest)]).filter(|(_, commands)| !commands.is_empty()) {
        let _ = writeln!(text, "\n{heading}:");
        for command in commands {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:<NAME_WIDTH$}{about}", command.get_name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::args::Cli;

    #[test]
    fn every_command_stands_in_the_help() {
        let mut program = super::grouped(Cli::command());
        let help = program.render_help().to_string();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let start = format!("  {}  ", command.get_name());
            assert!(help.contains(&start), "{start:?} in {help}");
        }
        assert!(help.contains("Measure:") && help.contains("Examples:"), "{help}");
    }
}
