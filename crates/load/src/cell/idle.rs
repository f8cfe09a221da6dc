//! Streams that are open and send nothing: what they cost can be seen then.

use tokometer_record::{Failure, FailureKind, Phase, RequestKind};
use tokometer_wire::PreparedRequest;

use super::Conductor;
use crate::flight::Opening;
use crate::signal::Signal;

impl Conductor {
    /// Opens a stream for each request, calls `look` once all are open, and closes them; none if the user wants to
    /// end meanwhile.
    pub async fn open_idle<T>(
        &self,
        requests: Vec<PreparedRequest>,
        look: impl FnOnce() -> T,
    ) -> Result<Option<T>, Failure> {
        let mut cell = self.begin(Phase::Decode, 0, requests.len() as u32, 0);
        let flight = self.launch(RequestKind::Stream, requests, false, &cell).await;
        let opening = flight.opened(&self.interrupt).await;
        let seen = (opening == Opening::Done).then(look);
        flight.tell(Signal::Cut);
        cell.absorb(flight.landed(&self.interrupt).await);
        let failure = cell.rows.requests.into_iter().find_map(|row| row.failure).or(cell.meta.failure);
        match (opening, failure) {
            (Opening::Failed, Some(failure)) => Err(failure),
            (Opening::Failed, None) => Err(Failure {
                kind: FailureKind::Connect,
                message: "a stream could not be opened".to_owned(),
                http_status: None,
                headers: std::collections::BTreeMap::new(),
                body: None,
            }),
            _ => Ok(seen),
        }
    }
}
