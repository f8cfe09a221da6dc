//! The verdict of a cell (method section 7): one status, the first that applies, and any number of flags.
//!
//! Every rule is one small function over the figures of the cell, and leaves those figures in what it says.
//! `planned`, `over_limit`, `over_capacity` and `skipped` are given by the plan and the user: such cells have
//! no trace.

use tokometer_record::{
    Cell, Flag, FlagCode, Phase, Reason, ReasonRule, StampSource, Status, TokenSource, TraceMeta,
};

use crate::Context;
use crate::rates::{DRIFT_LIMIT, SLOPE_ERRORS, STEADY_FROM_SECONDS, Steady};

/// Client lag (p99) ÷ median gap above which the client shaped the result, without kernel stamps.
const LAG_LIMIT_READ: f64 = 0.05;
/// The same with kernel stamps, where lag moves no stamp.
const LAG_LIMIT_KERNEL: f64 = 1.0;
/// Tokens that the server made beyond ours, relative, that point to other traffic.
const OTHER_TRAFFIC_LIMIT: f64 = 0.01;
/// Share of samples with more running than asked that points to other traffic.
const OVER_SHARE_LIMIT: f64 = 0.05;
/// Share of samples with a request waiting.
const WAITING_SHARE_LIMIT: f64 = 0.10;
/// Running ÷ C below which requests must have waited, where the server has no waiting gauge.
const QUEUED_RUNNING: f64 = 0.9;
/// Running ÷ C below which a cell counts as underfilled.
const UNDERFILLED_RUNNING: f64 = 0.97;
/// Median output ÷ output asked.
const SHORT_LIMIT: f64 = 0.5;
/// Difference of the server's token count and ours, relative.
const MISMATCH_LIMIT: f64 = 0.02;
/// Events per read.
const COALESCED_LIMIT: f64 = 1.5;
/// Share of a cold prompt that was cached.
const PREFIX_HIT_LIMIT: f64 = 0.01;
/// Movement of the wall clock against the monotonic clock, ms.
const CLOCK_STEP_LIMIT_MS: f64 = 50.0;
/// Requests that a median needs.
const FEW_SAMPLES: u64 = 6;
/// How far a prompt may be off its label: the larger of so many tokens and such a share.
const PROMPT_TOKENS_OFF: f64 = 16.0;
const PROMPT_SHARE_OFF: f64 = 0.001;
/// What a cut request may leave on the server at least: tokens, and payload events' worth of tokens.
const CUT_TOKENS: f64 = 8.0;
const CUT_EVENTS: f64 = 4.0;
/// Tokens by which engines may count a request of one output token otherwise than its usage does.
const COUNTED_OTHERWISE: f64 = 2.0;

/// Figures that the rules need and the row does not hold.
pub(crate) struct Facts<'a> {
    pub(crate) meta: &'a TraceMeta,
    pub(crate) context: &'a Context<'a>,
    /// 99th percentile of client lag in the window, from any number of events.
    pub(crate) lag_p99_ms: Option<f64>,
    /// Median gap in the window.
    pub(crate) median_gap_ms: Option<f64>,
    /// The steady-state test, where the window is long enough.
    pub(crate) steady: Option<Steady>,
    /// Median output tokens of the requests that ended by themselves.
    pub(crate) median_output: Option<f64>,
    /// Tokens by which the server may be ahead of us without anybody else: those that cut requests left.
    pub(crate) cut_allowance: f64,
    /// True if none of our counts is an estimate.
    pub(crate) counts_told: bool,
    /// Largest share of a cold prompt that was cached.
    pub(crate) cached_share: Option<f64>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(meta: &'a TraceMeta, context: &'a Context<'a>) -> Facts<'a> {
        Facts {
            meta,
            context,
            lag_p99_ms: None,
            median_gap_ms: None,
            steady: None,
            median_output: None,
            cut_allowance: 0.0,
            counts_told: false,
            cached_share: None,
        }
    }
}

/// Tokens that every cut request may leave on the server: it makes some before it notices.
pub(crate) fn least_left(tokens_per_event: Option<f64>) -> f64 {
    CUT_TOKENS.max(CUT_EVENTS * tokens_per_event.unwrap_or(0.0))
}

/// Tokens by which the server's counter may be ahead over `requests` that each asked for hardly any output.
pub(crate) fn counted_otherwise(requests: u64) -> f64 {
    COUNTED_OTHERWISE * requests as f64
}

/// Puts status, reason and flags into a measured cell.
pub(crate) fn judge(cell: &mut Cell, facts: &Facts<'_>) {
    let (status_rules, flag_rules): (&[(Status, StatusRule)], &[FlagRule]) = match cell.phase {
        Phase::Prefill => (&PREFILL_STATUS_RULES, &PREFILL_FLAG_RULES),
        Phase::Decode => (&STATUS_RULES, &FLAG_RULES),
    };
    let verdict = status_rules.iter().find_map(|(status, rule)| Some((*status, rule(cell, facts)?)));
    (cell.status, cell.reason) = match verdict {
        Some((status, text)) => {
            (status, Some(Reason { rule: ReasonRule::Method, text, needed: None, available: None }))
        }
        None => (Status::Valid, None),
    };
    cell.flags = flag_rules.iter().filter_map(|rule| rule(cell, facts)).collect();
}

type StatusRule = fn(&Cell, &Facts<'_>) -> Option<String>;
type FlagRule = fn(&Cell, &Facts<'_>) -> Option<Flag>;

/// In the order of the method: the first that applies decides.
const STATUS_RULES: [(Status, StatusRule); 8] = [
    (Status::Interrupted, interrupted),
    (Status::Error, error),
    (Status::Looped, looped),
    (Status::ClientLimited, client_limited),
    (Status::Contaminated, contaminated),
    (Status::Queued, queued),
    (Status::Short, short),
    (Status::Unstable, unstable),
];

/// A prefill row has no window, and its few events decide nothing but TTFT.
const PREFILL_STATUS_RULES: [(Status, StatusRule); 3] =
    [(Status::Interrupted, interrupted), (Status::Error, error), (Status::Contaminated, contaminated)];

const PREFILL_FLAG_RULES: [FlagRule; 7] =
    [simulated, prompt_length, token_mismatch, tokens_estimated, prefix_hit, clock_step, retuned];

const FLAG_RULES: [FlagRule; 12] = [
    simulated,
    not_ready,
    underfilled,
    prompt_length,
    token_mismatch,
    tokens_estimated,
    coalesced,
    prefix_hit,
    clock_step,
    synthetic_acceptance,
    retuned,
    few_samples,
];

fn interrupted(cell: &Cell, facts: &Facts<'_>) -> Option<String> {
    if !facts.meta.interrupted {
        return None;
    }
    Some(match (&cell.window, cell.phase) {
        (_, Phase::Prefill) => format!(
            "ended by the user after {} of {} requests",
            cell.prefill_samples.len(),
            facts.context.settings.prefill_repeats
        ),
        (Some(window), _) => {
            format!("ended by the user after {:.1} s of {} s", window.seconds, facts.meta.duration_seconds)
        }
        (None, _) => "ended by the user before the window".to_owned(),
    })
}

fn error(cell: &Cell, _: &Facts<'_>) -> Option<String> {
    let failed = cell.requests.failed.unwrap_or(0);
    match &cell.error {
        Some(failure) if failed > 0 => {
            let started = cell.requests.started.unwrap_or(0);
            Some(format!("{failed} of {started} requests failed, the first with: {}", failure.message))
        }
        Some(failure) if cell.requests.started == Some(0) => {
            Some(format!("before any stream was started: {}", failure.message))
        }
        Some(failure) => Some(failure.message.clone()),
        None if failed > 0 => Some(format!("{failed} requests failed, and the record does not say how")),
        None if cell.phase == Phase::Prefill && cell.prefill_samples.is_empty() => Some(format!(
            "no cold request gave a rate ({})",
            cell.unknown.get("prefill_rate").map_or("no reason known", String::as_str)
        )),
        None if cell.phase == Phase::Decode && cell.window.is_none() => {
            Some("the window was not reached, and the record does not say why".to_owned())
        }
        None if cell.phase == Phase::Decode && cell.tokens.out == Some(0) => {
            Some("no token arrived in the window".to_owned())
        }
        None => None,
    }
}

fn looped(cell: &Cell, _: &Facts<'_>) -> Option<String> {
    let first = cell.loops.first()?;
    let streams: std::collections::BTreeSet<u32> =
        cell.loops.iter().map(|evidence| evidence.stream).collect();
    if first.cycles == 0 {
        // The engine stopped it, and does not tell what it saw.
        return Some(format!(
            "{} of {} streams repeated themselves: the engine itself ended them for that, the first in stream {}",
            streams.len(),
            cell.concurrency,
            first.stream
        ));
    }
    Some(format!(
        "{} of {} streams repeated themselves: {} characters of {} in {} cycles of {}, in stream {}",
        streams.len(),
        cell.concurrency,
        first.repeated_characters,
        first.channel,
        first.cycles,
        first.period,
        first.stream
    ))
}

fn client_limited(cell: &Cell, facts: &Facts<'_>) -> Option<String> {
    let (lag, gap) = (facts.lag_p99_ms?, facts.median_gap_ms?);
    let (limit, stamps) = match cell.stamp_source? {
        StampSource::Kernel => (LAG_LIMIT_KERNEL, "kernel"),
        StampSource::Read => (LAG_LIMIT_READ, "read"),
    };
    (lag > limit * gap).then(|| {
        format!(
            "client lag p99 {lag:.3} ms is {:.1} % of the median gap of {gap:.3} ms; limit {} % with {stamps} stamps",
            lag / gap * 100.0,
            limit * 100.0
        )
    })
}

fn contaminated(cell: &Cell, facts: &Facts<'_>) -> Option<String> {
    other_tokens(cell, facts).or_else(|| other_requests(cell))
}

/// Tokens beyond ours can be laid at others' door only where ours are told and both drains were seen.
fn other_tokens(cell: &Cell, facts: &Facts<'_>) -> Option<String> {
    let (server, ours) = (cell.tokens.server? as f64, cell.tokens.client? as f64);
    let beyond = server - ours - facts.cut_allowance;
    let applies = facts.meta.drained && facts.counts_told && beyond > OTHER_TRAFFIC_LIMIT * ours;
    applies.then(|| {
        format!(
            "the server generated {server} tokens from drain to drain, our requests received {ours}; \
             up to {:.0} more may be ours, limit 1 % beyond",
            facts.cut_allowance
        )
    })
}

fn other_requests(cell: &Cell) -> Option<String> {
    let view = cell.server.as_ref()?;
    let (share, most) = (view.over_share?, view.running_max?);
    (share > OVER_SHARE_LIMIT).then(|| {
        format!(
            "the server ran more than {} requests (up to {most}) in {:.1} % of {} samples; limit 5 %",
            cell.concurrency,
            share * 100.0,
            view.samples
        )
    })
}

fn queued(cell: &Cell, _: &Facts<'_>) -> Option<String> {
    let view = cell.server.as_ref()?;
    match (view.waiting_share, view.running_mean) {
        (Some(share), _) => (share > WAITING_SHARE_LIMIT).then(|| {
            format!(
                "requests waited on the server in {:.1} % of {} samples (up to {}); limit 10 %",
                share * 100.0,
                view.samples,
                view.waiting_max.unwrap_or(0.0)
            )
        }),
        (None, Some(mean)) => (mean < QUEUED_RUNNING * f64::from(cell.concurrency)).then(|| {
            format!(
                "the server ran {mean:.2} of {} requests on average and has no waiting gauge; limit 90 %",
                cell.concurrency
            )
        }),
        (None, None) => None,
    }
}

fn short(cell: &Cell, facts: &Facts<'_>) -> Option<String> {
    let asked = facts.meta.max_output_tokens;
    let median = facts.median_output?;
    (median < SHORT_LIMIT * asked as f64).then(|| {
        format!(
            "median output of the {} requests that ended is {median} tokens, {:.1} % of the {asked} asked; limit 50 %",
            cell.requests.ended.unwrap_or(0),
            median / asked as f64 * 100.0
        )
    })
}

/// A start-up cut at its limit counts where the start differs from the rest by more than a slope may: on
/// steady noise alone the cut lies at its limit in one of seven windows of 10 s.
fn unstable(_: &Cell, facts: &Facts<'_>) -> Option<String> {
    let steady = facts.steady.as_ref()?;
    if steady.cut_at_limit && steady.cut_difference.abs() > DRIFT_LIMIT {
        return Some(format!(
            "no steady state: the start-up cut (MSER-5) is at its limit of {} s, the rate before it {:+.1} % \
             against the rest, over {} bins of 250 ms; limit 1 %",
            steady.cut_seconds,
            steady.cut_difference * 100.0,
            steady.bins
        ));
    }
    (steady.drift.abs() > DRIFT_LIMIT && steady.slope.exceeds(SLOPE_ERRORS)).then(|| {
        format!(
            "the decoding rate drifts by {:+.1} % over the window, {:.1} standard errors, over {} bins of 250 ms; \
             limits 1 % and 2",
            steady.drift * 100.0,
            (steady.slope.slope / steady.slope.standard_error).abs().min(999.0),
            steady.bins
        )
    })
}

/// A flag with its figures.
fn flag(code: FlagCode, detail: String, value: f64, limit: f64) -> Flag {
    let figure = |number: f64| number.is_finite().then_some(number);
    Flag { code, detail, value: figure(value), limit: figure(limit) }
}

/// A flag that has no figures.
fn remark(code: FlagCode, detail: &str) -> Flag {
    Flag { code, detail: detail.to_owned(), value: None, limit: None }
}

fn simulated(_: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    facts.context.simulated.then(|| remark(FlagCode::Simulated, "the target is a simulated engine"))
}

fn not_ready(cell: &Cell, _: &Facts<'_>) -> Option<Flag> {
    let ready = cell.ready.as_ref().filter(|ready| !ready.reached)?;
    let missing =
        if ready.missing.is_empty() { "no reason known".to_owned() } else { ready.missing.join(", ") };
    let detail = format!("not ready after {:.0} s, measured anyway: {missing}", ready.limit_seconds);
    Some(flag(FlagCode::NotReady, detail, ready.seconds, ready.limit_seconds))
}

fn underfilled(cell: &Cell, _: &Facts<'_>) -> Option<Flag> {
    let view = cell.server.as_ref()?;
    let (mean, limit) = (view.running_mean?, UNDERFILLED_RUNNING * f64::from(cell.concurrency));
    let waiting = match view.waiting_max {
        Some(most) if most > 0.0 => return None,
        Some(_) => "nothing waited",
        None => "it has no waiting gauge",
    };
    (mean < limit).then(|| {
        let detail = format!(
            "the server ran {mean:.2} of {} requests on average, {waiting}; limit 97 %",
            cell.concurrency
        );
        flag(FlagCode::Underfilled, detail, mean, limit)
    })
}

fn prompt_length(cell: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    let actual = cell.context_actual?;
    let expected = facts.context.expected_prompt_tokens.unwrap_or(cell.context_nominal);
    let off = |tokens: u64| tokens.abs_diff(expected);
    let farthest = if off(actual.max) >= off(actual.min) { actual.max } else { actual.min };
    let limit = PROMPT_TOKENS_OFF.max(PROMPT_SHARE_OFF * expected as f64);
    (off(farthest) as f64 > limit).then(|| {
        let detail = format!(
            "prompts of {farthest} tokens where {expected} were aimed at, {} off; limit {limit:.0}",
            off(farthest)
        );
        flag(FlagCode::PromptLength, detail, off(farthest) as f64, limit)
    })
}

/// The server may be ahead by what cut requests leave.
fn token_mismatch(cell: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    let (server, ours) = (cell.tokens.server? as f64, cell.tokens.client? as f64);
    let ahead = server - ours;
    let difference = if ahead > 0.0 { (ahead - facts.cut_allowance).max(0.0) } else { -ahead };
    (difference > MISMATCH_LIMIT * server).then(|| {
        let detail = format!(
            "the server counted {server} tokens from drain to drain, we counted {ours}; up to {:.0} more may be \
             ours, limit 2 % beyond",
            facts.cut_allowance
        );
        flag(FlagCode::TokenMismatch, detail, difference / server, MISMATCH_LIMIT)
    })
}

fn tokens_estimated(cell: &Cell, _: &Facts<'_>) -> Option<Flag> {
    if cell.phase == Phase::Prefill {
        // Their one output token is no figure of the row; their prompt tokens are.
        let estimated = cell.prefill_rate.is_some() && cell.context_actual.is_none();
        return estimated.then(|| {
            remark(
                FlagCode::TokensEstimated,
                "the server told no prompt tokens: the rate uses those aimed at",
            )
        });
    }
    match cell.tokens.source? {
        TokenSource::UsageFinal => Some(remark(
            FlagCode::TokensEstimated,
            "the server counts tokens at the end of a request only; they are spread over its events",
        )),
        TokenSource::Events => Some(remark(
            FlagCode::TokensEstimated,
            "the server tells no token counts; an event counts as one token",
        )),
        TokenSource::Usage | TokenSource::TokenIds | TokenSource::EngineEvents => None,
    }
}

fn coalesced(cell: &Cell, _: &Facts<'_>) -> Option<Flag> {
    let ratio = cell.events_per_read?;
    (ratio > COALESCED_LIMIT).then(|| {
        let detail = format!("{ratio:.2} events per read, so gaps inside a read are unknown; limit 1.5");
        flag(FlagCode::Coalesced, detail, ratio, COALESCED_LIMIT)
    })
}

fn prefix_hit(_: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    let share = facts.cached_share?;
    (share > PREFIX_HIT_LIMIT).then(|| {
        let detail = format!("{:.1} % of a cold prompt was in the prefix cache; limit 1 %", share * 100.0);
        flag(FlagCode::PrefixHit, detail, share, PREFIX_HIT_LIMIT)
    })
}

fn clock_step(_: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    let step = facts.meta.clock_step_ns as f64 / 1e6;
    (step > CLOCK_STEP_LIMIT_MS).then(|| {
        let detail = format!("the wall clock moved by {step:.1} ms against the monotonic clock; limit 50 ms");
        flag(FlagCode::ClockStep, detail, step, CLOCK_STEP_LIMIT_MS)
    })
}

fn synthetic_acceptance(_: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    facts
        .context
        .synthetic_acceptance
        .then(|| remark(FlagCode::SyntheticAcceptance, "the engine was told to force speculative acceptance"))
}

fn retuned(_: &Cell, facts: &Facts<'_>) -> Option<Flag> {
    facts
        .context
        .retuned
        .then(|| remark(FlagCode::Retuned, "defaults of the method were changed for this run (--allow-busy)"))
}

fn few_samples(cell: &Cell, _: &Facts<'_>) -> Option<Flag> {
    // Where nothing was measured there is nothing to doubt.
    let requests = cell.ttft_ms.as_ref()?.n?;
    let seconds = cell.window.as_ref().map(|window| window.seconds);
    let short = seconds.filter(|seconds| *seconds < STEADY_FROM_SECONDS);
    let window = short.map(|seconds| format!("a window of {seconds:.1} s; limit {STEADY_FROM_SECONDS} s"));
    if requests < FEW_SAMPLES {
        let plural = if requests == 1 { "" } else { "s" };
        let medians = format!("medians over {requests} request{plural}; limit {FEW_SAMPLES}");
        let detail = window.map_or(medians.clone(), |window| format!("{medians}, and {window}"));
        return Some(flag(FlagCode::FewSamples, detail, requests as f64, FEW_SAMPLES as f64));
    }
    Some(flag(FlagCode::FewSamples, window?, short?, STEADY_FROM_SECONDS))
}
