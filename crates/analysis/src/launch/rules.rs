//! What a flag of an engine means.

use tokometer_record::Run;
use tokometer_record::comparison::Severity;

use super::{Given, Launch};

/// A setting and the flags that set it.
pub(crate) struct Rule {
    /// The same for every engine.
    pub(crate) key: &'static str,
    /// In words.
    pub(crate) name: &'static str,
    /// How it is read from flags.
    pub(crate) read: Read,
    /// The value where no flag sets it.
    pub(crate) default: &'static str,
    /// How much a difference weighs.
    pub(crate) severity: Severity,
    /// One sentence: what it changes.
    pub(crate) why: &'static str,
}

/// The value of each flag of a command: `on` for one without.
pub(crate) type Flags<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// How a setting is read from flags.
pub(crate) enum Read {
    /// The value of the last of these flags.
    Value(&'static [&'static str]),
    /// On by one of the first flags, off by one of the second.
    Switch {
        /// Turn it on.
        on: &'static [&'static str],
        /// Turn it off.
        off: &'static [&'static str],
    },
    /// The values of several flags together, as a function of them.
    Many(&'static [&'static str], fn(&Flags<'_>) -> Option<String>),
}

/// A setting as a launch command states it.
pub(crate) struct Stated {
    /// The value, where the flags make one.
    pub(crate) value: Option<String>,
    /// The flags as they stand there.
    pub(crate) literal: String,
}

impl Rule {
    /// Every flag that the rule reads.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let (first, second): (&[&str], &[&str]) = match self.read {
            Read::Value(names) | Read::Many(names, _) => (names, &[]),
            Read::Switch { on, off } => (on, off),
        };
        first.iter().chain(second).copied()
    }

    /// True if the flag takes no value.
    pub(crate) fn is_switch(&self, flag: &str) -> bool {
        matches!(self.read, Read::Switch { .. }) && self.names().any(|name| name == flag)
    }

    /// What a command says about it.
    pub(crate) fn stated(&self, launch: &Launch) -> Option<Stated> {
        let names: Vec<&str> = self.names().collect();
        let last = launch.last(&names)?;
        match self.read {
            Read::Value(_) => Some(Stated { value: last.value(), literal: last.literal() }),
            Read::Switch { on, .. } => {
                let on = on.contains(&last.name.as_str()) != is_negated(last);
                let value = if on { "on" } else { "off" };
                Some(Stated { value: Some(value.to_owned()), literal: last.literal() })
            }
            Read::Many(names, make) => {
                let value = make(&|name| {
                    let given = launch.last(&[name])?;
                    Some(given.value().unwrap_or_else(|| "on".to_owned()))
                });
                let literals: Vec<String> =
                    names.iter().filter_map(|name| Some(launch.last(&[*name])?.literal())).collect();
                Some(Stated { value, literal: literals.join(" ") })
            }
        }
    }
}

/// `--enable-x false`.
fn is_negated(given: &Given) -> bool {
    given
        .values
        .first()
        .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "off" | "false" | "0"))
}

/// What the record tells of a setting beside the launch command.
pub(crate) fn told_by_record(run: &Run, key: &str) -> Option<String> {
    let ranks = |short: &str| {
        let parallelism = run.engine.parallelism.as_deref()?;
        let size = parallelism
            .split([' ', ','])
            .find_map(|part| part.strip_prefix(short)?.parse::<u32>().ok())
            .unwrap_or(1);
        Some(size.to_string())
    };
    let evidence = |field: &str| {
        run.evidence.iter().find(|evidence| evidence.field == field).map(|evidence| evidence.value.clone())
    };
    match key {
        "tensor_parallel" => ranks("tp"),
        "pipeline_parallel" => ranks("pp"),
        "data_parallel" => ranks("dp"),
        "expert_parallel" => {
            let parallelism = run.engine.parallelism.as_deref()?;
            let is_on = parallelism.split([' ', ',']).any(|part| part.starts_with("ep") && part != "ep1");
            Some(if is_on { "on" } else { "off" }.to_owned())
        }
        "max_model_length" => run.model.max_length.map(|tokens| tokens.to_string()),
        "max_running_requests" => run.capacity.concurrent_requests.map(|requests| requests.to_string()),
        "kv_dtype" => evidence("capacity.kv_dtype"),
        "dtype" => evidence("model.dtype").map(|name| dtype(&name)).or_else(|| {
            let precision = dtype(run.model.quantization.as_deref()?);
            matches!(precision.as_str(), "bfloat16" | "float16" | "float32").then_some(precision)
        }),
        "prefix_caching" => run.engine.prefix_caching.map(|on| if on { "on" } else { "off" }.to_owned()),
        "speculative" => run.engine.speculative.clone(),
        _ => None,
    }
}

/// One name for each type of number.
pub(crate) fn dtype(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "half" | "fp16" | "float16" | "f16" => "float16".to_owned(),
        "bf16" | "bfloat16" => "bfloat16".to_owned(),
        "float" | "fp32" | "float32" | "f32" => "float32".to_owned(),
        other => other.to_owned(),
    }
}
