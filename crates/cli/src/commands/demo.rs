//! `tokometer demo`: the whole tool against its own simulated engine.

use tokometer_sim::{Server, ServerOptions};

use crate::args::machine::MachineArgs;
use crate::args::run::DemoArgs;
use crate::args::target::TargetArgs;
use crate::args::values::List;
use crate::out;
use crate::session::Session;

/// The demo's matrix: small enough for two minutes, with one cell that does not fit.
const CONTEXTS: [u64; 2] = [8 * 1024, 64 * 1024];
const CONCURRENCY: [u32; 3] = [1, 8, 64];
/// Seconds of its windows: the shortest that are tested for steady state.
const DURATION: f64 = 10.0;

/// Starts the engine on a free port of this machine and measures it.
pub(crate) fn demo(args: DemoArgs) -> anyhow::Result<u8> {
    let mut profile = super::sim::profile(&args.profile)?;
    if let Some(speculation) = args.speculative {
        profile = profile.with_speculation(speculation);
    }
    let mut matrix = args.matrix;
    let named = matrix.contexts.is_some() || matrix.concurrency.is_some();
    // A dry run shows the whole of the default matrix: it costs nothing.
    if !args.full && !named && !args.output.dry_run {
        matrix.contexts = Some(List(CONTEXTS.to_vec()));
        matrix.concurrency = Some(List(CONCURRENCY.to_vec()));
    }
    // An adaptive window ends by itself as early as it may.
    if !args.full && !matrix.adaptive {
        matrix.duration = matrix.duration.or(Some(DURATION));
    }
    if args.output.dry_run && !args.full && !named && !args.output.quiet {
        out::say(
            "this is the full default matrix (--full measures it); the demo itself measures 8K and 64K × 1, 8, 64",
        );
    }
    let options = ServerOptions::default();
    let server = Server::start(profile, options)?;
    let session = Session {
        url: Some(format!("http://{}", server.addr())),
        // No key of the user's is sent to the simulated engine.
        target: TargetArgs { ignore_environment: true, ..TargetArgs::default() },
        machine: MachineArgs::default(),
        matrix,
        output: args.output,
        may_ask: false,
    };
    let code = session.run();
    server.stop();
    code
}
