//! Secrets in launch commands: in the array of arguments, never in a rendered line.

use serde_json::Value;

use super::names::{Kind, kind};
use super::text::{is_harmless, looks_random, text};
use super::{REDACTED, values};

/// Programs that take a whole command as one argument.
const SHELLS: [&str; 5] = ["sh", "bash", "zsh", "dash", "ksh"];
/// Flags of a secret that take several values.
const SEVERAL: [&str; 4] = ["api-key", "api_key", "lora-modules", "middleware"];
/// Length of a secret's part that is looked for by itself.
const LEAST_PART: usize = 8;
/// The short flag of a token.
const HFT: &str = "-hft";

/// A command that can be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Its arguments, secrets removed.
    pub arguments: Vec<String>,
    /// What was removed, longest first: for [`super::values`] over logs and messages of that command.
    pub secrets: Vec<String>,
}

/// A command without secrets.
pub fn command(arguments: &[String]) -> Command {
    let mut taken = Taken::default();
    let shown = walk(arguments, &mut taken);
    let mut secrets = taken.0;
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    // What is secret in one place is so wherever it stands; a short word may be the name of something as well.
    let long: Vec<String> = secrets.iter().filter(|secret| secret.len() >= LEAST_PART).cloned().collect();
    let arguments = shown.iter().map(|argument| values(argument, &long)).collect();
    Command { arguments, secrets }
}

/// A command that is one line, without secrets; it is read as a shell reads it.
pub fn line(line: &str) -> String {
    match words(line) {
        Some(given) => {
            let shown = command(&given).arguments;
            // What holds no secret stays as it was written.
            if shown == given {
                line.to_owned()
            } else {
                shown.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
        }
        None => text(line),
    }
}

/// The value of a variable without secrets.
pub fn variable(name: &str, value: &str) -> String {
    judge(name, value, &mut Taken::default())
}

/// Values of variables that are secret by their names, for [`super::values`] over what a process prints that has them.
/// Short ones are left out: they may well be a part of ordinary words.
pub fn secrets_of(variables: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let is_secret = |name: &str, value: &str| {
        value.len() >= LEAST_PART && matches!(kind(name), Kind::Secret | Kind::Likely) && !is_harmless(value)
    };
    variables.into_iter().filter(|(name, value)| is_secret(name, value)).map(|(_, value)| value).collect()
}

/// A document without secrets.
pub fn json(value: Value) -> Value {
    tree("", value, &mut Taken::default())
}

/// The words of a line as a shell splits them, the `;` between two commands as one of its own; none if a quote is not
/// closed.
pub fn words(line: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => {
                        word.get_or_insert_default();
                        break;
                    }
                    inner => word.get_or_insert_default().push(inner),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => {
                        word.get_or_insert_default();
                        break;
                    }
                    '\\' => match chars.next()? {
                        inner @ ('"' | '\\' | '$' | '`') => word.get_or_insert_default().push(inner),
                        '\n' => {}
                        inner => word.get_or_insert_default().extend(['\\', inner]),
                    },
                    inner => word.get_or_insert_default().push(inner),
                }
            },
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(inner) => word.get_or_insert_default().push(inner),
            },
            c if c.is_whitespace() => found.extend(word.take()),
            ';' => {
                found.extend(word.take());
                found.push(";".to_owned());
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    found.extend(word);
    Some(found)
}

/// What was removed so far.
#[derive(Default)]
struct Taken(Vec<String>);

impl Taken {
    fn hide(&mut self, secret: &str) -> String {
        // What is this short would be found everywhere.
        if !is_harmless(secret) && secret != REDACTED {
            self.0.push(secret.to_owned());
            // `user:password`, `Bearer KEY`: each part may stand alone elsewhere.
            let parts = secret
                .split([':', ' ', '=', ';', '&', '|', ')'])
                .filter(|part| part.len() >= LEAST_PART && *part != secret);
            self.0.extend(parts.map(str::to_owned));
        }
        REDACTED.to_owned()
    }

    /// Text that a rule has changed: its words that are gone are the secrets.
    fn compare(&mut self, before: &str, after: String) -> String {
        if before == after {
            return after;
        }
        let kept: Vec<&str> = after.split(REDACTED).collect();
        let mut rest = before;
        for (index, part) in kept.iter().enumerate() {
            let Some(at) =
                (if index + 1 == kept.len() { rest.len().checked_sub(part.len()) } else { rest.find(part) })
            else {
                self.hide(before);
                return after;
            };
            if index > 0 {
                let secret = rest.get(..at).unwrap_or(rest).to_owned();
                self.hide(&secret);
            }
            rest = rest.get(at + part.len()..).unwrap_or("");
        }
        after
    }
}

fn walk(arguments: &[String], taken: &mut Taken) -> Vec<String> {
    let mut shown = Vec::with_capacity(arguments.len());
    let mut index = 0;
    let mut is_shell = false;
    while let Some(argument) = arguments.get(index) {
        index += 1;
        let program = argument.rsplit('/').next().unwrap_or(argument);
        if is_shell && argument.starts_with('-') && !argument.starts_with("--") && argument.contains('c') {
            shown.push(argument.clone());
            if let Some(script) = arguments.get(index) {
                shown.push(scripted(script, taken));
                index += 1;
            }
            is_shell = false;
            continue;
        }
        is_shell |= SHELLS.contains(&program);
        if let Some((flag, value)) = argument.split_once('=').filter(|(flag, _)| is_name(flag)) {
            shown.push(format!("{flag}={}", judge(flag, value, taken)));
            continue;
        }
        if !argument.starts_with('-') || argument.len() < 2 {
            shown.push(value(Kind::Plain, argument, taken));
            continue;
        }
        shown.push(taken.compare(argument, text(argument)));
        let name = argument.trim_start_matches('-');
        let known = match argument.as_str() {
            // In lower case it asks for help.
            "-H" => Kind::Header,
            HFT => Kind::Secret,
            _ if name.len() > 1 => kind(name),
            _ => Kind::Plain,
        };
        if known == Kind::Plain {
            continue;
        }
        let several = SEVERAL.contains(&name);
        let mut first = true;
        while let Some(next) = arguments.get(index).filter(|next| (first || several) && takes(known, next)) {
            shown.push(value(known, next, taken));
            index += 1;
            first = false;
            if next.ends_with([';', '&', '|']) {
                // The next word begins another command.
                break;
            }
        }
    }
    shown
}

/// True if `next` is a value and not a flag, nor what stands between two commands.
fn takes(known: Kind, next: &str) -> bool {
    if [";", "&", "&&", "|", "||"].contains(&next) {
        return false;
    }
    let secret = matches!(known, Kind::Secret | Kind::Likely);
    !next.starts_with('-') || (secret && !next.starts_with("--") && next.len() > 3)
}

/// True for the name of a flag or a variable, as it stands before a `=`.
fn is_name(text: &str) -> bool {
    let name = text.trim_start_matches('-');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// A script as an argument: judged as a command of its own; what can't be split is dropped.
fn scripted(script: &str, taken: &mut Taken) -> String {
    match words(script) {
        Some(given) => {
            let shown = walk(&given, taken);
            if shown == given {
                script.to_owned()
            } else {
                shown.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
        }
        None => taken.hide(script),
    }
}

/// A value by the name that it has.
fn judge(name: &str, given: &str, taken: &mut Taken) -> String {
    value(kind(name.trim_start_matches('-')), given, taken)
}

fn value(kind: Kind, given: &str, taken: &mut Taken) -> String {
    match kind {
        Kind::Likely if is_harmless(given) => given.to_owned(),
        Kind::Secret | Kind::Likely => taken.hide(given),
        Kind::File => {
            let base = given.rsplit('/').next().unwrap_or(given);
            value(Kind::Plain, base, taken)
        }
        Kind::Header => match given.split_once([':', '=']) {
            Some((name, secret)) => {
                taken.hide(secret.trim());
                format!("{name}: {REDACTED}")
            }
            None => taken.hide(given),
        },
        Kind::Document => match document(given, taken) {
            Some(shown) => shown,
            None => taken.hide(given),
        },
        Kind::Digest => home(&taken.compare(given, text(given))),
        Kind::Plain => {
            if let Some(shown) = document(given, taken) {
                return shown;
            }
            // A variable that is passed on: `-e KEY=value`.
            if let Some((name, inner)) = given.split_once('=').filter(|(name, _)| is_name(name)) {
                return format!("{name}={}", judge(name, inner, taken));
            }
            if looks_random(given) && !given.contains("://") {
                return taken.hide(given);
            }
            home(&taken.compare(given, text(given)))
        }
    }
}

/// A value that is JSON, its parts judged.
fn document(given: &str, taken: &mut Taken) -> Option<String> {
    if !given.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let parsed: Value = serde_json::from_str(given).ok()?;
    let shown = tree("", parsed.clone(), taken);
    // What holds no secret stays as it was written.
    Some(if shown == parsed { given.to_owned() } else { shown.to_string() })
}

fn tree(name: &str, given: Value, taken: &mut Taken) -> Value {
    let known = kind(name);
    match given {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, part)| {
                    let name = if matches!(known, Kind::Secret | Kind::Likely) { name } else { &key };
                    let shown = tree(name, part, taken);
                    (key, shown)
                })
                .collect(),
        ),
        Value::Array(parts) => Value::Array(parts.into_iter().map(|part| tree(name, part, taken)).collect()),
        Value::String(given) => Value::String(value(known, &given, taken)),
        number @ Value::Number(_) if known == Kind::Secret => Value::String(taken.hide(&number.to_string())),
        number @ Value::Number(_) if known == Kind::Likely => {
            let digits = number.to_string();
            if is_harmless(&digits) { number } else { Value::String(taken.hide(&digits)) }
        }
        other => other,
    }
}

/// Home folders by their short name: who runs a server is nobody's business.
fn home(given: &str) -> String {
    let mut out = String::new();
    let mut rest = given;
    let starts = |before: &str| before.is_empty() || before.ends_with(['=', ':', ',', ' ', '"', '\'']);
    loop {
        let found = ["/home/", "/Users/", "/root/"]
            .iter()
            .filter_map(|start| Some((rest.find(start)?, *start)))
            .min();
        let Some((at, start)) = found else { return out + rest };
        let (before, after) = (&rest[..at], &rest[at + start.len()..]);
        out.push_str(before);
        if !starts(&out) {
            out.push_str(start);
            rest = after;
            continue;
        }
        let user = if start == "/root/" { Some(0) } else { after.find('/').map(|end| end + 1) };
        if let Some(end) = user {
            out.push_str("~/");
            rest = &after[end..];
        } else {
            out.push('~');
            rest = "";
        }
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+<>".contains(c);
    let between_commands = word == ";";
    if between_commands || (!word.is_empty() && word.chars().all(plain)) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
