//! Ctrl-C, termination, and a terminal that goes away: the first ends the run and saves it, the second ends the process.

use std::io;

use tokio::sync::watch;

/// The signals that ask the process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// The terminal went away. None where that is to be ignored, as `nohup` has it.
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// From here on they no longer end the process by themselves.
    pub(crate) fn listen() -> io::Result<Signals> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: hang_up_counts().then(|| signal(SignalKind::hangup())).transpose()?,
            })
        }
        #[cfg(not(unix))]
        Ok(Signals {})
    }

    /// Waits for the next one that somebody sent on purpose: a terminal that is gone says so again.
    async fn next_word(&mut self) {
        #[cfg(unix)]
        {
            self.hang_up = None;
        }
        self.next().await;
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = heard(&mut self.hang_up) => {}
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
    }
}

/// Waits for a signal, for ever if it is not listened for.
#[cfg(unix)]
async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// True if nobody asked that a hang-up be ignored. Where the system does not tell, it is left alone: it then ends the
/// process, and what is measured can be resumed.
#[cfg(unix)]
fn hang_up_counts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (nix::sys::signal::Signal::SIGHUP as i32 - 1)) == 0)
}

/// A flag that the first signal raises. A second one ends the process at once: every finished cell is on
/// disk by then.
pub(crate) fn flag(quiet: bool) -> io::Result<watch::Receiver<bool>> {
    let (raise, flag) = watch::channel(false);
    let mut signals = Signals::listen()?;
    tokio::spawn(async move {
        signals.next().await;
        if !quiet {
            // A terminal shows `^C` on the line where it was typed.
            let line_end = if crate::out::stderr_is_terminal() { "\n" } else { "" };
            crate::out::say(&format!(
                "{line_end}interrupted: saving what is measured (once more ends at once)"
            ));
        }
        raise.send_replace(true);
        // A terminal that goes away sends more than one: the kernel's, and that of its shell.
        signals.next_word().await;
        // Nothing is dropped from here on.
        crate::dashboard::restore();
        tokometer_telemetry::launch::kill_all();
        #[expect(clippy::exit, reason = "the user asked twice; nothing is left to save")]
        std::process::exit(i32::from(crate::failure::INTERRUPTED));
    });
    Ok(flag)
}
