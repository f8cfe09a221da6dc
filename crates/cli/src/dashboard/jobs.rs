//! Job control: what a stop and a return mean while the dashboard has the terminal.
//!
//! A stop that nobody heard would leave the shell with a terminal that shows nothing of what is typed. So the signal is
//! taken, the thread that draws gives the terminal back, and then the program stops. Where no dashboard is, the signal
//! does what it always does.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{Signal, raise};
use nix::unistd::{getpgrp, tcgetpgrp};
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::iterator::Signals;

/// There is a thread that draws.
static PAINTS: AtomicBool = AtomicBool::new(false);
static WANTED: AtomicBool = AtomicBool::new(false);
static BACK: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Listens from here on, for the rest of the process.
pub(super) fn watch() -> io::Result<()> {
    if WATCHED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let mut signals = Signals::new([SIGTSTP, SIGCONT])?;
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGCONT {
                BACK.store(true, Ordering::Release);
            } else if PAINTS.load(Ordering::Acquire) {
                WANTED.store(true, Ordering::Release);
            } else {
                stop();
            }
        }
    };
    std::thread::Builder::new().name("job control".to_owned()).spawn(listen).map(drop)
}

/// Says whether there is a thread that draws. A stop that came too late for one is made up for.
pub(super) fn paint(paints: bool) {
    PAINTS.store(paints, Ordering::Release);
    if !paints && stop_is_wanted() {
        stop();
    }
}

/// True once after somebody asked to stop.
pub(super) fn stop_is_wanted() -> bool {
    WANTED.swap(false, Ordering::AcqRel)
}

/// True once after the program was called back.
pub(super) fn is_back() -> bool {
    BACK.swap(false, Ordering::AcqRel)
}

/// Stops the program until it is called back.
pub(super) fn stop() {
    // To this thread alone, and so before the call returns; it stops all of them. A process may always do so.
    let _ = raise(Signal::SIGSTOP);
}

/// True unless another job has the terminal.
pub(super) fn in_foreground() -> bool {
    // Without job control there is nobody else.
    tcgetpgrp(io::stderr()).map_or(true, |group| group == getpgrp())
}
