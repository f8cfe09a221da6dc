//! `tokometer agent`.

use anyhow::Context;
use tokometer_telemetry::agent::{Agent, AgentOptions};
use tokometer_telemetry::{Options, Root};

use crate::args::agent::AgentArgs;
use crate::failure::Hinted;
use crate::out;
use crate::session::interrupt::Signals;
use crate::session::{agent, machine};

/// Hands out this machine until Ctrl-C.
pub(crate) fn agent(args: &AgentArgs) -> anyhow::Result<u8> {
    let (token, place) = agent::own_token(args.token_file.as_deref())?;
    let catalogue = machine::catalogue(args.accelerators.as_deref())?;
    let machine = Options { root: Root::system(), catalogue, ..Options::default() };
    let options = AgentOptions { listen: args.listen, token: token.clone(), machine };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listen = args.listen;
        let agent = Agent::bind(options).await.with_context(|| {
            Hinted::new(format!("cannot listen on {listen}"), "give another address and port with --listen")
        })?;
        let address = agent.address()?;
        let mut signals = Signals::listen()?;
        out::say(&place);
        if !address.ip().is_loopback() {
            out::say(
                "it listens beyond this machine, and speaks plain HTTP: who can read the network can read the token. \
                 Better: leave --listen out and use ssh -L, or a reverse proxy with TLS",
            );
        }
        if args.show_token {
            out::say(&format!("token: {}", token.secret().expose()));
        }
        out::result_line(&format!("agent: http://{address} (Ctrl-C ends it)"))?;
        agent.serve(async { signals.next().await }).await;
        anyhow::Ok(())
    })?;
    // A driver that hangs must not keep the process.
    runtime.shutdown_background();
    Ok(0)
}
