//! The terminal: taken over, given back however the program ends.

use std::io::{self, Stderr};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};

/// True while the terminal is not as it was found.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal behind standard error, with a screen of its own.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
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
        Ok(Screen { terminal: opened? })
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
        // Of this thread alone, and so before this call returns; it stops all of them.
        #[cfg(unix)]
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP);
        take()?;
        self.clear()
    }
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
        let _ = disable_raw_mode();
    }
}
