//! Reads Prometheus text as engines write it: names with `:`, label values with any character in them.
//!
//! What is no sample line is skipped: one odd line must not hide a server's gauges.

/// Names under which an engine reports a figure; of several the first that is present wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricNames {
    /// Requests running, gauge.
    pub running: &'static [&'static str],
    /// Requests waiting, gauge.
    pub waiting: &'static [&'static str],
    /// Output tokens, counter.
    pub generated_tokens: &'static [&'static str],
    /// Prompt tokens, counter.
    pub prompt_tokens: &'static [&'static str],
    /// Prompt tokens found in the prefix cache, counter.
    pub cached_tokens: &'static [&'static str],
    /// Share of the KV cache in use, 0 to 1, gauge.
    pub kv_used: &'static [&'static str],
    /// Preemptions, counter.
    pub preemptions: &'static [&'static str],
    /// Drafts of speculative decoding that were verified, counter.
    pub drafts: &'static [&'static str],
    /// Tokens that were drafted, counter.
    pub draft_tokens: &'static [&'static str],
    /// Drafted tokens that were accepted, counter.
    pub accepted_tokens: &'static [&'static str],
    /// The same with a label `position`, from 0 on, counter.
    pub accepted_per_position: &'static [&'static str],
    /// Tokens that a step gives a request, gauge.
    pub acceptance_length: &'static [&'static str],
}

impl MetricNames {
    /// No names at all.
    pub const NONE: MetricNames = MetricNames {
        running: &[],
        waiting: &[],
        generated_tokens: &[],
        prompt_tokens: &[],
        cached_tokens: &[],
        kv_used: &[],
        preemptions: &[],
        drafts: &[],
        draft_tokens: &[],
        accepted_tokens: &[],
        accepted_per_position: &[],
        acceptance_length: &[],
    };
}

/// One reading of a server's gauges and counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// When the answer arrived.
    pub time_ns: u64,
    /// Requests running.
    pub running: Option<f64>,
    /// Requests waiting.
    pub waiting: Option<f64>,
    /// Output tokens since the server's start.
    pub generated_tokens: Option<f64>,
    /// Prompt tokens since the server's start.
    pub prompt_tokens: Option<f64>,
    /// Prompt tokens found in the prefix cache since the server's start.
    pub cached_tokens: Option<f64>,
    /// Share of the KV cache in use, 0 to 1; the mean where there are several caches.
    pub kv_used: Option<f64>,
    /// Preemptions since the server's start.
    pub preemptions: Option<f64>,
    /// Drafts that were verified since the server's start.
    pub drafts: Option<f64>,
    /// Tokens drafted since the server's start.
    pub draft_tokens: Option<f64>,
    /// Drafted tokens accepted since the server's start.
    pub accepted_tokens: Option<f64>,
    /// The same by position in the draft; empty where the server does not tell it.
    pub accepted_per_position: Vec<f64>,
    /// Tokens that a step gives a request; the mean over the ranks that have one.
    pub acceptance_length: Option<f64>,
}

/// Positions of a draft that are kept; no engine drafts more.
const MOST_POSITIONS: usize = 64;

/// Reads a whole exposition; figures are summed over their series (ranks, workers, models), shares averaged.
pub fn read(text: &str, names: &MetricNames, time_ns: u64) -> Sample {
    let figures = [
        names.running,
        names.waiting,
        names.generated_tokens,
        names.prompt_tokens,
        names.cached_tokens,
        names.kv_used,
        names.preemptions,
        names.drafts,
        names.draft_tokens,
        names.accepted_tokens,
        names.acceptance_length,
    ];
    let mut totals = [Total::NONE; 11];
    let mut accepted_per_position = Vec::new();
    for line in text.lines().filter_map(Line::parse) {
        if names.accepted_per_position.contains(&line.name) {
            add_position(&mut accepted_per_position, &line);
        }
        for (names, total) in figures.iter().zip(&mut totals) {
            if let Some(rank) = names.iter().position(|name| *name == line.name) {
                total.add(rank, line.value);
            }
        }
    }
    let [running, waiting, generated_tokens, prompt_tokens, cached_tokens, kv_used, preemptions, ..] = totals;
    let [.., drafts, draft_tokens, accepted_tokens, acceptance_length] = totals;
    Sample {
        time_ns,
        running: running.sum(),
        waiting: waiting.sum(),
        generated_tokens: generated_tokens.sum(),
        prompt_tokens: prompt_tokens.sum(),
        cached_tokens: cached_tokens.sum(),
        kv_used: kv_used.mean(),
        preemptions: preemptions.sum(),
        drafts: drafts.sum(),
        draft_tokens: draft_tokens.sum(),
        accepted_tokens: accepted_tokens.sum(),
        accepted_per_position,
        // A rank that has decoded nothing yet says 0.
        acceptance_length: acceptance_length.mean_of_positive(),
    }
}

/// Adds one series of accepted tokens to its position.
fn add_position(positions: &mut Vec<f64>, line: &Line<'_>) {
    let labels = Labels { text: line.labels };
    let position = labels.get("position").and_then(|position| position.parse::<usize>().ok());
    let Some(position) = position.filter(|position| *position < MOST_POSITIONS) else { return };
    if positions.len() <= position {
        positions.resize(position + 1, 0.0);
    }
    if line.value.is_finite() {
        positions[position] += line.value;
    }
}

/// All series of the metric `name`, in order.
pub fn series<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (Labels<'a>, f64)> + 'a {
    text.lines()
        .filter_map(Line::parse)
        .filter(move |line| line.name == name)
        .map(|line| (Labels { text: line.labels }, line.value))
}

/// The labels of one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels<'a> {
    /// What stands between the braces.
    text: &'a str,
}

impl<'a> Labels<'a> {
    /// The value of the label `name`, escapes resolved.
    pub fn get(&self, name: &str) -> Option<String> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// All labels in order, escapes resolved.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, String)> + use<'a> {
        let mut rest = self.text;
        std::iter::from_fn(move || {
            let (name, after) = rest.split_once('=')?;
            let inside = after.trim_start().strip_prefix('"')?;
            let end = closing_quote(inside)?;
            rest = &inside[end + 1..];
            Some((name.trim_matches([' ', '\t', ',']), unescape(&inside[..end])))
        })
    }
}

/// The sum of a figure's series under its best name.
#[derive(Debug, Clone, Copy)]
struct Total {
    /// Which of the alternative names; lower is better.
    rank: usize,
    sum: f64,
    count: u32,
    /// Of these, above 0.
    positive: u32,
}

impl Total {
    const NONE: Total = Total { rank: usize::MAX, sum: 0.0, count: 0, positive: 0 };

    fn add(&mut self, rank: usize, value: f64) {
        if rank < self.rank {
            *self = Total { rank, ..Total::NONE };
        }
        if rank == self.rank && value.is_finite() {
            self.sum += value;
            self.count += 1;
            self.positive += u32::from(value > 0.0);
        }
    }

    fn sum(self) -> Option<f64> {
        (self.count > 0).then_some(self.sum)
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    fn mean_of_positive(self) -> Option<f64> {
        (self.positive > 0).then(|| self.sum / f64::from(self.positive))
    }
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl Line<'_> {
    /// Reads `name{labels} value`, with whatever follows (a time, an exemplar) left out.
    fn parse(line: &str) -> Option<Line<'_>> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let end = line.find(['{', ' ', '\t'])?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => {
                let end = closing_brace(inside)?;
                (&inside[..end], &inside[end + 1..])
            }
            None => ("", rest),
        };
        let value = parse_value(rest.split_whitespace().next()?)?;
        (!name.is_empty()).then_some(Line { name, labels, value })
    }
}

fn parse_value(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

/// Where the braces close; a brace inside a quoted value does not count.
fn closing_brace(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + text[at..].find(['"', '}'])?;
        if text.as_bytes()[found] == b'}' {
            return Some(found);
        }
        at = found + 1 + closing_quote(&text[found + 1..])? + 1;
    }
}

/// Where a quoted value closes; an escaped quote does not count.
fn closing_quote(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + text[at..].find(['"', '\\'])?;
        if text.as_bytes()[found] == b'"' {
            return Some(found);
        }
        // A backslash takes the character behind it along, however long that is.
        at = found + 1 + text[found + 1..].chars().next()?.len_utf8();
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}
