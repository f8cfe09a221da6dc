//! A daemon of containers, played over a real socket, and what is taken of it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokometer_telemetry::server::{self, NotFound};

use crate::tree::Tree;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const IMAGE: &str = "sha256:feedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeed";

/// Answers like a daemon that runs one container; what it was asked for.
fn daemon(tree: &Tree, socket: &str, pid: u32) -> Arc<Mutex<Vec<String>>> {
    let path = tree.path().join(socket);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let line = lines.next().unwrap();
            // To the end of the head.
            while lines.next().is_some_and(|line| !line.is_empty()) {}
            heard.lock().unwrap().push(line.clone());
            let answer = answer(line.split(' ').nth(1).unwrap(), pid);
            let (status, body) = match answer {
                Some(body) => ("200 OK", body.to_string()),
                None => ("404 Not Found", json!({"message": "no such container"}).to_string()),
            };
            write!(stream, "HTTP/1.0 {status}\r\nContent-Type: application/json\r\n\r\n{body}").unwrap();
        }
    });
    asked
}

fn answer(path: &str, pid: u32) -> Option<Value> {
    let inspect = format!("/containers/{ID}/json");
    let image = format!("/images/{IMAGE}/json");
    Some(match path {
        "/containers/json" => json!([
            {"Id": "ffff", "Ports": [{"PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"}]},
            {"Id": ID, "Ports": [{"PrivatePort": 9000}, {"PrivatePort": 9000, "PublicPort": 8000}]},
        ]),
        path if path == inspect => json!({
            "Id": ID,
            "Image": IMAGE,
            "State": {"Pid": pid, "Running": true},
            "Config": {
                "Image": "vllm/vllm-openai:v0.33.0",
                "Entrypoint": ["vllm", "serve"],
                "Cmd": ["org/m", "--api-key", "hunter2secret", "--max-model-len", "32768"],
                "Env": ["VLLM_ATTENTION_BACKEND=FLASHINFER", "HF_TOKEN=hunter3secret", "VLLM_API_KEY=hunter4secret"],
            },
            "HostConfig": {"ShmSize": 17_179_869_184_u64, "IpcMode": "host"},
        }),
        path if path == image => json!({"RepoDigests": ["vllm/vllm-openai@sha256:beef"]}),
        _ => return None,
    })
}

#[test]
fn a_published_port_leads_to_its_container_where_no_process_can_be_seen() {
    let tree = Tree::new();
    let asked = daemon(&tree, "run/docker.sock", 4242);
    let found = server::find(&tree.root(), "127.0.0.1", 8000).unwrap();
    assert_eq!(
        found.command(),
        "VLLM_API_KEY=<redacted> VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve org/m --api-key <redacted> --max-model-len 32768"
    );
    assert_eq!((found.pid, found.processes.len()), (0, 0));
    assert!(found.how.contains("container 0123456789ab"), "{}", found.how);
    assert_eq!(found.other_variables, ["HF_TOKEN"]);
    let container = found.container.as_ref().unwrap();
    assert_eq!(container.image.as_deref(), Some("vllm/vllm-openai:v0.33.0"));
    assert_eq!(container.digest.as_deref(), Some("vllm/vllm-openai@sha256:beef"));
    assert_eq!(
        (container.runtime.as_deref(), container.id.as_deref()),
        (Some("docker"), Some("0123456789ab"))
    );
    assert_eq!(
        (container.shared_memory_bytes, container.ipc_mode.as_deref()),
        (Some(16 << 30), Some("host"))
    );
    assert!(container.command.as_ref().unwrap().contains("--api-key <redacted>"), "{container:?}");
    assert_eq!(found.secrets, ["hunter2secret"]);
    let shown = format!("{found:?}").replace(&format!("secrets: {:?}", found.secrets), "");
    assert!(!shown.contains("hunter"), "{shown}");
    // It was only read.
    assert!(asked.lock().unwrap().iter().all(|line| line.starts_with("GET ")));
    // Another port is none of its.
    assert_eq!(server::find(&tree.root(), "127.0.0.1", 8001), Err(NotFound::NoProcess { port: 8001 }));
}

#[test]
fn a_process_in_a_container_has_its_image() {
    let tree = Tree::new();
    daemon(&tree, "run/podman/podman.sock", 70);
    tree.put("proc/70/status", "Name:\tvllm\nPPid:\t1\n").put("proc/70/comm", "vllm\n");
    tree.put("proc/70/cmdline", "vllm\0serve\0org/m\0");
    tree.put("proc/70/cgroup", format!("0::/machine.slice/libpod-{ID}.scope\n"));
    let line = "   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 555 1\n";
    tree.put("proc/net/tcp", format!("  sl  local_address ...\n{line}"));
    tree.link("proc/70/fd/7", "socket:[555]");
    let found = server::find(&tree.root(), "127.0.0.1", 8000).unwrap();
    assert_eq!((found.pid, found.command().as_str()), (70, "vllm serve org/m"));
    let container = found.container.unwrap();
    assert_eq!((container.runtime.as_deref(), container.digest.is_some()), (Some("podman"), true));
    assert!(container.unknown.is_empty());
    // A port without a listener that can be seen: its process is known from the daemon.
    std::fs::remove_file(tree.path().join("proc/net/tcp")).unwrap();
    let found = server::find(&tree.root(), "127.0.0.1", 8000).unwrap();
    assert_eq!((found.pid, found.command().as_str()), (70, "vllm serve org/m"));
    assert!(found.how.ends_with("→ process 70"), "{}", found.how);
}

#[test]
fn a_daemon_that_may_not_be_asked_is_a_reason_and_no_error() {
    let tree = Tree::new();
    // What is no socket can't be asked by anybody, root included.
    tree.put("run/docker.sock", "");
    tree.put("proc/70/status", "Name:\tvllm\nPPid:\t1\n").put("proc/70/comm", "vllm\n");
    tree.put("proc/70/cmdline", "vllm\0serve\0org/m\0");
    tree.put("proc/70/cgroup", format!("0::/system.slice/docker-{ID}.scope\n"));
    let found = server::describe(&tree.root(), 70, &[], String::new());
    let container = found.container.unwrap();
    assert_eq!((container.id.as_deref(), container.image), (Some("0123456789ab"), None));
    assert!(container.unknown["api"].contains("docker.sock"), "{:?}", container.unknown);
    let error = server::find(&tree.root(), "127.0.0.1", 8000).unwrap_err();
    assert!(matches!(&error, NotFound::NoContainer { port: 8000, .. }), "{error:?}");
    assert!(error.to_string().contains("--stated-command"), "{error}");

    // Where permissions count.
    let tree = Tree::new();
    daemon(&tree, "run/docker.sock", 70);
    let socket = tree.path().join("run/docker.sock");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o000)).unwrap();
    match server::find(&tree.root(), "127.0.0.1", 8000) {
        Ok(_) => assert!(nix::unistd::getuid().is_root(), "permissions do not count for root alone"),
        Err(error) => assert!(error.to_string().contains("may not ask docker.sock"), "{error}"),
    }
}

#[test]
fn answers_that_make_no_sense_are_reasons() {
    let tree = Tree::new();
    let path = tree.path().join("run/docker.sock");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for text in ["", "HTTP/1.0 200 OK\r\n\r\n<html>", "HTTP/1.0 500 No\r\n\r\n{}", "x"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
        }
    });
    for word in ["no head", "no JSON", "500", "no head"] {
        let error = server::find(&tree.root(), "127.0.0.1", 8000).unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
}
