//! Facts about a target as they come in, each with its source; and reasons for those that do not.

use std::collections::BTreeMap;

use tokometer_record::{Capacity, Engine, Evidence, KvBlocks, Model};

/// A field of the record that a probe may fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    EngineName,
    EngineVersion,
    EngineCommit,
    EngineRepository,
    EngineBuild,
    EngineBackend,
    EngineParallelism,
    EngineSpeculative,
    EnginePrefixCaching,
    ModelId,
    ModelServedName,
    ModelRevision,
    ModelQuantization,
    ModelMaxLength,
    CapacityKvTokens,
    CapacityConcurrentRequests,
    Hardware,
    LaunchCommand,
}

impl Field {
    const ALL: [Field; 18] = [
        Field::EngineName,
        Field::EngineVersion,
        Field::EngineCommit,
        Field::EngineRepository,
        Field::EngineBuild,
        Field::EngineBackend,
        Field::EngineParallelism,
        Field::EngineSpeculative,
        Field::EnginePrefixCaching,
        Field::ModelId,
        Field::ModelServedName,
        Field::ModelRevision,
        Field::ModelQuantization,
        Field::ModelMaxLength,
        Field::CapacityKvTokens,
        Field::CapacityConcurrentRequests,
        Field::Hardware,
        Field::LaunchCommand,
    ];

    /// Dotted path in the record.
    fn path(self) -> &'static str {
        match self {
            Field::EngineName => "engine.name",
            Field::EngineVersion => "engine.version",
            Field::EngineCommit => "engine.commit",
            Field::EngineRepository => "engine.repository",
            Field::EngineBuild => "engine.build",
            Field::EngineBackend => "engine.backend",
            Field::EngineParallelism => "engine.parallelism",
            Field::EngineSpeculative => "engine.speculative",
            Field::EnginePrefixCaching => "engine.prefix_caching",
            Field::ModelId => "model.id",
            Field::ModelServedName => "model.served_name",
            Field::ModelRevision => "model.revision",
            Field::ModelQuantization => "model.quantization",
            Field::ModelMaxLength => "model.max_length",
            Field::CapacityKvTokens => "capacity.kv_tokens",
            Field::CapacityConcurrentRequests => "capacity.concurrent_requests",
            Field::Hardware => "hardware",
            Field::LaunchCommand => "launch_command",
        }
    }
}

/// What is known so far. The first source of a fact wins.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) engine: Engine,
    pub(crate) model: Model,
    pub(crate) capacity: Capacity,
    pub(crate) launch_command: Option<String>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) unknown: BTreeMap<String, String>,
}

impl Facts {
    /// Takes a fact that is text.
    pub(crate) fn text(&mut self, field: Field, value: &str, source: &str) {
        if value.is_empty() {
            return;
        }
        let slot = match field {
            Field::EngineName => &mut self.engine.name,
            Field::EngineVersion => &mut self.engine.version,
            Field::EngineCommit => &mut self.engine.commit,
            Field::EngineRepository => &mut self.engine.repository,
            Field::EngineBuild => &mut self.engine.build,
            Field::EngineBackend => &mut self.engine.backend,
            Field::EngineParallelism => &mut self.engine.parallelism,
            Field::EngineSpeculative => &mut self.engine.speculative,
            Field::ModelId => &mut self.model.id,
            Field::ModelServedName => &mut self.model.served_name,
            Field::ModelRevision => &mut self.model.revision,
            Field::ModelQuantization => &mut self.model.quantization,
            Field::LaunchCommand => &mut self.launch_command,
            _ => return,
        };
        if slot.is_none() {
            *slot = Some(value.to_owned());
            self.prove(field, value, source);
        }
    }

    /// Takes a fact that is a count; 0 is no fact.
    pub(crate) fn number(&mut self, field: Field, value: u64, source: &str) {
        let (slot, told_by) = match field {
            Field::ModelMaxLength => (&mut self.model.max_length, None),
            Field::CapacityKvTokens => (&mut self.capacity.kv_tokens, Some(&mut self.capacity.kv_source)),
            Field::CapacityConcurrentRequests => {
                (&mut self.capacity.concurrent_requests, Some(&mut self.capacity.concurrent_source))
            }
            _ => return,
        };
        if slot.is_none() && value > 0 {
            *slot = Some(value);
            if let Some(told_by) = told_by {
                *told_by = Some(source.to_owned());
            }
            self.prove(field, &value.to_string(), source);
        }
    }

    /// Takes what the caches of data-parallel ranks hold: their sum, and each where there are several.
    pub(crate) fn kv_tokens_of_ranks(&mut self, ranks: &[u64], source: &str) {
        let sum = ranks.iter().sum();
        if self.capacity.kv_tokens.is_some() || sum == 0 {
            return;
        }
        if ranks.len() > 1 {
            let source = format!("{source}, over {} data-parallel ranks", ranks.len());
            self.number(Field::CapacityKvTokens, sum, &source);
            self.capacity.kv_tokens_per_rank = ranks.to_vec();
            let list: Vec<String> = ranks.iter().map(u64::to_string).collect();
            self.beside("capacity.kv_tokens_per_rank", &list.join(", "), &source);
        } else {
            self.number(Field::CapacityKvTokens, sum, source);
        }
    }

    /// Takes the cache in blocks.
    pub(crate) fn kv_blocks(&mut self, blocks: KvBlocks, source: &str) {
        self.capacity.kv_blocks = Some(blocks);
        let fixed = serde_json::Value::from(blocks.fixed_per_request).to_string();
        for (name, value) in [
            ("blocks", blocks.blocks.to_string()),
            ("block_tokens", blocks.block_tokens.to_string()),
            ("fixed_per_request", fixed),
        ] {
            self.beside(&format!("capacity.kv_blocks.{name}"), &value, source);
        }
    }

    /// Takes whether prompt prefixes are cached.
    pub(crate) fn prefix_caching(&mut self, on: bool, source: &str) {
        if self.engine.prefix_caching.is_none() {
            self.engine.prefix_caching = Some(on);
            self.prove(Field::EnginePrefixCaching, &on.to_string(), source);
        }
    }

    /// Keeps a fact that has no field of its own in the record: `engine.front_end`, `model.dtype`.
    pub(crate) fn beside(&mut self, path: &str, value: &str, source: &str) {
        if value.is_empty() || self.evidence.iter().any(|fact| fact.field == path) {
            return;
        }
        self.evidence.push(Evidence {
            field: path.to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        });
    }

    /// Keeps what a source says beside the facts that were made of it.
    pub(crate) fn prove(&mut self, field: Field, value: &str, source: &str) {
        self.evidence.push(Evidence {
            field: field.path().to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        });
    }

    /// Says why a fact is missing; the first reason wins.
    pub(crate) fn missing(&mut self, field: Field, reason: impl Into<String>) {
        self.unknown.entry(field.path().to_owned()).or_insert_with(|| reason.into());
    }

    /// Gives every missing fact a reason, and drops reasons of facts that are there.
    pub(crate) fn finish(&mut self) {
        for field in Field::ALL {
            if self.is_known(field) {
                self.unknown.remove(field.path());
            } else {
                self.missing(field, "the server does not tell it");
            }
        }
    }

    fn is_known(&self, field: Field) -> bool {
        let (engine, model) = (&self.engine, &self.model);
        match field {
            Field::EngineName => engine.name.is_some(),
            Field::EngineVersion => engine.version.is_some(),
            Field::EngineCommit => engine.commit.is_some(),
            Field::EngineRepository => engine.repository.is_some(),
            Field::EngineBuild => engine.build.is_some(),
            Field::EngineBackend => engine.backend.is_some(),
            Field::EngineParallelism => engine.parallelism.is_some(),
            Field::EngineSpeculative => engine.speculative.is_some(),
            Field::EnginePrefixCaching => engine.prefix_caching.is_some(),
            Field::ModelId => model.id.is_some(),
            Field::ModelServedName => model.served_name.is_some(),
            Field::ModelRevision => model.revision.is_some(),
            Field::ModelQuantization => model.quantization.is_some(),
            Field::ModelMaxLength => model.max_length.is_some(),
            Field::CapacityKvTokens => self.capacity.kv_tokens.is_some(),
            Field::CapacityConcurrentRequests => self.capacity.concurrent_requests.is_some(),
            Field::LaunchCommand => self.launch_command.is_some(),
            Field::Hardware => false,
        }
    }
}
