//! Words and symbols of a report, and foreign text made safe to show.

use tokometer_record::comparison::SloMiss;
use tokometer_record::{AtEnd, Endpoint, Failure, FailureKind, Order, Phase, Prompts, Status, TokenSource};
use tokometer_record::{Cell, StampSource, context_label};

/// The symbol that stands beside a status's word.
pub(crate) fn glyph(status: Status) -> &'static str {
    match status {
        Status::Planned => "·",
        Status::OverLimit => "⊘",
        Status::OverCapacity => "▨",
        Status::Skipped => "»",
        Status::Interrupted => "■",
        Status::Error => "✕",
        Status::Looped => "↻",
        Status::ClientLimited => "◂",
        Status::Contaminated => "⊕",
        Status::Queued => "≡",
        Status::Short => "◖",
        Status::Throttled => "▾",
        Status::Unstable => "≈",
        Status::Valid => "✓",
    }
}

/// The status's own words, shortened where they are long, for narrow columns.
pub(crate) fn short_word(status: Status) -> &'static str {
    match status {
        Status::Planned => "not reached",
        Status::OverLimit => "over limit",
        Status::OverCapacity => "over cap.",
        Status::Skipped => "skipped",
        Status::Interrupted => "interr.",
        Status::Error => "error",
        Status::Looped => "looped",
        Status::ClientLimited => "client",
        Status::Contaminated => "contam.",
        Status::Queued => "queued",
        Status::Short => "short",
        Status::Throttled => "throttled",
        Status::Unstable => "unstable",
        Status::Valid => "valid",
    }
}

/// `32K × 64`, or `prefill 32K`, with spaces that do not break.
pub(crate) fn cell_label(cell: &Cell) -> String {
    let context = context_label(cell.context_nominal);
    match cell.phase {
        Phase::Prefill => format!("prefill\u{a0}{context}"),
        Phase::Decode => format!("{context}\u{a0}×\u{a0}{}", cell.concurrency),
    }
}

/// What kind of failure it was; with the HTTP status only where the status is the failure: `HTTP 500`,
/// `rejected 429`, `timeout`.
pub(crate) fn failure(failure: &Failure) -> String {
    let kind = match failure.kind {
        FailureKind::HttpStatus if failure.http_status.is_some() => "HTTP",
        kind => failure_kind(kind),
    };
    match failure.http_status.filter(|_| status_is_failure(failure.kind)) {
        Some(status) => format!("{kind} {status}"),
        None => kind.to_owned(),
    }
}

/// What kind of failure it was, without its figures.
pub(crate) fn failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Connect => "no connection",
        FailureKind::Tls => "TLS set-up failed",
        FailureKind::HttpStatus => "HTTP error",
        FailureKind::Rejected => "rejected",
        FailureKind::ErrorEvent => "error event",
        FailureKind::Truncated => "truncated",
        FailureKind::NoToken => "no token",
        FailureKind::Reset => "reset",
        FailureKind::Timeout => "timeout",
        FailureKind::Malformed => "unreadable event",
        FailureKind::NotAStream => "no event stream",
    }
}

/// True for failures that are told by the HTTP status itself.
pub(crate) fn status_is_failure(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::HttpStatus | FailureKind::Rejected)
}

/// Concurrencies below the one that counts that do not keep the limits: `not at 2: TTFT 1.23 s`, `not at 1, 2, 4`;
/// none where all do.
pub(crate) fn missed_below(below: &[SloMiss]) -> Option<String> {
    match below {
        [] => None,
        [one] => Some(format!("not at {}: {}", one.concurrency, clean(&one.why))),
        more => {
            let list: Vec<String> = more.iter().map(|miss| miss.concurrency.to_string()).collect();
            Some(format!("not at {}", list.join(", ")))
        }
    }
}

/// `1 request`, `2,048 requests`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", crate::number::count(number), if number == 1 { "" } else { "s" })
}

/// Where token counts come from, in words.
pub(crate) fn token_source(source: TokenSource) -> &'static str {
    match source {
        TokenSource::Usage => "usage on each event",
        TokenSource::TokenIds => "token ids",
        TokenSource::EngineEvents => "engine counters on each event",
        TokenSource::UsageFinal => "one count at the end (estimate)",
        TokenSource::Events => "one token per event (estimate)",
    }
}

/// Where arrival stamps come from, in words.
pub(crate) fn stamp_source(source: StampSource) -> &'static str {
    match source {
        StampSource::Kernel => "kernel",
        StampSource::Read => "clock after the read",
    }
}

/// The phase's name in tables.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Prefill => "Prefill",
        Phase::Decode => "Decode",
    }
}

/// Prompt sharing in words.
pub(crate) fn prompts(prompts: Prompts) -> &'static str {
    match prompts {
        Prompts::Shared => "shared by all streams of a context",
        Prompts::Unique => "one for each stream",
    }
}

/// Order of cells in words.
pub(crate) fn order(order: Order) -> &'static str {
    match order {
        Order::Standard => "standard",
        Order::Shuffled => "shuffled by the seed",
    }
}

/// Route in words.
pub(crate) fn endpoint(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Chat => "chat completions",
        Endpoint::Completions => "completions",
    }
}

/// End of a window in words.
pub(crate) fn at_end(at_end: AtEnd) -> &'static str {
    match at_end {
        AtEnd::Cut => "running requests are cut",
        AtEnd::Finish => "running requests run out",
    }
}

/// A code such as `fixed_duration` in words; what is not known stays as it is.
pub(crate) fn code(code: &str) -> String {
    match code {
        "fixed_duration" => "fixed duration".to_owned(),
        "adaptive_duration" => "adaptive: until the interval is narrow".to_owned(),
        "cold_alone" => "cold requests alone on the server".to_owned(),
        "during_decode_warmup" => "measured during decode warm-up".to_owned(),
        "found" => "the machine itself".to_owned(),
        "stated" => "the user".to_owned(),
        "discrete_gpu" => "discrete GPU".to_owned(),
        "unified_memory" => "unified memory".to_owned(),
        "cpu" => "CPU".to_owned(),
        "tokenize_route" => "by the server's tokenise route".to_owned(),
        "measured_usage" => "by measured usage".to_owned(),
        other => clean(other),
    }
}

/// Foreign text on one line: line ends and tabs become spaces, and characters that would steer the reader's
/// terminal or reorder the line are spelled out (`\u{202e}`).
pub(crate) fn clean(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => safe.push(' '),
            letter if is_unsafe(letter) => safe.extend(letter.escape_unicode()),
            letter => safe.push(letter),
        }
    }
    safe
}

/// As [`clean`], but line ends and tabs stay.
pub(crate) fn clean_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unsafe(letter) && !matches!(letter, '\n' | '\t') {
            safe.extend(letter.escape_unicode());
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// Text that stands on a line of its own, begun with a capital; a first word that is a name or a piece of code stays as
/// it is (`vLLM`, `run.json`, `tokometer`).
pub(crate) fn sentence(text: &str) -> String {
    const NAMES: [&str; 5] = ["tokometer", "vllm", "sglang", "llama", "ollama"];
    let word: &str =
        text.split_whitespace().next().unwrap_or_default().trim_end_matches([',', ':', ';', '.']);
    let plain = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    if plain && !NAMES.contains(&word) {
        format!("{}{}", text[..1].to_ascii_uppercase(), &text[1..])
    } else {
        text.to_owned()
    }
}

/// The first `most` characters, with `…` where something is left out.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Controls, and the marks that change the direction of text, hide in it, or break its line.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_spelled_out() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nd"), "a\\u{1b}[31mb\\u{202e}c d");
        assert_eq!(clean_lines("a\n\tb\r\u{7}"), "a\n\tb\\u{d}\\u{7}");
        assert_eq!(clean("Qwen/Qwen3 – 模型 🙂"), "Qwen/Qwen3 – 模型 🙂");
    }

    #[test]
    fn sentences_begin_with_a_capital() {
        let cases = [
            ("the server restarted", "The server restarted"),
            ("vllm tells it", "vllm tells it"),
            ("run.json was moved", "run.json was moved"),
            ("vLLM tells", "vLLM tells"),
            ("not: a, b", "Not: a, b"),
            ("übel", "übel"),
            ("", ""),
        ];
        for (text, said) in cases {
            assert_eq!(sentence(text), said);
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "request"), "1 request");
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(counted(2048, "KV token"), "2,048 KV tokens");
    }

    #[test]
    fn shortening_counts_characters() {
        assert_eq!(shorten("模型名", 2), "模型…");
        assert_eq!(shorten("abc", 3), "abc");
    }
}
