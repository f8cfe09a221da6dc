//! A run that takes the machine from an agent: hardware, launch command and readings, as if they were read here.

use std::path::{Path, PathBuf};
use std::process::Command;

use tokometer_record::{FlagCode, Phase, RunFolder, Status};

use crate::machine::{KEY, driver, server};
use crate::secrets::hidden;
use crate::support::{Ended, Watched, call, load, only_run, tokometer};

/// An agent as a process of its own, on a machine with four H200 of which the process `pid` uses two; its address.
pub(crate) fn agent(folder: &Path, pid: u32, switches: &[&str]) -> (Watched, String) {
    driver(folder, pid, switches);
    let mut command = tokometer();
    command.args(["agent", "--listen", "127.0.0.1:0", "--token-file"]).arg(token_file(folder));
    let mut agent = Watched::start_on_stdout(command.env("LD_LIBRARY_PATH", folder));
    let line = agent.wait_for("agent: http://");
    let url = line.split(' ').nth(1).unwrap().to_owned();
    (agent, url)
}

/// The file of its token.
pub(crate) fn token_file(folder: &Path) -> PathBuf {
    folder.join("token")
}

/// A run that knows the machine from the agent alone: it loads no driver library of its own.
fn run(folder: &Path, url: &str, agent: &str) -> Command {
    let mut command = tokometer();
    command.args(["run", url, "--agent", agent, "--contexts", "1k", "--agent-token-file"]);
    command.arg(token_file(folder)).arg("--out").arg(folder.join("runs")).env("OPENAI_API_KEY", KEY);
    command
}

#[test]
fn the_machine_comes_from_the_agent() {
    let (server, url) = server();
    let folder = tempfile::tempdir().unwrap();
    let (_agent, address) = agent(folder.path(), server.id(), &["STUB_THROTTLED"]);
    let mut command = run(folder.path(), &url, &address);
    let ended = Ended::from(command.args(["--concurrency", "2", "--duration", "2s"]).output().unwrap());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let path = only_run(&folder.path().join("runs"));
    let run = load(&path);
    let hardware = &run.hardware;
    assert_eq!(
        (hardware.origin.as_deref(), hardware.class.as_deref()),
        (Some("agent"), Some("discrete_gpu"))
    );
    assert_eq!((hardware.devices.len(), hardware.accelerators[0].count), (4, 2));
    assert_eq!((hardware.devices[0].pcie_generation, hardware.devices[1].pcie_width), (Some(5), Some(8)));
    assert!(hardware.host.as_ref().unwrap().hostname.is_none());
    let source =
        |field: &str| run.evidence.iter().find(|evidence| evidence.field == field).unwrap().source.clone();
    assert!(source("hardware.class").contains(&address), "{:?}", run.evidence);
    assert!(source("launch_command").contains("as the agent there tells"), "{:?}", run.evidence);
    assert!(run.launch_command.as_ref().unwrap().contains(" sim "), "{:?}", run.launch_command);

    let cell = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap();
    assert_eq!(cell.status, Status::Throttled, "{:?}", cell.reason);
    assert!(cell.flag(FlagCode::PowerCapped).is_some(), "{:?}", cell.flags);
    let told = cell.telemetry.as_ref().unwrap();
    let window = cell.window.as_ref().unwrap().seconds;
    let (mean, step) = (2.0 * 500.0 * window, 2.0 * 200.0 * 0.35);
    assert!((told.energy_joules.unwrap() - mean).abs() <= step, "{told:?}");
    assert!(told.joules_per_token.is_some() && told.energy_source.as_deref() == Some("counter"));

    let sampling = run.sampling.as_ref().unwrap();
    assert_eq!((sampling.source.as_str(), sampling.gaps.len()), ("agent", 0));
    let link = sampling.agent.as_ref().unwrap();
    assert_eq!(
        (link.url.as_str(), link.version.as_deref()),
        (address.as_str(), Some(env!("CARGO_PKG_VERSION")))
    );
    assert!(link.start.unwrap().uncertainty_ns > 0 && link.end.is_some(), "{link:?}");
    // It holds, telemetry included.
    assert_eq!(call([std::ffi::OsStr::new("verify"), path.as_os_str()]).code, Some(0));
    let token = std::fs::read_to_string(token_file(folder.path())).unwrap();
    hidden(&[KEY, token.trim()], &ended, &folder.path().join("runs"));
}

#[test]
fn a_run_goes_on_without_its_agent_and_says_so() {
    let (server, url) = server();
    let folder = tempfile::tempdir().unwrap();
    let (agent, address) = agent(folder.path(), server.id(), &[]);
    let mut command = run(folder.path(), &url, &address);
    let mut running = Watched::start(command.args(["--concurrency", "1,2", "--duration", "2s"]));
    running.wait_for("[ 2/3]");
    agent.signal("KILL");
    let ended = running.ended();
    let path = only_run(&folder.path().join("runs"));
    let run = load(&path);
    assert_eq!(run.state, tokometer_record::RunState::Finished, "{ended:?}");
    let sampling = run.sampling.as_ref().unwrap();
    assert_eq!(sampling.gaps.len(), 1, "{sampling:?}");
    assert!(
        sampling.gaps[0].to_ns.is_none() && sampling.gaps[0].why.contains("does not answer"),
        "{sampling:?}"
    );
    assert!(sampling.agent.as_ref().unwrap().end.is_none());
    assert!(ended.stderr.contains("agent"), "{ended:?}");
    assert!(run.remarks.iter().any(|remark| remark.contains("agent")), "{:?}", run.remarks);
    // The first row was read, and of the last nothing is made up.
    assert!(
        run.cells[0].telemetry.as_ref().unwrap().energy_joules.unwrap() > 0.0,
        "{:?}",
        run.cells[0].telemetry
    );
    let last = run.cells.last().unwrap().telemetry.as_ref().unwrap();
    assert!(last.energy_joules.is_none() && last.unknown["energy_joules"].contains("missing"), "{last:?}");
    assert!(run.cells.last().unwrap().throughput.is_some());
    assert_eq!(call([std::ffi::OsStr::new("verify"), path.as_os_str()]).code, Some(0));
    let saved = RunFolder::open(&path).unwrap();
    assert!(saved.load_series(&run).unwrap().is_some());
}

#[test]
fn an_agent_that_cannot_be_used_is_an_error_before_anything_is_sent() {
    let (server, url) = server();
    let folder = tempfile::tempdir().unwrap();
    let (agent, address) = agent(folder.path(), server.id(), &[]);
    let ended = |command: &mut Command| {
        Ended::from(command.args(["--concurrency", "2", "--duration", "1s"]).output().unwrap())
    };
    // A wrong token, in the variable.
    let mut command = tokometer();
    command.args(["run", &url, "--agent", &address, "--out"]).arg(folder.path().join("runs"));
    command.env("OPENAI_API_KEY", KEY).env("TOKOMETER_AGENT_TOKEN", "wrong-token-0123456789");
    ended(&mut command).failed_with(1, &["token", "TOKOMETER_AGENT_TOKEN"]);
    // A token that others may read.
    let shared = folder.path().join("shared");
    std::fs::write(&shared, "wrong-token-0123456789").unwrap();
    let mut command = run(folder.path(), &url, &address);
    let args: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
    let args =
        args.iter().map(|arg| if *arg == token_file(folder.path()) { shared.as_os_str() } else { arg });
    let mut open = tokometer();
    open.args(args).env("OPENAI_API_KEY", KEY);
    ended(&mut open).failed_with(2, &["chmod 600"]);
    // Nobody there.
    drop(agent);
    ended(&mut command).failed_with(1, &["does not answer", "ssh -L"]);
    assert!(!folder.path().join("runs").exists());
    // Both at once make no sense.
    let both = ["run", &url, "--agent", &address, "--no-machine"];
    assert_eq!(call(both).code, Some(2));
}

#[test]
fn what_an_agent_says_when_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let start = |args: &[&str]| {
        let mut command = tokometer();
        command.args(["agent", "--listen"]).args(args).env("XDG_CONFIG_HOME", folder.path());
        let mut agent = Watched::start(&mut command);
        let line = agent.wait_for("token:");
        (agent, line)
    };
    let file = folder.path().join("tokometer/agent-token");
    let (agent, line) = start(&["127.0.0.1:0"]);
    assert!(line.contains(&file.display().to_string()) && line.contains("made now"), "{line}");
    let token = std::fs::read_to_string(&file).unwrap();
    agent.signal("INT");
    let ended = agent.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("agent: http://127.0.0.1:"), "{ended:?}");
    assert!(!ended.stdout.contains(token.trim()) && !ended.stderr.contains(token.trim()), "{ended:?}");

    let (mut agent, line) = start(&["0.0.0.0:0", "--show-token"]);
    assert!(line.contains("made before"), "{line}");
    agent.wait_for("plain HTTP");
    agent.wait_for(token.trim());
    agent.signal("TERM");
    assert_eq!(agent.ended().code, Some(0));

    let mut command = tokometer();
    command.args(["agent", "--listen", "127.0.0.1:0"]).env("TOKOMETER_AGENT_TOKEN", "short");
    Ended::from(command.output().unwrap()).failed_with(2, &["TOKOMETER_AGENT_TOKEN"]);
    let mut command = tokometer();
    command.args(["agent", "--listen", "192.0.2.1:9"]).env("XDG_CONFIG_HOME", folder.path());
    Ended::from(command.output().unwrap()).failed_with(1, &["192.0.2.1:9", "--listen"]);
}
