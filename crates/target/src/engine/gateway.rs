//! Gateways and proxies. They hide the engine: what stands behind one is unknown unless it shows itself.

use super::{Confidence, Engine, Manner, Probe, Sign, metrics_prefix};
use crate::answers::{Answers, METRICS, MODELS};
use crate::facts::{Facts, Field};
use crate::models::ModelEntry;

/// Servers of web pages and load balancers that are known to stand in front of engines.
const WEB_SERVERS: [&str; 8] =
    ["nginx", "cloudflare", "envoy", "istio-envoy", "caddy", "openresty", "traefik", "haproxy"];

/// A gateway that speaks for engines that it does not name: LiteLLM, OpenRouter.
pub(super) struct Gateway;

impl Engine for Gateway {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/health/readiness")]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        // An engine that shows itself through the gateway is the better answer.
        let (name, source) = speaks_for_engines(model, answers)?;
        Some(Sign::new(Confidence::Likely, name, source))
    }

    fn read(&self, model: &ModelEntry, _answers: &Answers, facts: &mut Facts) {
        facts.missing(Field::EngineVersion, "the engine is unknown");
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
        for pointer in ["/top_provider/context_length", "/context_length"] {
            if let Some(max) = super::number(&model.raw, pointer) {
                let source = format!("{} of GET /v1/models", pointer[1..].replace('/', "."));
                facts.number(Field::ModelMaxLength, max, &source);
            }
        }
    }

    fn manner(&self) -> Manner {
        Manner::PLAIN
    }
}

/// What stands between us and the engine, as far as it shows itself, and where it does.
pub(crate) fn in_front(model: &ModelEntry, answers: &Answers) -> Option<(String, &'static str)> {
    let web_server = || {
        let server = answers.header("server")?;
        let name = server.to_lowercase();
        WEB_SERVERS.iter().any(|known| name.starts_with(known)).then(|| (server.to_owned(), "header Server"))
    };
    let envoy = || answers.header("x-envoy-upstream-service-time").map(|_| ("envoy".to_owned(), "headers"));
    let via = || answers.header("via").map(|via| (via.to_owned(), "header Via"));
    speaks_for_engines(model, answers).or_else(web_server).or_else(envoy).or_else(via)
}

fn speaks_for_engines(model: &ModelEntry, answers: &Answers) -> Option<(String, &'static str)> {
    let litellm = || {
        answers
            .header("x-litellm-version")
            .map(|version| (format!("LiteLLM {version}"), "header x-litellm-version"))
    };
    let litellm_call =
        || answers.header("x-litellm-call-id").map(|_| ("LiteLLM".to_owned(), "header x-litellm-call-id"));
    let readiness = || {
        let told = answers.object("GET /health/readiness")?;
        let version = told.get("litellm_version")?.as_str()?.to_owned();
        Some((format!("LiteLLM {version}"), "GET /health/readiness"))
    };
    let metrics = || metrics_prefix(answers, "litellm_").map(|_| ("LiteLLM".to_owned(), METRICS));
    let open_router = || {
        let listed = model.raw.get("top_provider").is_some() && model.raw.get("pricing").is_some();
        listed.then(|| ("OpenRouter".to_owned(), MODELS))
    };
    litellm().or_else(readiness).or_else(litellm_call).or_else(metrics).or_else(open_router)
}
