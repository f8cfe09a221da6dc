//! Ending one cell, not the run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use crate::dashboard::Wishes;

/// Two reasons to end a cell early: the user ends the run, or skips the cell.
pub(super) struct Skip {
    wishes: Wishes,
    /// The user wants to end the run.
    run: watch::Receiver<bool>,
}

impl Skip {
    /// From now on `end_cell` is raised when `run` is.
    pub(super) fn new(end_cell: watch::Sender<bool>, run: watch::Receiver<bool>) -> Skip {
        let (raise, mut wanted) = (end_cell.clone(), run.clone());
        tokio::spawn(async move {
            if wanted.wait_for(|wanted| *wanted).await.is_ok() {
                raise.send_replace(true);
            }
        });
        Skip { wishes: Wishes { end_cell, skip: Arc::default() }, run }
    }

    /// What a key may ask for.
    pub(super) fn wishes(&self) -> Wishes {
        self.wishes.clone()
    }

    /// True if the user wants to end the run.
    pub(super) fn run_ends(&self) -> bool {
        *self.run.borrow()
    }

    /// A cell begins, and nobody has asked to skip it yet.
    pub(super) fn begin(&self) {
        self.take();
    }

    /// True if the user skipped the cell that has ended now, and the run goes on.
    pub(super) fn take(&self) -> bool {
        let skipped = self.wishes.skip.swap(false, Ordering::AcqRel);
        // Lowered before the run is looked at, so that its end is never lost.
        self.wishes.end_cell.send_replace(false);
        if self.run_ends() {
            self.wishes.end_cell.send_replace(true);
        }
        skipped && !self.run_ends()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_skip_ends_one_cell_and_an_interrupt_all() {
        let (end_run, run) = watch::channel(false);
        let (end_cell, cell) = watch::channel(false);
        let skip = Skip::new(end_cell, run);
        skip.begin();
        let wishes = skip.wishes();
        wishes.skip.store(true, Ordering::Release);
        wishes.end_cell.send_replace(true);
        assert!(*cell.borrow());
        assert!(skip.take() && !*cell.borrow() && !skip.run_ends());
        assert!(!skip.take(), "the next cell is not skipped");
        end_run.send_replace(true);
        let mut raised = cell.clone();
        raised.wait_for(|raised| *raised).await.unwrap();
        wishes.skip.store(true, Ordering::Release);
        assert!(!skip.take(), "the run ends: the cell is interrupted");
        assert!(*cell.borrow());
    }
}
