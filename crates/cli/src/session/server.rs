//! From the user's words to a server: address, key, headers, TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokometer_target::Found;
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Control, Headers, HttpVersion, Secret, TargetUrl, Timeouts, TlsOptions};

use crate::args::target::{HttpArg, TargetArgs};
use crate::failure::Hinted;
use crate::out;

/// The environment variable that holds the key where the user names none.
const DEFAULT_KEY: &str = "OPENAI_API_KEY";

/// How a server is reached.
pub(crate) struct Server {
    pub(crate) connector: Connector,
    pub(crate) control: Arc<Control>,
}

/// Builds the clients for `url`; opens nothing yet.
pub(crate) fn reach(url: &str, args: &TargetArgs, idle: Duration, clock: Clock) -> anyhow::Result<Server> {
    let target = TargetUrl::parse(url).map_err(|error| {
        Hinted::usage(error.to_string(), "an address looks like gpu1:8000 or https://host/v1")
    })?;
    let headers = headers(args)?;
    let tls = TlsOptions { insecure: args.insecure, ca_certificate: args.cacert.clone() };
    let timeouts = Timeouts { connect: Duration::from_secs(10), idle };
    let connector = Connector::new(target, &tls, headers, clock, timeouts).map_err(|error| {
        Hinted::usage(error.to_string(), "--cacert takes a PEM file; --insecure trusts any certificate")
    })?;
    let connector = connector.with_http(match args.http {
        HttpArg::Auto => HttpVersion::Auto,
        HttpArg::One => HttpVersion::One,
        HttpArg::Two => HttpVersion::Two,
    });
    let control = Arc::new(Control::new(connector.clone()));
    Ok(Server { connector, control })
}

/// The user's headers and the key. The key comes from a file or the environment, never from an argument.
fn headers(args: &TargetArgs) -> anyhow::Result<Headers> {
    let mut headers = Headers::new();
    if let Some(key) = api_key(args)? {
        headers
            .bearer(&key)
            .map_err(|error| Hinted::usage(error.to_string(), "look at the key's file or variable"))?;
    }
    for line in &args.headers {
        headers.insert_line(line).map_err(|error| {
            Hinted::usage(error.to_string(), "a header looks like --header 'X-Team: lab'")
        })?;
    }
    Ok(headers)
}

fn api_key(args: &TargetArgs) -> anyhow::Result<Option<Secret>> {
    if let Some(path) = &args.api_key_file {
        let text = std::fs::read_to_string(path).with_context(|| {
            Hinted::usage(
                format!("cannot read the API key from {}", path.display()),
                "give the path of a file that holds the API key and nothing else",
            )
        })?;
        let key = text.trim();
        if key.is_empty() {
            return Err(Hinted::usage(
                format!("the API key file {} is empty", path.display()),
                "the file must hold the API key and nothing else",
            )
            .into());
        }
        return Ok(Some(Secret::new(key)));
    }
    let (name, wanted) = match &args.api_key_env {
        Some(name) => (name.as_str(), true),
        None if args.ignore_environment => return Ok(None),
        None => (DEFAULT_KEY, false),
    };
    match std::env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(Some(Secret::new(key.trim()))),
        _ if wanted => Err(Hinted::usage(
            format!("the environment variable {name} is not set, or holds no key"),
            format!("export {name}=… first, or use --api-key-file"),
        )
        .into()),
        _ => Ok(None),
    }
}

/// Looks for a server on this machine's usual ports. Several are a question on a terminal, else an error.
pub(crate) async fn find(ports: &[u16], may_ask: bool, quiet: bool) -> anyhow::Result<String> {
    let found = tokometer_target::discover(ports).await;
    match found.as_slice() {
        [] => Err(Hinted::new(
            format!("no server found on this machine's ports {}", list(ports)),
            "name it: tokometer run host:port; or try the simulated engine: tokometer demo",
        )
        .into()),
        [only] => {
            if !quiet {
                out::say(&format!("found {} at {}", only.what, only.url));
            }
            Ok(only.url.clone())
        }
        several if may_ask && out::can_ask() => choose(several),
        several => {
            let lines: Vec<String> =
                several.iter().map(|one| format!("{} ({})", one.url, one.what)).collect();
            Err(Hinted::usage(
                format!("several servers found: {}", lines.join(", ")),
                format!("name one: tokometer run {}", several[0].url),
            )
            .into())
        }
    }
}

fn choose(found: &[Found]) -> anyhow::Result<String> {
    for (index, one) in found.iter().enumerate() {
        out::say(&format!("  {}  {}  {}", index + 1, one.url, one.what));
    }
    let answer = out::ask(&format!("which one? [1-{}] ", found.len()))?;
    let chosen =
        answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).and_then(|i| found.get(i));
    match chosen {
        Some(one) => Ok(one.url.clone()),
        None => Err(Hinted::usage(
            format!("{answer:?} is none of them"),
            format!("name one: tokometer run {}", found[0].url),
        )
        .into()),
    }
}

fn list(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tokometer_sim::{Profile, Running, Server, ServerOptions};

    use super::find;
    use crate::failure;

    fn simulated() -> Running {
        let options = ServerOptions::default();
        Server::start(Profile::builtin("h200-x4").unwrap(), options).unwrap()
    }

    fn unused_port() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    #[tokio::test]
    async fn the_only_server_is_taken() {
        let server = simulated();
        let found = find(&[unused_port(), server.addr().port()], true, true).await.unwrap();
        assert_eq!(found, format!("http://{}", server.addr()));
    }

    #[tokio::test]
    async fn no_server_is_an_error_that_names_the_ports() {
        let ports = [unused_port(), unused_port()];
        let error = find(&ports, true, true).await.unwrap_err();
        for port in ports {
            assert!(error.to_string().contains(&port.to_string()), "{error}");
        }
        assert_eq!(failure::print(&error), failure::NO_RUN);
    }

    #[tokio::test]
    async fn several_servers_are_an_error_that_lists_them_where_nobody_can_be_asked() {
        let (one, two) = (simulated(), simulated());
        let error = find(&[one.addr().port(), two.addr().port()], false, true).await.unwrap_err();
        for server in [&one, &two] {
            assert!(error.to_string().contains(&server.addr().to_string()), "{error}");
        }
        assert_eq!(failure::print(&error), failure::USAGE);
    }
}
