//! What a dialect says of its events.

use crate::exchange::Channel;

/// The keys on the way to a value. An empty key stands for the items of a list; of `choices` only the first
/// choice counts.
pub(crate) type Path = &'static [&'static str];

/// How an engine's streams are read.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The word in files.
    pub(crate) name: &'static str,
    pub(crate) chat_path: &'static str,
    pub(crate) completions_path: &'static str,
    /// Output. An event counts as the first channel, in this order, that holds any.
    pub(crate) texts: &'static [(Path, Channel)],
    /// A list of output token ids.
    pub(crate) token_ids: Option<Path>,
    /// Counts, in tables that dialects share.
    pub(crate) counts: &'static [&'static [(Path, Count)]],
    /// Why the output ended: a word, or an object whose `type` is that word.
    pub(crate) finish: Path,
    /// A flag that closes the stream, where no `[DONE]` does.
    pub(crate) done: Option<Path>,
    /// Strings that differ from event to event and mean nothing.
    pub(crate) noise: &'static [Path],
    /// Types of events that are known, and are no output.
    pub(crate) annotations: &'static [&'static str],
    /// A whole stream closes with a marker.
    pub(crate) closes_with_marker: bool,
}

/// A count that an event may state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Prompt,
    Completion,
    Cached,
    Reasoning,
    /// Reasoning beside the other counts; it counts only where the details have none.
    FlatReasoning,
    /// Prompt tokens by the engine's own counters, those found in the cache left out.
    EnginePrompt,
    /// Prompt tokens that the engine found cached.
    EngineCached,
    /// Output tokens by the engine's own counters.
    EngineGenerated,
}

#[cfg(test)]
mod tests {
    use crate::Dialect;

    #[test]
    fn names_are_unique() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::from_name(dialect.name()), Some(dialect));
        }
    }

    #[test]
    fn paths_are_routes() {
        for dialect in Dialect::ALL {
            let rules = dialect.rules();
            assert!(rules.chat_path.starts_with('/') && rules.completions_path.starts_with('/'));
            assert!(!rules.texts.is_empty() && !rules.counts.is_empty() && !rules.finish.is_empty());
        }
    }
}
