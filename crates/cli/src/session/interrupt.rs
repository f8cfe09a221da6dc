//! Ctrl-C and termination: the first ends the run and saves it, the second ends the process.

use std::io;

use tokio::sync::watch;

/// The signals that ask the process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
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
            })
        }
        #[cfg(not(unix))]
        Ok(Signals {})
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
    }
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
        signals.next().await;
        // Nothing is dropped from here on.
        crate::dashboard::restore();
        tokometer_telemetry::launch::kill_all();
        #[expect(clippy::exit, reason = "the user asked twice; nothing is left to save")]
        std::process::exit(i32::from(crate::failure::INTERRUPTED));
    });
    Ok(flag)
}
