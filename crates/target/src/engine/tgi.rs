//! Text Generation Inference.

use tokometer_wire::Dialect;
use tokometer_wire::metrics::MetricNames;

use super::{Confidence, Engine, Manner, Probe, Sign, metrics_prefix, number, text};
use crate::answers::Answers;
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

const INFO: &str = "GET /info";

/// It counts tokens only when a request ends, as a histogram: no counter to compare with.
const METRIC_NAMES: MetricNames =
    MetricNames { running: &["tgi_batch_current_size"], waiting: &["tgi_queue_size"], ..MetricNames::NONE };

/// Text Generation Inference.
pub(super) struct Tgi;

impl Engine for Tgi {
    fn name(&self) -> Option<&'static str> {
        Some("tgi")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/info"), Probe::Get("/metrics"), Probe::Tokenize(TokenizeRoute::Inputs)]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let info = || {
            let info = answers.object(INFO)?;
            let own = info.get("max_total_tokens").is_some() && info.get("model_id").is_some();
            own.then(|| Sign::new(Confidence::Certain, "model_id and max_total_tokens", INFO))
        };
        info().or_else(|| metrics_prefix(answers, "tgi_"))
    }

    fn read(&self, _model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        let Some(info) = answers.object(INFO) else {
            facts.missing(Field::EngineVersion, answers.why_not(INFO));
            facts.missing(Field::ModelMaxLength, answers.why_not(INFO));
            return;
        };
        for (pointer, field) in [
            ("/version", Field::EngineVersion),
            ("/sha", Field::EngineCommit),
            ("/docker_label", Field::EngineBuild),
            ("/model_id", Field::ModelId),
            ("/model_sha", Field::ModelRevision),
        ] {
            if let Some(value) = text(&info, pointer) {
                facts.text(field, value, &format!("{} of {INFO}", &pointer[1..]));
            }
        }
        if let Some(max) = number(&info, "/max_total_tokens") {
            facts.number(Field::ModelMaxLength, max, &format!("max_total_tokens of {INFO}"));
        }
        if let Some(prompt) = number(&info, "/max_input_tokens") {
            facts.beside("model.max_input_tokens", &prompt.to_string(), INFO);
        }
        facts.missing(
            Field::CapacityConcurrentRequests,
            "max_concurrent_requests of GET /info is the router's limit of open requests, not the batch",
        );
        facts.missing(
            Field::CapacityKvTokens,
            "TGI tells --max-batch-total-tokens only in its launch command; tgi_batch_current_max_tokens is the \
             present batch's",
        );
        facts.missing(Field::ModelQuantization, "TGI tells it only in its launch command");
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::Tgi,
            metrics: Some(&METRIC_NAMES),
            tokenize: &[TokenizeRoute::Inputs],
            handling: Handling::DISCONNECT,
            ..Manner::PLAIN
        }
    }
}
