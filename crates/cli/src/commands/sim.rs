//! `tokometer sim`.

use std::path::Path;

use anyhow::Context;
use tokio::io::AsyncReadExt;
use tokometer_load::LoadEngine;
use tokometer_sim::{Profile, Server, ServerOptions};

use crate::args::sim::SimArgs;
use crate::failure::Hinted;
use crate::out;
use crate::session::interrupt::Signals;

/// Streams for which there are to be files, where the system allows so many.
const STREAMS: u32 = 16_384;

/// Serves a profile until Ctrl-C.
pub(crate) fn sim(args: &SimArgs) -> anyhow::Result<u8> {
    let mut profile = match args.rate {
        Some(rate) => Profile::steady(rate.0)?,
        None => profile(&args.profile)?,
    };
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
    if let Some(path) = &args.truth {
        check_writable(path)?;
    }
    // Where the limit is lower, streams beyond it are refused one by one.
    LoadEngine::reserve_descriptors(STREAMS).ok();
    let name = profile.name().to_owned();
    let model = profile.served_name().to_owned();
    let options = ServerOptions {
        listen: args.listen(),
        api_key,
        dialect: args.dialect,
        faults: args.faults.clone(),
        events_per_write: args.events_per_write,
        truth: args.truth.is_some(),
        ..ServerOptions::default()
    };
    let server = Server::start(profile, options)?;
    out::result_line(&format!(
        "simulated engine, profile {name}, model {model}: http://{} (Ctrl-C ends it)",
        server.addr()
    ))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            () = signals.next() => {}
            () = input_ends(), if args.until_stdin_ends => {}
        }
        anyhow::Ok(())
    })?;
    // A read of standard input that hangs must not keep the process.
    runtime.shutdown_background();
    if let (Some(truth), Some(path)) = (server.stop_and_tell(), &args.truth) {
        truth.save(path)?;
    }
    Ok(0)
}

/// A profile by built-in name, or from a run record.
pub(crate) fn profile(name: &str) -> anyhow::Result<Profile> {
    Ok(Profile::load(name)?)
}

/// What cannot be written at the end is told at the start.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    std::fs::File::create(path).map(drop).with_context(|| {
        Hinted::usage(
            format!("cannot write the truth to {}", path.display()),
            "give another file with --truth",
        )
    })
}

async fn input_ends() {
    let mut input = tokio::io::stdin();
    let mut buffer = [0; 64];
    while input.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
}
