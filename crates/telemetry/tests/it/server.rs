//! From a port to its process: on this machine, and on trees.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tokometer_telemetry::Root;
use tokometer_telemetry::server::{self, NotFound};

use crate::tree::Tree;

#[test]
fn this_process_is_found_by_its_port() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let found = server::find(&Root::system(), "127.0.0.1", port).unwrap();
    assert_eq!(found.pid, std::process::id());
    assert!(found.processes.contains(&std::process::id()));
    assert!(found.arguments[0].contains("it-"), "{:?}", found.arguments);
    drop(listener);
    assert_eq!(server::find(&Root::system(), "localhost", port), Err(NotFound::NoProcess { port }));
}

#[test]
fn another_host_is_elsewhere() {
    assert!(server::is_local("localhost") && server::is_local("[::1]") && server::is_local("127.0.0.1"));
    assert!(!server::is_local("192.0.2.7"));
    assert_eq!(server::find(&Root::system(), "192.0.2.7", 80), Err(NotFound::Elsewhere));
}

/// A tree with processes: number, parent, arguments.
fn processes(tree: &Tree, list: &[(u32, u32, &[&str])]) {
    for (pid, parent, arguments) in list {
        let name = arguments[0].rsplit('/').next().unwrap();
        tree.put(&format!("proc/{pid}/status"), format!("Name:\t{name}\nPPid:\t{parent}\n"));
        tree.put(&format!("proc/{pid}/comm"), format!("{name}\n"));
        tree.put(&format!("proc/{pid}/cmdline"), arguments.join("\0") + "\0");
    }
}

fn listens(tree: &Tree, pid: u32, port: u16) {
    let line = format!(
        "   0: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 555 1\n"
    );
    let other = "   1: 0100007F:1F90 0100007F:AAAA 01 00000000:00000000 00:00000000 00000000  1000 0 556 1\n";
    tree.put("proc/net/tcp", format!("  sl  local_address ...\n{line}{other}"));
    tree.link(&format!("proc/{pid}/fd/7"), "socket:[555]");
}

#[test]
fn a_renamed_worker_leads_to_what_launched_it() {
    let tree = Tree::new();
    let launch: &[&str] = &[
        "/opt/venv/bin/python3",
        "/opt/venv/bin/vllm",
        "serve",
        "/home/ann/models/q",
        "--api-key",
        "hunter2secret",
        "--max-model-len",
        "32768",
    ];
    let spawned: &[&str] =
        &["/opt/venv/bin/python3", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(5)"];
    processes(
        &tree,
        &[
            (10, 1, &["bash"]),
            (20, 10, launch),
            (30, 20, spawned),
            (31, 30, &["VLLM::APIServer_0"]),
            (40, 20, &["VLLM::Worker_TP0"]),
        ],
    );
    listens(&tree, 31, 8000);
    let environment = "VLLM_ATTENTION_BACKEND=FLASHINFER\0VLLM_API_KEY=hunter3secret\0HF_TOKEN=hunter4secret\0HOME=/home/ann\0";
    tree.put("proc/20/environ", environment);
    let packages = "proc/20/root/opt/venv/lib/python3.12/site-packages";
    tree.put(
        &format!("{packages}/vllm-0.23.1.dev5.dist-info/METADATA"),
        "Metadata-Version: 2.4\nName: vllm\nVersion: 0.23.1.dev5\n",
    );
    let origin = r#"{"url": "https://git:hunter5secret@example.org/vllm.git", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}"#;
    tree.put(&format!("{packages}/vllm-0.23.1.dev5.dist-info/direct_url.json"), origin);
    // A wheel whose metadata names no origin.
    tree.put(&format!("{packages}/torch-2.13.0.dist-info/METADATA"), "Name: torch\nVersion: 2.13.0\n");
    tree.put(
        &format!("{packages}/torch/_version.py"),
        "__commit_id__: str | None\n__commit_id__ = commit_id = 'g4ba787ec9'\n",
    );
    let id = "0123456789abcdef".repeat(4);
    tree.put("proc/20/cgroup", format!("0::/system.slice/docker-{id}.scope\n"));

    let found = server::find(&tree.root(), "127.0.0.1", 8000).unwrap();
    assert_eq!(found.pid, 20);
    let mut all = found.processes.clone();
    all.sort_unstable();
    assert_eq!(all, [20, 30, 31, 40]);
    assert_eq!(
        found.command(),
        "VLLM_API_KEY='<redacted>' VLLM_ATTENTION_BACKEND=FLASHINFER /opt/venv/bin/python3 /opt/venv/bin/vllm serve \
         ~/models/q --api-key '<redacted>' --max-model-len 32768"
            .replace("'<redacted>'", "<redacted>")
            .replace("~/models", "'~/models")
            .replace("/q --api", "/q' --api")
    );
    assert_eq!(found.other_variables, ["HF_TOKEN", "HOME"]);
    let package = &found.packages[0];
    assert_eq!((package.name.as_str(), package.version.as_deref()), ("vllm", Some("0.23.1.dev5")));
    assert_eq!(package.commit.as_deref(), Some("abc123"));
    assert_eq!(found.packages[1].commit.as_deref(), Some("4ba787ec9"));
    assert_eq!(found.container.as_ref().unwrap().id.as_deref(), Some("0123456789ab"));
    assert_eq!(found.container.as_ref().unwrap().runtime.as_deref(), Some("docker"));
    // Only the list of what to hide still holds it.
    assert_eq!(found.secrets, ["hunter2secret"]);
    let shown = format!("{found:?}").replace(&format!("secrets: {:?}", found.secrets), "");
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn what_passes_connections_on_is_not_the_server() {
    let tree = Tree::new();
    processes(&tree, &[(50, 1, &["ssh", "-L", "8000:gpu1:8000", "gpu1"])]);
    listens(&tree, 50, 8000);
    let error = server::find(&tree.root(), "127.0.0.1", 8000).unwrap_err();
    assert_eq!(error, NotFound::Forwarded { port: 8000, program: "ssh".to_owned() });
}

#[test]
fn a_published_port_leads_into_the_container() {
    let tree = Tree::new();
    let proxy: &[&str] = &[
        "/usr/bin/docker-proxy",
        "-host-port",
        "8000",
        "-container-ip",
        "172.17.0.2",
        "-container-port",
        "9000",
    ];
    processes(&tree, &[(60, 1, proxy), (70, 1, &["vllm", "serve", "m"])]);
    listens(&tree, 60, 8000);
    tree.link("proc/self/ns/net", "net:[1]")
        .link("proc/60/ns/net", "net:[1]")
        .link("proc/70/ns/net", "net:[2]");
    let line = "   0: 00000000:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 777 1\n";
    tree.put("proc/70/net/tcp", format!("  sl  local_address ...\n{line}"));
    tree.link("proc/70/fd/3", "socket:[777]");
    let found = server::find(&tree.root(), "127.0.0.1", 8000).unwrap();
    assert_eq!(
        (found.pid, found.arguments.as_slice()),
        (70, ["vllm", "serve", "m"].map(String::from).as_slice())
    );
    assert!(found.how.contains("container"), "{}", found.how);
}

#[test]
fn the_commit_of_a_checkout_is_read() {
    let tree = Tree::new();
    processes(&tree, &[(80, 1, &["/src/llama.cpp/build/bin/llama-server", "-m", "q.gguf"])]);
    listens(&tree, 80, 8080);
    tree.link("proc/80/exe", "/src/llama.cpp/build/bin/llama-server");
    tree.put("proc/80/root/src/llama.cpp/.git/HEAD", "ref: refs/heads/master\n");
    tree.put("proc/80/root/src/llama.cpp/.git/packed-refs", "# pack\nfeed1234 refs/heads/master\n");
    let found = server::find(&tree.root(), "127.0.0.1", 8080).unwrap();
    assert_eq!(found.checkout.as_deref(), Some("feed1234"));
}

#[test]
fn the_checkout_of_an_interpreter_or_of_something_around_an_environment_is_not_the_engines() {
    let tree = Tree::new();
    processes(
        &tree,
        &[(80, 1, &["/home/ann/work/venv/bin/python", "/home/ann/work/venv/bin/vllm", "serve", "m"])],
    );
    listens(&tree, 80, 8000);
    tree.link("proc/80/exe", "/home/ann/.pyenv/versions/3.12/bin/python3.12");
    tree.put("proc/80/root/home/ann/.pyenv/.git/HEAD", "feed1234\n");
    tree.put("proc/80/root/home/ann/work/.git/HEAD", "beef1234\n");
    tree.put("proc/80/root/home/ann/work/venv/pyvenv.cfg", "home = /usr/bin\n");
    let found = server::find(&tree.root(), "127.0.0.1", 8000).unwrap();
    assert_eq!(found.checkout, None);
}

/// A child that sleeps until it is dropped.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn children_are_found() {
    let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let child = Sleeper(child);
    let found = server::descendants(&Root::system(), std::process::id());
    assert!(found.contains(&child.0.id()));
}
