//! What one event of a stream says: output, counts, end, error.
//!
//! Events of a stream are all alike but for their text and some numbers. The first event of a shape is read
//! by serde_json, and its shape is learnt ([`template`]): the bytes that stay, and holes for text and numbers.
//! An event that matches the learnt bytes is read from the holes alone; any other goes to serde_json.

pub(crate) mod escape;
mod json;
mod template;

use serde_json::Value;

use crate::dialect::{Count, Rules};
use crate::exchange::Channel;
use crate::repetition::Texts;

pub(crate) use json::error_message;
use template::Template;

/// What one event says.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Delta {
    /// The output that it carries, in the first choice.
    pub(crate) payload: Option<Channel>,
    /// Token ids of the first choice in it.
    pub(crate) token_ids: u32,
    /// What its usage counts.
    pub(crate) counted: Counted,
    /// Token counts, unless they are all zero.
    pub(crate) usage: Usage,
    /// An engine's own counters.
    pub(crate) engine: EngineCounters,
    /// What is rare.
    pub(crate) rare: Option<Box<Rare>>,
}

/// Which choices a usage counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    #[default]
    First,
    /// The one with this index, above 0.
    Other(u32),
    /// All: the event has no choice of its own.
    All,
}

/// Token counts as the server states them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: Option<u64>,
    pub(crate) completion: Option<u64>,
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
}

impl Usage {
    /// Some servers put zeros on every event instead of leaving usage out.
    fn drop_zeros(&mut self) {
        if self.prompt.unwrap_or(0) == 0 && self.completion.unwrap_or(0) == 0 {
            *self = Usage::default();
        }
    }
}

/// Counters of the engine, beside or instead of usage.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EngineCounters {
    /// Prompt tokens processed, those found in the cache left out.
    pub(crate) prompt: Option<u64>,
    pub(crate) cached: Option<u64>,
    pub(crate) generated: Option<u64>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Rare {
    pub(crate) finish_reason: Option<String>,
    pub(crate) fingerprint: Option<String>,
    /// The message of an error.
    pub(crate) error: Option<String>,
    /// The event closes the stream.
    pub(crate) done: bool,
}

/// The event is no JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

/// How often shapes are learnt in one request without being met again.
const MAX_LESSONS: u32 = 64;

/// Reads the events of one request.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    /// The shapes learnt last; the first was met last.
    templates: [Template; 2],
    lessons: u32,
}

impl Scanner {
    /// Forgets everything but its buffers.
    pub(crate) fn reset(&mut self) {
        self.templates.iter_mut().for_each(Template::clear);
        self.lessons = 0;
    }

    /// Reads one event into `delta`; its text goes to `texts`.
    pub(crate) fn read(
        &mut self,
        data: &[u8],
        rules: &Rules,
        texts: &mut Texts,
        delta: &mut Delta,
    ) -> Result<(), Unreadable> {
        if self.templates[0].read(data, texts, delta) {
            return Ok(());
        }
        if self.templates[1].read(data, texts, delta) {
            self.templates.swap(0, 1);
            self.lessons = 0;
            return Ok(());
        }
        let value: Value = serde_json::from_slice(data).map_err(|error| Unreadable(error.to_string()))?;
        *delta = json::read(&value, rules, texts)?;
        let ordinary = delta.payload.is_some() && delta.rare.as_ref().is_none_or(|rare| rare.is_ordinary());
        if ordinary && self.lessons < MAX_LESSONS {
            self.lessons += 1;
            self.templates.swap(0, 1);
            self.templates[0].learn(data, rules);
        }
        Ok(())
    }
}

impl Delta {
    fn put(&mut self, count: Count, number: u64) {
        let place = match count {
            Count::Prompt => &mut self.usage.prompt,
            Count::Completion => &mut self.usage.completion,
            Count::Cached => &mut self.usage.cached,
            Count::FlatReasoning if self.usage.reasoning.is_some() => return,
            Count::Reasoning | Count::FlatReasoning => &mut self.usage.reasoning,
            Count::EnginePrompt => &mut self.engine.prompt,
            Count::EngineCached => &mut self.engine.cached,
            Count::EngineGenerated => &mut self.engine.generated,
        };
        *place = Some(number);
    }

    fn clear(&mut self) {
        self.payload = None;
        self.token_ids = 0;
        self.counted = Counted::First;
        self.usage = Usage::default();
        self.engine = EngineCounters::default();
        self.rare = None;
    }
}

impl Rare {
    fn is_ordinary(&self) -> bool {
        self.finish_reason.is_none() && self.error.is_none()
    }
}

#[cfg(test)]
mod tests;
