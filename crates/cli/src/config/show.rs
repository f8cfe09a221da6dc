//! `tokometer config show`: every value of a command, and where it comes from.

use std::ffi::OsString;

use clap::Command;
use tokometer_wire::redact;

use super::catalogue::{Kind, Setting};
use super::file::{NAME, VARIABLE};
use super::layers::{self, Call, Value};
use crate::failure::Hinted;

/// The values of the command that `line` calls, as a `tokometer.toml` with the sources as remarks.
pub(crate) fn show(program: &Command, line: &[OsString]) -> anyhow::Result<String> {
    let call = Call::of(program, line).filter(|call| !call.path.is_empty()).ok_or_else(|| {
        Hinted::usage(
            "this calls no command",
            "name one, with its options: tokometer config show run --preset quick",
        )
    })?;
    let resolved = layers::resolve(program, &call)?;
    let mut text = String::new();
    let mut put = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    put(format!("# tokometer {}: where every value comes from", call.path.join(" ")));
    put(match &resolved.file {
        Some(path) => format!("# file: {}", layers::shown(path)),
        None => format!("# file: no {NAME} in this folder or above; {VARIABLE} names another one"),
    });
    let mut sections: Vec<&str> = Vec::new();
    for setting in &call.settings {
        if !sections.contains(&setting.section.as_str()) {
            sections.push(&setting.section);
        }
    }
    // What stands above all sections comes first, or it would belong to one.
    sections.sort_by_key(|section| !section.is_empty());
    for section in sections {
        if !section.is_empty() {
            put(format!("\n[{section}]"));
        }
        let of_section = call.settings.iter().zip(&resolved.values).filter(|(one, _)| one.section == section);
        for (setting, value) in of_section {
            put(entry(setting, value));
        }
    }
    Ok(text)
}

/// `duration = "10s"  # tokometer.toml:3`.
fn entry(setting: &Setting, value: &Value) -> String {
    let source = match value.source.words() {
        words if words == setting.variable => words,
        words => format!("{words} · {}", setting.variable),
    };
    let left = match value.values.as_slice() {
        [] => format!("# {} is not set", setting.key),
        values => format!("{} = {}", setting.key, written(setting, values)),
    };
    format!("{left:<44}# {source}")
}

fn written(setting: &Setting, values: &[String]) -> String {
    let quoted = |value: &String| {
        let shown = match value.split_once(':') {
            Some((name, _)) if setting.key == "header" => format!("{name}: {}", redact::REDACTED),
            _ if setting.key == "api_key" => redact::REDACTED.to_owned(),
            _ if setting.key == "launch" || setting.key == "stated_command" => redact::line(value),
            _ => redact::text(value),
        };
        // A text in JSON is one in TOML.
        serde_json::Value::from(shown).to_string()
    };
    match (setting.kind, values) {
        (Kind::Flag, [value]) => value.clone(),
        (Kind::One, [value]) if value.parse::<i64>().is_ok() => value.clone(),
        (Kind::One, [value]) => quoted(value),
        _ => format!("[{}]", values.iter().map(quoted).collect::<Vec<_>>().join(", ")),
    }
}
