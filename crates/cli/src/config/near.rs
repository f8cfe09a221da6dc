//! What somebody may have meant.

/// The name that is most like `word`, if one is like it at all.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    let likeness = |name: &str| {
        let name = plain(name);
        let part = (word.len() > 3 && name.contains(&word)) || (name.len() > 3 && word.contains(&name));
        // Two letters that changed places, or one that is wrong, in a short name.
        let slip = word.len() > 2 && strsim::damerau_levenshtein(&word, &name) == 1;
        strsim::jaro_winkler(&word, &name).max(if part || slip { 0.85 } else { 0.0 })
    };
    let best = names.into_iter().map(|name| (likeness(name), name)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_seen_through() {
        let names = ["contexts", "concurrency", "duration", "prefill_contexts"];
        for (word, meant) in [
            ("context", Some("contexts")),
            ("concurency", Some("concurrency")),
            ("Duratoin", Some("duration")),
            ("prefill-context", Some("prefill_contexts")),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
        assert_eq!(nearest("rnu", ["report", "run"]), Some("run"));
    }
}
