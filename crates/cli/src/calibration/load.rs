//! The client's side: the load engine and the wire, as `run` uses them, against a ruler.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use tokio::sync::watch;
use tokometer_load::{CellSpec, Conductor, Live, LoadEngine, Timing};
use tokometer_record::{AtEnd, CellTrace};
use tokometer_wire::clock::Clock;
use tokometer_wire::{
    Connector, Dialect, Endpoint, Expect, Headers, PreparedRequest, TargetUrl, Timeouts, TlsOptions,
};

use super::ruler::Ruler;
use super::usage::{self, WindowUse};

/// Shortest and longest life of a request: streams restart at different times, as they come to do on a server.
const LIFE_SECONDS: (f64, f64) = (1.5, 2.5);

/// Fewest tokens of a request, of slow streams: they are to decode, not to begin again and again.
const SHORTEST: u64 = 20;

/// A share that never comes twice: the golden section.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Output tokens of requests that only the window's end ends.
const ENDLESS: u64 = 1 << 32;

/// The client, ready for one ruler.
pub(crate) struct Client {
    conductor: Conductor,
    connector: Connector,
    clock: Clock,
}

/// A measured cell and what it took.
pub(crate) struct Measured {
    pub(crate) trace: CellTrace,
    pub(crate) used: Option<WindowUse>,
}

impl Client {
    /// Starts the load threads.
    pub(crate) fn start(
        ruler: &Ruler,
        threads: usize,
        clock: Clock,
        interrupt: watch::Receiver<bool>,
    ) -> anyhow::Result<Client> {
        let target = TargetUrl::parse(ruler.url())?;
        let timeouts = Timeouts { connect: Duration::from_secs(30), idle: Duration::from_secs(60) };
        let connector = Connector::new(target, &TlsOptions::default(), Headers::new(), clock, timeouts)?;
        let conductor = Conductor {
            run: "calibration".to_owned(),
            engine: LoadEngine::start(threads, &connector, clock)?,
            clock,
            gauges: None,
            expect: Expect { endpoint: Endpoint::Chat, dialect: Dialect::Vllm },
            timing: Timing {
                ready_minimum: Duration::from_millis(500),
                ready_stable: Duration::from_millis(500),
                ..Timing::default()
            },
            allow_busy: true,
            interrupt,
            live: Arc::new(Live::default()),
        };
        Ok(Client { conductor, connector, clock })
    }

    /// Resident bytes that one open stream adds; none where the system does not tell.
    pub(crate) async fn bytes_per_stream(&self, streams: u32) -> anyhow::Result<Option<u64>> {
        let requests = self.requests(streams, Some(1.0));
        let before = usage::resident_bytes();
        let opened = self.conductor.open_idle(requests, usage::resident_bytes).await;
        let after =
            opened.map_err(|failure| anyhow!("the streams could not be opened: {}", failure.message))?;
        let after = after.ok_or_else(|| anyhow!("interrupted"))?;
        Ok(after.zip(before).map(|(after, before)| after.saturating_sub(before) / u64::from(streams.max(1))))
    }

    /// Runs one cell: `rate` tokens a second for each stream, or none for flat out.
    pub(crate) async fn cell(
        &self,
        ruler: &Ruler,
        streams: u32,
        rate: Option<f64>,
        duration: Duration,
    ) -> Measured {
        let spec = CellSpec {
            context_nominal: 0,
            concurrency: streams,
            max_output_tokens: ENDLESS,
            duration,
            adaptive: None,
            repeat: None,
            requests: self.requests(streams, rate),
            scouts: Vec::new(),
            calibration: None,
            at_end: AtEnd::Cut,
        };
        let watching = usage::over_window(&self.conductor.live, self.clock, ruler.process());
        tokio::pin!(watching);
        let cell = self.conductor.run_cell(&spec);
        tokio::pin!(cell);
        let mut used = None;
        let trace = loop {
            tokio::select! {
                trace = &mut cell => break trace,
                seen = &mut watching, if used.is_none() => used = Some(seen),
            }
        };
        Measured { trace, used: used.flatten() }
    }

    /// One for each stream, which says its number.
    fn requests(&self, streams: u32, rate: Option<f64>) -> Vec<PreparedRequest> {
        let (shortest, longest) = LIFE_SECONDS;
        let request = |stream: u32| {
            let share = (f64::from(stream) * GOLDEN).fract();
            let life = shortest + (longest - shortest) * share;
            let most = |rate: f64| ((rate * life) as u64).max(SHORTEST + (SHORTEST as f64 * share) as u64);
            let max_tokens = rate.map_or(ENDLESS, most);
            let body = json!({
                "model": "steady",
                "messages": [{ "role": "user", "content": "Count the waves." }],
                "max_tokens": max_tokens,
                "ignore_eos": true,
                "stream": true,
                "stream_options": { "include_usage": true, "continuous_usage_stats": true },
                "user": stream.to_string(),
            });
            self.connector.prepare(Endpoint::Chat.path(), body.to_string().into())
        };
        (0..streams).map(request).collect()
    }
}
