//! Reads the server's gauges beside the phases of a cell: a slow answer must hold up neither the window's end nor
//! an interrupt.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokometer_record::SampleRow;
use tokometer_wire::clock::Clock;

use crate::gauges::{self, Gauges};
use crate::live::Live;

/// The last reading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Reading {
    /// There was none yet.
    #[default]
    NotYet,
    /// The server has no gauges, or did not answer.
    Silent,
    /// What it told.
    Sample(SampleRow),
}

/// What was read while streams ran. It is locked a few times a second, by the conductor's thread alone.
#[derive(Debug, Default)]
pub(super) struct Sampler(Mutex<(Reading, Vec<SampleRow>)>);

impl Sampler {
    /// The last reading.
    pub(super) fn latest(&self) -> Reading {
        self.lock().0
    }

    /// All samples so far.
    pub(super) fn take(&self) -> Vec<SampleRow> {
        std::mem::take(&mut self.lock().1)
    }

    /// Reads again and again, until it is dropped.
    pub(super) async fn run(
        &self,
        gauges: Option<&Gauges>,
        every: Duration,
        clock: Clock,
        live: &Live,
    ) -> Infallible {
        let Some(gauges) = gauges else {
            self.lock().0 = Reading::Silent;
            return std::future::pending().await;
        };
        loop {
            let start_ns = clock.now_ns();
            let sample = gauges.read().await.map(|sample| gauges::sample_row(&sample));
            self.note(sample);
            if let Some(sample) = sample {
                live.set_server(sample);
            }
            let spent = Duration::from_nanos(clock.now_ns().saturating_sub(start_ns));
            // A server that is slow to answer is not asked without a pause.
            tokio::time::sleep(every.saturating_sub(spent).max(every / 2)).await;
        }
    }

    fn note(&self, sample: Option<SampleRow>) {
        let mut held = self.lock();
        held.0 = sample.map_or(Reading::Silent, Reading::Sample);
        held.1.extend(sample);
    }

    fn lock(&self) -> MutexGuard<'_, (Reading, Vec<SampleRow>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
