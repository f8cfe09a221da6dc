//! All that is known of a target, as one document.

use serde_json::{Value, json};
use tokometer_record::Endpoint;

use crate::request::RequestSpec;
use crate::target::Target;

/// Output tokens of the request that is shown as an example.
const EXAMPLE_OUTPUT: u64 = 16;

impl Target {
    /// All that is known, and how it is used: facts with their sources, reasons where there are none, request
    /// fields, routes, names of gauges and counters, handling.
    pub fn description(&self) -> Value {
        let example = RequestSpec {
            endpoint: Endpoint::Chat,
            prompt: "",
            max_output_tokens: EXAMPLE_OUTPUT,
            respect_eos: false,
            temperature: None,
            top_p: None,
            seed: None,
            request_json: None,
        };
        let metrics = self.metrics.map(|names| {
            json!({
                "path": self.metrics_path,
                "running": names.running,
                "waiting": names.waiting,
                "generated_tokens": names.generated_tokens,
                "prompt_tokens": names.prompt_tokens,
                "cached_tokens": names.cached_tokens,
                "kv_used": names.kv_used,
                "preemptions": names.preemptions,
            })
        });
        let tokenize = self.tokenize.map(|route| json!({"form": route, "request": route.name()}));
        json!({
            "target": self.address(),
            "simulated": self.simulated,
            "engine": self.engine,
            "model": self.model,
            "models": self.models,
            "capacity": self.capacity,
            "launch_command": self.launch_command,
            "evidence": self.evidence,
            "unknown": self.unknown,
            "use": {
                "dialect": format!("{:?}", self.dialect),
                "request_fields": self.request_fields(&example),
                "tokenize": tokenize,
                "metrics": metrics,
                "drain": self.drain(),
                "abort": self.abort(),
                "cache_reset": self.cache_reset(),
                "cache_salt": {
                    "chat": self.cache_salt(Endpoint::Chat).map(|salt| salt.field),
                    "completions": self.cache_salt(Endpoint::Completions).map(|salt| salt.field),
                },
            },
        })
    }
}
