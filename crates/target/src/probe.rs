//! Asks a server what it is.

use std::time::Duration;

use serde_json::json;
use tokometer_record::Evidence;
use tokometer_wire::Control;

use crate::answers::{Answers, MODELS, SHORT_CHAT};
use crate::engine::{self, Confidence, Engine, Probe, Sign};
use crate::error::TargetError;
use crate::facts::{Facts, Field};
use crate::models::{self, ModelEntry};
use crate::target::Target;

/// Limit for the list of models, which everything depends on.
const MODELS_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit for each probe that may go without an answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// Limit for the chat request of one token, which may have to wait for a first compilation.
const SHORT_CHAT_TIMEOUT: Duration = Duration::from_secs(30);

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeOptions {
    /// Model to ask for, by served or full name; none: the only one.
    pub model: Option<String>,
    /// True: nothing that generates is sent, not even the one token that some servers name themselves with.
    pub no_requests: bool,
}

/// Finds out what answers at `control`'s target.
///
/// Only the list of models must come; every other probe is optional. Probes are made before anything is
/// measured and never again: some engines answer them at the cost of running requests.
pub async fn probe(control: &Control, options: &ProbeOptions) -> Result<Target, TargetError> {
    let answer = control
        .get("/v1/models", MODELS_TIMEOUT)
        .await
        .map_err(|failure| models::unreachable(control, failure))?;
    let served = models::read(control, &answer)?;
    let mut answers = Answers::default();
    answers.insert(MODELS, Ok(answer));
    let url = control.connector().target().display();
    let model = models::choose(&url, &served, options.model.as_deref())?;

    let (engine, sign) = recognise(control, &model, options.no_requests, &mut answers).await;
    let mut facts = Facts::default();
    if let Some(name) = engine.name() {
        facts.text(Field::EngineName, name, &format!("{} of {}", sign.value, sign.source));
    }
    let proxy = engine::in_front(&model, &answers);
    if let (None, Some((proxy, _))) = (engine.name(), &proxy) {
        let reason = format!("{proxy} answers in front, and what stands behind it is not told");
        facts.missing(Field::EngineName, reason);
    }
    engine.read(&model, &answers, &mut facts);
    if let Some(fingerprint) =
        answers.object(SHORT_CHAT).as_ref().and_then(|chat| chat.get("system_fingerprint")?.as_str())
    {
        facts.beside("engine.system_fingerprint", fingerprint, SHORT_CHAT);
    }
    facts.text(Field::ModelServedName, &model.id, "id of GET /v1/models");
    facts.text(Field::ModelId, &model.id, "id of GET /v1/models");
    facts.missing(Field::Hardware, "not told over HTTP");
    facts.missing(Field::LaunchCommand, "not told over HTTP");
    facts.finish();

    let manner = engine.manner();
    if let Some((name, source)) = &proxy {
        facts.evidence.push(Evidence {
            field: "target.proxy".to_owned(),
            value: name.clone(),
            source: (*source).to_owned(),
        });
    }
    let metrics_request = format!("GET {}", manner.metrics_path);
    Ok(Target {
        url,
        headers: control.connector().headers().names().map(str::to_owned).collect(),
        proxy: proxy.map(|(name, _)| name),
        models: served.into_iter().map(|model| model.id).collect(),
        simulated: engine::is_simulated(&model, &answers),
        engine: facts.engine,
        model: facts.model,
        capacity: facts.capacity,
        launch_command: facts.launch_command,
        evidence: facts.evidence,
        unknown: facts.unknown,
        dialect: manner.dialect,
        metrics: manner.metrics.filter(|_| answers.text(&metrics_request).is_some()),
        metrics_path: manner.metrics_path,
        tokenize: manner
            .tokenize
            .iter()
            .copied()
            .find(|route| answers.json(route.name()).is_some_and(|answer| route.count(&answer).is_some())),
        manner,
        served_name: model.id,
    })
}

/// The engine whose signs are the surest. Where the list of models does not decide, every engine's probes are
/// made: several servers imitate others, so no single answer is trusted.
async fn recognise(
    control: &Control,
    model: &ModelEntry,
    no_requests: bool,
    answers: &mut Answers,
) -> (&'static dyn Engine, Sign) {
    let surest = |answers: &Answers| {
        let signs =
            engine::ALL.iter().filter_map(|engine| Some((*engine, engine.recognise(model, answers)?)));
        // The first of equals.
        signs.reduce(|best, other| if other.1.confidence > best.1.confidence { other } else { best })
    };
    let certain =
        |answers: &Answers| surest(answers).filter(|(_, sign)| sign.confidence == Confidence::Certain);
    let mut named = certain(answers);
    if named.is_none() {
        let identifying =
            engine::ALL.iter().flat_map(|engine| engine.probes()).filter(|probe| probe.identifies());
        ask(control, model, identifying, no_requests, answers).await;
        named = surest(answers).filter(|(_, sign)| sign.confidence > Confidence::None);
    }
    if named.is_none() {
        // Some servers name themselves only in their answers to requests.
        ask(control, model, [Probe::ShortChat].iter(), no_requests, answers).await;
    }
    let Some((engine, sign)) = named.or_else(|| surest(answers)) else {
        unreachable!("the last engine recognises every server")
    };
    ask(control, model, engine.probes().iter(), no_requests, answers).await;
    (engine, sign)
}

/// Makes the probes that were not made yet.
async fn ask(
    control: &Control,
    model: &ModelEntry,
    probes: impl Iterator<Item = &Probe>,
    no_requests: bool,
    answers: &mut Answers,
) {
    for probe in probes {
        let name = probe.name();
        let unwanted = no_requests && matches!(probe, Probe::ShortChat);
        if unwanted || answers.asked(&name) || probe.is_needless(answers) {
            continue;
        }
        let answer = match probe {
            Probe::Get(path)
            | Probe::Older { path, .. }
            | Probe::Further(path)
            | Probe::FurtherElse { path, .. } => control.get(path, PROBE_TIMEOUT).await,
            Probe::PropsOfModel => {
                let path = format!("/props?model={}", in_query(&model.id));
                control.get(&path, PROBE_TIMEOUT).await
            }
            Probe::Show => control.post_json("/api/show", &json!({"model": model.id}), PROBE_TIMEOUT).await,
            Probe::Tokenize(route) | Probe::TokenizeElse { route, .. } => {
                control.post_json(route.path(), &route.body(&model.id, "one two three"), PROBE_TIMEOUT).await
            }
            Probe::ShortChat => {
                let body = json!({
                    "model": model.id,
                    "messages": [{"role": "user", "content": "Say yes."}],
                    "max_tokens": 1,
                    "stream": false,
                });
                control.post_json("/v1/chat/completions", &body, SHORT_CHAT_TIMEOUT).await
            }
        };
        answers.insert(&name, answer);
    }
}

/// Text as it may stand in a query.
fn in_query(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| {
        if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}
