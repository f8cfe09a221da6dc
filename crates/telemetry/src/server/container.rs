//! What the daemon of containers (Docker, Podman) tells of one of them: asked with GET alone, over its socket, where
//! this user may.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokometer_record::Container;
use tokometer_wire::redact;

use super::{environment, quoted};
use crate::host::ID_DIGITS;
use crate::root::Root;

/// Sockets that a daemon listens on, below the root; `{uid}` is this user's number.
const SOCKETS: [&str; 5] = [
    "run/docker.sock",
    "var/run/docker.sock",
    "run/podman/podman.sock",
    "run/user/{uid}/docker.sock",
    "run/user/{uid}/podman/podman.sock",
];
/// A daemon that takes longer is not waited for.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The longest answer that is read.
const MOST_BYTES: u64 = 8 << 20;

/// A container as its daemon tells it.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// For the record: secrets are removed.
    pub(super) container: Container,
    /// Its first process, as this host numbers it; none where the daemon runs on another machine.
    pub(super) pid: Option<u32>,
    /// What it was started with, secrets removed.
    pub(super) arguments: Vec<String>,
    /// What the arguments held that must not be shown.
    pub(super) secrets: Vec<String>,
    /// Names of variables that are not shown.
    pub(super) other_variables: Vec<String>,
}

/// Which container is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    /// By its id.
    Id(&'a str),
    /// By a port of the host that leads to it.
    Port(u16),
}

/// Asks every daemon that is there. None without a daemon, or where none knows it; the reason where one can't be asked.
pub(super) fn ask(root: &Root, which: Which<'_>) -> Result<Option<Told>, String> {
    let mut refused = None;
    for socket in sockets(root) {
        match told(&socket, which) {
            Ok(Some(told)) => return Ok(Some(told)),
            Ok(None) => {}
            Err(error) => {
                let name = socket.file_name().unwrap_or_default().to_string_lossy().into_owned();
                refused = Some(match error.kind() {
                    io::ErrorKind::PermissionDenied => format!("this user may not ask {name}"),
                    _ => format!("{name}: {error}"),
                });
            }
        }
    }
    refused.map_or(Ok(None), Err)
}

fn sockets(root: &Root) -> Vec<PathBuf> {
    let uid = nix::unistd::getuid().to_string();
    let mut found: Vec<PathBuf> = Vec::new();
    for name in SOCKETS {
        let path = root.path(&name.replace("{uid}", &uid));
        // One is often a link to another.
        let Ok(real) = path.canonicalize() else { continue };
        if !found.contains(&real) {
            found.push(real);
        }
    }
    found
}

fn told(socket: &std::path::Path, which: Which<'_>) -> io::Result<Option<Told>> {
    let id = match which {
        Which::Id(id) => id.to_owned(),
        Which::Port(port) => {
            match get(socket, "/containers/json")?.as_ref().and_then(|list| holder(list, port)) {
                Some(id) => id,
                None => return Ok(None),
            }
        }
    };
    // It goes into a path: nothing but a name may.
    if !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(io::Error::other("a container whose id is none"));
    }
    let Some(inspected) = get(socket, &format!("/containers/{id}/json"))? else { return Ok(None) };
    let mut told = read(&inspected);
    let podman = socket.to_string_lossy().contains("podman");
    told.container.runtime = Some(if podman { "podman" } else { "docker" }.to_owned());
    if let Some(image) = inspected["Image"].as_str().filter(|image| is_image_id(image)) {
        let digest = get(socket, &format!("/images/{image}/json"))?.and_then(|image| {
            let digests = image["RepoDigests"].as_array()?;
            digests.first()?.as_str().map(str::to_owned)
        });
        told.container.digest = Some(digest.unwrap_or_else(|| image.to_owned()));
    }
    Ok(Some(told))
}

/// The container that a published port leads to.
fn holder(list: &Value, port: u16) -> Option<String> {
    let publishes = |container: &&Value| {
        let ports = container["Ports"].as_array();
        ports.is_some_and(|ports| ports.iter().any(|one| one["PublicPort"].as_u64() == Some(u64::from(port))))
    };
    list.as_array()?.iter().find(publishes)?["Id"].as_str().map(str::to_owned)
}

fn read(inspected: &Value) -> Told {
    let config = &inspected["Config"];
    let words = |value: &Value| match value {
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(word) => vec![word.clone()],
        _ => Vec::new(),
    };
    let started: Vec<String> = [words(&config["Entrypoint"]), words(&config["Cmd"])].concat();
    let redacted = redact::command(&started);
    let variables = words(&config["Env"]);
    let pairs = variables.iter().filter_map(|pair| pair.split_once('='));
    let (environment, other_variables) = environment::select(pairs);
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(redact::text);
    let line = redacted.arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ");
    let host = &inspected["HostConfig"];
    let id = inspected["Id"].as_str().map(|id| id.chars().take(ID_DIGITS).collect());
    Told {
        pid: inspected["State"]["Pid"]
            .as_u64()
            .and_then(|pid| u32::try_from(pid).ok())
            .filter(|pid| *pid > 0),
        container: Container {
            id,
            image: text(&config["Image"]),
            command: (!line.is_empty()).then_some(line),
            environment,
            shared_memory_bytes: host["ShmSize"].as_u64(),
            ipc_mode: text(&host["IpcMode"]),
            ..Container::default()
        },
        arguments: redacted.arguments,
        secrets: redacted.secrets,
        other_variables,
    }
}

/// `sha256:…`, with or without the name of the hash.
fn is_image_id(image: &str) -> bool {
    let digits = image.strip_prefix("sha256:").unwrap_or(image);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The answer's JSON; none where there is no such thing.
fn get(socket: &std::path::Path, path: &str) -> io::Result<Option<Value>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // With 1.0 the answer comes in one piece, and the connection ends behind it.
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
    let unread = |why: &str| io::Error::other(format!("its answer can't be read: {why}"));
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or_else(|| unread("no head"))?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    match status {
        Some(404) => Ok(None),
        Some(200) => serde_json::from_slice(&answer[end + 4..]).map(Some).map_err(|_| unread("no JSON")),
        Some(403 | 401) => Err(io::ErrorKind::PermissionDenied.into()),
        Some(other) => Err(io::Error::other(format!("it answered {other}"))),
        None => Err(unread("no status")),
    }
}
