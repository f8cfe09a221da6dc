//! What this process, and the engine's, have used of the machine.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use tokometer_load::{Live, LivePhase};
use tokometer_wire::clock::Clock;

/// How often the phase of the cell is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// CPU time over the window of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WindowUse {
    /// First and last look, ns of the run's clock.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// CPU time of this process between them.
    pub(crate) client: Duration,
    /// CPU time of the other process, where the system tells.
    pub(crate) engine: Option<Duration>,
}

/// Looks at the cell that runs, until its window has passed.
pub(crate) async fn over_window(live: &Live, clock: Clock, engine: u32) -> Option<WindowUse> {
    while live.get().phase != LivePhase::Window {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let mut used = WindowUse { from_ns: clock.now_ns(), ..WindowUse::default() };
    let (client_ns, engine_ns) = (own_cpu_ns()?, cpu_ns_of(engine));
    while live.get().phase == LivePhase::Window {
        // The time is read behind the phase: it is never past the window by more than one look.
        used.to_ns = clock.now_ns();
        used.client = Duration::from_nanos(own_cpu_ns()? - client_ns);
        let both = cpu_ns_of(engine).zip(engine_ns);
        used.engine = both.map(|(now, then)| Duration::from_nanos(now.saturating_sub(then)));
        tokio::time::sleep(LOOK_EVERY).await;
    }
    (used.to_ns > used.from_ns).then_some(used)
}

/// CPU time of this process so far, all threads, user and system, ns.
fn own_cpu_ns() -> Option<u64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let ns =
        |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000;
    Some(ns(usage.user_time()) + ns(usage.system_time()))
}

/// CPU time of another process so far, ns.
fn cpu_ns_of(process: u32) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    threads.map(of_thread).sum()
}

/// Resident memory of this process, bytes.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
