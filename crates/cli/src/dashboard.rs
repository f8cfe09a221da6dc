//! The dashboard: a run as it fills in, on a terminal.
//!
//! It draws on a thread of its own, at most five times a second and when a key is pressed, from counters that exist
//! for it alone ([`Live`]) and from what the session tells its [`Board`]. It never holds up the threads that load the
//! server, and nothing that is reported comes from it.

mod board;
mod history;
mod jobs;
mod keys;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};
use tokio::sync::watch;
use tokometer_load::Live;
use tokometer_telemetry::Latest;

pub(crate) use board::{Board, Doing, Place};
pub(crate) use terminal::restore;

use history::History;
use keys::Ui;
use terminal::Screen;
use view::Snapshot;

/// Between two pictures.
const TICK: Duration = Duration::from_millis(200);

/// The longest that the thread is waited for at the end, and between two looks.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);

/// What a key may ask of the session.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    /// Ends the running cell.
    pub(crate) end_cell: watch::Sender<bool>,
    /// Why: the user skips it.
    pub(crate) skip: Arc<AtomicBool>,
}

/// A dashboard on the terminal, until it is dropped.
pub(crate) struct Dashboard {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Where lines for the user go while the screen is taken.
static TAKEN: Mutex<Option<Arc<Board>>> = Mutex::new(None);

/// Takes a line for the user if there is a dashboard, which shows it among its events.
pub(crate) fn takes(line: &str) -> bool {
    let board = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    board.is_some_and(|board| {
        board.event(line.trim());
        true
    })
}

impl Dashboard {
    /// Takes the terminal over.
    pub(crate) fn start(
        board: Arc<Board>,
        live: Arc<Live>,
        machine: Option<Latest>,
        wishes: Wishes,
        colour: bool,
    ) -> io::Result<Dashboard> {
        jobs::watch()?;
        let mut screen = Screen::open()?;
        let lines = Lines::take(&board);
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let work = move || {
            let _lines = lines;
            let mut painter =
                Painter { board, live, machine, history: History::default(), ui: Ui::new(colour) };
            // A terminal that is gone shows nothing; the run goes on.
            let _ = painter.run(&mut screen, &wishes, &ended);
            painter.live.tap().look_at(None);
        };
        let thread = std::thread::Builder::new().name("dashboard".to_owned()).spawn(work)?;
        Ok(Dashboard { end, thread: Some(thread) })
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return };
        // A terminal that goes away at a bad moment may hold it, and must not hold the run.
        let mut waited = Duration::ZERO;
        while !thread.is_finished() && waited < PATIENCE {
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        if thread.is_finished() {
            // Its panic has been shown where it happened.
            let _ = thread.join();
        } else {
            restore();
        }
    }
}

/// Lines for the user, as long as the thread that draws shows them: also one that panics, or whose terminal is gone,
/// gives them back, and the terminal with them.
struct Lines;

impl Lines {
    fn take(board: &Arc<Board>) -> Lines {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(board));
        jobs::paint(true);
        Lines
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        restore();
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        jobs::paint(false);
    }
}

struct Painter {
    board: Arc<Board>,
    live: Arc<Live>,
    machine: Option<Latest>,
    history: History,
    ui: Ui,
}

impl Painter {
    fn run(&mut self, screen: &mut Screen, wishes: &Wishes, end: &AtomicBool) -> io::Result<()> {
        while !end.load(Ordering::Acquire) {
            if jobs::stop_is_wanted() {
                screen.suspend()?;
            }
            if jobs::is_back() {
                screen.come_back()?;
            }
            if !screen.is_here()? {
                // In the background the run goes on, and nothing is drawn.
                std::thread::sleep(TICK);
                continue;
            }
            let snapshot = self.look();
            screen.draw(|frame| view::draw(frame, &snapshot, &mut self.ui))?;
            if !terminal::wait_for_keys(TICK)? {
                continue;
            }
            // Everything that waits is taken before the next picture: a key that is held down draws no faster.
            loop {
                match event::read()? {
                    Event::Key(key) => {
                        let asked = self.ui.press(key, &snapshot, &self.live, &self.board, wishes);
                        match asked {
                            keys::Asked::Suspend => screen.suspend()?,
                            keys::Asked::Nothing => {}
                        }
                    }
                    Event::Resize(..) => screen.clear()?,
                    _ => {}
                }
                if !terminal::wait_for_keys(Duration::ZERO)? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn look(&mut self) -> Snapshot {
        let state = self.board.get();
        let live = self.live.get();
        self.history.take(&state, &live);
        let machine = self.machine.as_ref().map(Latest::get);
        let text = self.ui.shows_text().then(|| self.live.tap().text());
        Snapshot { state, live, machine, rates: self.history.rates(), so_far: self.history.so_far(), text }
    }
}
