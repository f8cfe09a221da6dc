//! A look at what the workers have recorded so far, while their streams run.
//!
//! A worker copies its new rows between other work, a few thousand at a time, so that no stream waits long.

use std::rc::Rc;

use tokio::sync::{mpsc, oneshot};
use tokometer_record::EventRow;

use crate::flight::Flight;
use crate::stream::Shared;

/// Rows that are copied without letting streams go on: some 160 KB.
const ROWS_AT_ONCE: usize = 4096;

/// Where to send the rows since the last look.
pub(crate) type Asked = oneshot::Sender<Vec<EventRow>>;

/// Answers every look at one worker's rows.
pub(crate) async fn answer(mut looks: mpsc::Receiver<Asked>, shared: Rc<Shared>) {
    let mut seen = 0;
    while let Some(asked) = looks.recv().await {
        let mut rows = Vec::new();
        loop {
            let before = rows.len();
            shared.recording.borrow().copy_events(seen + before, ROWS_AT_ONCE, &mut rows);
            if rows.len() - before < ROWS_AT_ONCE {
                break;
            }
            tokio::task::yield_now().await;
        }
        seen += rows.len();
        // Who asked may be gone: then nobody asks again.
        drop(asked.send(rows));
    }
}

impl Flight {
    /// The events of all streams since the last look. Those of a worker that has ended are left out: nothing
    /// more comes from it.
    pub(crate) async fn look(&self) -> Vec<EventRow> {
        let mut answers = Vec::new();
        for looks in &self.looks {
            let (asked, answer) = oneshot::channel();
            if looks.send(asked).await.is_ok() {
                answers.push(answer);
            }
        }
        let mut all = Vec::new();
        for answer in answers {
            all.extend(answer.await.unwrap_or_default());
        }
        all
    }
}
