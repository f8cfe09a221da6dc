//! The rate of the running window, as it was looked at.

use tokometer_load::{LiveCell, LivePhase};
use tokometer_stats::batch_means;

use super::board::{Place, State};

/// Length of a bar of the sparkline, seconds.
const BAR: f64 = 0.5;
/// Parts of the window that the interval so far is over, as the method has it.
const PARTS: usize = 6;
/// Seconds of a window from which on it has an interval.
const LEAST: f64 = 3.0;
const LEVEL: f64 = 0.95;

/// Events of the running window over time.
#[derive(Debug, Default)]
pub(super) struct History {
    of: Option<(Place, Option<u32>)>,
    /// Seconds from the window's start, events since the cell's start.
    points: Vec<(f64, u64)>,
}

/// A rate with its interval so far. Events are no tokens, so it is a rate of events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SoFar {
    pub(super) per_second: f64,
    /// Half-width ÷ rate.
    pub(super) half_width: Option<f64>,
}

impl History {
    /// Takes a glance.
    pub(super) fn take(&mut self, state: &State, live: &LiveCell) {
        let of = state.doing.place.map(|place| (place, state.doing.repeat));
        if of != self.of {
            self.points.clear();
            self.of = of;
        }
        let (LivePhase::Window, Some(streams)) = (live.phase, live.streams) else { return };
        if self.points.last().is_none_or(|(seconds, _)| live.seconds > *seconds) {
            self.points.push((live.seconds, streams.events));
        }
    }

    /// Events a second in each half second of the window so far.
    pub(super) fn rates(&self) -> Vec<u64> {
        let Some((last, _)) = self.points.last() else { return Vec::new() };
        let bars = (last / BAR) as usize;
        (1..=bars)
            .map(|bar| {
                let events = self.at(bar as f64 * BAR) - self.at((bar - 1) as f64 * BAR);
                (events / BAR).max(0.0).round() as u64
            })
            .collect()
    }

    /// The rate of the window so far.
    pub(super) fn so_far(&self) -> Option<SoFar> {
        let ((first, begun), (last, events)) = (*self.points.first()?, *self.points.last()?);
        let seconds = last - first;
        if seconds <= 0.0 {
            return None;
        }
        let per_second = (events - begun) as f64 / seconds;
        let part = last / PARTS as f64;
        let parts: Vec<f64> = (0..PARTS)
            .map(|index| (self.at((index + 1) as f64 * part) - self.at(index as f64 * part)) / part)
            .collect();
        let half_width = (last >= LEAST)
            .then(|| batch_means(&parts, LEVEL))
            .flatten()
            .map(|estimate| estimate.half_width / estimate.mean)
            .filter(|share| share.is_finite());
        Some(SoFar { per_second, half_width })
    }

    /// Events by this time of the window, between two looks in proportion.
    fn at(&self, seconds: f64) -> f64 {
        let next = self.points.partition_point(|(at, _)| *at < seconds);
        match (next.checked_sub(1).and_then(|before| self.points.get(before)), self.points.get(next)) {
            (Some((from, before)), Some((to, after))) => {
                let share = (seconds - from) / (to - from);
                *before as f64 + share * (after - before) as f64
            }
            (None, Some((_, only))) | (Some((_, only)), None) => *only as f64,
            (None, None) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokometer_load::LiveStreams;
    use tokometer_record::Phase;

    use super::*;
    use crate::dashboard::Doing;

    fn state(concurrency: u32) -> State {
        let place = Some((Phase::Decode, 1024, concurrency));
        State { doing: Doing { place, ..Doing::default() }, ..State::default() }
    }

    fn window(seconds: f64, events: u64) -> LiveCell {
        let streams = Some(LiveStreams { events, ..LiveStreams::default() });
        LiveCell { phase: LivePhase::Window, seconds, streams, ..LiveCell::default() }
    }

    #[test]
    fn an_even_stream_has_even_bars_and_a_narrow_interval() {
        let mut history = History::default();
        for look in 0..=40 {
            history.take(&state(1), &window(f64::from(look) * 0.25, 1000 + 25 * look as u64));
        }
        assert_eq!(history.rates(), vec![100; 20]);
        let so_far = history.so_far().unwrap();
        assert!((so_far.per_second - 100.0).abs() < 1e-9 && so_far.half_width.unwrap() < 1e-9);
        // The next cell begins anew.
        history.take(&state(2), &window(0.25, 10));
        assert!(history.rates().is_empty());
    }

    #[test]
    fn an_uneven_stream_has_a_wide_one() {
        let mut history = History::default();
        let mut events = 0;
        for look in 0..=24 {
            events += if look % 8 < 4 { 10 } else { 30 };
            history.take(&state(1), &window(f64::from(look) * 0.5, events));
        }
        assert!(history.so_far().unwrap().half_width.unwrap() > 0.1);
    }
}
