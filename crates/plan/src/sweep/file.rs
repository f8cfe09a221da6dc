//! The file of a sweep, read strictly.

use toml::{Table, Value};

use super::error::nearest;
use super::grid::{self, Filling};
use super::{Entry, Kind, MOST_ENTRIES, Option as RunOption, Order, Setting, Subject, Sweep, SweepError};

const TOP: [&str; 7] = ["title", "repeats", "order", "seed", "base", "options", "entry"];
const ENTRY: [&str; 7] = ["name", "launch", "url", "profile", "speculative", "grid", "options"];
/// Options of a run that a sweep sets by itself, and what to use instead.
const OWN: [(&str, &str); 8] = [
    ("launch", "which stands in its entry: launch = \"…\""),
    ("url", "which stands in its entry: url = \"…\""),
    ("out", "which is the sweep's: tokometer sweep --out DIR"),
    ("dry-run", "which is the sweep's: tokometer sweep --dry-run"),
    ("json", "which is the sweep's: tokometer sweep --json"),
    ("quiet", "which is the sweep's: tokometer sweep --quiet"),
    ("yes", "which is the sweep's: tokometer sweep --yes"),
    ("help", "which is no setting"),
];
/// Most repeats of an entry.
const MOST_REPEATS: i64 = 100;
/// The whole file, in messages.
const FILE: &str = "the file";

/// Reads the whole file.
pub(super) fn read(text: &str, known: &[RunOption]) -> Result<Sweep, SweepError> {
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| SweepError::Toml { why: said(text, &error) })?;
    check_keys(&table, FILE, &TOP)?;
    let title = string(&table, FILE, "title")?;
    let repeats = whole(&table, "repeats", 1, MOST_REPEATS)?.unwrap_or(1) as u32;
    let seed = whole(&table, "seed", 0, i64::MAX)?.unwrap_or(1) as u64;
    let order = match string(&table, FILE, "order")? {
        None => Order::default(),
        Some(word) => Order::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, order)| *order)
            .ok_or_else(|| value_error(FILE, "order", "\"given\", \"interleaved\" or \"shuffled\""))?,
    };
    let shared = Options { known, place: FILE }.read(&table)?;
    let listed = match table.get("entry") {
        None => return Err(SweepError::Empty),
        Some(Value::Array(list)) if list.is_empty() => return Err(SweepError::Empty),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(value_error(FILE, "entry", "a list of tables: [[entry]]")),
    };
    let mut entries = Vec::new();
    for (index, value) in listed.iter().enumerate() {
        let Value::Table(table) = value else {
            return Err(value_error(FILE, "entry", "a list of tables: [[entry]]"));
        };
        entry(table, index, &shared, known, &mut entries)?;
    }
    let folded = |entry: &Entry| entry.slug.to_lowercase();
    if let Some((_, twice)) = entries
        .iter()
        .enumerate()
        .find(|(at, one)| entries[..*at].iter().any(|other| folded(other) == folded(one)))
    {
        return Err(SweepError::Twice { name: twice.name.clone() });
    }
    let base = match string(&table, FILE, "base")? {
        None => 0,
        Some(name) => entries.iter().position(|entry| entry.name == name).ok_or_else(|| {
            let nearest = nearest(&name, entries.iter().map(|entry| entry.name.as_str()));
            SweepError::Base { name, nearest }
        })?,
    };
    Ok(Sweep { title, repeats, order, seed, base, entries })
}

/// The entries that one table of the file stands for.
fn entry(
    table: &Table,
    index: usize,
    shared: &[(String, Setting)],
    known: &[RunOption],
    entries: &mut Vec<Entry>,
) -> Result<(), SweepError> {
    let number = format!("entry {}", index + 1);
    check_keys(table, &number, &ENTRY)?;
    let text = |key: &str| string(table, &number, key);
    let name = text("name")?;
    let place = name.as_ref().map_or_else(|| number.clone(), |name| format!("{number} ({name})"));
    let own = Options { known, place: &place }.read(table)?;
    let mut options: Vec<(String, Setting)> =
        shared.iter().filter(|(name, _)| own.iter().all(|(other, _)| other != name)).cloned().collect();
    options.extend(own);

    let subject = match (text("launch")?, text("url")?, text("profile")?, text("speculative")?) {
        (Some(command), url, None, None) => Subject::Launched { command, url },
        (None, Some(url), None, None) => Subject::Running { url },
        (None, None, Some(profile), speculative) => Subject::Simulated { profile, speculative },
        _ => return Err(SweepError::Subject { place }),
    };
    let grid = variables(table, &place)?;
    let count = grid.iter().fold(1_usize, |count, (_, values)| count.saturating_mul(values.len()));
    if entries.len().saturating_add(count) > MOST_ENTRIES {
        return Err(SweepError::TooMany { most: MOST_ENTRIES });
    }
    let mut used = Vec::new();
    for values in grid::combinations(&grid) {
        let mut filling = Filling { place: &place, values: &values, used: &mut used };
        let subject = filled(&subject, &mut filling)?;
        let options = options
            .iter()
            .map(|(name, setting)| Ok((name.clone(), filled_setting(name, setting, &mut filling)?)))
            .collect::<Result<Vec<_>, SweepError>>()?;
        let name = entry_name(name.as_deref(), &number, &values, &mut filling)?;
        entries.push(Entry { slug: slug(&name), name, subject, variables: values, options });
    }
    match grid.iter().find(|(name, _)| !used.contains(name)) {
        Some((name, _)) => Err(SweepError::Unused { place, name: name.clone() }),
        None => Ok(()),
    }
}

fn filled(subject: &Subject, values: &mut Filling<'_>) -> Result<Subject, SweepError> {
    let mut optional =
        |key: &str, text: &Option<String>| text.as_ref().map(|text| values.fill(key, text)).transpose();
    Ok(match subject {
        Subject::Launched { command, url } => {
            let url = optional("url", url)?;
            Subject::Launched { command: values.fill("launch", command)?, url }
        }
        Subject::Running { url } => Subject::Running { url: values.fill("url", url)? },
        Subject::Simulated { profile, speculative } => {
            let speculative = optional("speculative", speculative)?;
            Subject::Simulated { profile: values.fill("profile", profile)?, speculative }
        }
    })
}

fn filled_setting(name: &str, setting: &Setting, values: &mut Filling<'_>) -> Result<Setting, SweepError> {
    Ok(match setting {
        Setting::Switch(on) => Setting::Switch(*on),
        Setting::Value(value) => Setting::Value(values.fill(name, value)?),
        Setting::Values(list) => {
            Setting::Values(list.iter().map(|value| values.fill(name, value)).collect::<Result<_, _>>()?)
        }
    })
}

/// The name of one combination: as written with its values in it, or with those behind it that it leaves out.
fn entry_name(
    written: Option<&str>,
    number: &str,
    values: &[(String, String)],
    filling: &mut Filling<'_>,
) -> Result<String, SweepError> {
    let mut told = Vec::new();
    let mut of_name = Filling { place: filling.place, values, used: &mut told };
    let mut name = match written {
        Some(written) => of_name.fill("name", written)?,
        None if values.is_empty() => number.replace(' ', "-"),
        None => String::new(),
    };
    // What stands in the name alone changes nothing that is measured.
    for (variable, value) in values.iter().filter(|(variable, _)| !told.contains(variable)) {
        let gap = if name.is_empty() { "" } else { "-" };
        name = format!("{name}{gap}{variable}={value}");
    }
    Ok(name)
}

/// A name as a part of a file's name.
fn slug(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=');
    let mapped: String = name.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    let mapped = mapped.replace('=', "");
    let trimmed = mapped.trim_matches(['-', '.']);
    if trimmed.is_empty() { "entry".to_owned() } else { trimmed.to_owned() }
}

/// The grid of an entry: names and their values, in the order of the file.
fn variables(table: &Table, place: &str) -> Result<Vec<(String, Vec<String>)>, SweepError> {
    let expected = "a table of lists: grid = { tp = [1, 2] }";
    let grid = match table.get("grid") {
        None => return Ok(Vec::new()),
        Some(Value::Table(grid)) => grid,
        Some(_) => return Err(value_error(place, "grid", expected)),
    };
    grid.iter()
        .map(|(name, values)| {
            let key = format!("grid.{name}");
            if !grid::is_name(name) {
                return Err(value_error(place, &key, "named with letters, digits and _ alone"));
            }
            let Value::Array(list) = values else { return Err(value_error(place, &key, "a list of values")) };
            let values: Option<Vec<String>> = list.iter().map(scalar).collect();
            match values {
                Some(values) if !values.is_empty() => Ok((name.clone(), values)),
                _ => Err(value_error(place, &key, "a list of at least one text, number or switch")),
            }
        })
        .collect()
}

/// Reads tables of options.
struct Options<'a> {
    known: &'a [RunOption],
    place: &'a str,
}

impl Options<'_> {
    fn read(&self, table: &Table) -> Result<Vec<(String, Setting)>, SweepError> {
        let table = match table.get("options") {
            None => return Ok(Vec::new()),
            Some(Value::Table(options)) => options,
            Some(_) => return Err(value_error(self.place, "options", "a table: [options]")),
        };
        let mut settings: Vec<(String, Setting)> = Vec::new();
        for (key, value) in table {
            let name = key.replace('_', "-");
            let wrong =
                |why: String| SweepError::RunOption { place: self.place.to_owned(), name: key.clone(), why };
            if let Some((_, instead)) = OWN.iter().find(|(own, _)| *own == name) {
                return Err(wrong((*instead).to_owned()));
            }
            let Some(option) = self.known.iter().find(|option| option.name == name) else {
                let near = nearest(&name, self.known.iter().map(|option| option.name.as_str()));
                let near = near.map_or_else(String::new, |near| format!(" (is {near:?} meant?)"));
                return Err(wrong(format!("which tokometer run does not have{near}")));
            };
            if settings.iter().any(|(other, _)| *other == name) {
                return Err(wrong("which stands there twice".to_owned()));
            }
            let setting = setting(option.kind, value)
                .ok_or_else(|| value_error(self.place, &format!("options.{key}"), expected(option.kind)))?;
            settings.push((name, setting));
        }
        Ok(settings)
    }
}

fn setting(kind: Kind, value: &Value) -> Option<Setting> {
    let list = |list: &[Value]| list.iter().map(scalar).collect::<Option<Vec<_>>>();
    match (kind, value) {
        (Kind::Switch, Value::Boolean(on)) => Some(Setting::Switch(*on)),
        (Kind::Switch, _) => None,
        (Kind::One, Value::Array(values)) => Some(Setting::Value(list(values)?.join(","))),
        (Kind::Several, Value::Array(values)) => Some(Setting::Values(list(values)?)),
        (_, value) => Some(Setting::Value(scalar(value)?)),
    }
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "true or false",
        Kind::One | Kind::Several => "a text, a number, or a list of them",
    }
}

/// A value that is one word of a command line.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(on) => Some(on.to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

fn string(table: &Table, place: &str, key: &str) -> Result<Option<String>, SweepError> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(value_error(place, key, "a text")),
    }
}

fn whole(table: &Table, key: &str, least: i64, most: i64) -> Result<Option<i64>, SweepError> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(number)) if (least..=most).contains(number) => Ok(Some(*number)),
        Some(_) if most == i64::MAX => {
            Err(value_error(FILE, key, &format!("a whole number from {least} on")))
        }
        Some(_) => Err(value_error(FILE, key, &format!("a whole number from {least} to {most}"))),
    }
}

fn check_keys(table: &Table, place: &str, known: &[&str]) -> Result<(), SweepError> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(SweepError::Key {
            place: place.to_owned(),
            key: key.clone(),
            nearest: nearest(key, known.iter().copied()),
        }),
    }
}

fn value_error(place: &str, key: &str, expected: &str) -> SweepError {
    SweepError::Value { place: place.to_owned(), key: key.to_owned(), expected: expected.to_owned() }
}

/// What the parser says, with the line; never the line's text, which may hold a secret.
fn said(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text.get(..span.start).unwrap_or("").lines().count().max(1));
    match line {
        Some(line) => format!("line {line}: {}", error.message()),
        None => error.message().to_owned(),
    }
}
