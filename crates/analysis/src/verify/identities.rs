//! What figures of one record owe each other: tokens and rates, active requests, capacity, and the order of a matrix.

use tokometer_record::verification::Check;
use tokometer_record::{Cell, FlagCode, Phase, Run, Status};

use super::Findings;

/// How far the rate of a request times those active may be off the total, as a share.
const LITTLE_LIMIT: f64 = 0.02;
/// A rise with context from which it is looked at.
const RISE_LIMIT: f64 = 0.02;
/// A fall with concurrency from which it is looked at: beyond its best point a server may lose some.
const FALL_LIMIT: f64 = 0.10;
/// Server's tokens against ours.
const COUNTER_LIMIT: f64 = 0.01;
/// Tokens that a cut request may leave on the server.
const LEFT_BY_A_CUT: f64 = 64.0;
/// A TTFT so many times those of both neighbours is out of its row.
const TTFT_OUTLIER: f64 = 2.0;

/// Each row by itself.
pub(super) fn cells(findings: &mut Findings, run: &Run) {
    for cell in &run.cells {
        requests(findings, cell);
        tokens(findings, run, cell);
        if cell.phase == Phase::Decode && cell.status == Status::Valid {
            littles_law(findings, cell);
        }
        capacity(findings, run, cell);
    }
}

fn requests(findings: &mut Findings, cell: &Cell) {
    let of = &cell.requests;
    if let (Some(started), Some(ended), Some(cut), Some(failed)) = (of.started, of.ended, of.cut, of.failed)
        && started != ended.saturating_add(cut).saturating_add(failed)
    {
        let text =
            format!("{started} requests started, {ended} ended, {cut} cut and {failed} failed do not add up");
        findings.failure(Check::Tokens, Some(&cell.name()), text);
    }
    if let (Some(inside), Some(ended)) = (of.ended_in_window, of.ended)
        && inside > ended
    {
        let text = format!("{inside} requests ended in the window, {ended} in the whole cell");
        findings.failure(Check::Tokens, Some(&cell.name()), text);
    }
}

fn tokens(findings: &mut Findings, run: &Run, cell: &Cell) {
    let tokens = &cell.tokens;
    let name = cell.name();
    if let (Some(rates), Some(window), Some(out)) = (&cell.throughput, &cell.window, tokens.out)
        && cell.repeats.is_empty()
    {
        let made = rates.total * window.seconds;
        let off = (made - out as f64).abs();
        let text = format!(
            "{:.1} tok/s over {} s are {made:.0} tokens, the record has {out}",
            rates.total, window.seconds
        );
        // Others round their rates and seconds.
        if run.imported.is_some() && off > LITTLE_LIMIT * made {
            findings.warning(Check::Tokens, Some(&name), text);
        } else if run.imported.is_none() && off > 1.0 {
            findings.failure(Check::Tokens, Some(&name), text);
        }
    }
    for (part, whole, words) in [
        (tokens.cached, tokens.input, "cached prompt tokens, prompt tokens"),
        (tokens.out, tokens.out_cell, "output tokens in the window, in the whole cell"),
        (tokens.out_cell, tokens.client, "output tokens of the streams, of all requests"),
    ] {
        if let (Some(part), Some(whole)) = (part, whole)
            && part > whole
        {
            let text = format!("a part is more than the whole ({words}): {part} and {whole}");
            findings.failure(Check::Tokens, Some(&name), text);
        }
    }
    let told = cell.flag(FlagCode::TokenMismatch).is_some() || cell.status == Status::Contaminated;
    if let (Some(server), Some(client), false) = (tokens.server, tokens.client, told) {
        let (server, client) = (server as f64, client as f64);
        let left = LEFT_BY_A_CUT * cell.requests.cut.unwrap_or(0) as f64;
        let off = if server > client { server - client - left } else { client - server };
        if off > COUNTER_LIMIT * client {
            let text = format!("the server counted {server} tokens, we {client}: more than 1 % apart");
            findings.warning(Check::Tokens, Some(&name), text);
        }
    }
}

/// Active requests × the rate of one ≈ total rate; without restarts where the record has that rate.
fn littles_law(findings: &mut Findings, cell: &Cell) {
    let each = cell.per_request_rate.as_ref().and_then(|rate| rate.p50);
    let (Some(rates), Some(each)) = (&cell.throughput, each) else { return };
    let (total, active, words) = match (rates.decoding, cell.average_active_requests) {
        (Some(decoding), _) => (decoding, f64::from(cell.concurrency), "decoding rate"),
        (None, Some(active)) => (rates.total, active, "total rate"),
        (None, None) => return,
    };
    let off = each * active / total - 1.0;
    if off.abs() > LITTLE_LIMIT {
        let text = format!(
            "median per-request rate {each:.1} × {active:.1} requests is {:+.1} % off the {words} of {total:.1} tok/s: \
             streams are unequal, or tokens are counted otherwise",
            off * 100.0
        );
        findings.warning(Check::LittlesLaw, Some(&cell.name()), text);
    }
    if let Some(active) =
        cell.average_active_requests.filter(|active| *active > f64::from(cell.concurrency) * 1.001)
    {
        let text =
            format!("{active:.2} requests were active on average, {} were asked for", cell.concurrency);
        findings.warning(Check::LittlesLaw, Some(&cell.name()), text);
    }
}

fn capacity(findings: &mut Findings, run: &Run, cell: &Cell) {
    let Some(actual) = cell.context_actual else { return };
    if let Some(most) = run.model.max_length.filter(|most| actual.max > *most) {
        let text = format!("a prompt of {} tokens is longer than the model's {most}", actual.max);
        findings.warning(Check::Capacity, Some(&cell.name()), text);
    }
    if cell.phase == Phase::Prefill || cell.status != Status::Valid {
        return;
    }
    let needed = f64::from(cell.concurrency) * (actual.p50 + run.settings.max_output_tokens as f64);
    if let Some(kv) = run.capacity.kv_tokens.filter(|kv| needed > 1.01 * *kv as f64) {
        let text =
            format!("{needed:.0} tokens at once are more than the KV cache's {kv}, and nothing waited");
        findings.warning(Check::Capacity, Some(&cell.name()), text);
    }
}

/// Rows and columns of the decode matrix.
pub(super) fn matrix(findings: &mut Findings, run: &Run) {
    let mut valid: Vec<&Cell> =
        run.cells.iter().filter(|cell| cell.phase == Phase::Decode && cell.status == Status::Valid).collect();
    valid.sort_by_key(|cell| (cell.concurrency, cell.context_nominal));
    for pair in valid.windows(2).filter(|pair| pair[0].concurrency == pair[1].concurrency) {
        rises_with_context(findings, pair[0], pair[1]);
    }
    valid.sort_by_key(|cell| (cell.context_nominal, cell.concurrency));
    for pair in valid.windows(2).filter(|pair| pair[0].context_nominal == pair[1].context_nominal) {
        falls_with_concurrency(findings, pair[0], pair[1]);
    }
    for three in valid.windows(3).filter(|three| three[0].context_nominal == three[2].context_nominal) {
        ttft_out_of_row(findings, [three[0], three[1], three[2]]);
    }
    let unfinished = valid.iter().filter(|cell| cell.requests.ended == Some(0)).count();
    if unfinished > 0 {
        let text = format!(
            "in {unfinished} of {} valid decode cells no request came to its end: their medians are over requests that \
             were cut",
            valid.len()
        );
        findings.warning(Check::Lint, None, text);
    }
}

/// The total rate and what it may be off by.
fn rate(cell: &Cell) -> Option<(f64, f64)> {
    let rates = cell.throughput.as_ref()?;
    let half = rates.interval.as_ref().map_or(0.0, |interval| interval.half_width_relative * rates.total);
    Some((rates.total, half))
}

fn rises_with_context(findings: &mut Findings, shorter: &Cell, longer: &Cell) {
    let (Some((before, half_before)), Some((after, half_after))) = (rate(shorter), rate(longer)) else {
        return;
    };
    if after - half_after > (before + half_before) * (1.0 + RISE_LIMIT) {
        let text = format!(
            "{after:.1} tok/s is {:+.1} % above {} with its shorter context: text may have changed what speculative \
             decoding accepts",
            (after / before - 1.0) * 100.0,
            shorter.name()
        );
        findings.warning(Check::Monotony, Some(&longer.name()), text);
    }
}

fn falls_with_concurrency(findings: &mut Findings, fewer: &Cell, more: &Cell) {
    let (Some((before, half_before)), Some((after, half_after))) = (rate(fewer), rate(more)) else { return };
    if after + half_after < (before - half_before) * (1.0 - FALL_LIMIT) {
        let text = format!(
            "{after:.1} tok/s is {:+.1} % against {} with fewer requests",
            (after / before - 1.0) * 100.0,
            fewer.name()
        );
        findings.warning(Check::Monotony, Some(&more.name()), text);
    }
}

fn ttft_out_of_row(findings: &mut Findings, three: [&Cell; 3]) {
    let [Some(before), Some(it), Some(behind)] =
        three.map(|cell| cell.ttft_ms.as_ref().and_then(|ttft| ttft.p50))
    else {
        return;
    };
    if it > TTFT_OUTLIER * before && it > TTFT_OUTLIER * behind {
        let text = format!(
            "its TTFT of {it:.0} ms is more than twice that of both neighbours ({before:.0} and {behind:.0} ms): a first \
             call, or a late stream"
        );
        findings.warning(Check::Lint, Some(&three[1].name()), text);
    }
}
