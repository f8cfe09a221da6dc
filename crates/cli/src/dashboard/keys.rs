//! Keys, and what of the dashboard they change.

use std::sync::atomic::Ordering;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokometer_load::Live;
use tokometer_record::Phase;

use super::Wishes;
use super::board::{Board, Place, State};
use super::view::Snapshot;

/// What lies over the dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Nothing,
    Help,
    /// The text of this stream.
    Text(u32),
}

/// What a key asks of the thread that draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Suspend,
}

/// What the user looks at.
#[derive(Debug)]
pub(super) struct Ui {
    pub(super) over: Over,
    /// The cell that is walked to; none: the running one.
    pub(super) selected: Option<Place>,
    pub(super) colour: bool,
}

impl Ui {
    pub(super) fn new(colour: bool) -> Ui {
        Ui { over: Over::Nothing, selected: None, colour }
    }

    pub(super) fn shows_text(&self) -> bool {
        matches!(self.over, Over::Text(_))
    }

    /// Takes a key.
    pub(super) fn press(
        &mut self,
        key: KeyEvent,
        seen: &Snapshot,
        live: &Live,
        board: &Board,
        wishes: &Wishes,
    ) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('z') if control => return Asked::Suspend,
            // As without a dashboard: the first saves, the second ends at once.
            KeyCode::Char('c') if control => {
                board.end();
                raise();
            }
            KeyCode::Char('q') => {
                if board.end() {
                    raise();
                }
            }
            KeyCode::Char('s') if seen.state.doing.place.is_some() => {
                board.event(&format!("skipping {}", seen.state.doing.label));
                wishes.skip.store(true, Ordering::Release);
                wishes.end_cell.send_replace(true);
            }
            KeyCode::Char('o') => {
                let over = if self.shows_text() { Over::Nothing } else { Over::Text(0) };
                self.show(over, live);
            }
            KeyCode::Char('?' | 'h') => {
                let over = if self.over == Over::Help { Over::Nothing } else { Over::Help };
                self.show(over, live);
            }
            KeyCode::Esc => {
                self.show(Over::Nothing, live);
                self.selected = None;
            }
            code => match (self.over, direction(code)) {
                (Over::Text(stream), Some((across, down))) => {
                    let streams = seen.live.streams.map_or(1, |streams| streams.count.max(1));
                    let next = i64::from(stream) + i64::from(across + down);
                    self.show(Over::Text(next.rem_euclid(i64::from(streams)) as u32), live);
                }
                (_, Some(step)) => self.selected = walk(&seen.state, self.selected, step),
                (_, None) => {}
            },
        }
        Asked::Nothing
    }

    /// Somebody looks at a stream only as long as its text is shown.
    fn show(&mut self, over: Over, live: &Live) {
        self.over = over;
        live.tap().look_at(match over {
            Over::Text(stream) => Some(stream),
            _ => None,
        });
    }
}

fn direction(code: KeyCode) -> Option<(i32, i32)> {
    match code {
        KeyCode::Left => Some((-1, 0)),
        KeyCode::Right => Some((1, 0)),
        KeyCode::Up => Some((0, -1)),
        KeyCode::Down => Some((0, 1)),
        _ => None,
    }
}

/// The cell beside the one that is selected. Above the first row of the matrix lies the prefill row.
fn walk(state: &State, selected: Option<Place>, (across, down): (i32, i32)) -> Option<Place> {
    let rows = state.contexts.len() as i32;
    let prefill_row = i32::from(!state.prefill.is_empty());
    if rows + prefill_row == 0 {
        return None;
    }
    let find = |list: &[u64], context: u64| list.iter().position(|one| *one == context).unwrap_or(0) as i32;
    let (mut column, mut row) = match selected.or(state.doing.place) {
        Some((Phase::Prefill, context, _)) => (find(&state.prefill, context), -1),
        Some((Phase::Decode, context, concurrency)) => {
            let column = state.concurrency.iter().position(|one| *one == concurrency).unwrap_or(0) as i32;
            (column, find(&state.contexts, context))
        }
        None => (0, if rows > 0 { 0 } else { -1 }),
    };
    row = (row + down).clamp(-prefill_row, (rows - 1).max(-prefill_row));
    let width = if row < 0 { state.prefill.len() } else { state.concurrency.len() };
    column = (column + across).clamp(0, (width as i32 - 1).max(0));
    let at = |list: &[u64], index: i32| list.get(index as usize).copied();
    if row < 0 {
        return Some((Phase::Prefill, at(&state.prefill, column)?, 1));
    }
    Some((Phase::Decode, at(&state.contexts, row)?, *state.concurrency.get(column as usize)?))
}

/// Ends the run as Ctrl-C does.
fn raise() {
    // A process may always send itself a signal.
    #[cfg(unix)]
    let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGINT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_walk_the_cells_and_stay_inside() {
        let state = State {
            contexts: vec![8192, 65_536],
            concurrency: vec![1, 8],
            prefill: vec![8192],
            ..State::default()
        };
        let right = (1, 0);
        let mut at = walk(&state, None, right);
        assert_eq!(at, Some((Phase::Decode, 8192, 8)));
        at = walk(&state, at, right);
        assert_eq!(at, Some((Phase::Decode, 8192, 8)), "the last column");
        at = walk(&state, at, (0, 1));
        assert_eq!(at, Some((Phase::Decode, 65_536, 8)));
        at = walk(&state, walk(&state, at, (0, -1)), (0, -1));
        assert_eq!(at, Some((Phase::Prefill, 8192, 1)));
        assert_eq!(walk(&state, at, (0, 1)), Some((Phase::Decode, 8192, 1)));
        assert_eq!(walk(&State::default(), None, right), None);
    }
}
