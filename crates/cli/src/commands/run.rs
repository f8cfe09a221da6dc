//! `tokometer run`.

use crate::args::RunArgs;
use crate::session::Session;

/// Measures a live server.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<u8> {
    Session { url: args.url, target: args.target, matrix: args.matrix, output: args.output, may_ask: true }
        .run()
}
