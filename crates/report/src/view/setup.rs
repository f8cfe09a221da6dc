//! The set-up: hardware, engine, model, what was asked, and how the server was started.

use tokometer_record::{Accelerator, Cell, Hardware, Host, Phase, Run, context_label};

use crate::launch::{self, Flag};
use crate::number;
use crate::words::{self, clean, clean_lines};

/// Everything that the numbers depend on.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Hardware, engine, model, run.
    pub(crate) groups: Vec<Group>,
    /// How the server was started.
    pub(crate) launch: Option<String>,
    /// The flags of that command, explained.
    pub(crate) flags: Vec<Flag>,
    /// Why the command is unknown.
    pub(crate) launch_unknown: String,
    /// Reasons of fields that no group shows: path and reason.
    pub(crate) unknown: Vec<(String, String)>,
}

/// Facts under one heading.
#[derive(Debug)]
pub(crate) struct Group {
    /// `Hardware`.
    pub(crate) title: &'static str,
    /// Facts that are known.
    pub(crate) items: Vec<Item>,
    /// Facts that are unknown, by reason.
    pub(crate) unknown: Vec<Unknown>,
}

/// Facts that are unknown for the same reason.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// The reason; without one the record just does not have them.
    pub(crate) why: Option<String>,
    /// What is unknown: path and name.
    pub(crate) facts: Vec<(&'static str, &'static str)>,
}

/// One fact.
#[derive(Debug)]
pub(crate) struct Item {
    /// Dotted path in the record: `engine.version`.
    pub(crate) path: &'static str,
    /// `Version`.
    pub(crate) label: &'static str,
    /// The fact.
    pub(crate) value: String,
    /// Where it comes from, if the record tells.
    pub(crate) source: Option<String>,
}

impl Setup {
    /// Collects the set-up of a run.
    pub(crate) fn of(run: &Run) -> Setup {
        let groups = vec![hardware(run), engine(run), model(run), method(run), load(run), request(run)];
        let shown: Vec<&str> = groups
            .iter()
            .flat_map(|group| group.unknown.iter().flat_map(|unknown| &unknown.facts))
            .map(|(path, _)| *path)
            .collect();
        let unknown = run
            .unknown
            .iter()
            .filter(|(path, _)| path.as_str() != "launch_command" && !shown.contains(&path.as_str()))
            .map(|(path, why)| (clean(path), clean(why)))
            .collect();
        Setup {
            groups,
            flags: run
                .launch_command
                .as_deref()
                .map(|command| launch::flags(&clean_lines(command)))
                .unwrap_or_default(),
            launch: run.launch_command.as_deref().map(clean_lines),
            launch_unknown: run
                .unknown
                .get("launch_command")
                .map_or_else(|| "no reason is in the record".to_owned(), |why| clean(why)),
            unknown,
        }
    }
}

/// `4 × H200 SXM (141 GB each)`.
pub(crate) fn accelerator(accelerator: &Accelerator) -> String {
    let memory = accelerator
        .memory_gb
        .map(|memory| format!(" ({} GB each)", number::plain(memory)))
        .unwrap_or_default();
    format!("{} × {}{memory}", accelerator.count, clean(&accelerator.name))
}

/// Gathers the facts of a group.
struct Gather<'a> {
    run: &'a Run,
    group: Group,
}

impl<'a> Gather<'a> {
    fn new(run: &'a Run, title: &'static str) -> Gather<'a> {
        Gather { run, group: Group { title, items: Vec::new(), unknown: Vec::new() } }
    }

    /// Adds a fact; unknown ones go together by their reason.
    fn add(&mut self, path: &'static str, label: &'static str, value: Option<String>) -> &mut Gather<'a> {
        self.add_from(path, label, value, None)
    }

    /// As [`Gather::add`], with the source where the record has it in a field of its own; else the evidence
    /// tells it.
    fn add_from(
        &mut self,
        path: &'static str,
        label: &'static str,
        value: Option<String>,
        source: Option<&String>,
    ) -> &mut Gather<'a> {
        if let Some(value) = value {
            let found = self.run.evidence.iter().find(|evidence| evidence.field == path);
            let source = source.or(found.map(|found| &found.source)).map(|source| clean(source));
            self.group.items.push(Item { path, label, value, source });
            return self;
        }
        let why = self.run.unknown.get(path).map(|why| clean(why));
        match self.group.unknown.iter_mut().find(|unknown| unknown.why == why) {
            Some(unknown) => unknown.facts.push((path, label)),
            None => self.group.unknown.push(Unknown { why, facts: vec![(path, label)] }),
        }
        self
    }

    fn text(&mut self, path: &'static str, label: &'static str, value: Option<&String>) -> &mut Gather<'a> {
        self.add(path, label, value.map(|value| clean(value)))
    }

    fn finish(self) -> Group {
        self.group
    }
}

fn hardware(run: &Run) -> Group {
    let mut gather = Gather::new(run, "Hardware");
    let hardware = &run.hardware;
    gather.add("hardware.class", "Class", hardware.class.as_deref().map(words::code));
    let some = !hardware.accelerators.is_empty();
    let list = hardware.accelerators.iter().map(accelerator).collect::<Vec<_>>().join(", ");
    gather.add("hardware.accelerators", "Accelerators", some.then_some(list));
    let memory: Option<f64> = hardware
        .accelerators
        .iter()
        .map(|one| Some(one.memory_gb? * f64::from(one.count)))
        .sum::<Option<f64>>();
    let memory = memory.filter(|_| some).map(|all| format!("{} GB", number::plain(all)));
    gather.add("hardware.memory_gb", "Total memory", memory);
    gather.text("hardware.os", "Operating system", hardware.os.as_ref());
    if let Some(origin) = &hardware.origin {
        gather.add("hardware.origin", "Told by", Some(words::code(origin)));
    }
    devices(&mut gather, hardware);
    if let Some(host) = &hardware.host {
        told_by_host(&mut gather, host);
    }
    gather.finish()
}

/// What the accelerators tell beyond their names; only what is there, for there are many such facts.
fn devices(gather: &mut Gather<'_>, hardware: &Hardware) {
    let Some(first) = hardware.used().next() else { return };
    let found = hardware.devices.len();
    let used = hardware.used().count();
    if found > used {
        let text = format!("{used} of {found} that were found");
        gather.add("hardware.devices.used_by_server", "Used by the server", Some(text));
    }
    let driver =
        [&first.driver, &first.compute].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    if !driver.is_empty() {
        gather.add("hardware.devices.driver", "Driver", Some(clean(&driver)));
    }
    if let Some(limit) = first.power_limit_watts {
        let of = first.power_default_watts.filter(|default| *default != limit);
        let of = of.map(|default| format!(" (factory: {} W)", number::plain(default))).unwrap_or_default();
        let text = format!("{} W{of}", number::plain(limit));
        gather.add("hardware.devices.power_limit_watts", "Power limit of each", Some(text));
    }
    if let (Some(generation), Some(width)) = (first.pcie_generation, first.pcie_width) {
        let text = format!("generation {generation}, {width} lanes under load");
        gather.add("hardware.devices.pcie_generation", "PCIe", Some(text));
    }
}

/// The facts of a host that are there.
fn told_by_host(gather: &mut Gather<'_>, host: &Host) {
    let cores = match (host.sockets, host.cores, host.threads) {
        (Some(sockets), Some(cores), Some(threads)) => {
            format!(" ({sockets} × {} cores, {threads} threads)", cores / sockets.max(1))
        }
        (_, _, Some(threads)) => format!(" ({threads} threads)"),
        _ => String::new(),
    };
    let facts = [
        ("hardware.host.hostname", "Host", host.hostname.clone()),
        ("hardware.host.cpu", "CPU", host.cpu.as_ref().map(|cpu| format!("{cpu}{cores}"))),
        (
            "hardware.host.memory_bytes",
            "Host memory",
            host.memory_bytes.map(|bytes| format!("{} GB", number::plain((bytes as f64 / 1e9).round()))),
        ),
        ("hardware.host.distribution", "Distribution", host.distribution.clone()),
        ("hardware.host.kernel", "Kernel", host.kernel.clone()),
        ("hardware.host.board", "Board", host.board.clone()),
        (
            "hardware.host.container",
            "Container",
            host.container.as_ref().map(|container| {
                [&container.runtime, &container.id, &container.image]
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(" ")
            }),
        ),
    ];
    for (path, label, value) in facts {
        if let Some(value) = value {
            gather.add(path, label, Some(clean(&value)));
        }
    }
}

fn engine(run: &Run) -> Group {
    let mut gather = Gather::new(run, "Engine");
    let engine = &run.engine;
    gather
        .text("engine.name", "Name", engine.name.as_ref())
        .text("engine.version", "Version", engine.version.as_ref())
        .text("engine.commit", "Commit", engine.commit.as_ref())
        .text("engine.repository", "Repository", engine.repository.as_ref())
        .text("engine.build", "Build", engine.build.as_ref())
        .text("engine.backend", "Backend", engine.backend.as_ref())
        .text("engine.parallelism", "Parallelism", engine.parallelism.as_ref())
        .text("engine.speculative", "Speculative decoding", engine.speculative.as_ref())
        .add("engine.prefix_caching", "Prefix caching", engine.prefix_caching.map(on_off));
    gather.finish()
}

fn model(run: &Run) -> Group {
    let mut gather = Gather::new(run, "Model and capacity");
    let tokens = |count: u64| words::counted(count, "token");
    gather
        .text("model.id", "Name", run.model.id.as_ref())
        .text("model.served_name", "Served as", run.model.served_name.as_ref())
        .text("model.revision", "Revision", run.model.revision.as_ref())
        .text("model.quantization", "Precision", run.model.quantization.as_ref())
        .add("model.max_length", "Longest prompt and output", run.model.max_length.map(tokens));
    let capacity = &run.capacity;
    gather
        .add_from(
            "capacity.kv_tokens",
            "KV cache",
            capacity.kv_tokens.map(tokens),
            capacity.kv_source.as_ref(),
        )
        .add_from(
            "capacity.concurrent_requests",
            "Requests at once",
            capacity.concurrent_requests.map(number::count),
            capacity.concurrent_source.as_ref(),
        );
    gather.finish()
}

fn method(run: &Run) -> Group {
    let mut gather = Gather::new(run, "Run");
    let commit = run.tool.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
    let headers = run.target.headers.join(", ");
    gather
        .add("tool", "Measured by", Some(clean(&format!("{} {}{commit}", run.tool.name, run.tool.version))))
        .add("method", "Method", Some(clean(&format!("{} {}", run.method.name, run.method.version))))
        .text("created_at", "Started", run.created_at.as_ref())
        .add("elapsed_seconds", "Took", run.elapsed_seconds.map(number::duration))
        .text("target.url", "Target", run.target.url.as_ref())
        .text("target.proxy", "Proxy in front", run.target.proxy.as_ref());
    if !headers.is_empty() {
        gather.add("target.headers", "Headers added (names)", Some(clean(&headers)));
    }
    gather.add("id", "Run id", Some(clean(&run.id)));
    gather.finish()
}

fn load(run: &Run) -> Group {
    let mut gather = Gather::new(run, "Load");
    let settings = &run.settings;
    let contexts =
        |list: &[u64]| list.iter().map(|tokens| context_label(*tokens)).collect::<Vec<_>>().join(", ");
    let concurrency = settings.concurrency.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    gather
        .add("settings.decode_test", "Decode test", Some(words::code(&settings.decode_test)))
        .add("settings.prefill_mode", "Prefill", Some(words::code(&settings.prefill_mode)))
        .add(
            "settings.duration_seconds",
            "Time for each measurement",
            Some(format!("{} s", number::seconds(settings.duration_seconds))),
        )
        .add("settings.contexts", "Contexts", Some(contexts(&settings.contexts)))
        .add("settings.concurrency", "Concurrency", Some(concurrency))
        .add("settings.prefill_contexts", "Prefill contexts", Some(contexts(&settings.prefill_contexts)))
        .add("settings.prefill_repeats", "Cold requests each", Some(settings.prefill_repeats.to_string()))
        .add(
            "settings.prompts",
            "Prompts",
            settings.prompts.map(|prompts| words::prompts(prompts).to_owned()),
        )
        .add("settings.cold", "Cold prompts", settings.cold.map(yes_no))
        .text("settings.corpus", "Corpus", corpus(run).as_ref())
        .add("settings.prompt_sizing", "Prompts sized", settings.prompt_sizing.as_deref().map(words::code))
        .add(
            "settings.at_end",
            "At the window's end",
            settings.at_end.map(|end| words::at_end(end).to_owned()),
        )
        .add("settings.allow_busy", "Other load allowed", settings.allow_busy.map(yes_no))
        .add(
            "settings.load_threads",
            "Threads that read",
            settings.load_threads.map(|threads| threads.to_string()),
        )
        .add(
            "cells.tokens.source",
            "Tokens counted by",
            // Prefill requests ask for one token, whose count comes at the end: no rate rests on it.
            distinct(run, |cell| {
                let decode = cell.phase == Phase::Decode;
                cell.tokens.source.filter(|_| decode).map(words::token_source)
            }),
        )
        .add(
            "cells.stamp_source",
            "Arrival stamped by",
            distinct(run, |cell| cell.stamp_source.map(words::stamp_source)),
        );
    // Other programs do not tell.
    if run.imported.is_none() {
        gather
            .add(
                "settings.repeats",
                "Each cell measured",
                Some(words::counted(u64::from(settings.repeats), "time")),
            )
            .add("settings.order", "Order", Some(words::order(settings.order).to_owned()));
    }
    gather.finish()
}

fn request(run: &Run) -> Group {
    let mut gather = Gather::new(run, "Request");
    let settings = &run.settings;
    let own = run.imported.is_none();
    let sampling = |value: Option<f64>| match value {
        None if own => Some("the server's own".to_owned()),
        value => value.map(number::exact),
    };
    gather
        .add(
            "settings.max_output_tokens",
            "Output asked",
            Some(words::counted(settings.max_output_tokens, "token")),
        )
        .add("settings.endpoint", "Route", settings.endpoint.map(|route| words::endpoint(route).to_owned()))
        .add(
            "settings.respect_eos",
            "End of text",
            settings.respect_eos.map(|respected| {
                if respected { "ends a request" } else { "ignored where possible" }.to_owned()
            }),
        )
        .add("settings.temperature", "Temperature", sampling(settings.temperature))
        .add("settings.top_p", "Top-p", sampling(settings.top_p))
        .add("settings.seed", "Seed", settings.seed.map(|seed| seed.to_string()))
        .add(
            "settings.timeout_seconds",
            "Timeout",
            settings.timeout_seconds.map(|seconds| format!("{} s", number::seconds(seconds))),
        )
        .add(
            "settings.request_fields",
            "Fields sent",
            settings.request_fields.as_ref().map(|json| clean(&json.to_string())),
        );
    if let Some(json) = &settings.request_json {
        gather.add("settings.request_json", "Fields added by the user", Some(clean(&json.to_string())));
    }
    gather.finish()
}

/// What the rows of a run say, each thing once.
fn distinct(run: &Run, get: impl Fn(&Cell) -> Option<&'static str>) -> Option<String> {
    let mut said: Vec<&str> = run.cells.iter().filter_map(get).collect();
    said.sort_unstable();
    said.dedup();
    (!said.is_empty()).then(|| said.join(", "))
}

/// The user's corpus; own runs without one used the built-in generator.
fn corpus(run: &Run) -> Option<String> {
    match &run.settings.corpus {
        None if run.imported.is_none() => Some("the built-in generator".to_owned()),
        corpus => corpus.clone(),
    }
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}
