//! An agent on the server's host: how it is reached, and the token that it takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokometer_telemetry::agent::{AgentError, Remote, Report, Token, TokenError};
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Headers, TargetUrl, Timeouts, TlsOptions, redact};

use super::machine::configuration;
use crate::args::agent::AgentJoinArgs;
use crate::args::target::TargetArgs;
use crate::failure::Hinted;

/// The environment variable that holds the token.
const VARIABLE: &str = "TOKOMETER_AGENT_TOKEN";
/// Name of the token's file in the folder of configuration.
const FILE: &str = "agent-token";
/// Time that a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// An agent that answered.
pub(super) struct Joined {
    pub(super) remote: Remote,
    pub(super) report: Report,
    /// Port of the server on its host.
    pub(super) port: u16,
    /// The agent's address, for the record.
    pub(super) url: String,
}

/// Asks the agent what it knows. A run that is to have one is not made without it.
pub(super) async fn join(
    url: &str,
    args: &AgentJoinArgs,
    target: &TargetArgs,
    server_port: u16,
    run: &str,
    include_hostname: bool,
    clock: Clock,
) -> anyhow::Result<Joined> {
    let place = TargetUrl::parse(url).map_err(|error| {
        Hinted::usage(error.to_string(), "an agent's address looks like http://127.0.0.1:9474")
    })?;
    let token = joining_token(args.agent_token_file.as_deref())?;
    let mut headers = Headers::new();
    headers
        .bearer(token.secret())
        .map_err(|error| Hinted::usage(error.to_string(), "look at the agent's token"))?;
    let tls = TlsOptions { insecure: target.insecure, ca_certificate: target.cacert.clone() };
    let timeouts = Timeouts { connect: CONNECT, idle: CONNECT };
    let connector = Connector::new(place, &tls, headers, clock, timeouts)
        .map_err(|error| Hinted::usage(error.to_string(), "look at the agent's address and --cacert"))?;
    let remote = Remote::new(connector);
    let port = args.agent_server_port.unwrap_or(server_port);
    let report = remote.report(port, run, include_hostname).await.map_err(|error| on(&error))?;
    Ok(Joined { remote, report, port, url: redact::text(url) })
}

pub(super) fn on(error: &AgentError) -> Hinted {
    let hint = match error {
        AgentError::Token => {
            "the agent names the file of its token when it starts; give it with --agent-token-file, or in TOKOMETER_AGENT_TOKEN"
        }
        AgentError::Silent(_) => {
            "start it on the server's host (tokometer agent) and reach it through ssh -L 9474:127.0.0.1:9474 HOST; or leave --agent out"
        }
        _ => "use the same version of tokometer on both hosts, or leave --agent out",
    };
    Hinted::new(error.to_string(), hint)
}

/// The token of an agent that starts here, made if there is none yet; and a line that says where it is.
pub(crate) fn own_token(file: Option<&Path>) -> anyhow::Result<(Token, String)> {
    if let (None, Some(token)) = (file, from_environment()?) {
        return Ok((token, format!("token: from the variable {VARIABLE}")));
    }
    let path = path(file)?;
    let (token, made) = Token::read_or_make(&path).map_err(|error| refused(&error))?;
    let words =
        if made { "made now, for who runs this user's programs alone" } else { "as it was made before" };
    Ok((token, format!("token: in {} ({words})", path.display())))
}

/// The token of an agent elsewhere.
fn joining_token(file: Option<&Path>) -> anyhow::Result<Token> {
    if let (None, Some(token)) = (file, from_environment()?) {
        return Ok(token);
    }
    Token::read(&path(file)?).map_err(|error| {
        let hint = "copy the agent's token into a file of your own (chmod 600) and give it with --agent-token-file, or in TOKOMETER_AGENT_TOKEN";
        Hinted::usage(error.to_string(), hint).into()
    })
}

fn from_environment() -> anyhow::Result<Option<Token>> {
    let Some(text) = std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    Ok(Some(Token::stated(&text, VARIABLE).map_err(|error| refused(&error))?))
}

fn path(file: Option<&Path>) -> anyhow::Result<PathBuf> {
    let usual = || configuration().map(|folder| folder.join(FILE));
    file.map(Path::to_owned).or_else(usual).ok_or_else(|| {
        Hinted::usage("there is no folder for the token: HOME is not set", "name a file with --token-file")
            .into()
    })
}

fn refused(error: &TokenError) -> Hinted {
    Hinted::usage(error.to_string(), "name another file with --token-file, or mend this one")
}
