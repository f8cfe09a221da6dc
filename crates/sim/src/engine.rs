//! The simulated engine: a pure state machine in virtual time.
//!
//! It knows no clock, no thread and no socket. Whoever drives it tells the time: [`Engine::submit`] and
//! [`Engine::abort`] put requests in and out, [`Engine::advance`] hands over what is due by now, and
//! [`Engine::next_deadline`] tells when to come back.
//!
//! The way of a request:
//!
//! 1. *waiting* until the KV cache has room for its prompt and all its output, and fewer than the allowed
//!    requests run; first come, first served;
//! 2. *prefill*, if more than a few tokens of its prompt are not in the prefix cache: one request after
//!    another, uncached tokens ÷ prefill rate; its blocks are known to the cache when it is done;
//! 3. *first token* when the warm time to first token has passed since its admission, by the number of
//!    requests in the system, which is looked at anew as requests come and go;
//! 4. *decoding*: each step gives each decoding request one token, and those of its draft that are accepted. A step takes the mean of the step times of
//!    the requests in it, and starts where the one before was due: the total rate is exact whatever the
//!    driver's timer does.

mod batch;
mod prefix_cache;
mod request;
mod speculation;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub use request::{Emission, Finish, Request, RequestId, Stats, Trick};
pub use speculation::{MOST_DRAFTED, Speculation};

use crate::Profile;
use crate::tokenizer::BLOCK_TOKENS;
use batch::{Batch, Decoding};
use prefix_cache::PrefixCache;
use speculation::{Drafts, Interval};

/// A prompt with fewer uncached tokens than this needs no prefill of its own.
pub const WARM_BELOW_TOKENS: u64 = 64;

/// The engine.
#[derive(Debug)]
pub struct Engine {
    profile: Arc<Profile>,
    /// Time of the last thing that happened.
    now_ns: u64,
    cache: PrefixCache,
    reserved_tokens: u64,
    waiting: VecDeque<Waiting>,
    prefill_queue: VecDeque<Admitted>,
    prefilling: Option<(Admitted, u64)>,
    prefill_free_ns: u64,
    /// Requests that need no prefill (any more), by prompt tokens, in the order of their start.
    warm: BTreeMap<u64, VecDeque<Admitted>>,
    warm_count: u32,
    batch: Batch,
    interval: Interval,
    stats: Stats,
}

/// A request that has no place yet.
#[derive(Debug)]
struct Waiting {
    request: Request,
    /// True once it has found no room.
    queued: bool,
}

/// A request that has its place, before its first token.
#[derive(Debug)]
struct Admitted {
    request: Request,
    start_ns: u64,
    reserved_tokens: u64,
    cached_tokens: u64,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    PrefillDone,
    FirstToken { prompt_tokens: u64 },
    Step,
}

impl Engine {
    /// An idle engine.
    pub fn new(profile: Arc<Profile>) -> Engine {
        let capacity_blocks = (profile.kv_tokens() / BLOCK_TOKENS) as usize;
        Engine {
            profile,
            now_ns: 0,
            cache: PrefixCache::new(capacity_blocks),
            reserved_tokens: 0,
            waiting: VecDeque::new(),
            prefill_queue: VecDeque::new(),
            prefilling: None,
            prefill_free_ns: 0,
            warm: BTreeMap::new(),
            warm_count: 0,
            batch: Batch::default(),
            interval: Interval::default(),
            stats: Stats::default(),
        }
    }

    /// Takes a request.
    pub fn submit(&mut self, request: Request) {
        if request.trick == Some(Trick::KnownPrompt) {
            self.cache.insert(&request.prompt.blocks);
        }
        self.waiting.push_back(Waiting { request, queued: false });
        self.admit();
        if let Some(last) = self.waiting.back_mut() {
            last.queued = true;
        }
    }

    /// Forgets a request, wherever it is, and gives its room to those that wait.
    pub fn abort(&mut self, id: RequestId) {
        if self.remove(id) {
            self.stats.aborted += 1;
            self.admit();
        }
    }

    /// Appends to `out` all that is due up to `now_ns`, in the order of time.
    pub fn advance(&mut self, now_ns: u64, out: &mut Vec<Emission>) {
        while let Some((due_ns, next)) = self.next() {
            if due_ns > now_ns {
                break;
            }
            self.now_ns = due_ns;
            match next {
                Next::PrefillDone => self.finish_prefill(),
                Next::FirstToken { prompt_tokens } => self.emit_first(prompt_tokens, out),
                Next::Step => self.step(now_ns, out),
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// When something will be due next, if nothing else happens.
    pub fn next_deadline(&self) -> Option<u64> {
        self.next().map(|next| next.0)
    }

    /// Gauges and counters, as of now.
    pub fn stats(&self) -> Stats {
        Stats { running: self.running().into(), waiting: self.waiting.len() as u64, ..self.stats }
    }

    /// Requests admitted and not ended.
    fn running(&self) -> u32 {
        let prefill = self.prefill_queue.len() + usize::from(self.prefilling.is_some());
        self.warm_count + (prefill + self.batch.len()) as u32
    }

    fn next(&self) -> Option<(u64, Next)> {
        let prefill = self.prefilling.as_ref().map(|prefilling| (prefilling.1, Next::PrefillDone));
        let step = self.batch.next_step_ns().map(|due| (due, Next::Step));
        let running = self.running();
        let first = self.warm.iter().filter_map(|(&prompt_tokens, group)| {
            let ttft_ns = nanoseconds(self.profile.ttft_seconds(prompt_tokens, running));
            Some((group.front()?.start_ns + ttft_ns, Next::FirstToken { prompt_tokens }))
        });
        let next = prefill.into_iter().chain(first).chain(step).min_by_key(|next| next.0)?;
        Some((next.0.max(self.now_ns), next.1))
    }

    /// Gives those that wait their places, as long as there is room for the first of them.
    fn admit(&mut self) {
        let kv_tokens = self.profile.kv_tokens();
        while let Some(Waiting { request, .. }) = self.waiting.front() {
            // A request that is larger than the whole cache runs alone.
            let need = (request.prompt.tokens + request.max_tokens).min(kv_tokens);
            let fits = self.reserved_tokens + need <= kv_tokens;
            let is_held_back = request.trick == Some(Trick::HeldBack) && self.half_run();
            if !fits || is_held_back || self.running() >= self.profile.max_concurrent_requests() {
                break;
            }
            let Some(Waiting { request, queued }) = self.waiting.pop_front() else { break };
            self.reserved_tokens += need;
            self.stats.kv_used_tokens += request.prompt.tokens;
            // One that had to wait starts now. Else it starts with its arrival, however late it is handed in.
            let start_ns = if queued { self.now_ns.max(request.arrival_ns) } else { request.arrival_ns };
            self.place(Admitted { request, start_ns, reserved_tokens: need, cached_tokens: 0 });
        }
        self.start_prefill();
    }

    /// True if half of the requests in the system run, rounded down, or more; never where none does.
    fn half_run(&self) -> bool {
        let running = self.running() as usize;
        running > 0 && running + 1 >= self.waiting.len()
    }

    /// To the first token, or first to prefill.
    fn place(&mut self, admitted: Admitted) {
        let (admitted, warm) = self.look_up(admitted);
        if warm { self.make_warm(admitted) } else { self.prefill_queue.push_back(admitted) }
    }

    /// Notes how much of the prompt is cached; true if that is all but a few tokens.
    fn look_up(&mut self, mut admitted: Admitted) -> (Admitted, bool) {
        let prompt = &admitted.request.prompt;
        // The last token is always computed: it makes the first output token.
        let usable = prompt.tokens.saturating_sub(1) / BLOCK_TOKENS;
        let usable = prompt.blocks.len().min(usable as usize);
        let cached = self.cache.find(&prompt.blocks[..usable]) as u64 * BLOCK_TOKENS;
        let warm = prompt.tokens - cached < WARM_BELOW_TOKENS;
        admitted.cached_tokens = cached;
        (admitted, warm)
    }

    fn make_warm(&mut self, admitted: Admitted) {
        let group = self.warm.entry(admitted.request.prompt.tokens).or_default();
        let place = group.partition_point(|other| other.start_ns <= admitted.start_ns);
        group.insert(place, admitted);
        self.warm_count += 1;
    }

    /// Starts the next prefill, if none runs. By now an earlier one may have made its prompt known.
    fn start_prefill(&mut self) {
        while self.prefilling.is_none() {
            let Some(admitted) = self.prefill_queue.pop_front() else { return };
            let (admitted, warm) = self.look_up(admitted);
            if warm {
                self.make_warm(admitted);
                continue;
            }
            let tokens = admitted.request.prompt.tokens;
            let seconds = (tokens - admitted.cached_tokens) as f64 / self.profile.prefill_rate(tokens);
            let start_ns = admitted.start_ns.max(self.prefill_free_ns);
            self.prefilling = Some((admitted, start_ns + nanoseconds(seconds)));
        }
    }

    fn finish_prefill(&mut self) {
        if let Some((admitted, _)) = self.prefilling.take() {
            self.prefill_free_ns = self.now_ns;
            self.cache.insert(&admitted.request.prompt.blocks);
            self.make_warm(admitted);
        }
        self.start_prefill();
    }

    fn emit_first(&mut self, prompt_tokens: u64, out: &mut Vec<Emission>) {
        let Some(group) = self.warm.get_mut(&prompt_tokens) else { return };
        let first = group.pop_front();
        if group.is_empty() {
            self.warm.remove(&prompt_tokens);
        }
        let Some(Admitted { request, reserved_tokens, cached_tokens, .. }) = first else { return };
        self.warm_count -= 1;
        self.cache.insert(&request.prompt.blocks);
        self.stats.prompt_tokens += prompt_tokens;
        self.stats.cached_tokens += cached_tokens;

        let max_tokens = request.max_tokens.max(1);
        let (end, finish) = match request.natural_end {
            Some(end) if end <= max_tokens => (end.max(1), Finish::Stop),
            _ => (max_tokens, Finish::Length),
        };
        let mut decoding = Decoding {
            id: request.id,
            prompt_tokens,
            reserved_tokens,
            cached_tokens,
            generated: 0,
            end,
            finish,
            looping: self.profile.loops(prompt_tokens, self.batch.len() as u32 + 1),
            loops_after: match request.trick {
                Some(Trick::Loop { after_tokens }) => Some(after_tokens),
                _ => None,
            },
            drafts: self.profile.speculation().map(|speculation| Drafts::new(speculation, request.id)),
        };
        let emission = decoding.first_token(self.now_ns);
        out.push(emission);
        self.stats.generated_tokens += 1;
        self.stats.kv_used_tokens += 1;
        if emission.finish.is_some() {
            self.end(&decoding);
            self.admit();
        } else {
            self.batch.join(decoding, self.now_ns, &self.profile);
        }
    }

    /// One token for each decoding request, or more where the engine speculates. The next step is planned from
    /// when this one was due, or where it goes flat out from `now_ns`.
    fn step(&mut self, now_ns: u64, out: &mut Vec<Emission>) {
        let first = out.len();
        let ended = self.batch.step(self.now_ns, out);
        let tokens: u64 = out[first..].iter().map(|emission| u64::from(emission.tokens)).sum();
        self.stats.generated_tokens += tokens;
        self.stats.kv_used_tokens += tokens;
        if let Some(speculation) = self.profile.speculation() {
            let accepted = out[first..].iter().filter_map(|emission| emission.accepted);
            self.interval.count(speculation, accepted, &mut self.stats);
        }
        if ended {
            while let Some(ended) = self.batch.take_ended() {
                self.end(&ended);
            }
        }
        let from_ns = if self.profile.is_flat_out() { now_ns } else { self.now_ns };
        self.batch.plan_step(from_ns, &self.profile);
        if ended {
            self.admit();
        }
    }

    fn end(&mut self, ended: &Decoding) {
        match ended.finish {
            Finish::Length => self.stats.ended_by_length += 1,
            Finish::Stop => self.stats.ended_by_stop += 1,
        }
        self.stats.ended_prompt_tokens += ended.prompt_tokens;
        self.stats.ended_generated_tokens += ended.generated;
        self.release(ended.reserved_tokens, ended.prompt_tokens + ended.generated);
    }

    fn release(&mut self, reserved_tokens: u64, used_tokens: u64) {
        self.reserved_tokens -= reserved_tokens;
        self.stats.kv_used_tokens -= used_tokens;
    }

    /// Takes a request out; false if there is none of this number.
    fn remove(&mut self, id: RequestId) -> bool {
        if let Some(gone) = self.batch.remove(id) {
            self.release(gone.reserved_tokens, gone.prompt_tokens + gone.generated);
            return true;
        }
        if let Some(index) = self.waiting.iter().position(|waiting| waiting.request.id == id) {
            self.waiting.remove(index);
            return true;
        }
        let Some(gone) = self.remove_admitted(id) else { return false };
        self.release(gone.reserved_tokens, gone.request.prompt.tokens);
        true
    }

    fn remove_admitted(&mut self, id: RequestId) -> Option<Admitted> {
        if let Some((admitted, _)) = self.prefilling.take_if(|prefilling| prefilling.0.request.id == id) {
            self.prefill_free_ns = self.now_ns;
            return Some(admitted);
        }
        if let Some(index) = self.prefill_queue.iter().position(|admitted| admitted.request.id == id) {
            return self.prefill_queue.remove(index);
        }
        let (prompt_tokens, index) = self.warm.iter().find_map(|(&prompt_tokens, group)| {
            Some((prompt_tokens, group.iter().position(|admitted| admitted.request.id == id)?))
        })?;
        let group = self.warm.get_mut(&prompt_tokens)?;
        let gone = group.remove(index);
        if group.is_empty() {
            self.warm.remove(&prompt_tokens);
        }
        self.warm_count -= 1;
        gone
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
