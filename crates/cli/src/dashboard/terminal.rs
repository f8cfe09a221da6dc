//! The terminal: taken over, given back however the program ends.

use std::io::{self, Stderr};
use std::os::fd::AsFd;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{event, execute};
use ratatui::{Frame, Terminal};

use super::jobs;

/// True while the terminal is not as it was found.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal behind standard error, with a screen of its own.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    /// The program is in the background: the terminal is somebody else's.
    away: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn open() -> io::Result<Screen> {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        take()?;
        let opened = Terminal::new(CrosstermBackend::new(io::stderr()));
        if opened.is_err() {
            restore();
        }
        Ok(Screen { terminal: opened?, away: false })
    }

    pub(super) fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(paint).map(drop)
    }

    /// What is on the screen is not known any more.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.terminal.autoresize()?;
        self.terminal.clear()
    }

    /// Gives the terminal to the shell until the program is called back.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        restore();
        jobs::stop();
        self.come_back()
    }

    /// Takes the terminal over again after the program was stopped, by whomever, if it is in the foreground.
    pub(super) fn come_back(&mut self) -> io::Result<()> {
        self.away = !jobs::in_foreground();
        if self.away {
            return Ok(());
        }
        // Who stopped it may have changed the terminal, and nobody told.
        restore();
        take()?;
        self.clear()
    }

    /// True if there is a terminal to draw on. It comes back by itself once the program is in the foreground again.
    pub(super) fn is_here(&mut self) -> io::Result<bool> {
        if self.away && jobs::in_foreground() {
            self.come_back()?;
        }
        if !self.away && !TAKEN.load(Ordering::Acquire) {
            return Err(io::Error::other("the terminal was given back"));
        }
        Ok(!self.away)
    }
}

/// Waits for a key or a new size; false if none came. An error where the terminal is gone: the reader of keys would
/// look for ever.
pub(super) fn wait_for_keys(longest: Duration) -> io::Result<bool> {
    let keys = io::stdin();
    let mut keys = [PollFd::new(keys.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::ZERO);
    match poll(&mut keys, timeout) {
        // A signal: a new size, for one.
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    if keys[0].revents().is_some_and(|found| found.intersects(gone)) {
        return Err(io::Error::other("the terminal is gone"));
    }
    event::poll(Duration::ZERO)
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::Release);
    let entered = execute!(io::stderr(), EnterAlternateScreen, Hide);
    if entered.is_err() {
        restore();
    }
    entered
}

/// Gives the terminal back as it was found. Does nothing where it is not taken.
pub(crate) fn restore() {
    if TAKEN.swap(false, Ordering::AcqRel) {
        // Nothing is left to try if this fails.
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        // In the background it would stop the program, and the shell has set the terminal as it wants it.
        if jobs::in_foreground() {
            let _ = disable_raw_mode();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    use nix::pty::{Winsize, openpty};
    use nix::sys::termios::{LocalFlags, tcgetattr};

    use super::*;

    const CHILD: &str = "dashboard::terminal::tests::takes_the_terminal_and_panics";

    /// What `a_panic_gives_the_terminal_back` starts.
    #[test]
    #[ignore = "a_panic_gives_the_terminal_back starts it, in a process and a terminal of its own"]
    fn takes_the_terminal_and_panics() {
        let mut screen = Screen::open().unwrap();
        screen.draw(|frame| frame.render_widget("picture", frame.area())).unwrap();
        panic!("on purpose");
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let cooked = LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        assert!(tcgetattr(&pty.slave).unwrap().local_flags.contains(cooked));
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", CHILD, "--nocapture"]).env("TERM", "xterm-256color");
        let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // It holds the terminal's other end, too.
        drop(command);
        let shown = std::thread::spawn({
            let master: OwnedFd = pty.master.try_clone().unwrap();
            move || {
                let mut shown = Vec::new();
                // Its end is an error: there is nobody at the other end any more.
                drop(File::from(master).read_to_end(&mut shown));
                String::from_utf8_lossy(&shown).into_owned()
            }
        });
        assert!(!child.wait().unwrap().success());
        // Asked while this end of the terminal is still open.
        let flags = tcgetattr(&pty.slave).unwrap().local_flags;
        drop(pty.slave);
        let shown = shown.join().unwrap();
        assert!(flags.contains(cooked), "{flags:?}");
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text:?} in {shown:?}"));
        let (taken, drawn, given_back) = (at("\u{1b}[?1049h"), at("picture"), at("\u{1b}[?1049l"));
        assert!(taken < drawn && drawn < given_back && given_back < at("on purpose"), "{shown:?}");
        assert!(at("\u{1b}[?25l") < at("\u{1b}[?25h"), "the cursor is shown again: {shown:?}");
    }
}
