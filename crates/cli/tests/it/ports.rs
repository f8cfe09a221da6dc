//! More streams than one address has local ports, for real: in a network of its own, where there are few.

use std::path::Path;
use std::process::{Command, Stdio};

use tokometer_record::{Run, Status};
use tokometer_sim::{Profile, Running, Server, ServerOptions};

use crate::support::{Ended, load, only_run, tokometer};

/// Says that this process is in the network of its own already.
const INSIDE: &str = "TOKOMETER_TEST_FEW_PORTS";
/// Ports of the network.
const PORTS: &str = "20000 20099";
/// More streams than ports.
const STREAMS: &str = "150";
/// Address of the network that is not one of loopback.
const ADDRESS: [u8; 4] = [10, 77, 0, 1];
/// Makes the network, then starts this test again in it.
const SCRIPT: &str = r#"
ip link set lo up || exit 77
for last in 1 2 3; do ip address add 10.77.0.$last/32 dev lo || exit 77; done
echo "$1" > /proc/sys/net/ipv4/ip_local_port_range || exit 77
exec "$2" --exact "$3" --nocapture
"#;

#[test]
fn streams_beyond_the_ports_of_one_address() {
    if std::env::var_os(INSIDE).is_some() {
        // Side by side, for each mostly waits.
        std::thread::scope(|scope| {
            scope.spawn(on_loopback_further_addresses_are_found);
            scope.spawn(elsewhere_it_says_what_to_do);
            scope.spawn(with_more_addresses_it_works);
        });
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut why = String::new();
    // As root, and as anybody where the system lets users have networks of their own.
    for options in [&["--net"][..], &["--net", "--map-root-user"]] {
        let ended = Command::new("unshare")
            .args(options)
            .args(["sh", "-c", SCRIPT, "sh", PORTS])
            .arg(&program)
            .arg("ports::streams_beyond_the_ports_of_one_address")
            .env(INSIDE, "1")
            .stdin(Stdio::null())
            .output();
        match ended {
            Ok(output) if output.status.success() => return,
            Ok(output) if output.status.code() == Some(101) => {
                let ended = Ended::from(output);
                panic!("in a network with the ports {PORTS}:\n{}\n{}", ended.stdout, ended.stderr);
            }
            Ok(output) => why = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => why = format!("unshare: {error}"),
        }
    }
    // Past the harness, which keeps what a test that passes prints.
    std::fs::write("/dev/stderr", format!("skipped: no network of its own can be had here ({why})\n")).ok();
}

/// A server that has room for all; it takes one port.
fn server(address: [u8; 4]) -> Running {
    let options = ServerOptions { listen: (address, 0).into(), ..ServerOptions::default() };
    Server::start(Profile::steady(Some(20.0)).unwrap(), options).unwrap()
}

fn run(server: &Running, out: &Path, more: &[&str]) -> Ended {
    let url = format!("http://{}", server.addr());
    let matrix =
        ["--contexts", "1k", "--prefill-contexts", "1k", "--concurrency", STREAMS, "--duration", "1s"];
    let mut command = tokometer();
    command.args(["run", &url, "-y", "--quiet", "--out"]).arg(out).args(matrix).args(more);
    command.output().unwrap().into()
}

/// The run in which all streams were measured.
fn measured(server: &Running, more: &[&str]) -> Run {
    let out = tempfile::tempdir().unwrap();
    let ended = run(server, out.path(), more);
    let run = load(&only_run(out.path()));
    let cell = run.cells.iter().find(|cell| cell.concurrency == 150).unwrap();
    assert!(cell.error.is_none() && cell.requests.failed == Some(0), "{ended:?} {cell:?}");
    assert!(cell.requests.started.is_some_and(|started| started >= 150), "{cell:?}");
    assert!(!matches!(cell.status, Status::Error | Status::Planned), "{cell:?}");
    run
}

fn on_loopback_further_addresses_are_found() {
    measured(&server([127, 0, 0, 1]), &[]);
    measured(&server([127, 0, 0, 1]), &["--source-address", "127.0.0.9,127.0.0.10"]);
}

fn elsewhere_it_says_what_to_do() {
    for (address, more) in [(ADDRESS, &[][..]), ([127, 0, 0, 1], &["--source-address", "127.0.0.9"])] {
        let out = tempfile::tempdir().unwrap();
        let ended = run(&server(address), out.path(), more);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let run = load(&only_run(out.path()));
        let cell = run.cells.iter().find(|cell| cell.concurrency == 150).unwrap();
        assert_eq!(cell.status, Status::Error, "{cell:?}");
        let said = &cell.error.as_ref().unwrap().message;
        for word in ["no free local port", "--source-address", "ip_local_port_range", "concurrency"] {
            assert!(said.contains(word), "{word:?} in {said:?}");
        }
    }
}

fn with_more_addresses_it_works() {
    // Others than before: the ports of connections that have just closed are not free yet.
    measured(&server(ADDRESS), &["--source-address", "10.77.0.2,10.77.0.3"]);
}
