//! `tokometer calibrate`: how true the client is on this host, at a load.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;
use tokometer_load::LoadEngine;
use tokometer_record::Calibration;
use tokometer_record::calibration::Ceiling;
use tokometer_wire::clock::Clock;

use crate::args::calibrate::CalibrateArgs;
use crate::calibration::cores::Cores;
use crate::calibration::judge::{self, Load, Seen};
use crate::calibration::load::Client;
use crate::calibration::ruler::Ruler;
use crate::calibration::{host, kept, words};
use crate::failure::{self, Hinted};
use crate::out;
use crate::session::interrupt::Signals;

/// Streams of the second phase: enough to keep both sides busy, few enough that full sockets take little memory.
const CEILING_STREAMS: u32 = 64;
/// Events of a write in the second phase: what a busy server's sockets come to hold.
const CEILING_EVENTS: u32 = 8;
/// Its window.
const CEILING_WINDOW: Duration = Duration::from_secs(2);

/// Runs the phases, prints and saves what they found; the exit code.
pub(crate) fn calibrate(args: &CalibrateArgs) -> anyhow::Result<u8> {
    let clock = Clock::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(async {
        let (raise, interrupt) = watch::channel(false);
        let mut signals = Signals::listen()?;
        let work = phases(args, clock, interrupt);
        tokio::pin!(work);
        tokio::select! {
            found = &mut work => return found.map(Some),
            () = signals.next() => {}
        }
        // The streams are cut, and the engine ends.
        raise.send_replace(true);
        drop(work.await);
        anyhow::Ok(None)
    })?;
    let Some(calibration) = found else {
        out::say("interrupted: nothing was kept");
        return Ok(failure::INTERRUPTED);
    };
    if args.json {
        out::result_line(&serde_json::to_string_pretty(&calibration)?)?;
    } else {
        out::result(&words::text(&calibration))?;
    }
    keep(args, &calibration)?;
    Ok(if calibration.passed() { 0 } else { failure::UNSOUND })
}

async fn phases(
    args: &CalibrateArgs,
    clock: Clock,
    interrupt: watch::Receiver<bool>,
) -> anyhow::Result<Calibration> {
    LoadEngine::reserve_descriptors(args.streams)?;
    let (host, cores) = (host::this(), Cores::split());
    let rate = args.rate.to_string();
    let ruler = Ruler::start(&rate, args.events_per_write.map(Into::into), &cores)?;
    say(args, "timing the start of a run");
    let started_ns = start_a_run(&ruler, clock)?;
    let threads = args.load_threads.map_or_else(LoadEngine::default_threads, usize::from);
    let client = Client::start(&ruler, threads, clock, interrupt.clone())?;
    say(args, &format!("opening {} streams", args.streams));
    let bytes_per_idle_stream = client.bytes_per_stream(args.streams).await?;
    let duration = Duration::from_secs_f64(args.duration);
    say(args, &format!("{} streams × {} tokens/s for {} s", args.streams, args.rate, args.duration));
    let measured = client.cell(&ruler, args.streams, Some(args.rate), duration).await;
    drop(client);
    let truth = ruler.finish()?;
    let fidelity = tokometer_analysis::fidelity::fidelity(&measured.trace, clock.origin_ns(), &truth)?;
    let load = Load {
        streams: args.streams,
        rate: args.rate,
        events_per_write: truth.meta.events_per_write,
        seconds: args.duration,
        threads: threads as u32,
        separate_cores: cores.are_separate(),
    };
    let cell = judge::summary(&measured.trace, load);

    say(args, "flat out");
    let ceiling = ceiling(threads, clock, interrupt, &cores).await?;
    let first_ns = truth.meta.first_request_ns;
    let seen = Seen {
        created_at: jiff::Timestamp::try_from(clock.wall_start())
            .ok()
            .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        host,
        load,
        measured,
        cell,
        fidelity,
        ceiling,
        bytes_per_idle_stream,
        start_to_first_request_ms: first_ns.map(|first| first.saturating_sub(started_ns) as f64 / 1e6),
    };
    Ok(seen.judge())
}

/// Starts `tokometer run`, as far as its probes; when that was, on the clock that all processes share.
fn start_a_run(ruler: &Ruler, clock: Clock) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir().context("cannot make a folder for a run")?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    command.args(["run", ruler.url(), "--dry-run", "--quiet", "--out"]).arg(folder.path());
    // No key of the user's is sent to the simulated engine.
    command.env_remove("OPENAI_API_KEY").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started_ns = clock.origin_ns() + clock.now_ns();
    command.status().context("cannot start a run")?;
    Ok(started_ns)
}

/// The most that goes through: the engine sends as fast as it can.
async fn ceiling(
    threads: usize,
    clock: Clock,
    interrupt: watch::Receiver<bool>,
    cores: &Cores,
) -> anyhow::Result<Option<Ceiling>> {
    let ruler = Ruler::start("max", Some(CEILING_EVENTS), cores)?;
    let client = Client::start(&ruler, threads, clock, interrupt)?;
    let measured = client.cell(&ruler, CEILING_STREAMS, None, CEILING_WINDOW).await;
    drop(client);
    let truth = ruler.finish()?;
    let fidelity = tokometer_analysis::fidelity::fidelity(&measured.trace, clock.origin_ns(), &truth)?;
    Ok(judge::ceiling(&measured, &truth, fidelity.tokens, CEILING_STREAMS, threads as u32, cores.of_engine()))
}

fn keep(args: &CalibrateArgs, calibration: &Calibration) -> anyhow::Result<()> {
    let Some(path) = args.save.clone().or_else(kept::path) else {
        out::say("not kept: there is no home folder; name a file with --save");
        return Ok(());
    };
    calibration
        .save(&path)
        .with_context(|| Hinted::new("the calibration could not be kept", "name another file with --save"))?;
    out::say(&format!("kept in {}: the next runs on this host record it", path.display()));
    Ok(())
}

fn say(args: &CalibrateArgs, what: &str) {
    if !args.json {
        out::say(what);
    }
}
