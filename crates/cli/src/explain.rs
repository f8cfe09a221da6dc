//! What every word means: of a report (`docs/words.md`), of the record (its schema), of the command line (its help).
//! Each meaning stands in one place, and this looks it up there.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory};
use serde_json::{Map, Value};

use crate::args::Cli;
use crate::config;

/// A word with its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The word, or the path of a field in the record.
    pub(crate) term: String,
    /// What it is: `quantity`, `verdict`, `field of the record, number`.
    pub(crate) kind: String,
    pub(crate) meaning: String,
}

/// Every meaning of `term`, the nearest to a reader first.
pub(crate) fn find(term: &str) -> Vec<Found> {
    let wanted = plain(term);
    let mut found: Vec<Found> =
        words().into_iter().filter(|(names, _)| names.contains(&wanted)).map(|(_, found)| found).collect();
    let mut fields: Vec<Found> = fields().into_iter().filter(|field| matches(&field.term, &wanted)).collect();
    // A whole path is one field, whatever others end alike.
    if let Some(exact) = fields.iter().find(|field| plain(&field.term) == wanted) {
        fields = vec![exact.clone()];
    }
    found.extend(fields);
    found.extend(options().into_iter().filter(|option| plain(&option.term) == wanted));
    found
}

/// The known word that is most like `term`.
pub(crate) fn nearest(term: &str) -> Option<String> {
    let mut known: Vec<String> = words().into_iter().map(|(_, found)| found.term).collect();
    known.extend(fields().into_iter().map(|field| {
        let last = field.term.rsplit('.').next().unwrap_or_default();
        last.split(" = ").last().unwrap_or_default().to_owned()
    }));
    known.extend(options().into_iter().map(|option| option.term));
    config::nearest(term, known.iter().map(String::as_str)).map(str::to_owned)
}

/// The words of a report, each with the names that it goes by.
fn words() -> Vec<(Vec<String>, Found)> {
    tokometer_report::glossary()
        .iter()
        .map(|word| {
            let without = word.term.split('(').next().unwrap_or_default();
            let parts = word.term.split([',', '(', ')']);
            let names = parts.chain([word.term.as_str(), without]).map(plain).filter(|name| !name.is_empty());
            let kind = match word.section.as_str() {
                "Quantities" => "quantity",
                "Verdicts" => "verdict",
                "Flags" => "flag",
                other => other,
            };
            let found =
                Found { term: word.term.clone(), kind: kind.to_owned(), meaning: word.meaning.clone() };
            (names.collect(), found)
        })
        .collect()
}

/// The fields of the record and the words that they may hold, from its schema.
fn fields() -> Vec<Found> {
    let schema = tokometer_record::schema::run();
    let mut reader = Reader { schema: &schema, found: Vec::new(), open: BTreeSet::new() };
    reader.object("", &schema);
    reader.found
}

struct Reader<'a> {
    schema: &'a Value,
    found: Vec<Found>,
    /// Types that are being read, so that one which holds itself comes to an end.
    open: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn object(&mut self, path: &str, node: &'a Value) {
        for (name, field) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let (kind, target) = self.kind(field);
            let own = text(field);
            let meaning =
                if own.is_empty() { target.map(|(_, node)| text(node)).unwrap_or_default() } else { own };
            self.found.push(Found {
                term: path.clone(),
                kind: format!("field of the record, {kind}"),
                meaning,
            });
            // What was set aside is made as the cells are.
            let Some((name, target)) = target.filter(|_| path != "set_aside.cell") else { continue };
            self.constants(&path, target);
            if self.open.insert(name.to_owned()) {
                self.object(&path, target);
                self.open.remove(name);
            }
        }
    }

    /// The words that a field may hold.
    fn constants(&mut self, path: &str, node: &'a Value) {
        for one in node.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
            if let Some(word) = one.get("const").and_then(Value::as_str) {
                let term = format!("{path} = {word}");
                self.found.push(Found { term, kind: "value in the record".to_owned(), meaning: text(one) });
            }
        }
    }

    /// What a field holds, in words, and the type that its parts are of.
    fn kind(&self, field: &'a Value) -> (String, Option<(&'a str, &'a Value)>) {
        if let Some(items) = field.get("items") {
            let (kind, target) = self.kind(items);
            return (format!("list of {kind}"), target);
        }
        if let Some(values) = field.get("additionalProperties").filter(|values| values.is_object()) {
            let (kind, target) = self.kind(values);
            return (format!("table of {kind}"), target);
        }
        if let Some(either) = field.get("anyOf").and_then(Value::as_array) {
            let some = either.iter().find(|one| one.get("type").and_then(Value::as_str) != Some("null"));
            return some.map_or_else(|| ("value".to_owned(), None), |one| self.kind(one));
        }
        if let Some(reference) = field.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let target = self.schema.get("$defs").and_then(|all| all.get_key_value(name));
            let kind = match target.map(|(_, node)| node.get("oneOf").is_some()) {
                Some(true) => "one word",
                _ => "group",
            };
            return (kind.to_owned(), target.map(|(name, node)| (name.as_str(), node)));
        }
        let types = match field.get("type") {
            Some(Value::String(one)) => one.clone(),
            Some(Value::Array(all)) => {
                all.iter().filter_map(Value::as_str).find(|one| *one != "null").unwrap_or("value").to_owned()
            }
            _ => "value".to_owned(),
        };
        (types, None)
    }
}

trait KeyValue {
    fn get_key_value(&self, name: &str) -> Option<(&String, &Value)>;
}

impl KeyValue for Value {
    fn get_key_value(&self, name: &str) -> Option<(&String, &Value)> {
        self.as_object().and_then(|object: &Map<String, Value>| object.get_key_value(name))
    }
}

fn text(node: &Value) -> String {
    let text = node.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Options, with their help.
fn options() -> Vec<Found> {
    let mut program = Cli::command();
    program.build();
    let mut found = Vec::new();
    read_options(&program, "", &mut found);
    found
}

fn read_options(command: &Command, name: &str, found: &mut Vec<Found>) {
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let (Some(long), Some(help)) = (arg.get_long(), arg.get_help()) else { continue };
        let term = format!("--{long}");
        let meaning = help.to_string();
        if !found.iter().any(|other: &Found| other.term == term && other.meaning == meaning) {
            let kind =
                if name.is_empty() { "option".to_owned() } else { format!("option of tokometer {name}") };
            found.push(Found { term, kind, meaning });
        }
    }
    for sub in command.get_subcommands() {
        read_options(sub, format!("{name} {}", sub.get_name()).trim(), found);
    }
}

/// A field whose path ends in `wanted`, or whose word it is.
fn matches(path: &str, wanted: &str) -> bool {
    let path = plain(path);
    let (place, word) = path.split_once(" = ").unwrap_or((&path, ""));
    word == wanted
        || path == wanted
        || (word.is_empty() && (place == wanted || place.ends_with(&format!(".{wanted}"))))
}

/// `Total rate`, `total-rate` and `total_rate` are one word.
fn plain(word: &str) -> String {
    let word = word.trim().trim_start_matches("--").to_lowercase().replace("[]", "");
    match word.split_once(" = ") {
        Some((place, constant)) => format!("{} = {}", plain(place), plain(constant)),
        None => word.replace(['-', ' '], "_"),
    }
}

#[cfg(test)]
mod tests {
    use tokometer_record::{FlagCode, Status};

    use super::*;

    /// Names of all fields and of all constants, wherever they stand in the schema.
    fn names(node: &Value, found: &mut BTreeSet<String>) {
        match node {
            Value::Object(object) => {
                if let Some(Value::Object(fields)) = object.get("properties") {
                    found.extend(fields.keys().cloned());
                }
                if let Some(Value::String(word)) = object.get("const") {
                    found.insert(word.clone());
                }
                object.values().for_each(|inner| names(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| names(inner, found)),
            _ => {}
        }
    }

    #[test]
    fn every_word_of_the_schema_is_explained() {
        let mut all = BTreeSet::new();
        names(&tokometer_record::schema::run(), &mut all);
        assert!(all.len() > 200, "{}", all.len());
        for name in all {
            let found = find(&name);
            assert!(!found.is_empty(), "{name} is not known");
            for one in found {
                assert!(one.meaning.len() > 3, "{name} has no meaning: {one:?}");
            }
        }
    }

    #[test]
    fn every_verdict_and_every_flag_is_explained_first_as_what_it_is() {
        let statuses = tokometer_report::glossary().iter().filter(|word| word.section == "Verdicts");
        assert_eq!(statuses.count(), 14);
        for status in [Status::Planned, Status::OverCapacity, Status::Unstable, Status::Valid] {
            assert_eq!(find(status.code())[0].kind, "verdict");
        }
        for flag in [FlagCode::FewSamples, FlagCode::Simulated, FlagCode::ClockStep] {
            assert!(find(flag.code()).iter().any(|found| found.kind == "flag"), "{flag:?}");
        }
    }

    #[test]
    fn words_are_found_however_they_are_written() {
        for term in ["Total rate", "total-rate", "TOTAL_RATE", "ttft", "p50", "interval", "--adaptive"] {
            assert!(!find(term).is_empty(), "{term}");
        }
        assert_eq!(find("cells.throughput.total").len(), 1);
        assert_eq!(find("cells[].throughput.total").len(), 1);
        assert_eq!(nearest("thruput").as_deref(), Some("throughput"));
        assert_eq!(nearest("unstabel").as_deref(), Some("unstable"));
    }
}
