//! How a server was started: its launch command read, and the settings that took effect.
//!
//! A command says only what differs from the engine's defaults, so two commands can read alike and differ in
//! effect, or read differently and mean the same. [`effective`] fills in the defaults, and what the server
//! itself told where that is better. What an engine's flags mean is data, one file an engine.

mod llama_cpp;
mod rules;
mod sglang;
mod vllm;
mod words;

use tokometer_record::Run;
use tokometer_record::comparison::{EffectiveSetting, Origin, SettingValue, Severity};

use rules::{Rule, told_by_record};
pub(crate) use words::Given;

/// A launch command, read.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Flags in the order of the command, and environment variables as `env NAME`.
    given: Vec<Given>,
}

/// An engine whose flags are known.
struct EngineFlags {
    /// As the record names it.
    name: &'static str,
    /// How its command is recognised, where the record does not name the engine.
    is_started_by: fn(program: &str, argument: &str) -> bool,
    /// What its flags mean.
    rules: &'static [Rule],
}

const ENGINES: [EngineFlags; 3] = [
    EngineFlags { name: "vllm", is_started_by: vllm::is_started_by, rules: vllm::RULES },
    EngineFlags { name: "sglang", is_started_by: sglang::is_started_by, rules: sglang::RULES },
    EngineFlags { name: "llama.cpp", is_started_by: llama_cpp::is_started_by, rules: llama_cpp::RULES },
];

/// Flags that name files, addresses and looks, and do not change what is computed.
const HARMLESS: &[&str] = &[
    "--alias",
    "--allowed-origins",
    "--chat-template",
    "--disable-log-requests",
    "--disable-log-stats",
    "--download-dir",
    "--enable-auto-tool-choice",
    "--enable-log-requests",
    "--enable-metrics",
    "--enable-prompt-tokens-details",
    "--enable-request-id-headers",
    "--enable-server-load-tracking",
    "--host",
    "--jinja",
    "--log-file",
    "--log-level",
    "--log-requests",
    "--metrics",
    "--model-impl",
    "--no-webui",
    "--port",
    "--reasoning-format",
    "--reasoning-parser",
    "--root-path",
    "--served-model-name",
    "--show-time-cost",
    "--slots",
    "--tool-call-parser",
    "--trust-remote-code",
    "--uvicorn-log-level",
    "--watchdog-timeout",
    "-a",
];

/// Flags that say which model is served, which the record says better.
const MODEL: &[&str] = &[
    "--hf-file",
    "--hf-repo",
    "--model",
    "--model-path",
    "--model-url",
    "--revision",
    "--tokenizer",
    "--tokenizer-path",
    "-hf",
    "-hff",
    "-hfr",
    "-m",
    "-mu",
];

impl Launch {
    /// Reads the launch command of a run; `None` where it is not known.
    pub(crate) fn of(run: &Run) -> Option<Launch> {
        let words = words::split(run.launch_command.as_deref()?);
        let rules = engine(run).map_or(&[][..], |engine| engine.rules);
        let is_switch = |flag: &str| rules.iter().any(|rule| rule.is_switch(flag));
        Some(Launch { given: words::flags(&words, is_switch) })
    }

    /// The last of the flags with one of these names: where a flag is given twice, engines take the last.
    fn last(&self, names: &[&str]) -> Option<&Given> {
        self.given.iter().rev().find(|given| names.contains(&given.name.as_str()))
    }
}

/// The engine of a run, by the record, else by its launch command.
fn engine(run: &Run) -> Option<&'static EngineFlags> {
    if let Some(name) = &run.engine.name {
        return ENGINES.iter().find(|engine| engine.name == name);
    }
    let words = words::split(run.launch_command.as_deref()?);
    let program = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    ENGINES.iter().find(|engine| {
        words.iter().enumerate().any(|(index, word)| {
            (engine.is_started_by)(&program(word), words.get(index + 1).map_or("", String::as_str))
        })
    })
}

/// True if the launch command tells the engine to accept drafts whatever the model says: a rate made so says nothing
/// about real text.
pub(crate) fn forces_acceptance(run: &Run) -> bool {
    let Some(launch) = Launch::of(run) else { return false };
    let forced = [
        "env SGLANG_SIMULATE_ACC_LEN",
        "env SGLANG_SIMULATE_ACC_METHOD",
        "env TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
    ];
    let config = launch.last(&["--speculative-config", "-sc"]).and_then(Given::value).unwrap_or_default();
    let method = serde_json::from_str::<serde_json::Value>(&config)
        .ok()
        .and_then(|config| Some(config.get("rejection_sample_method")?.as_str()?.to_owned()));
    launch.last(&forced).is_some() || method.is_some_and(|method| method == "synthetic")
}

/// The settings of a run's engine as they took effect: what the launch command states, what the server told,
/// else the engine's default. One entry for each setting that its engine has; where the engine is not one
/// whose flags are known, only what the server told.
///
/// A default stands only where the launch command is known: without it nobody knows that a flag was not given.
pub fn effective(run: &Run) -> Vec<EffectiveSetting> {
    let launch = Launch::of(run);
    let Some(engine) = engine(run) else { return told_settings(run) };
    engine
        .rules
        .iter()
        .map(|rule| EffectiveSetting {
            key: rule.key.to_owned(),
            name: rule.name.to_owned(),
            value: value(rule, launch.as_ref(), run),
        })
        .collect()
}

fn value(rule: &Rule, launch: Option<&Launch>, run: &Run) -> SettingValue {
    let stated = launch.and_then(|launch| rule.stated(launch));
    let literal = stated.as_ref().map(|stated| stated.literal.clone());
    let told = told_by_record(run, rule.key);
    // A flag such as `auto` states a wish, and the server tells what came of it.
    if let Some(text) = stated.and_then(|stated| stated.value).filter(|text| told.is_none() || !is_open(text))
    {
        return SettingValue { effective: Some(text), literal, origin: Origin::Stated };
    }
    match (told, launch) {
        (Some(text), _) => SettingValue { effective: Some(text), literal, origin: Origin::Record },
        (None, Some(_)) => {
            SettingValue { effective: Some(rule.default.to_owned()), literal, origin: Origin::Default }
        }
        (None, None) => SettingValue { effective: None, literal, origin: Origin::Unknown },
    }
}

/// True for values that leave the choice to the engine.
fn is_open(text: &str) -> bool {
    matches!(text, "auto" | "0" | "-1")
}

/// What is known without knowing the engine's flags.
fn told_settings(run: &Run) -> Vec<EffectiveSetting> {
    let told = |rule: &Rule| {
        Some(EffectiveSetting {
            key: rule.key.to_owned(),
            name: rule.name.to_owned(),
            value: SettingValue {
                effective: Some(told_by_record(run, rule.key)?),
                literal: None,
                origin: Origin::Record,
            },
        })
    };
    vllm::RULES.iter().filter_map(told).collect()
}

/// How a setting weighs, and what it changes.
pub(crate) fn weight(run: &Run, key: &str) -> Option<(Severity, &'static str)> {
    let rules = engine(run).map_or(vllm::RULES, |engine| engine.rules);
    rules.iter().find(|rule| rule.key == key).map(|rule| (rule.severity, rule.why))
}

/// Flags that no setting of [`effective`] stands for, each with its weight: those that are not known here may
/// change anything. Flags that hold secrets or name the model are left out.
pub(crate) fn others(run: &Run) -> Option<Vec<(Given, Severity)>> {
    let launch = Launch::of(run)?;
    let rules = engine(run).map_or(&[][..], |engine| engine.rules);
    let known = |name: &str| rules.iter().any(|rule| rule.names().any(|flag| flag == name));
    let others = launch.given.into_iter().filter(|given| {
        let name = given.name.as_str();
        !known(name) && !MODEL.contains(&name) && !words::is_secret(name)
    });
    let weigh = |name: &str| if HARMLESS.contains(&name) { Severity::Low } else { Severity::Medium };
    Some(
        others
            .map(|given| {
                let severity = weigh(&given.name);
                (given, severity)
            })
            .collect(),
    )
}
