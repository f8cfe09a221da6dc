//! The client's side: one request at a time, and the offset between two clocks.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokometer_record::ClockOffset;
use tokometer_wire::{Connector, Control};

use super::{ClockReading, Piece, Report, SCHEMA};
use crate::sampler::Cursor;

/// An answer that takes longer is missed.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The inventory may have to start a driver first.
const INVENTORY_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an agent can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// It does not answer.
    #[error("the agent does not answer: {0}")]
    Silent(String),
    /// It does not take the token.
    #[error("the agent does not take this token")]
    Token,
    /// It answers, and can't do it.
    #[error("the agent answered {status}: {text}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it says.
        text: String,
    },
    /// What answers is no agent, or one of another version.
    #[error("what answers is no agent that this version understands: {0}")]
    Other(String),
}

/// An agent on another host.
pub struct Remote {
    control: Control,
}

impl Remote {
    /// Opens nothing yet. The connector's headers hold the token.
    pub fn new(connector: Connector) -> Remote {
        Remote { control: Control::new(connector) }
    }

    /// A second one for another thread.
    pub(super) fn connector(&self) -> Connector {
        self.control.connector().clone()
    }

    /// What the agent knows of its host, and of the server at `port` there.
    pub async fn report(&self, port: u16, salt: &str, include_hostname: bool) -> Result<Report, AgentError> {
        let hostname = u8::from(include_hostname);
        let path = format!("/v1/inventory?port={port}&salt={salt}&hostname={hostname}");
        let report: Report = self.get(&path, INVENTORY_TIMEOUT).await?;
        if report.schema != SCHEMA {
            return Err(AgentError::Other(format!("its schema is {:?}, not {SCHEMA:?}", report.schema)));
        }
        Ok(Report { server: report.server.map(crate::server::ServerProcess::redacted_again), ..report })
    }

    /// The agent's clock against the run's, by the fastest of some round trips, and which start of the agent it is.
    pub async fn clock(&self, round_trips: u32) -> Result<(ClockOffset, String), AgentError> {
        let clock = self.control.connector().clock();
        let mut best: Option<(ClockOffset, String)> = None;
        for _ in 0..round_trips.max(1) {
            let sent_ns = clock.now_ns();
            let answer: ClockReading = self.get("/v1/clock", TIMEOUT).await?;
            let trip_ns = clock.now_ns().saturating_sub(sent_ns);
            // The agent read its clock at some moment of the round trip; at the middle it is off by half of it at most.
            let middle_ns = i128::from(sent_ns) + i128::from(trip_ns / 2);
            let offset = ClockOffset {
                at_ns: sent_ns + trip_ns / 2,
                offset_ns: i64::try_from(middle_ns - i128::from(answer.now_ns)).unwrap_or(i64::MAX),
                uncertainty_ns: trip_ns.div_ceil(2),
                round_trips,
            };
            let is_better = |(best, instance): &(ClockOffset, String)| {
                offset.uncertainty_ns < best.uncertainty_ns || *instance != answer.instance
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((offset, answer.instance));
            }
        }
        best.ok_or_else(|| AgentError::Silent("no round trip was made".to_owned()))
    }

    /// Readings behind those that are here.
    pub(super) async fn piece(
        &self,
        run: &str,
        port: u16,
        had: Option<(u64, Cursor)>,
        now: bool,
    ) -> Result<Piece, AgentError> {
        let mut path = format!("/v1/telemetry?run={run}&port={port}&now={}", u8::from(now));
        if let Some((watch, Cursor { devices, host })) = had {
            path = format!("{path}&watch={watch}&devices={devices}&host={host}");
        }
        self.get(&path, TIMEOUT).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, timeout: Duration) -> Result<T, AgentError> {
        let answer = self.control.get(path, timeout).await;
        let answer = answer.map_err(|failure| AgentError::Silent(failure.message))?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|error| AgentError::Other(error.to_string())),
            401 => Err(AgentError::Token),
            status => {
                let told = answer.json().ok();
                let text = told.and_then(|told| told["error"].as_str().map(tokometer_wire::redact::text));
                Err(AgentError::Refused { status, text: text.unwrap_or_default() })
            }
        }
    }
}
