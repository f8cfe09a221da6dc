//! The token ledger of one request: a cumulative count from the best source that the server offers.

use crate::delta::{Counted, Delta, EngineCounters, Usage};
use crate::exchange::TokenSource;

/// Further choices that are told apart; nobody asks for so many.
const MAX_CHOICES: usize = 128;

/// Counts the output tokens of one request.
///
/// With several choices a usage per event counts its own choice, and the last one all of them: the count of the
/// request is the sum.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ledger {
    payload_events: u32,
    /// Payload events before the finish reason.
    open_payload_events: u32,
    /// Of these, those that came with a usage count.
    counted_by_usage: u32,
    /// Of these, those that came with an engine count.
    counted_by_engine: u32,
    /// A usage count came before the finish reason, so it is no final one.
    usage_per_event: bool,
    engine_per_event: bool,
    finished: bool,
    /// Of the first choice, or of all by the last usage.
    usage: Usage,
    /// Output tokens of each further choice.
    others: Vec<u64>,
    engine: EngineCounters,
    token_ids: u64,
    /// The highest count that was told with an event.
    told: u64,
}

/// What the ledger makes of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Output tokens up to here, where the server tells with this event.
    pub(crate) tokens: Option<u32>,
    /// The count rose.
    pub(crate) rose: bool,
}

/// A cumulative count fell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fell {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Ledger {
    /// Enters one event.
    pub(crate) fn enter(&mut self, delta: &Delta) -> Result<Entry, Fell> {
        let is_payload = delta.payload.is_some();
        self.payload_events += u32::from(is_payload);
        self.finished |= delta.rare.as_ref().is_some_and(|rare| rare.finish_reason.is_some());
        self.token_ids += u64::from(delta.token_ids);
        let by_usage = match delta.counted {
            Counted::First => self
                .enter_usage(delta.usage)
                .map(|count| count.map(|count| count.saturating_add(self.of_others()))),
            Counted::Other(choice) => self.enter_other(choice, delta.usage),
            Counted::All => self.enter_all(delta.usage),
        };
        // An event whose count cannot be is not handed out.
        let by_usage = by_usage.inspect_err(|_| self.payload_events -= u32::from(is_payload))?;
        let by_engine = self.enter_engine(delta.engine);
        if !self.finished {
            self.usage_per_event |= by_usage.is_some();
            self.engine_per_event |= by_engine.is_some();
            self.open_payload_events += u32::from(is_payload);
            self.counted_by_usage += u32::from(is_payload && by_usage.is_some());
            self.counted_by_engine += u32::from(is_payload && by_engine.is_some());
        }
        let told = if self.usage_per_event {
            by_usage
        } else if self.token_ids > 0 {
            Some(self.token_ids)
        } else {
            by_engine.filter(|_| self.engine_per_event)
        };
        let rose = told.is_some_and(|count| count > self.told);
        self.told = self.told.max(told.unwrap_or(0));
        Ok(Entry { tokens: told.map(|count| u32::try_from(count).unwrap_or(u32::MAX)), rose })
    }

    /// The count of this usage, where it has one.
    fn enter_usage(&mut self, usage: Usage) -> Result<Option<u64>, Fell> {
        self.usage.prompt = usage.prompt.or(self.usage.prompt);
        self.usage.cached = usage.cached.or(self.usage.cached);
        self.usage.reasoning = usage.reasoning.or(self.usage.reasoning);
        // No output tokens though there was output: the count is missing, not zero.
        let count = usage.completion.filter(|&count| count > 0 || self.payload_events == 0);
        if let Some(to) = count {
            let from = self.usage.completion.unwrap_or(0);
            if to < from {
                return Err(Fell { from, to });
            }
            self.usage.completion = Some(to);
        }
        Ok(count.filter(|&count| count > 0))
    }

    /// The count of all choices together, by the usage of a further one.
    fn enter_other(&mut self, choice: u32, usage: Usage) -> Result<Option<u64>, Fell> {
        let place = choice as usize;
        let Some(to) = usage.completion.filter(|_| (1..=MAX_CHOICES).contains(&place)) else {
            return Ok(None);
        };
        if self.others.len() < place {
            self.others.resize(place, 0);
        }
        let from = std::mem::replace(&mut self.others[place - 1], to);
        if to < from {
            return Err(Fell { from, to });
        }
        Ok(Some(self.of_others().saturating_add(self.usage.completion.unwrap_or(0))))
    }

    /// The count of all choices together, by a usage that says so itself.
    fn enter_all(&mut self, usage: Usage) -> Result<Option<u64>, Fell> {
        if usage.completion.is_some_and(|count| count > 0) {
            self.others.clear();
        }
        self.enter_usage(usage)
    }

    fn of_others(&self) -> u64 {
        self.others.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The count of these counters, where they have one.
    fn enter_engine(&mut self, engine: EngineCounters) -> Option<u64> {
        self.engine.prompt = engine.prompt.or(self.engine.prompt);
        self.engine.cached = engine.cached.or(self.engine.cached);
        self.engine.generated = engine.generated.or(self.engine.generated);
        engine.generated.filter(|&count| count > 0)
    }

    /// The best source that the events so far offered.
    pub(crate) fn source(&self) -> TokenSource {
        // A count on a stray event or two does not make a count per event.
        let told_by = |counted: u32| counted > 0 && 2 * counted >= self.open_payload_events;
        if self.usage_per_event && told_by(self.counted_by_usage) {
            TokenSource::Usage
        } else if self.token_ids > 0 {
            TokenSource::TokenIds
        } else if self.engine_per_event && told_by(self.counted_by_engine) {
            TokenSource::EngineEvents
        } else if self.completion_tokens().is_some() {
            TokenSource::UsageFinal
        } else {
            TokenSource::Events
        }
    }

    pub(crate) fn payload_events(&self) -> u32 {
        self.payload_events
    }

    /// Output tokens by the last usage, else by the engine's counter.
    pub(crate) fn completion_tokens(&self) -> Option<u64> {
        // A zero from before the first output is no count of a request that had output.
        let real = |count: Option<u64>| count.filter(|&count| count > 0 || self.payload_events == 0);
        let by_usage = self.usage.completion.map(|count| count.saturating_add(self.of_others()));
        real(by_usage).or(real(self.engine.generated))
    }

    /// Prompt tokens by usage, else those that the engine processed and those that it found cached.
    pub(crate) fn prompt_tokens(&self) -> Option<u64> {
        let by_engine =
            self.engine.prompt.map(|processed| processed.saturating_add(self.engine.cached.unwrap_or(0)));
        self.usage.prompt.or(by_engine)
    }

    pub(crate) fn cached_tokens(&self) -> Option<u64> {
        self.usage.cached.or(self.engine.cached)
    }

    pub(crate) fn reasoning_tokens(&self) -> Option<u64> {
        self.usage.reasoning
    }

    /// True if the server told of any output token, with or without payload.
    pub(crate) fn has_tokens(&self) -> bool {
        self.token_ids > 0 || self.completion_tokens().is_some_and(|count| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fell, Ledger};
    use crate::delta::{Counted, Delta, EngineCounters, Rare, Usage};
    use crate::exchange::{Channel, TokenSource};

    fn event(payload: bool, completion: Option<u64>) -> Delta {
        let usage = Usage { prompt: completion.map(|_| 5), completion, ..Usage::default() };
        Delta { payload: payload.then_some(Channel::Content), usage, ..Delta::default() }
    }

    fn finish(payload: bool, completion: Option<u64>) -> Delta {
        let rare = Rare { finish_reason: Some("length".into()), ..Rare::default() };
        Delta { rare: Some(Box::new(rare)), ..event(payload, completion) }
    }

    /// Enters events; returns (tokens, rose) of each.
    fn enter(ledger: &mut Ledger, events: &[Delta]) -> Vec<(Option<u32>, bool)> {
        let entry = |delta| ledger.enter(delta).map(|entry| (entry.tokens, entry.rose)).unwrap();
        events.iter().map(entry).collect()
    }

    #[test]
    fn usage_on_each_event() {
        let mut ledger = Ledger::default();
        let told = enter(
            &mut ledger,
            &[
                event(false, Some(0)),
                event(true, Some(3)),
                event(true, Some(4)),
                finish(true, Some(6)),
                event(false, Some(6)),
            ],
        );
        let expected = [(None, false), (Some(3), true), (Some(4), true), (Some(6), true), (Some(6), false)];
        assert_eq!(told, expected);
        assert_eq!((ledger.source(), ledger.completion_tokens()), (TokenSource::Usage, Some(6)));
    }

    #[test]
    fn one_usage_at_the_end_tells_nothing_per_event() {
        let mut ledger = Ledger::default();
        let told = enter(&mut ledger, &[event(true, None), finish(true, Some(2)), event(false, Some(2))]);
        assert_eq!(told, [(None, false); 3]);
        assert_eq!((ledger.source(), ledger.completion_tokens()), (TokenSource::UsageFinal, Some(2)));
    }

    #[test]
    fn usage_of_zero_with_output_is_missing() {
        let mut ledger = Ledger::default();
        enter(&mut ledger, &[event(true, Some(0)), finish(true, Some(0))]);
        assert_eq!((ledger.source(), ledger.completion_tokens()), (TokenSource::Events, None));
        assert_eq!(ledger.prompt_tokens(), Some(5));
    }

    #[test]
    fn a_usage_that_falls_is_refused() {
        let mut ledger = Ledger::default();
        enter(&mut ledger, &[event(true, Some(7))]);
        assert_eq!(ledger.enter(&event(true, Some(6))), Err(Fell { from: 7, to: 6 }));
    }

    #[test]
    fn a_first_usage_alone_makes_no_count_per_event() {
        let mut ledger = Ledger::default();
        let mut events = vec![event(true, Some(1))];
        events.extend((0..9).map(|_| event(true, None)));
        events.push(finish(false, Some(10)));
        enter(&mut ledger, &events);
        assert_eq!((ledger.source(), ledger.completion_tokens()), (TokenSource::UsageFinal, Some(10)));
    }

    #[test]
    fn usage_of_several_choices_adds_up() {
        let mut ledger = Ledger::default();
        let other =
            |choice, completion| Delta { counted: Counted::Other(choice), ..event(false, Some(completion)) };
        let all = Delta { counted: Counted::All, ..event(false, Some(8)) };
        let events = [event(true, Some(1)), other(1, 2), other(2, 1), event(true, Some(4)), other(1, 3), all];
        let told: Vec<_> = enter(&mut ledger, &events).iter().map(|entry| entry.0).collect();
        assert_eq!(told, [1, 3, 4, 7, 8, 8].map(Some));
        assert_eq!(ledger.completion_tokens(), Some(8));
        assert!(ledger.enter(&other(1, u64::from(u32::MAX))).is_ok());
        assert_eq!(ledger.enter(&other(1, 2)), Err(Fell { from: u64::from(u32::MAX), to: 2 }));
    }

    #[test]
    fn counts_beyond_all_reason_do_not_overflow() {
        let mut ledger = Ledger::default();
        let other = |choice| Delta { counted: Counted::Other(choice), ..event(false, Some(u64::MAX)) };
        let engine = EngineCounters { prompt: Some(u64::MAX), cached: Some(7), generated: Some(u64::MAX) };
        let last = Delta { engine, ..event(true, None) };
        enter(&mut ledger, &[event(true, Some(u64::MAX)), other(1), other(2), last]);
        assert_eq!(ledger.completion_tokens(), Some(u64::MAX));
    }

    #[test]
    fn token_ids_add_up() {
        let mut ledger = Ledger::default();
        let ids = |count| Delta { token_ids: count, ..event(true, None) };
        let told = enter(&mut ledger, &[ids(2), ids(3), finish(false, Some(5))]);
        assert_eq!(told, [(Some(2), true), (Some(5), true), (Some(5), false)]);
        assert_eq!(ledger.source(), TokenSource::TokenIds);
    }

    #[test]
    fn engine_counters_on_each_event() {
        let mut ledger = Ledger::default();
        let engine = |generated| Delta {
            engine: EngineCounters { prompt: Some(3), cached: Some(4), generated: Some(generated) },
            ..event(true, None)
        };
        let told = enter(&mut ledger, &[engine(1), engine(2), finish(false, None)]);
        assert_eq!(told, [(Some(1), true), (Some(2), true), (None, false)]);
        assert_eq!((ledger.source(), ledger.prompt_tokens()), (TokenSource::EngineEvents, Some(7)));
    }
}
