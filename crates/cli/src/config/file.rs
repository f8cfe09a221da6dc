//! `tokometer.toml`: found upward from here, read strictly.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;
use tokometer_wire::redact;
use toml::de::{DeTable, DeValue};

use super::catalogue::{self, Kind, PRESET, Setting};
use super::near::nearest;
use crate::failure::Hinted;

/// Name of the file.
pub(super) const NAME: &str = "tokometer.toml";
/// The variable that names another one, or none at all where it is empty.
pub(super) const VARIABLE: &str = "TOKOMETER_CONFIG";
const HINT: &str = "tokometer config show tells every key and where its value comes from";

/// A file's values.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) path: PathBuf,
    entries: Vec<Entry>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Entry {
    /// `matrix.contexts`.
    pub(super) setting: String,
    /// As on the command line.
    pub(super) values: Vec<String>,
    pub(super) line: usize,
}

impl File {
    /// Reads the file that `given` names, else the one that the environment names, else the nearest one above here.
    pub(super) fn find(given: Option<&Path>, program: &Command) -> anyhow::Result<Option<File>> {
        let path = match (given, std::env::var_os(VARIABLE)) {
            (Some(path), _) => path.to_owned(),
            (None, Some(named)) if named.is_empty() => return Ok(None),
            (None, Some(named)) => PathBuf::from(named),
            (None, None) => match upward() {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        let text = std::fs::read_to_string(&path).with_context(|| {
            Hinted::usage(
                format!("cannot read the configuration {}", path.display()),
                "name a file that is there",
            )
        })?;
        File::parse(path, &text, &catalogue::all(program)).map(Some)
    }

    fn parse(path: PathBuf, text: &str, known: &[Setting]) -> anyhow::Result<File> {
        let document = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            Hinted::usage(format!("{}:{line}: {}", path.display(), error.message().replace('\n', "; ")), HINT)
        })?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let reader = Reader { path: &path, folder: &folder, text, known };
        let mut entries = Vec::new();
        reader.table("", document.get_ref(), &mut entries)?;
        Ok(File { path, entries })
    }

    /// The value of a setting, if the file has one.
    pub(super) fn get(&self, setting: &Setting) -> Option<&Entry> {
        let path = setting.path();
        self.entries.iter().find(|entry| entry.setting == path)
    }

    /// The preset that it names.
    pub(super) fn preset(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.setting == PRESET)
    }
}

struct Reader<'a> {
    path: &'a Path,
    folder: &'a Path,
    text: &'a str,
    known: &'a [Setting],
}

impl Reader<'_> {
    fn table(&self, section: &str, table: &DeTable<'_>, entries: &mut Vec<Entry>) -> anyhow::Result<()> {
        for (key, value) in table {
            let line = line_of(self.text, key.span().start);
            let name = key.get_ref().replace('-', "_");
            let path = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
            if let Some(setting) = self.known.iter().find(|setting| setting.path() == path) {
                let values = self.values(setting, value.get_ref(), line)?;
                entries.push(Entry { setting: path, values, line });
            } else if let Some(inner) = value.get_ref().as_table().filter(|_| self.is_section(&path)) {
                self.table(&path, inner, entries)?;
            } else {
                return Err(self.unknown(section, &name, line).into());
            }
        }
        Ok(())
    }

    fn is_section(&self, path: &str) -> bool {
        let within = format!("{path}.");
        self.known.iter().any(|setting| setting.section == path || setting.section.starts_with(&within))
    }

    fn unknown(&self, section: &str, name: &str, line: usize) -> Hinted {
        let here = |setting: &&Setting| setting.section == section;
        let keys: Vec<&str> = self.known.iter().filter(here).map(|setting| setting.key.as_str()).collect();
        let mut sections: Vec<&str> = self.known.iter().map(|setting| setting.section.as_str()).collect();
        sections.dedup();
        let elsewhere = self.known.iter().find(|setting| setting.key == name);
        let hint = match (nearest(name, keys.iter().copied()), elsewhere) {
            (Some(near), _) => format!("did you mean {near}?"),
            (None, Some(setting)) if setting.section.is_empty() => {
                format!("{name} stands above all sections")
            }
            (None, Some(setting)) => format!("{name} belongs into [{}]", setting.section),
            (None, None) if section.is_empty() => match nearest(name, sections.iter().copied()) {
                Some(near) => format!("did you mean [{near}]?"),
                None => HINT.to_owned(),
            },
            (None, None) => HINT.to_owned(),
        };
        let place = if section.is_empty() { String::new() } else { format!(" in [{section}]") };
        Hinted::usage(format!("{}:{line}: unknown key {name:?}{place}", self.path.display()), hint)
    }

    fn values(&self, setting: &Setting, value: &DeValue<'_>, line: usize) -> anyhow::Result<Vec<String>> {
        let wrong = |expected: &str| {
            let place = format!("{}:{line}: {}", self.path.display(), setting.path());
            Hinted::usage(format!("{place}: expected {expected}, found a {}", value.type_str()), HINT)
        };
        let values = match (value, setting.kind) {
            (DeValue::Boolean(value), Kind::Flag) => vec![value.to_string()],
            (_, Kind::Flag) => return Err(wrong("true or false").into()),
            (DeValue::Array(items), kind) => {
                let parts: Option<Vec<String>> = items.iter().map(|item| scalar(item.get_ref())).collect();
                let parts = parts.ok_or_else(|| wrong("a list of texts or numbers"))?;
                if kind == Kind::Many { parts } else { vec![parts.join(",")] }
            }
            (DeValue::Table(table), _) if setting.key == "request_json" => {
                vec![json_table(table).to_string()]
            }
            _ => vec![scalar(value).ok_or_else(|| wrong("a text or a number"))?],
        };
        if values.iter().any(|value| holds_a_secret(setting, value)) {
            return Err(Hinted::usage(
                format!("{}:{line}: {} holds a secret", self.path.display(), setting.path()),
                "put the secret into a file or a variable, and name that: api_key_file, api_key_env",
            )
            .into());
        }
        Ok(values.into_iter().map(|value| if setting.is_path { self.place(&value) } else { value }).collect())
    }

    /// Files lie where they lie as seen from the configuration, not from here.
    fn place(&self, path: &str) -> String {
        if Path::new(path).is_absolute() || self.folder.as_os_str().is_empty() {
            return path.to_owned();
        }
        self.folder.join(path).display().to_string()
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn json_table(table: &DeTable<'_>) -> serde_json::Value {
    let fields = table.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
    serde_json::Value::Object(fields.collect())
}

fn json(value: &DeValue<'_>) -> serde_json::Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let text = scalar(value).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_else(|_| text.into())
        }
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => json_table(table),
    }
}

/// A file is shared and kept under version control: keys have no place in it.
fn holds_a_secret(setting: &Setting, value: &str) -> bool {
    let hides = |text: String| text.contains(redact::REDACTED);
    let header = setting.key == "header"
        && value
            .split_once(':')
            .is_some_and(|(name, value)| hides(redact::variable(name.trim(), value.trim())));
    let key = setting.key == "api_key";
    key || header || hides(redact::line(value)) || hides(redact::text(value))
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// The file in this folder or the nearest one above.
fn upward() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let found = here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file())?;
    // In this folder itself its name says enough.
    let plain = found.parent() == Some(here.as_path());
    Some(if plain { PathBuf::from(NAME) } else { found })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn parse(text: &str) -> anyhow::Result<File> {
        let mut program = Cli::command();
        program.build();
        File::parse(PathBuf::from("up/tokometer.toml"), text, &catalogue::all(&program))
    }

    fn error(text: &str) -> String {
        let error = parse(text).unwrap_err();
        let hint = error.downcast_ref::<Hinted>().map(Hinted::hint).unwrap_or_default();
        format!("{error} | {hint}")
    }

    #[test]
    fn values_are_read_as_on_the_command_line() {
        let file = parse(
            "preset = 'quick'\n[target]\nurl = 'gpu1:8000'\nheader = ['X-Team: lab', 'X-Run: 1']\n\
             [matrix]\ncontexts = [8192, '32k']\nprefill-repeats = 2\n\
             [method]\nadaptive = true\ntemperature = 0.7\nrequest_json = { top_k = 20, stop = ['a'] }\ncorpus = 'a.txt'\n\
             [sim]\nport = 9000\n",
        )
        .unwrap();
        let value =
            |path: &str| file.entries.iter().find(|entry| entry.setting == path).unwrap().values.clone();
        assert_eq!(file.preset().unwrap().values, ["quick"]);
        assert_eq!(value("target.header"), ["X-Team: lab", "X-Run: 1"]);
        assert_eq!(value("matrix.contexts"), ["8192,32k"]);
        assert_eq!(value("matrix.prefill_repeats"), ["2"]);
        assert_eq!(value("method.adaptive"), ["true"]);
        assert_eq!(value("method.temperature"), ["0.7"]);
        assert_eq!(value("method.request_json"), [r#"{"top_k":20,"stop":["a"]}"#]);
        assert_eq!(value("method.corpus"), ["up/a.txt"], "as seen from the file");
        assert_eq!(value("sim.port"), ["9000"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_was_meant() {
        for (text, words) in [
            (
                "[matrix]\ncontext = '8k'\n",
                ["up/tokometer.toml:2", "unknown key \"context\"", "did you mean contexts"],
            ),
            ("[matrix]\nduration = '8s'\n", ["2", "[matrix]", "belongs into [method]"]),
            ("[metod]\n", ["tokometer.toml:1", "metod", "did you mean [method]"]),
            ("[method]\nadaptive = 'yes'\n", ["2", "true or false", "string"]),
            ("[method]\n\nduration = \n", ["tokometer.toml:3", "", ""]),
            (
                "[target]\nheader = 'Authorization: Bearer sk-aaaabbbbccccddddeeee'\n",
                ["2", "holds a secret", "api_key_file"],
            ),
            (
                "[machine]\nlaunch = 'vllm serve m --api-key sk-aaaabbbbccccddddeeee'\n",
                ["2", "holds a secret", "api_key_env"],
            ),
            ("[sim]\napi_key = 'abc'\n", ["2", "holds a secret", ""]),
        ] {
            let error = error(text);
            for word in words {
                assert!(error.contains(word), "{word:?} in {error}");
            }
            assert!(!error.contains("sk-aaaa"), "{error}");
        }
    }
}
