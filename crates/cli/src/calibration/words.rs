//! A calibration for a terminal: a line a figure, and what it means.

use std::fmt::Write;

use tokometer_record::Calibration;
use tokometer_record::calibration::{Ceiling, Errors, Limit};

use super::judge::{ms, stamp_words};

/// All of it.
pub(crate) fn text(calibration: &Calibration) -> String {
    let c = calibration;
    let mut out = format!(
        "client fidelity: {} streams × {} tokens/s, {} s, {} of {} cores for the load\n",
        c.streams,
        c.rate,
        c.duration_seconds,
        threads(c.load_threads),
        c.host.cores,
    );
    let mut line = |name: &str, figures: String, meaning: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<13} {figures}");
        if !meaning.is_empty() {
            let _ = writeln!(out, "  {:<13} {meaning}", "");
        }
    };
    line("stamps", stamp_words(c.stamp_source).to_owned(), "");
    line(
        "TTFT error",
        errors(c.ttft_error),
        "how far the stamp of a first event lies outside of the call that wrote it",
    );
    let shared = match c.gaps_of_shared_reads {
        0 => String::new(),
        shared => format!("   {shared} more shared a read: not judged"),
    };
    line("gap error", errors(c.gap_error) + &shared, "the same for the time between two events of a stream");
    line(
        "tokens",
        format!("{} counted, {} sent", c.tokens.counted, c.tokens.sent),
        "by the client, and by the engine to the same events",
    );
    line(
        "client lag",
        errors(c.client_lag),
        "how long an event waited for the client; with kernel stamps it moves none",
    );
    line(
        "truth",
        errors(c.truth_width),
        "how long the engine's writes took: an error within that cannot be seen",
    );
    line(
        "engine late",
        errors(c.engine_late),
        "how long an event waited for the engine: the truth holds it, so it is no error of the client",
    );
    line(
        "CPU",
        c.cpu_us_per_event.map_or_else(|| "none".to_owned(), |cpu| format!("{cpu:.2} µs an event")),
        "all threads of the client, user and system, over the window",
    );
    line("ceiling", c.ceiling.as_ref().map_or_else(|| "none".to_owned(), ceiling), "");
    let memory = |bytes: u64| format!("{:.1} KiB a stream", bytes as f64 / 1024.0);
    line(
        "memory",
        c.bytes_per_idle_stream.map_or_else(|| "none".to_owned(), memory),
        "what an open stream adds to the client's resident memory",
    );
    line(
        "start",
        ms(c.start_to_first_request_ms),
        "from the start of `tokometer run` to its first request at the server",
    );
    if !c.separate_cores {
        let _ = writeln!(out, "  client and engine share a core: both are slower than they would be apart");
    }
    out.push('\n');
    for check in &c.checks {
        let mark = if check.passed { "ok  " } else { "FAIL" };
        let _ = writeln!(out, "  {mark} {}: {}", check.name, check.found);
    }
    let _ = writeln!(out, "\n{}", verdict(c));
    out
}

/// What the host can measure, in one line.
fn verdict(calibration: &Calibration) -> String {
    let c = calibration;
    let load = format!("{} streams × {} tokens/s", c.streams, c.rate);
    let failed = c.checks.iter().filter(|check| !check.passed).count();
    if failed > 0 {
        return format!(
            "verdict: this host does not measure {load} truthfully: {failed} of {} needs are not met. Lower --streams \
             or --rate, or try again while nothing else runs",
            c.checks.len()
        );
    }
    let gaps = if c.gap_error.n > c.gaps_of_shared_reads {
        format!("gaps to {} (p99)", ms(c.gap_error.p99_ms))
    } else {
        "gaps not judged, since most events shared a read".to_owned()
    };
    let most = c.ceiling.as_ref().map_or_else(String::new, |ceiling| {
        format!("; {:.0} events/s went through at most", ceiling.events_per_second)
    });
    format!(
        "verdict: this host measures {load} truthfully: TTFT to {} (p99), {gaps}, every token counted{most}",
        ms(c.ttft_error.p99_ms)
    )
}

fn errors(errors: Errors) -> String {
    format!(
        "median {}   p99 {}   max {}   n {}",
        ms(errors.p50_ms),
        ms(errors.p99_ms),
        ms(errors.max_ms),
        errors.n
    )
}

fn ceiling(ceiling: &Ceiling) -> String {
    let engine =
        ceiling.engine_busy.map_or_else(String::new, |busy| format!(", engine {:.0} %", 100.0 * busy));
    let busy = format!("client {:.0} % busy{engine}", 100.0 * ceiling.client_busy);
    let limit = match ceiling.limited_by {
        Limit::Client => {
            format!("the client is the limit: {} times a socket was full; {busy}", ceiling.full_sockets)
        }
        Limit::Machine => {
            format!("neither is the limit: other programs took the machine, so this is no ceiling; {busy}")
        }
        Limit::Engine => {
            format!("the engine is the limit, the client can do more: no socket filled up; {busy}")
        }
    };
    format!(
        "{:.0} events/s on {} streams with {} events a write: {limit}",
        ceiling.events_per_second, ceiling.streams, ceiling.events_per_write
    )
}

fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}
