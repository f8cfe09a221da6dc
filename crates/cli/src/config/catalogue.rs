//! What can be set, read off the commands themselves.

use std::any::TypeId;
use std::collections::HashSet;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

/// Headings of options that several commands share, and the section that they are set in.
const SHARED: [(&str, &str); 8] = [
    ("Server", "target"),
    ("Machine", "machine"),
    ("Matrix", "matrix"),
    ("Method", "method"),
    ("Output", "output"),
    ("Resume", "resume"),
    ("Publishing", "publishing"),
    ("Storage", "storage"),
];
/// The option that names a set of values; it stands above all sections.
pub(super) const PRESET: &str = "preset";
/// Arguments that say where settings are, or ask for something else than work.
const NOT_SETTINGS: [&str; 3] = ["config", "help", "version"];

/// How an option is written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Without a value.
    Flag,
    /// With one value.
    One,
    /// With values that are separated by commas, or that are given by naming it several times.
    Many,
}

/// One option, and how it is called elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// Section of `tokometer.toml`; empty: above all sections.
    pub(crate) section: String,
    /// Key in its section.
    pub(crate) key: String,
    /// Environment variable.
    pub(crate) variable: String,
    /// How it is written.
    pub(crate) kind: Kind,
    /// True if it names a file or folder.
    pub(crate) is_path: bool,
    /// As clap knows it.
    pub(crate) arg: Arg,
}

impl Setting {
    fn of(path: &[String], arg: &Arg) -> Option<Setting> {
        let id = arg.get_id().as_str();
        if NOT_SETTINGS.contains(&id) || arg.is_hide_set() {
            return None;
        }
        let shared = arg.get_help_heading().and_then(|heading| {
            SHARED.iter().find(|(known, _)| *known == heading).map(|(_, section)| *section)
        });
        // What a command is about (a run's folder) is no setting; the server's address is one.
        let name = match arg.get_long() {
            Some(long) => long.to_owned(),
            None if shared.is_some() => id.to_owned(),
            None => return None,
        };
        let key = name.replace('-', "_");
        let upper = |text: &str| text.replace('-', "_").replace('.', "__").to_uppercase();
        let (section, variable) = match shared {
            _ if id == PRESET => (String::new(), "TOKOMETER_PRESET".to_owned()),
            Some(section) => (section.to_owned(), format!("TOKOMETER_{}", upper(&key))),
            // Two of them, or `agent --token-file` would be called as `run --agent-token-file` is.
            None => (path.join("."), format!("TOKOMETER_{}__{}", upper(&path.join(".")), upper(&key))),
        };
        let kind = match arg.get_action() {
            ArgAction::SetTrue => Kind::Flag,
            ArgAction::Append => Kind::Many,
            _ if arg.get_value_delimiter().is_some() => Kind::Many,
            _ => Kind::One,
        };
        let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        Some(Setting { section, key, variable, kind, is_path, arg: arg.clone() })
    }

    /// The option's name for clap.
    pub(crate) fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// `matrix.contexts`.
    pub(crate) fn path(&self) -> String {
        if self.section.is_empty() { self.key.clone() } else { format!("{}.{}", self.section, self.key) }
    }
}

/// What can be set of the command that lies at `path` below the program.
pub(crate) fn settings_of(command: &Command, path: &[String]) -> Vec<Setting> {
    command.get_arguments().filter_map(|arg| Setting::of(path, arg)).collect()
}

/// What can be set of all commands; options that several share stand once.
pub(super) fn all(program: &Command) -> Vec<Setting> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let mut add = |command: &Command, path: &[String]| {
        for setting in settings_of(command, path) {
            if known.insert(setting.path()) {
                found.push(setting);
            }
        }
    };
    walk(program, &mut Vec::new(), &mut add);
    found
}

fn walk(command: &Command, path: &mut Vec<String>, visit: &mut impl FnMut(&Command, &[String])) {
    visit(command, path);
    for sub in command.get_subcommands() {
        path.push(sub.get_name().to_owned());
        walk(sub, path, visit);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_option_of_every_command_can_be_set() {
        let mut program = Cli::command();
        program.build();
        let all = all(&program);
        let mut by_variable: BTreeMap<String, String> = BTreeMap::new();
        for setting in &all {
            let other = by_variable.insert(setting.variable.clone(), setting.path());
            assert_eq!(other, None, "{} is the variable of two options", setting.variable);
        }
        let mut check = |command: &Command, path: &[String]| {
            for arg in command.get_arguments() {
                let id = arg.get_id().as_str();
                if arg.is_positional() || arg.is_hide_set() || NOT_SETTINGS.contains(&id) {
                    continue;
                }
                let setting = Setting::of(path, arg).unwrap_or_else(|| panic!("{path:?} {id}"));
                assert!(all.iter().any(|other| other.path() == setting.path()), "{path:?} {id}");
            }
        };
        walk(&program, &mut Vec::new(), &mut check);
        for path in ["target.url", "matrix.contexts", "method.duration", "output.out", "sim.port", "preset"] {
            assert!(all.iter().any(|setting| setting.path() == path), "{path}");
        }
    }

    /// Every variable and every option that a file of `deploy/` names is one of `serve`.
    #[cfg(feature = "site")]
    #[test]
    fn files_to_run_the_site_name_what_there_is() {
        let mut program = Cli::command();
        program.build();
        let serve = program.find_subcommand("serve").expect("the site's command");
        let settings = settings_of(serve, &["serve".to_owned()]);
        let help = serve.clone().render_long_help().to_string();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let (mut variables, mut options) = (0, 0);
        for file in files(&root) {
            let text = std::fs::read_to_string(&file).unwrap();
            let words = |of: &str| -> Vec<String> {
                let ends = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-';
                of.split(ends).map(str::to_owned).collect()
            };
            for word in words(&text).iter().filter(|word| word.starts_with("TOKOMETER_")) {
                let known =
                    settings.iter().any(|setting| setting.variable == *word) || help.contains(word.as_str());
                assert!(known, "{} sets {word}, which `serve` does not know", file.display());
                variables += 1;
            }
            // Commands of other programs have options of their own.
            let ours = |line: &&str| {
                let others = ["podman", "kubectl", "cargo", "apt-get", "--from", "HEALTHCHECK"];
                line.contains("--") && !others.iter().any(|other| line.contains(other))
            };
            for line in text.lines().filter(ours) {
                let is_option = |word: &&String| {
                    word.strip_prefix("--")
                        .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
                };
                for word in words(line).iter().filter(is_option) {
                    let known =
                        settings.iter().any(|setting| setting.arg.get_long() == word.strip_prefix("--"));
                    assert!(known, "{} names {word}, which `serve` does not know", file.display());
                    options += 1;
                }
            }
        }
        assert!(variables >= 10 && options >= 3, "{variables} variables and {options} options were found");
    }

    #[cfg(feature = "site")]
    fn files(folder: &std::path::Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// Options under the same heading go into the same section, so they must be the same options.
    #[test]
    fn options_that_share_a_section_are_alike() {
        let mut program = Cli::command();
        program.build();
        let mut first: BTreeMap<String, (String, Kind)> = BTreeMap::new();
        let mut check = |command: &Command, path: &[String]| {
            for setting in settings_of(command, path) {
                let alike = (format!("{:?}", setting.arg.get_value_parser()), setting.kind);
                let known = first.entry(setting.path()).or_insert_with(|| alike.clone());
                assert_eq!(*known, alike, "{} of {path:?}", setting.path());
            }
        };
        walk(&program, &mut Vec::new(), &mut check);
    }
}
