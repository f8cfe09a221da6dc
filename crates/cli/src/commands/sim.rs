//! `tokometer sim`.

use tokometer_sim::{Profile, Server, ServerOptions};

use crate::args::SimArgs;
use crate::failure::Hinted;
use crate::out;
use crate::session::interrupt::Signals;

/// Serves a profile until Ctrl-C.
pub(crate) fn sim(args: &SimArgs) -> anyhow::Result<u8> {
    let mut profile = profile(&args.profile)?;
    if let Some(tokens) = args.kv_tokens {
        profile = profile.with_kv_tokens(tokens);
    }
    if let Some(speculation) = args.speculative {
        profile = profile.with_speculation(speculation);
    }
    let api_key = match (&args.api_key, &args.api_key_env) {
        (Some(key), _) => Some(key.clone()),
        (None, Some(name)) => Some(std::env::var(name).map_err(|_| {
            Hinted::usage(
                format!("the environment variable {name} is not set"),
                format!("set it to the API key, or leave --api-key-env {name} out"),
            )
        })?),
        (None, None) => None,
    };
    let name = profile.name().to_owned();
    let model = profile.served_name().to_owned();
    let options = ServerOptions {
        listen: args.listen(),
        api_key,
        dialect: args.dialect,
        faults: args.faults.clone(),
        ..ServerOptions::default()
    };
    let server = Server::start(profile, options)?;
    out::result_line(&format!(
        "simulated engine, profile {name}, model {model}: http://{} (Ctrl-C ends it)",
        server.addr()
    ))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        Signals::listen()?.next().await;
        anyhow::Ok(())
    })?;
    server.stop();
    Ok(0)
}

/// A profile by built-in name, or from a run record.
pub(crate) fn profile(name: &str) -> anyhow::Result<Profile> {
    Ok(Profile::load(name)?)
}
