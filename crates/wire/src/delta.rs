//! What one event of a stream says: output, counts, end, error.
//!
//! Events of a stream are all alike but for their text and some numbers. The first event of a shape is read
//! by serde_json, and its shape is learnt ([`template`]): the bytes that stay, and holes for text and numbers.
//! An event that matches the learnt bytes is read from the holes alone; any other goes to serde_json.

mod counts;
pub(crate) mod escape;
mod json;
mod template;

use serde_json::Value;

use crate::dialect::Rules;
use crate::exchange::Channel;
use crate::repetition::Texts;

pub(crate) use counts::Counts;
pub(crate) use json::error_message;
use template::{Alike, Template};

/// What one event says.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Delta {
    /// The output that it carries, in the first choice.
    pub(crate) payload: Option<Channel>,
    /// Token ids of the first choice in it.
    pub(crate) token_ids: u32,
    /// What its usage counts.
    pub(crate) counted: Counted,
    /// Token counts, by usage and by an engine's own counters.
    pub(crate) counts: Counts,
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

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Rare {
    pub(crate) finish_reason: Option<String>,
    pub(crate) fingerprint: Option<String>,
    /// The message of an error.
    pub(crate) error: Option<String>,
    /// The event closes the stream.
    pub(crate) done: bool,
}

/// An event like the one before.
#[derive(Debug)]
pub(crate) struct Known<'s, 'a> {
    pub(crate) delta: &'s Delta,
    /// Of its counts only those of the output can differ from those of the event before.
    pub(crate) again: bool,
    /// What is behind it.
    pub(crate) rest: &'a [u8],
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
    /// What the last event says that had no shape that was learnt.
    other: Delta,
}

impl Scanner {
    /// Forgets everything but its buffers.
    pub(crate) fn reset(&mut self) {
        self.templates.iter_mut().for_each(Template::clear);
        self.lessons = 0;
    }

    /// Reads the event at the start of `input` if it is like the last one; its text goes to `texts`. `close` takes
    /// what must follow it. None, with nothing done, if something else is there.
    #[expect(clippy::inline_always, reason = "it is called in one place, at every event")]
    #[inline(always)]
    pub(crate) fn read_alike<'s, 'a>(
        &'s mut self,
        input: &'a [u8],
        close: impl FnOnce(&'a [u8]) -> Option<&'a [u8]>,
        texts: &mut Texts,
    ) -> Option<Known<'s, 'a>> {
        let template = &mut self.templates[0];
        let Alike { text, escaped, rest } = template.read_next(input)?;
        let rest = close(rest)?;
        let again = template.is_known_again();
        let delta = template.says();
        texts.push_from(delta.payload, text, escaped);
        Some(Known { delta, again, rest })
    }

    /// Reads one event; its text goes to `texts`.
    pub(crate) fn read(
        &mut self,
        data: &[u8],
        rules: &Rules,
        texts: &mut Texts,
    ) -> Result<&mut Delta, Unreadable> {
        self.templates.iter_mut().for_each(Template::begin_anew);
        for place in 0..self.templates.len() {
            let alike = self.templates[place].read(data);
            if let Some(Alike { text, escaped, .. }) = alike.filter(|alike| is_blank(alike.rest)) {
                if place > 0 {
                    self.templates.swap(0, place);
                    self.lessons = 0;
                }
                self.other = self.templates[0].says().clone();
                texts.push_from(self.other.payload, text, escaped);
                return Ok(&mut self.other);
            }
        }
        let value: Value = serde_json::from_slice(data).map_err(|error| Unreadable(error.to_string()))?;
        self.other = json::read(&value, rules, texts)?;
        let rare = self.other.rare.as_ref();
        let ordinary = self.other.payload.is_some() && rare.is_none_or(|rare| rare.is_ordinary());
        if ordinary && self.lessons < MAX_LESSONS {
            self.lessons += 1;
            self.templates.swap(0, 1);
            self.templates[0].learn(data, rules);
        }
        Ok(&mut self.other)
    }
}

fn is_blank(data: &[u8]) -> bool {
    data.iter().all(u8::is_ascii_whitespace)
}

impl Rare {
    fn is_ordinary(&self) -> bool {
        self.finish_reason.is_none() && self.error.is_none()
    }
}

#[cfg(test)]
mod tests;
