//! The token ledger of one request: a cumulative count from the best source that the server offers.

use crate::delta::{Counted, Counts, Delta};
use crate::dialect::Count;
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
    /// The count that each event tells, while nothing else can matter; none if it is not so plain.
    plain: Option<Count>,
    /// The last that were told; completion tokens of the first choice, or of all by the last usage.
    counts: Counts,
    /// Output tokens of each further choice.
    others: Vec<u64>,
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
    /// Enters one event. `again` if of its counts only those of the output can differ from those of the event before.
    #[inline]
    pub(crate) fn enter(&mut self, delta: &Delta, again: bool) -> Result<Entry, Fell> {
        match self.plain {
            Some(count) if again && is_alone(count, delta) && delta.counts.value(count) > self.told => {
                Ok(self.enter_next(delta, count))
            }
            _ => self.enter_any(delta, again),
        }
    }

    fn enter_any(&mut self, delta: &Delta, again: bool) -> Result<Entry, Fell> {
        let payload = u32::from(delta.payload.is_some());
        self.token_ids += u64::from(delta.token_ids);
        if !again {
            self.enter_rare(delta);
        }
        let by_usage = match delta.counted {
            _ if delta.counts.has_no_usage() => None,
            Counted::First if self.others.is_empty() => self.enter_usage(&delta.counts, payload)?,
            _ => self.enter_choice(delta, payload)?,
        };
        let by_engine = self.enter_engine(&delta.counts);
        // An event whose count cannot be is not handed out, so it counts only now.
        self.payload_events += payload;
        if !self.finished {
            self.usage_per_event |= by_usage.is_some();
            self.engine_per_event |= by_engine.is_some();
            self.open_payload_events += payload;
            self.counted_by_usage += payload & u32::from(by_usage.is_some());
            self.counted_by_engine += payload & u32::from(by_engine.is_some());
        }
        self.plain = self.plain();
        let told = if self.usage_per_event {
            by_usage
        } else if self.token_ids > 0 {
            Some(self.token_ids)
        } else {
            by_engine.filter(|_| self.engine_per_event)
        };
        let Some(count) = told else { return Ok(Entry { tokens: None, rose: false }) };
        let rose = count > self.told;
        self.told = self.told.max(count);
        Ok(Entry { tokens: Some(u32::try_from(count).unwrap_or(u32::MAX)), rose })
    }

    fn plain(&self) -> Option<Count> {
        match (self.usage_per_event, self.engine_per_event) {
            _ if self.finished || !self.others.is_empty() => None,
            (true, _) => Some(Count::Completion),
            (false, true) if self.token_ids == 0 => Some(Count::EngineGenerated),
            (false, _) => None,
        }
    }

    /// The common case: the counts of the event before, but for more output tokens.
    #[inline]
    fn enter_next(&mut self, delta: &Delta, count: Count) -> Entry {
        let to = delta.counts.value(count);
        let payload = u32::from(delta.payload.is_some());
        self.payload_events += payload;
        self.open_payload_events += payload;
        if count == Count::Completion {
            self.token_ids += u64::from(delta.token_ids);
            self.counted_by_usage += payload;
        } else {
            self.counted_by_engine += payload;
        }
        self.counts.put(count, to);
        self.told = to;
        Entry { tokens: Some(u32::try_from(to).unwrap_or(u32::MAX)), rose: true }
    }

    /// What is the same on most events.
    fn enter_rare(&mut self, delta: &Delta) {
        self.finished |= delta.rare.as_ref().is_some_and(|rare| rare.finish_reason.is_some());
        let is_whole = matches!(delta.counted, Counted::First | Counted::All);
        if is_whole && !delta.counts.has_no_usage() {
            self.counts.take_over(&delta.counts, &[Count::Prompt, Count::Cached, Count::Reasoning]);
        }
        self.counts.take_over(&delta.counts, &[Count::EnginePrompt, Count::EngineCached]);
    }

    /// The count of this usage, where it has one.
    #[inline]
    fn enter_usage(&mut self, counts: &Counts, payload: u32) -> Result<Option<u64>, Fell> {
        let to = counts.value(Count::Completion);
        // No output tokens though there was output: the count is missing, not zero.
        if to == 0 && (self.payload_events + payload > 0 || !counts.is_told(Count::Completion)) {
            return Ok(None);
        }
        let from = self.counts.value(Count::Completion);
        if to < from {
            return Err(Fell { from, to });
        }
        self.counts.put(Count::Completion, to);
        Ok((to > 0).then_some(to))
    }

    /// The count of all choices together, where there are several.
    fn enter_choice(&mut self, delta: &Delta, payload: u32) -> Result<Option<u64>, Fell> {
        match delta.counted {
            Counted::First => {
                let count = self.enter_usage(&delta.counts, payload)?;
                Ok(count.map(|count| count.saturating_add(self.of_others())))
            }
            Counted::Other(choice) => self.enter_other(choice, &delta.counts),
            Counted::All => {
                // This usage counts the other choices too.
                if delta.counts.value(Count::Completion) > 0 {
                    self.others.clear();
                }
                self.enter_usage(&delta.counts, payload)
            }
        }
    }

    /// The count of all choices together, by the usage of a further one.
    fn enter_other(&mut self, choice: u32, counts: &Counts) -> Result<Option<u64>, Fell> {
        let place = choice as usize;
        let Some(to) = counts.get(Count::Completion).filter(|_| (1..=MAX_CHOICES).contains(&place)) else {
            return Ok(None);
        };
        if self.others.len() < place {
            self.others.resize(place, 0);
        }
        let from = std::mem::replace(&mut self.others[place - 1], to);
        if to < from {
            return Err(Fell { from, to });
        }
        Ok(Some(self.of_others().saturating_add(self.counts.value(Count::Completion))))
    }

    fn of_others(&self) -> u64 {
        self.others.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The count of the engine's counters, where they have one.
    #[inline]
    fn enter_engine(&mut self, counts: &Counts) -> Option<u64> {
        let count = counts.get(Count::EngineGenerated)?;
        self.counts.put(Count::EngineGenerated, count);
        (count > 0).then_some(count)
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
        let by_usage = self.counts.get(Count::Completion).map(|count| count.saturating_add(self.of_others()));
        real(by_usage).or(real(self.counts.get(Count::EngineGenerated)))
    }

    /// Prompt tokens by usage, else those that the engine processed and those that it found cached.
    pub(crate) fn prompt_tokens(&self) -> Option<u64> {
        let cached = self.counts.value(Count::EngineCached);
        let by_engine =
            self.counts.get(Count::EnginePrompt).map(|processed| processed.saturating_add(cached));
        self.counts.get(Count::Prompt).or(by_engine)
    }

    pub(crate) fn cached_tokens(&self) -> Option<u64> {
        self.counts.get(Count::Cached).or(self.counts.get(Count::EngineCached))
    }

    pub(crate) fn reasoning_tokens(&self) -> Option<u64> {
        self.counts.get(Count::Reasoning)
    }

    /// True if the server told of any output token, with or without payload.
    pub(crate) fn has_tokens(&self) -> bool {
        self.token_ids > 0 || self.completion_tokens().is_some_and(|count| count > 0)
    }
}

/// True if an event tells this count of its output and no other that could matter.
#[inline]
fn is_alone(count: Count, delta: &Delta) -> bool {
    match count {
        Count::Completion => !delta.counts.is_told(Count::EngineGenerated),
        _ => delta.counts.has_no_usage() && delta.token_ids == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fell, Ledger};
    use crate::delta::{Counted, Counts, Delta, Rare};
    use crate::dialect::Count;
    use crate::exchange::{Channel, TokenSource};

    fn event(payload: bool, completion: Option<u64>) -> Delta {
        let told = completion.map(|count| [(Count::Prompt, 5), (Count::Completion, count)]);
        let counts = counts(told.as_ref().map_or(&[], |told| told.as_slice()));
        Delta { payload: payload.then_some(Channel::Content), counts, ..Delta::default() }
    }

    fn counts(told: &[(Count, u64)]) -> Counts {
        told.iter().fold(Counts::default(), |mut counts, &(count, number)| {
            counts.put(count, number);
            counts
        })
    }

    fn finish(payload: bool, completion: Option<u64>) -> Delta {
        let rare = Rare { finish_reason: Some("length".into()), ..Rare::default() };
        Delta { rare: Some(Box::new(rare)), ..event(payload, completion) }
    }

    /// Enters events; returns (tokens, rose) of each.
    fn enter(ledger: &mut Ledger, events: &[Delta]) -> Vec<(Option<u32>, bool)> {
        let entry = |delta| ledger.enter(delta, false).map(|entry| (entry.tokens, entry.rose)).unwrap();
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
        assert_eq!(ledger.enter(&event(true, Some(6)), false), Err(Fell { from: 7, to: 6 }));
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
        assert!(ledger.enter(&other(1, u64::from(u32::MAX)), false).is_ok());
        assert_eq!(ledger.enter(&other(1, 2), false), Err(Fell { from: u64::from(u32::MAX), to: 2 }));
    }

    #[test]
    fn counts_beyond_all_reason_do_not_overflow() {
        let mut ledger = Ledger::default();
        let other = |choice| Delta { counted: Counted::Other(choice), ..event(false, Some(u64::MAX)) };
        let told =
            [(Count::EnginePrompt, u64::MAX), (Count::EngineCached, 7), (Count::EngineGenerated, u64::MAX)];
        let last = Delta { counts: counts(&told), ..event(true, None) };
        enter(&mut ledger, &[event(true, Some(u64::MAX)), other(1), other(2), last]);
        assert_eq!(ledger.completion_tokens(), Some(u64::MAX));
    }

    #[test]
    fn the_short_way_tells_what_the_long_way_tells() {
        let engine =
            |generated| Delta { counts: counts(&[(Count::EngineGenerated, generated)]), ..event(true, None) };
        let both = Delta {
            counts: counts(&[(Count::Prompt, 5), (Count::Completion, 9), (Count::EngineGenerated, 9)]),
            ..event(true, None)
        };
        let ids = |completion| Delta { token_ids: 1, ..event(true, completion) };
        let streams = [
            vec![event(true, Some(1)), event(true, Some(2)), event(true, Some(2)), event(true, Some(7))],
            vec![event(true, Some(1)), ids(Some(2)), both.clone(), finish(true, Some(9)), ids(Some(9))],
            vec![engine(1), engine(2), engine(2), event(true, Some(3)), engine(5), both],
            vec![engine(1), ids(None), engine(2), engine(3)],
        ];
        for events in streams {
            let (mut short, mut long) = (Ledger::default(), Ledger::default());
            let mut before: Option<&Delta> = None;
            for event in &events {
                // What differs from the event before in more than its output is never told as known.
                let told =
                    |count| before.is_some_and(|before| before.counts.get(count) == event.counts.get(count));
                let again = before.is_some() && told(Count::Prompt) && event.rare.is_none();
                assert_eq!(short.enter(event, again), long.enter_any(event, again), "{events:?}");
                before = Some(event);
            }
            let said = |ledger: &Ledger| {
                (ledger.source(), ledger.completion_tokens(), ledger.payload_events(), ledger.token_ids)
            };
            assert_eq!(said(&short), said(&long), "{events:?}");
        }
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
            counts: counts(&[
                (Count::EnginePrompt, 3),
                (Count::EngineCached, 4),
                (Count::EngineGenerated, generated),
            ]),
            ..event(true, None)
        };
        let told = enter(&mut ledger, &[engine(1), engine(2), finish(false, None)]);
        assert_eq!(told, [(Some(1), true), (Some(2), true), (None, false)]);
        assert_eq!((ledger.source(), ledger.prompt_tokens()), (TokenSource::EngineEvents, Some(7)));
    }
}
