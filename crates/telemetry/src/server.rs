//! Which process serves at a port, how it was launched, and from which packages.

mod container;
mod environment;
mod package;
mod port;

use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs};

use serde::{Deserialize, Serialize};
use tokometer_record::Container;
use tokometer_wire::redact;

use crate::host;
use crate::root::Root;
use container::Which;
pub use package::Package;

/// Programs that pass connections on: what they serve runs elsewhere.
const FORWARDERS: [&str; 14] = [
    "ssh",
    "sshd",
    "autossh",
    "kubectl",
    "socat",
    "nginx",
    "envoy",
    "traefik",
    "haproxy",
    "caddy",
    "frpc",
    "cloudflared",
    "tailscaled",
    "litellm",
];
/// Programs that hold a container's published port.
const CONTAINER_PROXIES: [&str; 5] = ["docker-proxy", "rootlessport", "slirp4netns", "pasta", "conmon"];
/// Parents up to a launch, at most.
const GENERATIONS: usize = 32;

/// A server's process on this machine. Nothing in it is secret any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    /// The process that was launched.
    pub pid: u32,
    /// It and all its children.
    #[serde(skip)]
    pub processes: Vec<u32>,
    /// Its arguments, secrets removed.
    pub arguments: Vec<String>,
    /// Variables that change speed, secrets removed.
    pub environment: BTreeMap<String, String>,
    /// Names of the other variables.
    pub other_variables: Vec<String>,
    /// What the arguments held that must not be shown, for logs and messages; it leaves this process nowhere.
    #[serde(skip)]
    pub secrets: Vec<String>,
    /// Packages of engine and runtime, as their own metadata tells them.
    pub packages: Vec<Package>,
    /// Source commit of the folder that the program was started from, if it lies in a checkout.
    pub checkout: Option<String>,
    /// Its container.
    pub container: Option<Container>,
    /// How it was found: `port 8000 → socket → process 12`.
    pub how: String,
}

impl ServerProcess {
    /// The same as another host told it, with secrets that it may have overlooked removed.
    pub(crate) fn redacted_again(mut self) -> ServerProcess {
        self.arguments = redact::command(&self.arguments).arguments;
        for (name, value) in &mut self.environment {
            *value = redact::variable(name, value);
        }
        self
    }

    /// The launch as a line for a shell: environment, then arguments.
    pub fn command(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let arguments = self.arguments.iter().map(|argument| quoted(argument));
        variables.chain(arguments).collect::<Vec<_>>().join(" ")
    }
}

/// Why a server's process was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFound {
    /// The address is not one of this machine.
    #[error("the server is on another host")]
    Elsewhere,
    /// Nothing here listens, or another user's process does.
    #[error(
        "no process that listens on port {port} can be seen; run as the server's user, or say it with --stated-command"
    )]
    NoProcess {
        /// The port.
        port: u16,
    },
    /// Nothing here listens that can be seen, and a daemon of containers can't be asked.
    #[error(
        "no process that listens on port {port} can be seen, and its container neither ({why}); run as the server's \
         user, or say it with --stated-command"
    )]
    NoContainer {
        /// The port.
        port: u16,
        /// Why it can't be asked.
        why: String,
    },
    /// What listens passes connections on.
    #[error("port {port} belongs to {program}, which passes connections on; say it with --stated-command")]
    Forwarded {
        /// The port.
        port: u16,
        /// The program.
        program: String,
    },
}

/// True if `host` is this machine: a loopback address, or that of one of its interfaces.
pub fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(addresses) = (bare, 0).to_socket_addrs() else { return false };
    let mut own: Vec<IpAddr> = Vec::new();
    if let Ok(interfaces) = nix::ifaddrs::getifaddrs() {
        for address in interfaces.filter_map(|interface| interface.address) {
            own.extend(address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip())));
            own.extend(address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())));
        }
    }
    let local = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified() || own.contains(&ip);
    let mut addresses = addresses.map(|address| address.ip()).peekable();
    addresses.peek().is_some() && addresses.all(local)
}

/// Finds the process that serves at `host:port`.
pub fn find(root: &Root, host: &str, port: u16) -> Result<ServerProcess, NotFound> {
    if !is_local(host) {
        return Err(NotFound::Elsewhere);
    }
    let mut listeners = port::listeners(root, port);
    let mut inner = port;
    let mut how = format!("port {port} → socket");
    if let Some(proxy) =
        listeners.iter().find(|pid| CONTAINER_PROXIES.contains(&&*name(root, **pid))).copied()
    {
        inner = published(&arguments(root, proxy)).unwrap_or(port);
        listeners.clear();
        how = format!("port {port} → {} → port {inner} of a container", name(root, proxy));
    }
    if listeners.is_empty() {
        listeners = port::listeners_in_namespaces(root, inner);
    }
    let Some(listener) = listeners.first().copied() else {
        return match container::ask(root, Which::Port(port)) {
            Ok(Some(told)) => Ok(of_container(root, port, told)),
            Ok(None) => Err(NotFound::NoProcess { port }),
            Err(why) => Err(NotFound::NoContainer { port, why }),
        };
    };
    let program = name(root, listener);
    if FORWARDERS.contains(&program.as_str()) {
        return Err(NotFound::Forwarded { port, program });
    }
    let pid = launch_of(root, listener);
    Ok(describe(root, pid, &listeners, format!("{how} → process {pid}")))
}

/// A server whose process can't be found, but whose container publishes the port.
fn of_container(root: &Root, port: u16, told: container::Told) -> ServerProcess {
    let id = told.container.id.clone().unwrap_or_default();
    let how = format!("port {port} → container {id}");
    if let Some(pid) = told.pid.filter(|pid| !arguments(root, *pid).is_empty()) {
        let process = describe(root, pid, &[], format!("{how} → process {pid}"));
        return ServerProcess { container: Some(told.container), ..process };
    }
    ServerProcess {
        arguments: told.arguments,
        environment: told.container.environment.clone(),
        other_variables: told.other_variables,
        secrets: told.secrets,
        container: Some(told.container),
        how,
        ..ServerProcess::default()
    }
}

/// The container of a process: what its control groups tell, and what its daemon does.
fn container_of(root: &Root, pid: u32) -> Option<Container> {
    let (mut seen, id) = host::container(root, Some(pid))?;
    match container::ask(root, Which::Id(&id)) {
        Ok(Some(told)) => {
            return Some(Container { runtime: seen.runtime.or(told.container.runtime), ..told.container });
        }
        Ok(None) => {}
        Err(why) => drop(seen.unknown.insert("api".to_owned(), why)),
    }
    Some(seen)
}

/// Reads what is to be known of the process `pid`, which was launched.
pub fn describe(root: &Root, pid: u32, also: &[u32], how: String) -> ServerProcess {
    let given = arguments(root, pid);
    let redacted = redact::command(&given);
    let mut processes = descendants(root, pid);
    processes.extend(also.iter().filter(|pid| !processes.contains(pid)).copied().collect::<Vec<_>>());
    let (environment, other_variables) = environment::read(root, pid);
    ServerProcess {
        pid,
        processes,
        packages: package::of(root, pid, &given),
        checkout: package::checkout(root, pid, &given),
        arguments: redacted.arguments,
        secrets: redacted.secrets,
        environment,
        other_variables,
        container: container_of(root, pid),
        how,
    }
}

/// `pid` and all its children.
pub fn descendants(root: &Root, pid: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = root
        .names("proc")
        .into_iter()
        .filter_map(|name| name.parse::<u32>().ok())
        .filter_map(|child| Some((child, parent(root, child)?)))
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        found.extend(
            all.iter().filter(|(child, parent)| *parent == of && *child != pid).map(|(child, _)| *child),
        );
        next += 1;
    }
    found
}

/// The first process from `pid` upwards that still shows how it was launched.
fn launch_of(root: &Root, pid: u32) -> u32 {
    let mut at = pid;
    for _ in 0..GENERATIONS {
        if !is_renamed(&arguments(root, at)) {
            return at;
        }
        match parent(root, at) {
            Some(parent) if parent > 1 => at = parent,
            _ => break,
        }
    }
    pid
}

/// True for a worker that gave itself a title (`VLLM::Worker_TP0`), and for one that its runtime forked.
fn is_renamed(arguments: &[String]) -> bool {
    match arguments {
        [] => true,
        [title] => title.contains("::") || title.contains(": "),
        several => several.iter().any(|argument| {
            argument.contains("multiprocessing.spawn") || argument.contains("multiprocessing.forkserver")
        }),
    }
}

fn arguments(root: &Root, pid: u32) -> Vec<String> {
    let bytes = root.bytes(&format!("proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut arguments: Vec<String> = text.split('\0').map(str::to_owned).collect();
    // The last one ends with a NUL of its own; a title is filled up with them.
    while arguments.last().is_some_and(String::is_empty) {
        arguments.pop();
    }
    arguments
}

fn name(root: &Root, pid: u32) -> String {
    root.text(&format!("proc/{pid}/comm")).unwrap_or_default()
}

fn parent(root: &Root, pid: u32) -> Option<u32> {
    let status = root.text(&format!("proc/{pid}/status"))?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// The port inside the container that a proxy of Docker's passes connections to.
fn published(arguments: &[String]) -> Option<u16> {
    let at = arguments.iter().position(|argument| argument == "-container-port")?;
    arguments.get(at + 1)?.parse().ok()
}

/// An argument as a shell takes it.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+<>".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}
