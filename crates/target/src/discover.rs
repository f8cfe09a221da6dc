//! Looks for servers on this machine.

use std::time::Duration;

use tokio::task::JoinSet;
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Control, Headers, TargetUrl, Timeouts, TlsOptions};

use crate::answers::{Answers, MODELS};
use crate::engine::{self, Confidence, Engine};
use crate::error::TargetError;
use crate::models;

/// Ports on which engines usually listen.
pub const USUAL_PORTS: [u16; 6] = [8000, 30_000, 8080, 11_434, 1234, 5000];

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its base URL.
    pub url: String,
    /// What it is: `vllm with qwen`.
    pub what: String,
}

/// Servers of the OpenAI API on this machine's `ports`, in their order. No key is sent.
pub async fn discover(ports: &[u16]) -> Vec<Found> {
    let mut looking = JoinSet::new();
    for (at, port) in ports.iter().copied().enumerate() {
        looking.spawn(async move { (at, look(port).await) });
    }
    let mut found = Vec::new();
    while let Some(looked) = looking.join_next().await {
        if let Ok((at, Some(one))) = looked {
            found.push((at, one));
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, one)| one).collect()
}

async fn look(port: u16) -> Option<Found> {
    let url = TargetUrl::parse(&format!("127.0.0.1:{port}")).ok()?;
    let timeouts = Timeouts { connect: CONNECT_TIMEOUT, idle: ANSWER_TIMEOUT };
    // Plain HTTP on this machine: neither certificates nor headers, and a clock that nothing is recorded by.
    let connector =
        Connector::new(url.clone(), &TlsOptions::default(), Headers::new(), Clock::start(), timeouts).ok()?;
    let control = Control::new(connector);
    let answer = control.get("/v1/models", ANSWER_TIMEOUT).await.ok()?;
    let what = match models::read(&control, &answer) {
        Ok(served) if served.is_empty() => "a server without a model".to_owned(),
        Ok(served) => {
            let names: Vec<_> = served.iter().map(|model| model.id.as_str()).collect();
            let first = served.first()?;
            let mut answers = Answers::default();
            answers.insert(MODELS, Ok(answer));
            let says_so = |engine: &&dyn Engine| {
                engine.recognise(first, &answers).is_some_and(|sign| sign.confidence == Confidence::Certain)
            };
            let engine = engine::ALL.into_iter().find(says_so).and_then(Engine::name).unwrap_or("a server");
            format!("{engine} with {}", names.join(", "))
        }
        Err(TargetError::KeyMissing { .. }) => "a server that asks for an API key".to_owned(),
        Err(_) => return None,
    };
    Some(Found { url: url.display(), what })
}
