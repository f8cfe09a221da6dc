//! Finds text that repeats itself, while it arrives.
//!
//! At every 1024th byte the last 64 bytes are searched in the text before. A place where they occur again
//! gives a period, which is checked over three cycles; from there on the run is only extended byte by byte. A
//! run of four cycles or more, and of 4096 characters or more, holds such a point with three whole cycles in
//! front of it. Work is linear in the text, memory bounded.

use memchr::memmem;

use crate::delta::escape::unescape_into;
use crate::exchange::{Channel, Repetition};

/// A run needs so many characters.
const MIN_CHARACTERS: u64 = 4096;
/// A run needs so many whole cycles.
const MIN_CYCLES: u64 = 4;
/// The longest cycle in characters.
const MAX_PERIOD_CHARACTERS: u64 = 32_768;
/// The longest cycle in bytes: it bounds the memory.
const MAX_PERIOD: usize = 40_960;
/// Bytes that a text takes from the start: many streams may wait in their first words.
const FIRST: usize = 256;
/// Text is looked at in steps of so many bytes.
const STEP: usize = 1024;
/// A period is believed once it holds for so many bytes, and for three cycles.
const MIN_BELIEVED: usize = 3072;
/// What is searched in the text before.
const NEEDLE: usize = 64;
/// Bytes of it that are looked for first: so few are found without any preparation.
const TIP: usize = 16;
/// Places that are looked at per step, nearest first.
const PLACES: usize = 64;
/// Bytes kept: three cycles in front of the point looked at, and one behind it.
const KEEP: usize = 4 * MAX_PERIOD;
/// Bytes that may come on top before the front is dropped.
const SLACK: usize = 16_384;
const EXCERPT_CHARACTERS: usize = 512;

/// Watches the text of one channel of one request.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    text: Vec<u8>,
    /// Bytes dropped from the front of `text`.
    dropped: bool,
    /// Text up to here was looked at.
    looked: usize,
    run: Option<Run>,
    /// Runs that ended behind `looked` and were too short: period and end.
    short_runs: Vec<(usize, usize)>,
    found: Option<Run>,
    /// Up to this length the text has room and is looked at by nobody.
    quiet: usize,
}

/// Text with a period.
#[derive(Debug, Clone)]
struct Run {
    period: usize,
    period_characters: u64,
    /// One past its last byte in `text`.
    end: usize,
    bytes: usize,
    characters: u64,
    excerpt: String,
}

impl Run {
    fn qualifies(&self) -> bool {
        self.cycles() >= MIN_CYCLES
            && self.characters >= MIN_CHARACTERS
            && self.period_characters <= MAX_PERIOD_CHARACTERS
    }

    fn cycles(&self) -> u64 {
        (self.bytes / self.period) as u64
    }
}

impl Detector {
    /// Forgets everything but its buffer.
    pub(crate) fn reset(&mut self) {
        self.text.clear();
        self.dropped = false;
        self.looked = 0;
        self.run = None;
        self.short_runs.clear();
        self.found = None;
        self.quiet = 0;
    }

    /// Takes more text: UTF-8, or the inside of a JSON string.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8], escaped: bool) {
        if !escaped && self.text.len() + bytes.len() <= self.quiet {
            self.text.extend_from_slice(bytes);
        } else {
            self.push_and_look(bytes, escaped);
        }
    }

    fn push_and_look(&mut self, mut bytes: &[u8], escaped: bool) {
        // In pieces, so that one huge event takes no more room than many small ones.
        while !bytes.is_empty() && self.found.is_none() {
            let piece = bytes.len().min(SLACK);
            self.make_room(piece);
            let taken = if escaped {
                unescape_into(bytes, &mut self.text, piece)
            } else {
                self.text.extend_from_slice(&bytes[..piece]);
                piece
            };
            bytes = &bytes[taken..];
            self.advance();
        }
        // A run is extended with all that comes.
        let looks = self.run.is_some() || self.found.is_some();
        self.quiet = if looks { 0 } else { (self.looked + STEP - 1).min(self.text.capacity()) };
    }

    /// The repetition that was found, if any.
    pub(crate) fn evidence(&self, channel: Channel) -> Option<Repetition> {
        let run = self.found.as_ref().or(self.run.as_ref().filter(|run| run.qualifies()))?;
        Some(Repetition {
            channel,
            period: run.period_characters,
            cycles: run.cycles(),
            repeated_characters: run.characters,
            excerpt: run.excerpt.clone(),
        })
    }

    /// The whole text, unless some of it was dropped.
    pub(crate) fn whole_text(&self) -> Option<&[u8]> {
        (!self.dropped && self.found.is_none()).then_some(&self.text)
    }

    /// The last bytes that are kept, up to `most` of them.
    fn tail(&self, most: usize) -> &[u8] {
        &self.text[self.text.len().saturating_sub(most)..]
    }

    fn advance(&mut self) {
        loop {
            if let Some(mut run) = self.run.take() {
                let from = run.end;
                let new = common_length(&self.text[from - run.period..], &self.text[from..]);
                run.end += new;
                run.bytes += new;
                run.characters += count_characters(&self.text[from..run.end]);
                if run.end == self.text.len() {
                    self.run = Some(run);
                    return;
                }
                if run.qualifies() {
                    self.found = Some(run);
                    return;
                }
                self.short_runs.push((run.period, run.end));
            }
            let point = self.looked + STEP;
            if point > self.text.len() {
                return;
            }
            self.looked = point;
            self.short_runs.retain(|&(_, end)| end >= point);
            self.run = self.run_at(point);
        }
    }

    /// The run with the smallest period that reaches `point` and is long enough to be believed.
    fn run_at(&self, point: usize) -> Option<Run> {
        let text = &self.text[..point];
        let period = self.period_at(text)?;
        let start = text.len() - believed_length(period);
        let more = (0..start).rev().take_while(|&at| text[at] == text[at + period]).count();
        let start = start - more;
        Some(Run {
            period,
            period_characters: count_characters(&text[point - period..]),
            end: point,
            bytes: point - start,
            characters: count_characters(&text[start..]),
            excerpt: excerpt(&text[start..start + period]),
        })
    }

    fn period_at(&self, text: &[u8]) -> Option<usize> {
        if text.len() < MIN_BELIEVED {
            return None;
        }
        let known = |period| self.short_runs.iter().any(|&(short, _)| short == period);
        let candidate = |period: usize| holds(text, period) && !known(period);
        let period = (1..=NEEDLE).find(|&period| candidate(period)).or_else(|| {
            let (places, count) = places_of_end(text);
            // The ring holds the nearest places; the last one written is the nearest.
            (1..=count.min(PLACES)).map(|back| places[(count - back) % PLACES]).find(|&p| candidate(p))
        })?;
        let blank = text[text.len() - period..].iter().all(u8::is_ascii_whitespace);
        (!blank).then_some(period)
    }

    fn make_room(&mut self, more: usize) {
        if self.text.len() > KEEP + SLACK {
            let drop = self.text.len() - KEEP;
            self.text.drain(..drop);
            self.dropped = true;
            self.looked = self.looked.saturating_sub(drop);
            if let Some(run) = &mut self.run {
                run.end -= drop;
            }
            for (_, end) in &mut self.short_runs {
                *end = end.saturating_sub(drop);
            }
        }
        let needed = self.text.len() + more;
        if needed > self.text.capacity() {
            let target = (self.text.capacity() * 2).clamp(FIRST, KEEP + SLACK + STEP).max(needed);
            self.text.reserve_exact(target - self.text.len());
        }
    }
}

fn believed_length(period: usize) -> usize {
    MIN_BELIEVED.max(3 * period)
}

/// True if the end of `text` has this period for as long as is needed to believe it.
fn holds(text: &[u8], period: usize) -> bool {
    let length = believed_length(period);
    if length > text.len() {
        return false;
    }
    let end = &text[text.len() - length..];
    end[period..] == end[..length - period]
}

/// Distances at which the last bytes of `text` occur before, farthest first, in a ring; and how many there are.
fn places_of_end(text: &[u8]) -> ([usize; PLACES], usize) {
    let mut places = [0; PLACES];
    let mut count = 0;
    let needle_at = text.len() - NEEDLE;
    let needle = &text[needle_at..];
    let tip_at = tip(needle);
    let finder = memmem::Finder::new(&needle[tip_at..tip_at + TIP]);
    let mut from = needle_at.saturating_sub(MAX_PERIOD.min(text.len() / 3));
    // Distances up to the needle's length are tried one by one elsewhere.
    let last = needle_at.saturating_sub(NEEDLE + 1);
    for _ in 0..64 * PLACES {
        if from > last {
            break;
        }
        let Some(at) = finder.find(&text[from + tip_at..last + tip_at + TIP]) else { break };
        from += at;
        if &text[from..from + NEEDLE] == needle {
            places[count % PLACES] = needle_at - from;
            count += 1;
        }
        from += 1;
    }
    (places, count)
}

/// Where in the needle the bytes begin that are looked for: those of most kinds, which occur least by chance.
fn tip(needle: &[u8]) -> usize {
    let kinds = |at: usize| {
        let mut seen = [0u64; 4];
        needle[at..at + TIP].iter().for_each(|&byte| seen[usize::from(byte >> 6)] |= 1 << (byte & 63));
        seen.iter().map(|word| word.count_ones()).sum::<u32>()
    };
    (0..NEEDLE).step_by(TIP).max_by_key(|&at| kinds(at)).unwrap_or_default()
}

/// How many bytes at the start of both are the same.
fn common_length(a: &[u8], b: &[u8]) -> usize {
    let length = a.len().min(b.len());
    if a[..length] == b[..length] {
        return length;
    }
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn count_characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64
}

fn excerpt(cycle: &[u8]) -> String {
    let lead = cycle.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count();
    String::from_utf8_lossy(&cycle[lead..]).chars().take(EXCERPT_CHARACTERS).collect()
}

/// One detector for each channel that has text; none before text arrives.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    detectors: [Option<Box<Detector>>; Channel::ALL.len()],
}

impl Texts {
    /// Forgets everything but the buffers.
    pub(crate) fn reset(&mut self) {
        for detector in self.detectors.iter_mut().flatten() {
            detector.reset();
        }
    }

    /// The same, if there is a channel and any text.
    #[inline]
    pub(crate) fn push_from(&mut self, channel: Option<Channel>, bytes: &[u8], escaped: bool) {
        if let Some(channel) = channel
            && !bytes.is_empty()
        {
            self.push(channel, bytes, escaped);
        }
    }

    /// Takes more text of a channel: UTF-8, or the inside of a JSON string.
    #[inline]
    pub(crate) fn push(&mut self, channel: Channel, bytes: &[u8], escaped: bool) {
        self.detectors[channel as usize].get_or_insert_default().push(bytes, escaped);
    }

    /// The repetition with the most characters.
    pub(crate) fn evidence(&self) -> Option<Repetition> {
        Channel::ALL
            .into_iter()
            .filter_map(|channel| self.detectors[channel as usize].as_ref()?.evidence(channel))
            .max_by_key(|repetition| repetition.repeated_characters)
    }

    /// The last bytes of each channel that has any, up to `most` of them.
    pub(crate) fn tails(&self, most: usize) -> impl Iterator<Item = (Channel, &[u8])> {
        Channel::ALL
            .into_iter()
            .filter_map(move |channel| Some((channel, self.detectors[channel as usize].as_ref()?.tail(most))))
    }

    /// The whole text of a channel, unless some of it was dropped.
    pub(crate) fn whole_text(&self, channel: Channel) -> Option<&[u8]> {
        self.detectors[channel as usize].as_ref()?.whole_text()
    }
}

#[cfg(test)]
mod tests;
