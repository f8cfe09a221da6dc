//! A conductor with short phases, and requests for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokometer_load::{CellSpec, Conductor, Gauges, Live, LiveCell, LoadEngine, PrefillSpec, Timing};
use tokometer_record::AtEnd;
use tokometer_wire::clock::Clock;
use tokometer_wire::metrics::MetricNames;
use tokometer_wire::{
    Connector, Control, Dialect, Endpoint, Expect, Headers, PreparedRequest, TargetUrl, Timeouts, TlsOptions,
};

const METRICS: MetricNames = MetricNames {
    running: &["vllm:num_requests_running"],
    waiting: &["vllm:num_requests_waiting"],
    generated_tokens: &["vllm:generation_tokens_total"],
    prompt_tokens: &["vllm:prompt_tokens_total"],
    cached_tokens: &["vllm:prompt_tokens_cached_total"],
    kv_used: &["vllm:kv_cache_usage_perc"],
    preemptions: &["vllm:num_preemptions_total"],
    drafts: &["vllm:spec_decode_num_drafts_total"],
    draft_tokens: &["vllm:spec_decode_num_draft_tokens_total"],
    accepted_tokens: &["vllm:spec_decode_num_accepted_tokens_total"],
    accepted_per_position: &["vllm:spec_decode_num_accepted_tokens_per_pos_total"],
    acceptance_length: &["sglang:spec_accept_length"],
};

/// Long enough that only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_secs(120);

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Phases of some 100 ms.
pub(crate) const SHORT: Timing = Timing {
    ready_minimum: ms(200),
    ready_stable: ms(100),
    ready_limit: ms(30_000),
    sample_every: ms(50),
    drain_every: ms(20),
    drain_stable: ms(60),
    drain_limit: ms(30_000),
    linger: ms(20),
    silence_limit: ms(30_000),
};

/// A conductor and what belongs to it.
pub(crate) struct Bench {
    pub(crate) conductor: Conductor,
    pub(crate) connector: Connector,
    /// Raises the interrupt.
    pub(crate) interrupt: watch::Sender<bool>,
}

impl Bench {
    /// For the server at this port, without gauges.
    pub(crate) fn new(port: u16) -> Bench {
        Bench::at(&format!("http://127.0.0.1:{port}"), LONG)
    }

    /// For the server at this URL, with this limit of silence within a response.
    pub(crate) fn at(url: &str, idle: Duration) -> Bench {
        let clock = Clock::start();
        let tls = TlsOptions { insecure: true, ca_certificate: None };
        let timeouts = Timeouts { connect: LONG, idle };
        let target = TargetUrl::parse(url).unwrap();
        let connector = Connector::new(target, &tls, Headers::new(), clock, timeouts).unwrap();
        let interrupt = watch::Sender::new(false);
        let conductor = Conductor {
            run: "test".to_owned(),
            engine: LoadEngine::start(2, &connector, clock).unwrap(),
            clock,
            gauges: None,
            expect: Expect { endpoint: Endpoint::Chat, dialect: Dialect::Vllm },
            timing: SHORT,
            allow_busy: false,
            interrupt: interrupt.subscribe(),
            live: Arc::new(Live::default()),
        };
        Bench { conductor, connector, interrupt }
    }

    /// Reads the server's gauges too.
    pub(crate) fn with_gauges(mut self) -> Bench {
        let control = Arc::new(Control::new(self.connector.clone()));
        self.conductor.gauges = Some(Gauges::new(control, "/metrics", &METRICS));
        self
    }

    /// A request with this prompt, usage on each event.
    pub(crate) fn request(&self, prompt: &str, max_tokens: u64) -> PreparedRequest {
        let body = json!({
            "model": "model",
            "messages": [{ "role": "user", "content": prompt }],
            "max_tokens": max_tokens,
            "ignore_eos": true,
            "stream": true,
            "stream_options": { "include_usage": true, "continuous_usage_stats": true },
        });
        self.connector.prepare(Endpoint::Chat.path(), body.to_string().into())
    }

    /// A cell that sends one prompt, without a scout.
    pub(crate) fn cell(&self, concurrency: u32, max_tokens: u64, duration: Duration) -> CellSpec {
        CellSpec {
            context_nominal: 1024,
            concurrency,
            max_output_tokens: max_tokens,
            duration,
            adaptive: None,
            repeat: None,
            requests: vec![self.request("Say something.", max_tokens)],
            scouts: Vec::new(),
            calibration: None,
            at_end: AtEnd::Cut,
        }
    }

    /// A prefill measurement with these prompts.
    pub(crate) fn prefill(&self, prompts: &[String]) -> PrefillSpec {
        PrefillSpec {
            context_nominal: 1024,
            repeat: None,
            max_output_tokens: 1,
            requests: prompts.iter().map(|prompt| self.request(prompt, 1)).collect(),
        }
    }

    /// Raises the interrupt as soon as a glance at the running cell is as wanted.
    pub(crate) async fn raise_when(&self, wanted: impl Fn(LiveCell) -> bool) {
        self.seen(wanted).await;
        self.interrupt.send_replace(true);
    }

    /// Waits until a glance at the running cell is as wanted.
    pub(crate) async fn seen(&self, wanted: impl Fn(LiveCell) -> bool) {
        while !wanted(self.conductor.live.get()) {
            tokio::time::sleep(ms(2)).await;
        }
    }
}
