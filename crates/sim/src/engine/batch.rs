//! The running batch: the requests behind their first token, and the steps that serve them all.

use std::collections::BTreeMap;

use super::request::{Emission, Finish, RequestId};
use super::speculation::Drafts;
use crate::Profile;

/// Shortest step, whatever the profile says.
const MIN_STEP_NS: u64 = 1_000;

/// A request behind its first token.
#[derive(Debug)]
pub(super) struct Decoding {
    pub(super) id: RequestId,
    pub(super) prompt_tokens: u64,
    pub(super) reserved_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) generated: u64,
    pub(super) end: u64,
    pub(super) finish: Finish,
    pub(super) looping: bool,
    /// Output tokens behind which its text repeats itself wherever it is; none: only where the profile's does.
    pub(super) loops_after: Option<u64>,
    /// Its drafts, where the engine speculates.
    pub(super) drafts: Option<Drafts>,
}

impl Decoding {
    /// Its first token, which no draft precedes.
    pub(super) fn first_token(&mut self, due_ns: u64) -> Emission {
        self.emit(due_ns, None)
    }

    /// What the next step gives: one token, and those of its draft that are accepted.
    pub(super) fn token(&mut self, due_ns: u64) -> Emission {
        let accepted = self.drafts.as_mut().map(Drafts::accepted);
        self.emit(due_ns, accepted)
    }

    fn emit(&mut self, due_ns: u64, accepted: Option<u32>) -> Emission {
        let room = self.end.saturating_sub(self.generated).max(1);
        let tokens = (1 + u64::from(accepted.unwrap_or(0))).min(room);
        let looping = self.looping || self.loops_after.is_some_and(|tokens| self.generated >= tokens);
        self.generated += tokens;
        Emission {
            id: self.id,
            due_ns,
            tokens: tokens as u32,
            accepted,
            looping,
            cached_tokens: self.cached_tokens,
            finish: (self.generated >= self.end).then_some(self.finish),
        }
    }
}

/// The running batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    decoding: Vec<Decoding>,
    /// How many of them have which prompt length.
    contexts: BTreeMap<u64, u32>,
    next_step_ns: Option<u64>,
    /// Time from a step to the next one; none after the batch has changed.
    step_ns: Option<u64>,
}

impl Batch {
    /// Number of requests in it.
    pub(super) fn len(&self) -> usize {
        self.decoding.len()
    }

    /// When the next step is due; none without requests.
    pub(super) fn next_step_ns(&self) -> Option<u64> {
        self.next_step_ns
    }

    /// Takes in a request that has had its first token now; it is part of the next step. A step that is
    /// under way keeps its time.
    pub(super) fn join(&mut self, decoding: Decoding, now_ns: u64, profile: &Profile) {
        *self.contexts.entry(decoding.prompt_tokens).or_default() += 1;
        self.decoding.push(decoding);
        self.step_ns = None;
        if self.next_step_ns.is_none() {
            self.plan_step(now_ns, profile);
        }
    }

    /// One token for each request; [`Batch::plan_step`] follows. True if some request has ended: then
    /// [`Batch::take_ended`] comes before that.
    pub(super) fn step(&mut self, due_ns: u64, out: &mut Vec<Emission>) -> bool {
        let mut ended = false;
        out.reserve(self.decoding.len());
        for decoding in &mut self.decoding {
            let emission = decoding.token(due_ns);
            ended |= emission.finish.is_some();
            out.push(emission);
        }
        ended
    }

    /// Plans the next step, so much later than `due_ns` as a step takes.
    pub(super) fn plan_step(&mut self, due_ns: u64, profile: &Profile) {
        self.next_step_ns =
            if self.decoding.is_empty() { None } else { Some(due_ns + self.step_time(profile)) };
    }

    /// Takes out a request that has all its tokens.
    pub(super) fn take_ended(&mut self) -> Option<Decoding> {
        let index = self.decoding.iter().position(|decoding| decoding.generated >= decoding.end)?;
        Some(self.take(index))
    }

    /// Takes out a request by its number.
    pub(super) fn remove(&mut self, id: RequestId) -> Option<Decoding> {
        let index = self.decoding.iter().position(|decoding| decoding.id == id)?;
        Some(self.take(index))
    }

    fn take(&mut self, index: usize) -> Decoding {
        let gone = self.decoding.remove(index);
        if let Some(count) = self.contexts.get_mut(&gone.prompt_tokens) {
            *count -= 1;
            if *count == 0 {
                self.contexts.remove(&gone.prompt_tokens);
            }
        }
        self.step_ns = None;
        if self.decoding.is_empty() {
            self.next_step_ns = None;
        }
        gone
    }

    /// How long a step of the present batch takes: the mean over its requests. Where the text of a request
    /// loops now, it does so to the request's end.
    fn step_time(&mut self, profile: &Profile) -> u64 {
        if let Some(step_ns) = self.step_ns {
            return step_ns;
        }
        let count = self.decoding.len() as u32;
        let sum: f64 = self
            .contexts
            .iter()
            .map(|(&context, &requests)| f64::from(requests) * profile.step_seconds(context, count))
            .sum();
        if profile.loops_somewhere() {
            for decoding in &mut self.decoding {
                decoding.looping |= profile.loops(decoding.prompt_tokens, count);
            }
        }
        let step_ns = super::nanoseconds(sum / f64::from(count.max(1))).max(MIN_STEP_NS);
        self.step_ns = Some(step_ns);
        step_ns
    }
}
