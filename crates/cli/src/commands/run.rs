//! `tokometer run`.

use crate::args::run::RunArgs;
use crate::session::Session;

/// Measures a live server.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<u8> {
    let RunArgs { url, target, machine, matrix, output } = args;
    Session { url, target, machine, matrix, output, may_ask: true }.run()
}
