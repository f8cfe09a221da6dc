//! A server that has been probed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokometer_record::{Capacity, Engine, Evidence, Model};
use tokometer_wire::metrics::{self, MetricNames};
use tokometer_wire::{Answer, Control, Dialect};

use crate::engine::Manner;
use crate::tokenize::TokenizeRoute;

/// Limit for a reading of the gauges.
const GAUGES_TIMEOUT: Duration = Duration::from_secs(3);

/// What answers at a URL, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Base URL without `/v1` and without secrets.
    pub url: String,
    /// Names of headers that the user added.
    pub headers: Vec<String>,
    /// What answers in front of the engine.
    pub proxy: Option<String>,
    /// All models that are served.
    pub models: Vec<String>,
    /// True if it is a simulated engine.
    pub simulated: bool,
    /// The engine.
    pub engine: Engine,
    /// The model that is measured.
    pub model: Model,
    /// How much it can hold.
    pub capacity: Capacity,
    /// How it was started, as it tells by itself, secrets removed.
    pub launch_command: Option<String>,
    /// Each fact with its source.
    pub evidence: Vec<Evidence>,
    /// Why the other facts are null, by dotted path in the record.
    pub unknown: BTreeMap<String, String>,
    /// How it streams.
    pub dialect: Dialect,
    /// What its gauges and counters are called; none if it shows none.
    pub metrics: Option<&'static MetricNames>,
    /// Where they are read.
    pub metrics_path: &'static str,
    /// The best tokenise route that answered.
    pub tokenize: Option<TokenizeRoute>,
    pub(crate) manner: Manner,
    pub(crate) served_name: String,
}

/// Requests that are on a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// Running.
    pub running: f64,
    /// Waiting.
    pub waiting: f64,
}

impl Target {
    /// Where most engines show gauges and counters; [`metrics_path`](Self::metrics_path) is this target's own.
    pub const METRICS_PATH: &'static str = "/metrics";

    /// The name that requests use.
    pub fn served_name(&self) -> &str {
        &self.served_name
    }

    /// The target as it stands in the record.
    pub fn address(&self) -> tokometer_record::Target {
        tokometer_record::Target {
            url: Some(self.url.clone()),
            headers: self.headers.clone(),
            proxy: self.proxy.clone(),
        }
    }

    /// The evidence of a fact, by dotted path: `engine.version`, `engine.front_end`.
    pub fn evidence_of(&self, field: &str) -> Option<&Evidence> {
        self.evidence.iter().find(|evidence| evidence.field == field)
    }

    /// The server's requests at this moment; none if it does not tell.
    pub async fn busy(&self, control: &Control) -> Option<Busy> {
        match (self.metrics, self.manner.slots_path) {
            (Some(names), _) => {
                let answer = control.get(self.metrics_path, GAUGES_TIMEOUT).await.ok()?;
                let sample = metrics::read(&answer.text(), names, answer.arrival_ns);
                Some(Busy { running: sample.running?, waiting: sample.waiting.unwrap_or(0.0) })
            }
            (None, Some(path)) => busy_slots(control, path).await,
            (None, None) => None,
        }
    }
}

/// Some servers list their slots even where they show no metrics.
async fn busy_slots(control: &Control, path: &str) -> Option<Busy> {
    let slots = control.get(path, GAUGES_TIMEOUT).await.ok().filter(Answer::is_success)?;
    let slots = slots.json().ok()?;
    let processing = |slot: &&Value| slot.get("is_processing").and_then(Value::as_bool) == Some(true);
    Some(Busy { running: slots.as_array()?.iter().filter(processing).count() as f64, waiting: 0.0 })
}
