//! Settings that are not the same in all runs.

use serde_json::Value;
use tokometer_record::Run;
use tokometer_record::comparison::{Origin, SettingDifference, SettingGroup, SettingValue, Severity};

use crate::launch;

/// A field of the record that is compared.
struct Field {
    path: &'static str,
    name: &'static str,
    group: SettingGroup,
    severity: Severity,
    why: &'static str,
    read: fn(&Run) -> Option<String>,
}

const FIELDS: &[Field] = &[
    Field {
        path: "model.id",
        name: "model",
        group: SettingGroup::Model,
        severity: Severity::High,
        why: "another model",
        read: |run| run.model.id.clone(),
    },
    Field {
        path: "model.revision",
        name: "revision of the model",
        group: SettingGroup::Model,
        severity: Severity::Medium,
        why: "other weights may answer with other text",
        read: |run| run.model.revision.clone(),
    },
    Field {
        path: "model.quantization",
        name: "precision",
        group: SettingGroup::Model,
        severity: Severity::High,
        why: "bytes read for each token, and the model's answers",
        read: |run| run.model.quantization.clone(),
    },
    Field {
        path: "engine.name",
        name: "engine",
        group: SettingGroup::Engine,
        severity: Severity::High,
        why: "another engine, with flags and defaults of its own",
        read: |run| run.engine.name.clone(),
    },
    Field {
        path: "engine.version",
        name: "version of the engine",
        group: SettingGroup::Engine,
        severity: Severity::Medium,
        why: "other kernels and defaults",
        read: |run| run.engine.version.clone(),
    },
    Field {
        path: "engine.commit",
        name: "commit of the engine",
        group: SettingGroup::Engine,
        severity: Severity::Medium,
        why: "other kernels and defaults",
        read: |run| run.engine.commit.clone(),
    },
    Field {
        path: "engine.build",
        name: "build of the engine",
        group: SettingGroup::Engine,
        severity: Severity::Medium,
        why: "other libraries below it",
        read: |run| run.engine.build.clone(),
    },
    Field {
        path: "engine.backend",
        name: "backend of the engine",
        group: SettingGroup::Engine,
        severity: Severity::High,
        why: "what computes",
        read: |run| run.engine.backend.clone(),
    },
    Field {
        path: "hardware.accelerators",
        name: "accelerators",
        group: SettingGroup::Hardware,
        severity: Severity::High,
        why: "what the server runs on",
        read: accelerators,
    },
    Field {
        path: "hardware.os",
        name: "operating system",
        group: SettingGroup::Hardware,
        severity: Severity::Low,
        why: "drivers and scheduling",
        read: |run| run.hardware.os.clone(),
    },
    Field {
        path: "method",
        name: "method",
        group: SettingGroup::Measurement,
        severity: Severity::High,
        why: "other definitions of the same words",
        read: |run| Some(format!("{} {}", run.method.name, run.method.version)),
    },
    Field {
        path: "tool.version",
        name: "version of the tool",
        group: SettingGroup::Measurement,
        severity: Severity::Low,
        why: "the program that measured",
        read: |run| Some(format!("{} {}", run.tool.name, run.tool.version)),
    },
];

/// Fields of what was asked, by name in the record: words, weight, what they change. Those that are not listed are
/// `low`; contexts and concurrencies show in the cells that have no partner.
const ASKED: &[(&str, &str, Severity, &str)] = &[
    (
        "max_output_tokens",
        "output asked",
        Severity::Medium,
        "how often requests restart, and how long contexts grow",
    ),
    ("decode_test", "decode test", Severity::Medium, "how decode was loaded"),
    ("prefill_mode", "how prefill was measured", Severity::Medium, "prefill rows"),
    ("prompts", "prompts", Severity::High, "one prefix in the cache, or one for each stream"),
    ("cold", "cold prompts", Severity::High, "whether prompts were in the cache before the window"),
    ("respect_eos", "end of text", Severity::Medium, "length of answers"),
    (
        "temperature",
        "temperature",
        Severity::Medium,
        "the text, and with it what speculative decoding accepts",
    ),
    ("top_p", "top-p", Severity::Medium, "the text, and with it what speculative decoding accepts"),
    ("request_json", "fields added to requests", Severity::Medium, "anything"),
    ("corpus", "corpus", Severity::Medium, "the text, and with it what speculative decoding accepts"),
    ("allow_busy", "other load allowed", Severity::Medium, "other requests on the server"),
];

const NOT_COMPARED: &[&str] =
    &["contexts", "concurrency", "prefill_contexts", "request_fields", "load_threads"];

/// `4 × H200 SXM`.
pub(super) fn accelerators(run: &Run) -> Option<String> {
    let list: Vec<String> =
        run.hardware.accelerators.iter().map(|one| format!("{} × {}", one.count, one.name)).collect();
    (!list.is_empty()).then(|| list.join(", "))
}

/// Every setting that differs between any two runs, most severe first.
pub(super) fn differences(runs: &[Run]) -> Vec<SettingDifference> {
    let mut found: Vec<SettingDifference> = FIELDS
        .iter()
        .filter_map(|field| difference_of_field(field, runs))
        .chain(asked(runs))
        .chain(launch_settings(runs))
        .chain(other_flags(runs))
        .collect();
    // Stable: within one severity the order above stays.
    found.sort_by_key(|difference| std::cmp::Reverse(difference.severity));
    found
}

/// Names of settings that change speed and that some runs tell and others do not: a difference there would not be
/// seen. With the indices of the runs that do not tell.
pub(super) fn not_told(runs: &[Run]) -> Vec<(&'static str, Vec<usize>)> {
    let silent = |told: Vec<bool>| -> Option<Vec<usize>> {
        let silent: Vec<usize> =
            told.iter().enumerate().filter(|(_, told)| !**told).map(|(at, _)| at).collect();
        (!silent.is_empty()).then_some(silent)
    };
    let fields = FIELDS.iter().filter(|field| field.severity == Severity::High).filter_map(|field| {
        Some((field.name, silent(runs.iter().map(|run| (field.read)(run).is_some()).collect())?))
    });
    let launch = silent(runs.iter().map(|run| run.launch_command.is_some()).collect());
    fields.chain(launch.map(|silent| ("the launch command", silent))).collect()
}

fn difference_of_field(field: &Field, runs: &[Run]) -> Option<SettingDifference> {
    let values: Vec<SettingValue> = runs.iter().map(|run| recorded((field.read)(run))).collect();
    differs(&values).then(|| SettingDifference {
        path: field.path.to_owned(),
        name: field.name.to_owned(),
        group: field.group,
        severity: field.severity,
        effective: true,
        values,
        why: field.why.to_owned(),
    })
}

fn recorded(value: Option<String>) -> SettingValue {
    let origin = if value.is_some() { Origin::Record } else { Origin::Unknown };
    SettingValue { effective: value, literal: None, origin }
}

/// True if two known values are not the same.
fn differs(values: &[SettingValue]) -> bool {
    let mut known = values.iter().filter_map(|value| value.effective.as_deref());
    let Some(first) = known.next() else { return false };
    known.any(|value| value != first)
}

/// What was asked of the runs.
fn asked(runs: &[Run]) -> impl Iterator<Item = SettingDifference> {
    let fields: Vec<Value> =
        runs.iter().map(|run| serde_json::to_value(&run.settings).unwrap_or_default()).collect();
    let names: Vec<String> = fields
        .first()
        .and_then(Value::as_object)
        .map_or_else(Vec::new, |fields| fields.keys().cloned().collect());
    let own: Vec<bool> = runs.iter().map(|run| run.imported.is_none()).collect();
    names.into_iter().filter(|name| !NOT_COMPARED.contains(&name.as_str())).filter_map(move |name| {
        let values: Vec<SettingValue> = fields
            .iter()
            .zip(&own)
            .map(|(fields, own)| recorded(asked_value(&name, &fields[&name], *own)))
            .collect();
        if !differs(&values) {
            return None;
        }
        let known = ASKED.iter().find(|(field, ..)| *field == name);
        let (words, severity, why) = known
            .map_or((name.as_str(), Severity::Low, "hardly anything"), |known| (known.1, known.2, known.3));
        Some(SettingDifference {
            path: format!("settings.{name}"),
            name: words.replace('_', " "),
            group: SettingGroup::Measurement,
            severity,
            effective: true,
            values,
            why: why.to_owned(),
        })
    })
}

/// A null of an own run is a choice; that of an imported record is not known.
fn asked_value(name: &str, value: &Value, own: bool) -> Option<String> {
    match value {
        Value::Null if !own => None,
        Value::Null => match name {
            "temperature" | "top_p" => Some("the server's own".to_owned()),
            "corpus" => Some("the built-in generator".to_owned()),
            _ => Some("none".to_owned()),
        },
        Value::String(text) => Some(text.replace('_', " ")),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        // Whole seconds read as such.
        Value::Number(number) => {
            Some(number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()))
        }
        other => Some(other.to_string()),
    }
}

/// Settings of the engines as they took effect, where all engines have them.
fn launch_settings(runs: &[Run]) -> impl Iterator<Item = SettingDifference> {
    let effective: Vec<_> = runs.iter().map(launch::effective).collect();
    let first = effective.first().cloned().unwrap_or_default();
    let same_engine = runs.windows(2).all(|pair| pair[0].engine.name == pair[1].engine.name);
    let first_run = runs.first().cloned();
    first.into_iter().filter_map(move |setting| {
        let values: Vec<SettingValue> = effective
            .iter()
            .map(|settings| {
                let found = settings.iter().find(|other| other.key == setting.key);
                found.map_or_else(|| recorded(None), |found| found.value.clone())
            })
            .collect();
        let (severity, why) = launch::weight(first_run.as_ref()?, &setting.key)?;
        // Two engines' own choices are not told apart by their words.
        let told = same_engine || values.iter().all(|value| value.origin != Origin::Default);
        let effective = told && differs(&values);
        let stated = values.iter().filter(|value| value.literal.is_some()).count();
        let same_in_effect = same_engine
            && (1..values.len()).contains(&stated)
            && values.iter().all(|value| value.effective.is_some() && value.effective == values[0].effective);
        if !effective && !same_in_effect {
            return None;
        }
        Some(SettingDifference {
            path: format!("launch.{}", setting.key),
            name: setting.name,
            group: SettingGroup::Launch,
            severity: if effective { severity } else { Severity::None },
            effective,
            values,
            why: if effective {
                why.to_owned()
            } else {
                "written differently, the same in effect".to_owned()
            },
        })
    })
}

/// Flags of the same engine that stand for no setting known here.
fn other_flags(runs: &[Run]) -> Vec<SettingDifference> {
    let same_engine = runs.windows(2).all(|pair| pair[0].engine.name == pair[1].engine.name);
    let told: Vec<_> = runs.iter().map(launch::others).collect();
    let mut names: Vec<(String, Severity)> = Vec::new();
    for (given, severity) in told.iter().flatten().flatten() {
        if !names.iter().any(|(name, _)| *name == given.name) {
            names.push((given.name.clone(), *severity));
        }
    }
    let value = |flags: &Option<Vec<(launch::Given, Severity)>>, name: &str| -> SettingValue {
        let Some(flags) = flags else { return recorded(None) };
        match flags.iter().rev().find(|(given, _)| given.name == name) {
            Some((given, _)) => SettingValue {
                effective: Some(given.value().unwrap_or_else(|| "on".to_owned())),
                literal: Some(given.literal()),
                origin: Origin::Stated,
            },
            None => SettingValue {
                effective: Some("not given".to_owned()),
                literal: None,
                origin: Origin::Default,
            },
        }
    };
    names
        .into_iter()
        .filter(|_| same_engine)
        .filter_map(|(name, severity)| {
            let values: Vec<SettingValue> = told.iter().map(|flags| value(flags, &name)).collect();
            let why = match severity {
                Severity::Low => "names, addresses and looks",
                _ => "a flag that is not known here; it may change speed",
            };
            differs(&values).then(|| SettingDifference {
                path: format!("launch.{name}"),
                name: name.clone(),
                group: SettingGroup::Launch,
                severity,
                effective: true,
                values,
                why: why.to_owned(),
            })
        })
        .collect()
}
