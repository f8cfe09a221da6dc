//! The machine under the server: found where it is this one, stated by the user, watched while it is measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokometer_record::{Evidence, Hardware, Run, RunFolder};
use tokometer_telemetry::server::{self, NotFound, Package, ServerProcess};
use tokometer_telemetry::{Catalogue, Inventory, Machine, Options, Root};
use tokometer_wire::clock::Clock;
use tokometer_wire::redact;

use super::agent;
use super::watching::{Source, Watching};
use crate::args::machine::MachineArgs;
use crate::args::target::TargetArgs;
use crate::failure::Hinted;
use crate::out;

/// What a user said, in evidence.
const STATED: &str = "stated by the user";
/// Name of a user's own catalogue in the folder of configuration.
const CATALOGUE: &str = "accelerators.json";

/// Looks at the machine, and fills in what is found and what is stated.
pub(super) async fn look(
    args: &MachineArgs,
    target: &TargetArgs,
    run: &mut Run,
    clock: Clock,
) -> anyhow::Result<Watching> {
    let source = if args.no_machine {
        let why = "not looked for (--no-machine)";
        run.unknown.insert("hardware".to_owned(), why.to_owned());
        run.unknown.insert("launch_command".to_owned(), why.to_owned());
        None
    } else if let Some(url) = &args.join.agent {
        Some(ask(url, args, target, run, clock).await?)
    } else {
        find(args, run)?.map(Box::new).map(Source::Local)
    };
    state(args, run)?;
    if run.launch_command.is_some() {
        run.unknown.remove("launch_command");
    }
    Ok(Watching::new(source))
}

/// Once the run document names the whole series, its pieces are of no use.
pub(super) fn tidy(run: &Run, folder: &RunFolder) {
    if run.telemetry.is_some() {
        folder.remove_telemetry_pieces();
    }
}

/// Takes the machine from an agent on the server's host.
async fn ask(
    url: &str,
    args: &MachineArgs,
    target: &TargetArgs,
    run: &mut Run,
    clock: Clock,
) -> anyhow::Result<Source> {
    let port = run.target.url.as_deref().and_then(address).map_or(0, |(_, port)| port);
    let joined = agent::join(url, &args.join, target, port, &run.id, args.include_hostname, clock).await?;
    match (&joined.report.server, &joined.report.server_unknown) {
        (Some(process), _) => launched(run, process, &format!("{}, as the agent there tells", process.how)),
        (None, why) => {
            let why = format!("by the agent: {}", why.as_deref().unwrap_or("it does not tell"));
            run.unknown.insert("launch_command".to_owned(), why);
        }
    }
    let why = joined.report.server_unknown.clone();
    take(run, joined.report.hardware.clone(), joined.report.unknown.clone(), why);
    let text = run.hardware.class.clone().unwrap_or_else(|| "host".to_owned());
    set(run, "hardware.class", text, &format!("the agent at {}", joined.url));
    Ok(Source::Agent(Box::new(joined)))
}

/// Finds the server's process and its hardware, where it runs here.
fn find(args: &MachineArgs, run: &mut Run) -> anyhow::Result<Option<Machine>> {
    let Some((host, port)) = run.target.url.as_deref().and_then(address) else { return Ok(None) };
    let root = Root::system();
    let process = match server::find(&root, &host, port) {
        Ok(process) => Some(process),
        Err(error @ (NotFound::Elsewhere | NotFound::Forwarded { .. })) => {
            run.unknown.insert("launch_command".to_owned(), error.to_string());
            run.unknown.insert("hardware".to_owned(), error.to_string());
            return Ok(None);
        }
        Err(error) => {
            run.unknown.insert("launch_command".to_owned(), error.to_string());
            None
        }
    };
    if let Some(process) = &process {
        if process.pid == std::process::id() {
            let why = "the server is a part of this program";
            run.unknown.insert("launch_command".to_owned(), why.to_owned());
        } else {
            launched(run, process, &process.how);
        }
    }
    let catalogue = catalogue(args.accelerators.as_deref())?;
    let machine = Machine::look(Options { root, catalogue, ..Options::default() });
    let asked = Inventory {
        processes: process.as_ref().map(|process| process.processes.as_slice()),
        salt: &run.id,
        include_hostname: args.include_hostname,
        container: process.as_ref().and_then(|process| process.container.as_ref()),
    };
    let (hardware, unknown) = machine.hardware(&asked);
    let why = run.unknown.remove("hardware");
    take(run, hardware, unknown, why);
    Ok(Some(machine))
}

/// Puts a machine into the record. `why` says why the server's process is not known, if so.
fn take(run: &mut Run, mut hardware: Hardware, unknown: BTreeMap<String, String>, why: Option<String>) {
    if run.simulated && hardware.used().next().is_none() {
        // The host is real, and no accelerator under a simulated engine is.
        hardware.class = None;
        let why = why.unwrap_or_else(|| "a simulated engine has none".to_owned());
        for field in ["hardware.class", "hardware.accelerators"] {
            run.unknown.insert(field.to_owned(), why.clone());
        }
    } else {
        run.unknown.extend(unknown);
    }
    run.hardware = hardware;
}

/// How the server was started, and what its packages say of the engine. `how` says how that was found.
fn launched(run: &mut Run, process: &ServerProcess, how: &str) {
    // What the process says is nearer than what the engine says of itself.
    set(run, "launch_command", process.command(), how);
    run.launch_command = Some(process.command());
    let engine = run.engine.name.clone().unwrap_or_default().replace(['-', '.'], "_");
    for package in &process.packages {
        let Package { name, version, commit, repository } = package;
        let source = "metadata of the server's packages";
        if let Some(version) = version {
            set(run, &format!("engine.packages.{name}"), version.clone(), source);
        }
        if *name != engine {
            continue;
        }
        // Wheels say behind a `+` what they were built for, and from what.
        let (of_version, build) = version.as_deref().map(tokometer_target::local_version).unwrap_or_default();
        let commit = commit.as_deref().or(of_version);
        for (field, found) in [
            ("engine.commit", commit),
            ("engine.repository", repository.as_deref()),
            ("engine.build", build),
            ("engine.backend", build.map(tokometer_target::backend_of)),
        ] {
            let slot = match field {
                "engine.commit" => &mut run.engine.commit,
                "engine.repository" => &mut run.engine.repository,
                "engine.build" => &mut run.engine.build,
                _ => &mut run.engine.backend,
            };
            if let (None, Some(found)) = (&slot, found) {
                *slot = Some(found.to_owned());
                set(run, field, found.to_owned(), source);
            }
        }
    }
    if let (None, Some(commit)) = (&run.engine.commit, &process.checkout) {
        run.engine.commit = Some(commit.clone());
        set(run, "engine.commit", commit.clone(), "the checkout that the server's program lies in");
    }
}

/// What the user states, over what was found.
fn state(args: &MachineArgs, run: &mut Run) -> anyhow::Result<()> {
    if let Some(command) = &args.stated_command {
        let command = redact::line(command);
        set(run, "launch_command", command.clone(), &by("--stated-command"));
        run.launch_command = Some(command);
    }
    let texts = [
        ("model.id", "--model-id", &args.model_id),
        ("model.revision", "--revision", &args.revision),
        ("model.quantization", "--quantization", &args.quantization),
        ("engine.name", "--engine-name", &args.engine_name),
        ("engine.version", "--engine-version", &args.engine_version),
        ("engine.commit", "--engine-commit", &args.engine_commit),
        ("engine.repository", "--engine-repository", &args.engine_repository),
        ("engine.build", "--engine-build", &args.engine_build),
    ];
    for (field, flag, stated) in texts {
        let Some(stated) = stated else { continue };
        let stated = redact::text(stated);
        let slot = match field {
            "model.id" => &mut run.model.id,
            "model.revision" => &mut run.model.revision,
            "model.quantization" => &mut run.model.quantization,
            "engine.name" => &mut run.engine.name,
            "engine.version" => &mut run.engine.version,
            "engine.commit" => &mut run.engine.commit,
            "engine.repository" => &mut run.engine.repository,
            _ => &mut run.engine.build,
        };
        *slot = Some(stated.clone());
        set(run, field, stated, &by(flag));
    }
    if let Some(path) = &args.hardware {
        run.hardware = stated_hardware(path)?;
        run.evidence.retain(|evidence| evidence.field != "hardware.class");
        run.unknown.retain(|field, _| field != "hardware" && !field.starts_with("hardware."));
        let list = Hardware::fold(run.hardware.devices.iter());
        let list = if run.hardware.accelerators.is_empty() { &list } else { &run.hardware.accelerators };
        let text =
            list.iter().map(|one| format!("{} × {}", one.count, one.name)).collect::<Vec<_>>().join(", ");
        set(run, "hardware.accelerators", text, &by("--hardware"));
    }
    Ok(())
}

fn by(flag: &str) -> String {
    format!("{STATED} ({flag})")
}

/// Puts a fact's source into the record, in place of what was known before.
fn set(run: &mut Run, field: &str, value: String, source: &str) {
    run.unknown.remove(field);
    run.evidence.retain(|evidence| evidence.field != field);
    run.evidence.push(Evidence { field: field.to_owned(), value, source: source.to_owned() });
}

fn stated_hardware(path: &Path) -> anyhow::Result<Hardware> {
    let name = path.display();
    let hint = "it looks like {\"class\": \"discrete_gpu\", \"os\": \"linux\", \"accelerators\": [{\"name\": \"H200 SXM\", \"count\": 4, \"memory_gb\": 141}]}";
    let text = std::fs::read_to_string(path)
        .with_context(|| Hinted::usage(format!("cannot read the hardware file {name}"), hint))?;
    let mut hardware: Hardware = serde_json::from_str(&text)
        .with_context(|| Hinted::usage(format!("the hardware file {name} cannot be used"), hint))?;
    hardware.origin = Some("stated".to_owned());
    Ok(hardware)
}

/// The built-in catalogue, with the user's own entries in front.
pub(crate) fn catalogue(named: Option<&Path>) -> anyhow::Result<Catalogue> {
    let built_in = Catalogue::default();
    let own = || configuration().map(|folder| folder.join(CATALOGUE)).filter(|path| path.is_file());
    match named.map(Path::to_owned).or_else(own) {
        Some(path) => {
            let extended = built_in.extend(&path);
            extended.map_err(|error| Hinted::usage(error.to_string(), "mend it, or leave it out").into())
        }
        None => Ok(built_in),
    }
}

/// The folder of the user's configuration.
pub(super) fn configuration() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let all = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(all.join("tokometer"))
}

/// Host and port of a base URL.
fn address(url: &str) -> Option<(String, u16)> {
    let target = tokometer_wire::TargetUrl::parse(url).ok()?;
    Some((target.host, target.port))
}

/// What will stand in the record about the machine, before anything is measured or published.
pub(super) fn preview(run: &Run) -> String {
    let mut lines = Vec::new();
    let unknown = |field: &str| run.unknown.get(field).cloned();
    let hardware = &run.hardware;
    let list = &hardware.accelerators;
    let accelerators =
        list.iter().map(|one| format!("{} × {}", one.count, one.name)).collect::<Vec<_>>().join(", ");
    let machine = if hardware.class.as_deref() == Some("cpu") {
        let cpu = hardware.host.as_ref().and_then(|host| host.cpu.clone());
        Some(format!("CPU only{}", cpu.map(|cpu| format!(" ({cpu})")).unwrap_or_default()))
    } else if list.is_empty() {
        unknown("hardware").or_else(|| unknown("hardware.accelerators"))
    } else {
        Some(accelerators)
    };
    let by = if hardware.origin.as_deref() == Some("agent") { ", by the agent on its host" } else { "" };
    lines.extend(machine.map(|machine| format!("  hardware: {machine}{by}")));
    let command =
        run.launch_command.clone().or_else(|| unknown("launch_command").map(|why| format!("unknown: {why}")));
    lines.extend(command.map(|command| format!("  launched by: {command}")));
    lines.join("\n")
}

/// Shows the preview.
pub(super) fn show(run: &Run) {
    let text = preview(run);
    if !text.is_empty() {
        out::say(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_split() {
        assert_eq!(address("http://127.0.0.1:8000"), Some(("127.0.0.1".to_owned(), 8000)));
        assert_eq!(address("https://gpu1/base"), Some(("gpu1".to_owned(), 443)));
        assert_eq!(address("http://[::1]:9").unwrap().1, 9);
    }
}
