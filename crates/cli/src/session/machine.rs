//! The machine under the server: found where it is this one, stated by the user, watched while it is measured.

use std::cell::RefCell;
use std::path::Path;

use anyhow::Context;
use tokometer_record::{CellTelemetry, CellTrace, Evidence, Hardware, Run, RunFolder, Telemetry};
use tokometer_telemetry::server::{self, NotFound, Package, ServerProcess};
use tokometer_telemetry::{Catalogue, Inventory, Machine, Options, Root, Watch};
use tokometer_wire::clock::Clock;
use tokometer_wire::redact;

use crate::args::machine::MachineArgs;
use crate::failure::Hinted;
use crate::out;

/// What a user said, in evidence.
const STATED: &str = "stated by the user";
/// Where a user's own catalogue lies below the folder of configuration.
const CATALOGUE: &str = "tokometer/accelerators.json";

/// The machine of a session.
pub(super) struct Observed {
    machine: Option<Machine>,
    watch: RefCell<Option<Watch>>,
    /// Readings of the server's gauges, as cells brought them.
    gauges: RefCell<Vec<tokometer_record::SampleRow>>,
}

impl Observed {
    /// Looks at the machine, and fills in what is found and what is stated.
    pub(super) fn look(args: &MachineArgs, run: &mut Run) -> anyhow::Result<Observed> {
        let mut machine = None;
        if args.no_machine {
            let why = "not looked for (--no-machine)";
            run.unknown.insert("hardware".to_owned(), why.to_owned());
            run.unknown.insert("launch_command".to_owned(), why.to_owned());
        } else {
            machine = find(args, run)?;
        }
        state(args, run)?;
        if run.launch_command.is_some() {
            run.unknown.remove("launch_command");
        }
        Ok(Observed { machine, watch: RefCell::default(), gauges: RefCell::default() })
    }

    /// Starts reading.
    pub(super) fn watch(&mut self, run: &mut Run, clock: Clock) {
        let Some(machine) = self.machine.take() else { return };
        match machine.watch(&run.hardware, &run.id, clock) {
            Ok(watch) => *self.watch.borrow_mut() = Some(watch),
            Err(error) => {
                run.unknown
                    .insert("telemetry".to_owned(), format!("its thread could not be started: {error}"));
            }
        }
    }

    /// The last readings, for a display.
    pub(super) fn latest(&self) -> Option<tokometer_telemetry::Latest> {
        self.watch.borrow().as_ref().map(Watch::latest)
    }

    /// What the machine did over a cell.
    pub(super) fn over(&self, trace: &CellTrace) -> Option<CellTelemetry> {
        let watch = self.watch.borrow();
        let watch = watch.as_ref()?;
        self.gauges.borrow_mut().extend(trace.samples.iter().copied());
        tokometer_analysis::telemetry::machine(&watch.series(), trace)
    }

    /// Ends reading and saves the series.
    pub(super) fn finish(&self, run: &mut Run, folder: &RunFolder) {
        let Some(watch) = self.watch.borrow_mut().take() else { return };
        let mut series = watch.stop();
        series.server = self.gauges.take();
        links_under_load(run, &series);
        // What a resumed run has read before its break.
        if let Some(before) = run.telemetry.as_ref().and_then(|file| folder.load_telemetry(file).ok()) {
            series.devices.splice(0..0, before.devices);
            series.host.splice(0..0, before.host);
            series.server.splice(0..0, before.server);
        }
        match folder.save_telemetry(&series) {
            Ok(file) => run.telemetry = Some(file),
            Err(error) => {
                run.unknown.insert("telemetry".to_owned(), error.to_string());
            }
        }
    }
}

/// The PCIe links as they were under load: an idle one falls back.
fn links_under_load(run: &mut Run, series: &Telemetry) {
    for device in &mut run.hardware.devices {
        let rows = || series.devices.iter().filter(|row| row.device == device.index);
        let largest = |values: Vec<f64>| values.into_iter().reduce(f64::max).map(|value| value as u32);
        device.pcie_generation = largest(rows().filter_map(|row| row.pcie_generation).collect());
        device.pcie_width = largest(rows().filter_map(|row| row.pcie_width).collect());
    }
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
        launched(run, process);
    }
    let machine = Machine::look(Options { root, catalogue: catalogue(args)?, ..Options::default() });
    let asked = Inventory {
        processes: process.as_ref().map(|process| process.processes.as_slice()),
        salt: &run.id,
        include_hostname: args.include_hostname,
        container: process.as_ref().and_then(|process| process.container.as_ref()),
    };
    let (mut hardware, unknown) = machine.hardware(&asked);
    let told = run.unknown.remove("hardware");
    if run.simulated && hardware.used().next().is_none() {
        // The host is real, and no accelerator under a simulated engine is.
        hardware.class = None;
        let why = told.unwrap_or_else(|| "a simulated engine has none".to_owned());
        for field in ["hardware.class", "hardware.accelerators"] {
            run.unknown.insert(field.to_owned(), why.clone());
        }
    } else {
        run.unknown.extend(unknown);
    }
    run.hardware = hardware;
    Ok(Some(machine))
}

/// How the server was started, and what its packages say of the engine.
fn launched(run: &mut Run, process: &ServerProcess) {
    if process.pid == std::process::id() {
        let why = "the server is a part of this program";
        run.unknown.insert("launch_command".to_owned(), why.to_owned());
        return;
    }
    // What the process says is nearer than what the engine says of itself.
    set(run, "launch_command", process.command(), &process.how);
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
        for (field, found) in [("engine.commit", commit), ("engine.repository", repository)] {
            let slot =
                if field == "engine.commit" { &mut run.engine.commit } else { &mut run.engine.repository };
            if let (None, Some(found)) = (&slot, found) {
                *slot = Some(found.clone());
                set(run, field, found.clone(), source);
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
fn catalogue(args: &MachineArgs) -> anyhow::Result<Catalogue> {
    let built_in = Catalogue::default();
    let extended = match &args.accelerators {
        Some(path) => built_in.extend(path),
        None => match own_catalogue() {
            Some(path) => built_in.extend(&path),
            None => return Ok(built_in),
        },
    };
    extended.map_err(|error| Hinted::usage(error.to_string(), "mend it, or leave it out").into())
}

/// The user's own catalogue, if there is one.
fn own_catalogue() -> Option<std::path::PathBuf> {
    let folder =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(std::path::PathBuf::from);
    let configuration = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(configuration.join(CATALOGUE)).filter(|path| path.is_file())
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
    lines.extend(machine.map(|machine| format!("  hardware: {machine}")));
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
