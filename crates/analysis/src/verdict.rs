//! The verdict of a cell (method section 7): one status, the first that applies, and any number of flags.
//!
//! Every rule is one small function over the figures of the cell. What it finds is those figures and a sentence made
//! from them; both are kept in the row. `planned`, `over_limit`, `over_capacity` and `skipped` are given by the plan
//! and the user: such cells have no trace.

mod facts;
mod finding;

use tokometer_record::{Cell, Flag, FlagCode, Phase, StampSource, Status, TokenSource};

use crate::rates::{DRIFT_LIMIT, SLOPE_ERRORS, STEADY_FROM_SECONDS, Steady};
use finding::Finding;

pub(crate) use facts::{Facts, Lag, Unknown, mean_at_most};

/// Client lag (p99) ÷ median gap between reads, or ÷ TTFT of a prefill row, above which the client shaped the result, without kernel
/// stamps.
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
/// Share of busy samples in which the accelerators slowed themselves down.
const SLOWED_LIMIT: f64 = 0.05;
/// Share of busy samples in which the power limit held them back.
const POWER_CAPPED_LIMIT: f64 = 0.20;
/// Share of busy samples with a clock above the rated maximum.
const OVER_RATED_LIMIT: f64 = 0.01;
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

type Rule = fn(&Cell, &Facts<'_>) -> Option<Finding>;

/// In the order of the method: the first that applies decides.
const STATUS_RULES: [(Status, Rule); 9] = [
    (Status::Interrupted, interrupted),
    (Status::Error, error),
    (Status::Looped, looped),
    (Status::ClientLimited, client_limited),
    (Status::Contaminated, contaminated),
    (Status::Queued, queued),
    (Status::Short, short),
    (Status::Throttled, throttled),
    (Status::Unstable, unstable),
];

/// A prefill row has no window, and its few events decide nothing but TTFT.
const PREFILL_STATUS_RULES: [(Status, Rule); 5] = [
    (Status::Interrupted, interrupted),
    (Status::Error, error),
    (Status::ClientLimited, client_limited),
    (Status::Contaminated, contaminated),
    (Status::Throttled, throttled),
];

const FLAG_RULES: [(FlagCode, Rule); 14] = [
    (FlagCode::Simulated, simulated),
    (FlagCode::NotReady, not_ready),
    (FlagCode::Underfilled, underfilled),
    (FlagCode::PromptLength, prompt_length),
    (FlagCode::TokenMismatch, token_mismatch),
    (FlagCode::TokensEstimated, tokens_estimated),
    (FlagCode::Coalesced, coalesced),
    (FlagCode::PrefixHit, prefix_hit),
    (FlagCode::PowerCapped, power_capped),
    (FlagCode::OverRatedClock, over_rated_clock),
    (FlagCode::ClockStep, clock_step),
    (FlagCode::SyntheticAcceptance, synthetic_acceptance),
    (FlagCode::Retuned, retuned),
    (FlagCode::FewSamples, few_samples),
];

/// Flags that say nothing about a prefill row, which has no ready phase, no window and one token a request.
const DECODE_ONLY: [FlagCode; 5] = [
    FlagCode::NotReady,
    FlagCode::Underfilled,
    FlagCode::Coalesced,
    FlagCode::SyntheticAcceptance,
    FlagCode::FewSamples,
];

/// Puts status, reason and flags into a measured cell.
pub(crate) fn judge(cell: &mut Cell, facts: &Facts<'_>) {
    let is_prefill = cell.phase == Phase::Prefill;
    let rules: &[(Status, Rule)] = if is_prefill { &PREFILL_STATUS_RULES } else { &STATUS_RULES };
    let verdict = rules.iter().find_map(|(status, rule)| Some((*status, rule(cell, facts)?)));
    (cell.status, cell.reason) = match verdict {
        Some((status, finding)) => (status, Some(finding.reason())),
        None => (Status::Valid, None),
    };
    cell.flags = FLAG_RULES
        .iter()
        .filter(|(code, _)| !(is_prefill && DECODE_ONLY.contains(code)))
        .filter_map(|(code, rule)| Some(rule(cell, facts)?.flag(*code)))
        .collect::<Vec<Flag>>();
}

/// Tokens that every cut request may leave on the server: it makes some before it notices.
pub(crate) fn least_left(tokens_per_event: Option<f64>) -> f64 {
    CUT_TOKENS.max(CUT_EVENTS * tokens_per_event.unwrap_or(0.0))
}

/// Tokens by which the server's counter may be ahead over `requests` that each asked for hardly any output.
pub(crate) fn counted_otherwise(requests: u64) -> f64 {
    COUNTED_OTHERWISE * requests as f64
}

fn interrupted(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    if !facts.meta.interrupted {
        return None;
    }
    Some(match (&cell.window, cell.phase) {
        (_, Phase::Prefill) => {
            let (done, asked) = (cell.prefill_samples.len(), facts.context.settings.prefill_repeats);
            Finding::new(format!("ended by the user after {done} of {asked} requests")).against(
                "requests",
                done as f64,
                f64::from(asked),
                "requests",
            )
        }
        (Some(window), _) => {
            let (seconds, asked) = (window.seconds, facts.meta.duration_seconds);
            Finding::new(format!("ended by the user after {seconds:.1} s of {asked} s"))
                .against("window", seconds, asked, "s")
        }
        (None, _) => Finding::new("ended by the user before the window"),
    })
}

fn error(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let failed = cell.requests.failed.unwrap_or(0);
    let started = cell.requests.started.unwrap_or(0);
    let with_counts = |text: String| {
        Finding::new(text).against("failed_requests", failed as f64, 0.0, "requests").figure(
            "requests",
            started as f64,
            "requests",
        )
    };
    match &cell.error {
        Some(failure) if failed > 0 => Some(with_counts(format!(
            "{failed} of {started} requests failed, the first with: {}",
            failure.message
        ))),
        Some(failure) if cell.requests.started == Some(0) => {
            Some(Finding::new(format!("before any stream was started: {}", failure.message)))
        }
        Some(failure) => Some(Finding::new(failure.message.clone())),
        None if failed > 0 => {
            Some(with_counts(format!("{failed} requests failed, and the record does not say how")))
        }
        None if facts.unknown.events > 0 => Some(unread(facts.unknown)),
        None if cell.phase == Phase::Prefill && cell.prefill_samples.is_empty() => {
            Some(Finding::new(format!(
                "no cold request gave a rate ({})",
                cell.unknown.get("prefill_rate").map_or("no reason known", String::as_str)
            )))
        }
        None if cell.phase == Phase::Decode && cell.window.is_none() => {
            Some(Finding::new("the window was not reached, and the record does not say why"))
        }
        None if cell.phase == Phase::Decode && cell.tokens.out == Some(0) => {
            Some(Finding::new("no token arrived in the window").figure("tokens", 0.0, "tok"))
        }
        None => None,
    }
}

/// What could not be read may have been output (method section 8).
fn unread(unknown: Unknown) -> Finding {
    let plural = if unknown.events == 1 { "" } else { "s" };
    let first = unknown
        .first
        .map(|(request, stream)| format!(", the first in request {request} of stream {stream}"))
        .unwrap_or_default();
    Finding::new(format!("{} event{plural} could not be told{first}; limit 0", unknown.events)).against(
        "unknown_events",
        unknown.events as f64,
        0.0,
        "events",
    )
}

fn looped(cell: &Cell, _: &Facts<'_>) -> Option<Finding> {
    let first = cell.loops.first()?;
    let streams: std::collections::BTreeSet<u32> =
        cell.loops.iter().map(|evidence| evidence.stream).collect();
    let (looping, all, stream) = (streams.len(), cell.concurrency, first.stream);
    let text = if first.cycles == 0 {
        // The engine stopped it, and does not tell what it saw.
        format!(
            "{looping} of {all} streams repeated themselves: the engine itself ended them for that, the first in \
             stream {stream}"
        )
    } else {
        format!(
            "{looping} of {all} streams repeated themselves: {} characters of {} in {} cycles of {}, in stream \
             {stream}",
            first.repeated_characters, first.channel, first.cycles, first.period
        )
    };
    let told = |count: u64| (first.cycles > 0).then_some(count as f64);
    Some(
        Finding::new(text)
            .against("looping_streams", looping as f64, 0.0, "streams")
            .maybe("cycles", told(first.cycles), "cycles")
            .maybe("period", told(first.period), "characters")
            .maybe("repeated", told(first.repeated_characters), "characters"),
    )
}

fn client_limited(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let Lag { p99_ms, of_ms, of, of_name } = facts.lag?;
    let (limit, stamps) = match cell.stamp_source? {
        StampSource::Kernel => (LAG_LIMIT_KERNEL, "kernel"),
        StampSource::Read => (LAG_LIMIT_READ, "read"),
    };
    (p99_ms > limit * of_ms).then(|| {
        Finding::new(format!(
            "client lag p99 {p99_ms:.3} ms is {:.1} % of the {of} of {of_ms:.3} ms; limit {} % with {stamps} stamps",
            p99_ms / of_ms * 100.0,
            limit * 100.0
        ))
        .against("lag_p99", p99_ms, limit * of_ms, "ms")
        .figure(of_name, of_ms, "ms")
    })
}

fn contaminated(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    other_tokens(cell, facts).or_else(|| other_requests(cell))
}

/// Tokens beyond ours can be laid at others' door only where ours are told and both drains were seen.
fn other_tokens(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let (server, ours) = (cell.tokens.server? as f64, cell.tokens.client? as f64);
    let (beyond, limit) = (server - ours - facts.cut_allowance, OTHER_TRAFFIC_LIMIT * ours);
    let applies = facts.meta.drained && facts.counts_told && beyond > limit;
    applies.then(|| {
        Finding::new(format!(
            "the server generated {server} tokens from drain to drain, our requests received {ours}; \
             up to {:.0} more may be ours, limit 1 % beyond",
            facts.cut_allowance
        ))
        .against("tokens_beyond", beyond, limit, "tok")
        .figure("server_tokens", server, "tok")
        .figure("client_tokens", ours, "tok")
        .figure("left_by_cut_requests", facts.cut_allowance, "tok")
    })
}

fn other_requests(cell: &Cell) -> Option<Finding> {
    let view = cell.server.as_ref()?;
    let (share, most) = (view.over_share?, view.running_max?);
    (share > OVER_SHARE_LIMIT).then(|| {
        Finding::new(format!(
            "the server ran more than {} requests (up to {most}) in {:.1} % of {} samples; limit 5 %",
            cell.concurrency,
            share * 100.0,
            view.samples
        ))
        .against("over_share", share, OVER_SHARE_LIMIT, "share")
        .against("running_max", most, f64::from(cell.concurrency), "requests")
        .figure("samples", view.samples as f64, "samples")
    })
}

fn queued(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let view = cell.server.as_ref()?;
    let samples = view.samples as f64;
    if let Some(share) = view.waiting_share {
        let most = view.waiting_max.unwrap_or(0.0);
        return (share > WAITING_SHARE_LIMIT).then(|| {
            Finding::new(format!(
                "requests waited on the server in {:.1} % of {samples} samples (up to {most}); limit 10 %",
                share * 100.0
            ))
            .against("waiting_share", share, WAITING_SHARE_LIMIT, "share")
            .figure("waiting_max", most, "requests")
            .figure("samples", samples, "samples")
        });
    }
    let (mean, at_most) = (view.running_mean?, facts.running_at_most?);
    let limit = QUEUED_RUNNING * f64::from(cell.concurrency);
    (at_most < limit).then(|| {
        Finding::new(format!(
            "the server ran {mean:.2} of {} requests on average (at most {at_most:.2}, by {samples} samples) and has \
             no waiting gauge; limit 90 %",
            cell.concurrency
        ))
        .against("running_at_most", at_most, limit, "requests")
        .figure("running_mean", mean, "requests")
        .figure("samples", samples, "samples")
    })
}

fn short(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let asked = facts.meta.max_output_tokens as f64;
    let median = facts.median_output?;
    let ended = cell.requests.ended.unwrap_or(0);
    (median < SHORT_LIMIT * asked).then(|| {
        Finding::new(format!(
            "median output of the {ended} requests that ended is {median} tokens, {:.1} % of the {asked} asked; \
             limit 50 %",
            median / asked * 100.0
        ))
        .against("median_output", median, SHORT_LIMIT * asked, "tok")
        .figure("asked_output", asked, "tok")
        .figure("ended_requests", ended as f64, "requests")
    })
}

fn throttled(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let telemetry = facts.context.telemetry?;
    let (share, samples) = (telemetry.slowed_share?, telemetry.busy_samples);
    (share > SLOWED_LIMIT).then(|| {
        Finding::new(format!(
            "the accelerators slowed themselves down (heat or hardware) in {:.1} % of {samples} busy samples; \
             limit 5 %",
            share * 100.0
        ))
        .against("slowed_share", share, SLOWED_LIMIT, "share")
        .figure("busy_samples", samples as f64, "samples")
    })
}

/// A start-up cut at its limit counts where the start differs from the rest by more than a slope may: on
/// steady noise alone the cut lies at its limit in one of seven windows of 10 s.
fn unstable(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let steady = facts.steady.as_ref()?;
    let errors = (steady.slope.slope / steady.slope.standard_error).abs().min(999.0);
    let (bins, change) = (steady.bins, change(steady));
    let finding = if steady.cut_at_limit && steady.cut_difference.abs() > DRIFT_LIMIT {
        Finding::new(format!(
            "no steady state: the start-up cut (MSER-5) is at its limit of {} s, the rate before it {:+.1} % \
             against the rest, over {bins} bins of 250 ms; limit 1 %{change}",
            steady.cut_seconds,
            steady.cut_difference * 100.0,
        ))
        .against("start_up_difference", steady.cut_difference, DRIFT_LIMIT, "share")
        .figure("start_up_cut", steady.cut_seconds, "s")
    } else if steady.drift.abs() > DRIFT_LIMIT && steady.slope.exceeds(SLOPE_ERRORS) {
        Finding::new(format!(
            "the decoding rate drifts by {:+.1} % over the window, {errors:.1} standard errors, over {bins} bins of \
             250 ms; limits 1 % and 2{change}",
            steady.drift * 100.0,
        ))
        .against("drift", steady.drift, DRIFT_LIMIT, "share")
        .against("slope", errors, SLOPE_ERRORS, "standard errors")
    } else {
        return None;
    };
    Some(
        finding
            .figure("bins", bins as f64, "bins")
            .maybe("last_change", steady.last_change.map(|change| change.seconds), "s")
            .maybe("last_change_size", steady.last_change.map(|change| change.relative), "share"),
    )
}

/// When the level changed last, for a sentence.
fn change(steady: &Steady) -> String {
    steady.last_change.map_or_else(String::new, |change| {
        format!(
            "; the level last changed {:.1} s into the window, by {:+.1} %",
            change.seconds,
            change.relative * 100.0
        )
    })
}

fn simulated(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    facts.context.simulated.then(|| Finding::new("the target is a simulated engine"))
}

fn not_ready(cell: &Cell, _: &Facts<'_>) -> Option<Finding> {
    let ready = cell.ready.as_ref().filter(|ready| !ready.reached)?;
    let missing =
        if ready.missing.is_empty() { "no reason known".to_owned() } else { ready.missing.join(", ") };
    Some(
        Finding::new(format!("not ready after {:.0} s, measured anyway: {missing}", ready.limit_seconds))
            .against("ready_phase", ready.seconds, ready.limit_seconds, "s"),
    )
}

fn underfilled(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let view = cell.server.as_ref()?;
    let (mean, at_most) = (view.running_mean?, facts.running_at_most?);
    let limit = UNDERFILLED_RUNNING * f64::from(cell.concurrency);
    let waiting = match view.waiting_max {
        Some(most) if most > 0.0 => return None,
        Some(_) => "nothing waited",
        None => "it has no waiting gauge",
    };
    (at_most < limit).then(|| {
        Finding::new(format!(
            "the server ran {mean:.2} of {} requests on average (at most {at_most:.2}, by {} samples), {waiting}; \
             limit 97 %",
            cell.concurrency, view.samples
        ))
        .against("running_at_most", at_most, limit, "requests")
        .figure("running_mean", mean, "requests")
        .figure("samples", view.samples as f64, "samples")
    })
}

fn prompt_length(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let actual = cell.context_actual?;
    let expected = facts.context.expected_prompt_tokens.unwrap_or(cell.context_nominal);
    let off = |tokens: u64| tokens.abs_diff(expected);
    let farthest = if off(actual.max) >= off(actual.min) { actual.max } else { actual.min };
    let limit = PROMPT_TOKENS_OFF.max(PROMPT_SHARE_OFF * expected as f64);
    (off(farthest) as f64 > limit).then(|| {
        Finding::new(format!(
            "prompts of {farthest} tokens where {expected} were aimed at, {} off; limit {limit:.0}",
            off(farthest)
        ))
        .against("prompt_tokens_off", off(farthest) as f64, limit, "tok")
        .figure("prompt_tokens", farthest as f64, "tok")
        .figure("aimed_at", expected as f64, "tok")
    })
}

/// The server may be ahead by what cut requests leave.
fn token_mismatch(cell: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let (server, ours) = (cell.tokens.server? as f64, cell.tokens.client? as f64);
    let ahead = server - ours;
    let difference = if ahead > 0.0 { (ahead - facts.cut_allowance).max(0.0) } else { -ahead };
    (difference > MISMATCH_LIMIT * server).then(|| {
        Finding::new(format!(
            "the server counted {server} tokens from drain to drain, we counted {ours}; up to {:.0} more may be \
             ours, limit 2 % beyond",
            facts.cut_allowance
        ))
        .against("token_difference", difference / server, MISMATCH_LIMIT, "share")
        .figure("server_tokens", server, "tok")
        .figure("client_tokens", ours, "tok")
        .figure("left_by_cut_requests", facts.cut_allowance, "tok")
    })
}

fn tokens_estimated(cell: &Cell, _: &Facts<'_>) -> Option<Finding> {
    if cell.phase == Phase::Prefill {
        // Their one output token is no figure of the row; their prompt tokens are.
        let estimated = cell.prefill_rate.is_some() && cell.context_actual.is_none();
        return estimated.then(|| {
            Finding::new("the server told no prompt tokens: the rate uses those aimed at").figure(
                "aimed_at",
                cell.context_nominal as f64,
                "tok",
            )
        });
    }
    let text = match cell.tokens.source? {
        TokenSource::UsageFinal => {
            "the server counts tokens at the end of a request only; they are spread over its events"
        }
        TokenSource::Events => "the server tells no token counts; an event counts as one token",
        TokenSource::Usage | TokenSource::TokenIds | TokenSource::EngineEvents => return None,
    };
    Some(Finding::new(text).maybe("tokens_per_event", cell.tokens.per_event, "tok/event"))
}

fn coalesced(cell: &Cell, _: &Facts<'_>) -> Option<Finding> {
    let ratio = cell.events_per_read?;
    (ratio > COALESCED_LIMIT).then(|| {
        Finding::new(format!("{ratio:.2} events per read, so gaps inside a read are unknown; limit 1.5"))
            .against("events_per_read", ratio, COALESCED_LIMIT, "events/read")
    })
}

fn prefix_hit(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let share = facts.cached_share?;
    (share > PREFIX_HIT_LIMIT).then(|| {
        Finding::new(format!("{:.1} % of a cold prompt was in the prefix cache; limit 1 %", share * 100.0))
            .against("cached_share", share, PREFIX_HIT_LIMIT, "share")
    })
}

fn power_capped(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let telemetry = facts.context.telemetry?;
    let (share, samples) = (telemetry.power_capped_share?, telemetry.busy_samples);
    (share > POWER_CAPPED_LIMIT).then(|| {
        Finding::new(format!(
            "the power limit held the accelerators back in {:.1} % of {samples} busy samples; limit 20 %",
            share * 100.0
        ))
        .against("power_capped_share", share, POWER_CAPPED_LIMIT, "share")
        .figure("busy_samples", samples as f64, "samples")
    })
}

fn over_rated_clock(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let telemetry = facts.context.telemetry?;
    let (share, samples) = (telemetry.over_rated_share?, telemetry.busy_samples);
    (share > OVER_RATED_LIMIT).then(|| {
        Finding::new(format!(
            "clocks were above the rated maximum in {:.1} % of {samples} busy samples; limit 1 %",
            share * 100.0
        ))
        .against("over_rated_share", share, OVER_RATED_LIMIT, "share")
        .figure("busy_samples", samples as f64, "samples")
    })
}

fn clock_step(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    let step = facts.meta.clock_step_ns as f64 / 1e6;
    (step > CLOCK_STEP_LIMIT_MS).then(|| {
        Finding::new(format!("the wall clock moved by {step:.1} ms against the monotonic clock; limit 50 ms"))
            .against("clock_step", step, CLOCK_STEP_LIMIT_MS, "ms")
    })
}

fn synthetic_acceptance(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    facts
        .context
        .synthetic_acceptance
        .then(|| Finding::new("the engine was told to force speculative acceptance"))
}

fn retuned(_: &Cell, facts: &Facts<'_>) -> Option<Finding> {
    facts
        .context
        .retuned
        .then(|| Finding::new("defaults of the method were changed for this run (--allow-busy)"))
}

fn few_samples(cell: &Cell, _: &Facts<'_>) -> Option<Finding> {
    // Where nothing was measured there is nothing to doubt.
    let requests = cell.ttft_ms.as_ref()?.n?;
    let seconds = cell.window.as_ref().map(|window| window.seconds);
    let brief = seconds.filter(|seconds| *seconds < STEADY_FROM_SECONDS);
    let window = brief.map(|seconds| format!("a window of {seconds:.1} s; limit {STEADY_FROM_SECONDS} s"));
    let plural = if requests == 1 { "" } else { "s" };
    let medians = (requests < FEW_SAMPLES)
        .then(|| format!("medians over {requests} request{plural}; limit {FEW_SAMPLES}"));
    let mut finding = Finding::new(match (&medians, &window) {
        (Some(medians), Some(window)) => format!("{medians}, and {window}"),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) => return None,
    });
    if medians.is_some() {
        finding = finding.against("requests", requests as f64, FEW_SAMPLES as f64, "requests");
    }
    if let Some(seconds) = brief {
        finding = finding.against("window", seconds, STEADY_FROM_SECONDS, "s");
    }
    Some(finding)
}
