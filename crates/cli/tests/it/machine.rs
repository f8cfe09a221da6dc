//! The machine under the server: found through the real loader, stated by the user, and kept free of secrets.

use std::path::Path;
use std::process::Command;

use tokometer_record::{FlagCode, Phase, Run, RunFolder, Status};

use crate::launch::SLOW;
use crate::secrets::hidden;
use crate::support::{Ended, SMALL, Watched, call, load, only_run, simulated, tokometer};

/// A key in the launch command of the server.
pub(crate) const KEY: &str = "launch-secret-0123456789";

/// The simulated engine as a process of its own, which asks for a key; its address.
pub(crate) fn server() -> (Watched, String) {
    let mut command = tokometer();
    let args = ["sim", "--port", "0", "--api-key", KEY, "--rate", SLOW];
    let mut server = Watched::start_on_stdout(command.args(args));
    let line = server.wait_for("http://");
    let at = line.find("http://").unwrap();
    let url = line[at..].split(' ').next().unwrap().to_owned();
    (server, url)
}

/// Compiles a driver library that plays four H200, two of them used by the process `pid`.
pub(crate) fn driver(folder: &Path, pid: u32, switches: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/tests/stub/nvml.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.join("libnvidia-ml.so.1")).arg(source);
    compiler.arg(format!("-DSTUB_PID={pid}"));
    assert!(compiler.args(switches.iter().map(|switch| format!("-D{switch}"))).status().unwrap().success());
}

/// Measures a cell of two seconds on a machine with such a driver.
fn measure(switches: &[&str]) -> (tempfile::TempDir, Run, Ended) {
    let (server, url) = server();
    let folder = tempfile::tempdir().unwrap();
    driver(folder.path(), server.id(), switches);
    let mut command = tokometer();
    command.args(["run", &url, "--contexts", "1k", "--concurrency", "2", "--duration", "2s", "--out"]);
    command.arg(folder.path().join("runs")).env("LD_LIBRARY_PATH", folder.path()).env("OPENAI_API_KEY", KEY);
    let ended = Ended::from(command.output().unwrap());
    let run = load(&only_run(&folder.path().join("runs")));
    (folder, run, ended)
}

#[test]
fn used_accelerators_energy_and_throttling_reach_the_record() {
    let (folder, run, ended) = measure(&["STUB_THROTTLED"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let hardware = &run.hardware;
    assert_eq!((hardware.devices.len(), hardware.accelerators[0].count), (4, 2));
    assert_eq!(hardware.accelerators[0].name, "H200 SXM");
    assert_eq!(hardware.class.as_deref(), Some("discrete_gpu"));
    assert_eq!((hardware.devices[0].pcie_generation, hardware.devices[1].pcie_width), (Some(5), Some(8)));
    let host = hardware.host.as_ref().unwrap();
    assert!(host.kernel.is_some() && host.memory_bytes.is_some() && host.hostname.is_none());

    let cell = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap();
    assert_eq!(cell.status, Status::Throttled, "{:?}", cell.reason);
    let told = cell.telemetry.as_ref().unwrap();
    assert_eq!((told.devices.len(), told.energy_source.as_deref()), (2, Some("counter")));
    // 700 W and 300 W in turn, 0.35 s each, on two devices: over a window the mean is off by a step at most.
    let window = cell.window.as_ref().unwrap().seconds;
    let (mean, step) = (2.0 * 500.0 * window, 2.0 * 200.0 * 0.35);
    assert!((told.energy_joules.unwrap() - mean).abs() <= step, "{told:?}");
    let tokens = cell.tokens.out.unwrap() as f64;
    assert!((told.joules_per_token.unwrap() - told.energy_joules.unwrap() / tokens).abs() < 1e-9);
    assert!(cell.flag(FlagCode::PowerCapped).is_some(), "{:?}", cell.flags);

    let saved = RunFolder::open(&only_run(&folder.path().join("runs"))).unwrap();
    let series = saved.load_telemetry(run.telemetry.as_ref().unwrap()).unwrap();
    assert!(series.devices.len() > 40 && !series.host.is_empty() && !series.server.is_empty());
    let sampling = run.sampling.as_ref().unwrap();
    assert_eq!((sampling.source.as_str(), sampling.pieces.len()), ("local", 0));
    assert!(sampling.cpu_share.unwrap() < 0.5, "{sampling:?}");
    // Pieces were saved meanwhile, and are gone now that the whole is there.
    assert!(!saved.path.join("telemetry").exists());
    // What no name is known for is kept.
    assert_eq!(told.devices[0].unknown_bits.as_deref(), Some("0x4000000000"));
    assert!(told.devices[0].reason_words.contains(&"software_thermal".to_owned()), "{told:?}");
    call([std::ffi::OsStr::new("verify"), saved.path.as_os_str()]).code.filter(|code| *code == 0).unwrap();

    // The launch command was found, and its secret is nowhere.
    let command = run.launch_command.as_deref().unwrap();
    assert!(command.contains(" sim ") && command.contains("--api-key"), "{command}");
    assert!(ended.stderr.contains("launched by:"), "{ended:?}");
    hidden(&[KEY], &ended, &folder.path().join("runs"));
}

#[test]
fn a_run_that_is_killed_keeps_the_readings_of_its_finished_cells() {
    let (server, url) = server();
    let folder = tempfile::tempdir().unwrap();
    driver(folder.path(), server.id(), &[]);
    let mut command = tokometer();
    command.args(["run", &url, "--contexts", "1k", "--concurrency", "1,2,4", "--duration", "1s", "--out"]);
    command.arg(folder.path().join("runs")).env("LD_LIBRARY_PATH", folder.path()).env("OPENAI_API_KEY", KEY);
    let mut running = Watched::start(&mut command);
    running.wait_for("[ 3/4]");
    running.signal("KILL");
    drop(running.ended());
    let path = only_run(&folder.path().join("runs"));
    let run = load(&path);
    assert!(run.telemetry.is_none() && run.state == tokometer_record::RunState::Running);
    let measured: Vec<_> = run.cells.iter().filter(|cell| cell.trace.is_some()).collect();
    assert!(measured.len() >= 2, "{measured:?}");
    let saved = RunFolder::open(&path).unwrap();
    assert_eq!(run.sampling.as_ref().unwrap().pieces.len(), measured.len());
    let series = saved.load_series(&run).unwrap().unwrap();
    assert!(!series.server.is_empty() && !series.host.is_empty());
    for cell in measured {
        let told = cell.telemetry.as_ref().unwrap();
        assert!(told.energy_joules.unwrap() > 0.0, "{told:?}");
        // Readings on both sides of its end.
        assert!(series.devices.last().unwrap().time_ns >= told.end_ns);
    }
    // What is left holds: every number follows from what is saved.
    let ended = call([std::ffi::OsStr::new("verify"), path.as_os_str()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    drop(server);
}

#[test]
fn a_machine_at_ease_changes_no_verdict() {
    let (_folder, run, ended) = measure(&[]);
    let cell = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap();
    assert_ne!(cell.status, Status::Throttled, "{ended:?}");
    assert_eq!(cell.telemetry.as_ref().unwrap().slowed_share, Some(0.0));
    let prefill = run.cells.iter().find(|cell| cell.phase == Phase::Prefill).unwrap();
    assert!(prefill.telemetry.as_ref().unwrap().energy_joules.unwrap() > 0.0);
}

#[test]
fn what_the_user_states_goes_before_what_is_found() {
    let server = simulated(None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hardware.json");
    let stated = r#"{"class": "discrete_gpu", "os": "linux", "accelerators": [{"name": "B200 SXM", "count": 8, "memory_gb": 180}]}"#;
    std::fs::write(&file, stated).unwrap();
    let out = folder.path().join("runs");
    let mut command = tokometer();
    command.args(["run", &server.addr().to_string(), "--dry-run", "--json", "--out"]).arg(&out);
    command.args([
        "--stated-command",
        "vllm serve m --api-key hunter2secret --port 1",
        "--model-id",
        "org/m",
    ]);
    command.args([
        "--revision",
        "r1",
        "--quantization",
        "FP8",
        "--engine-name",
        "vllm",
        "--engine-version",
        "9",
    ]);
    command.args(["--engine-commit", "abc", "--engine-build", "cuda-13.0", "--hardware"]).arg(&file);
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run: Run = serde_json::from_value(ended.json()).unwrap();
    assert_eq!(run.launch_command.as_deref(), Some("vllm serve m --api-key <redacted> --port 1"));
    assert_eq!((run.model.id.as_deref(), run.model.quantization.as_deref()), (Some("org/m"), Some("FP8")));
    assert_eq!((run.engine.version.as_deref(), run.engine.commit.as_deref()), (Some("9"), Some("abc")));
    assert_eq!((run.hardware.origin.as_deref(), run.hardware.accelerators[0].count), (Some("stated"), 8));
    for field in ["launch_command", "model.id", "engine.commit", "hardware.accelerators"] {
        let evidence = run.evidence.iter().find(|evidence| evidence.field == field).unwrap();
        assert!(evidence.source.contains("stated by the user"), "{evidence:?}");
        assert!(!run.unknown.contains_key(field), "{field}");
    }
    hidden(&["hunter2secret"], &ended, &out);
}

#[test]
fn nothing_is_looked_for_where_that_is_asked() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    command.args(["run", &server.addr().to_string(), "--no-machine", "--out"]).arg(out.path()).args(SMALL);
    let ended = Ended::from(command.output().unwrap());
    let run = load(&only_run(out.path()));
    assert!(run.hardware.host.is_none() && run.telemetry.is_none(), "{ended:?}");
    assert!(run.unknown["hardware"].contains("--no-machine"));
}

#[test]
fn a_hardware_file_that_is_none_is_a_usage_error() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("a.json");
    std::fs::write(&file, "[]").unwrap();
    let (address, file, out) =
        (server.addr().to_string(), file.to_string_lossy(), out.path().to_string_lossy());
    call(["run", &address, "--dry-run", "--hardware", &file, "--out", &out])
        .failed_with(2, &["hardware file"]);
}
