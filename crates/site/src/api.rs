//! The API, `/api/v1`: one file for each resource, each with the list of its operations.

mod accounts;
mod artefacts;
pub(crate) mod compare;
pub(crate) mod device;
mod dump;
mod invitations;
mod list;
pub(crate) mod moderation;
pub(crate) mod openapi;
mod operation;
mod publish;
pub(crate) mod runs;
mod suspicions;
mod table;
mod whoami;

use axum::Router;

use crate::app::App;
use operation::Operation;

pub(crate) use compare::of_runs as compare_runs;
pub(crate) use list::read as read_query;
pub(crate) use moderation::take_report;

/// Every operation, in the order of the description.
fn operations() -> Vec<Operation> {
    [
        list::operations(),
        runs::operations(),
        publish::operations(),
        artefacts::operations(),
        compare::operations(),
        dump::operations(),
        moderation::operations(),
        suspicions::operations(),
        whoami::operations(),
        accounts::operations(),
        device::operations(),
        invitations::operations(),
        openapi::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Its addresses, below `/api/v1`.
pub(crate) fn routes() -> Router<App> {
    operation::router(operations())
}
