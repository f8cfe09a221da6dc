//! The host: what `/proc` and `/sys` say of it. No serial numbers, and its name only where it is asked for.

use std::collections::BTreeSet;

use tokometer_record::{Container, Host, HostSample};

use crate::root::Root;

/// Digits of a container's id that are kept, as its own tools show it.
pub(crate) const ID_DIGITS: usize = 12;

/// The inventory. `server` is the process whose container is named; none: that of this process.
pub(crate) fn inventory(root: &Root, include_hostname: bool, server: Option<u32>) -> Host {
    let cpus = root.text("proc/cpuinfo").unwrap_or_default();
    let value = |name: &str| {
        let mut lines = cpus.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    let sockets = distinct(&cpus, &["physical id"]);
    let cores = distinct(&cpus, &["physical id", "core id"]);
    let threads = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let memory = |name: &str| memory_bytes(root, name);
    let (swap, free) = (memory("SwapTotal"), memory("SwapFree"));
    Host {
        hostname: if include_hostname { root.text("proc/sys/kernel/hostname") } else { None },
        distribution: distribution(root),
        kernel: root.text("proc/sys/kernel/osrelease"),
        architecture: Some(std::env::consts::ARCH.to_owned()),
        cpu: value("model name").or_else(|| root.text("sys/firmware/devicetree/base/model")),
        sockets: (sockets > 0).then_some(sockets),
        cores: (cores > 0).then_some(cores),
        threads: u32::try_from(threads).ok().filter(|threads| *threads > 0),
        governors: governors(root),
        numa_nodes: numa_nodes(root),
        memory_bytes: memory("MemTotal"),
        swap_used_bytes: swap.zip(free).map(|(swap, free)| swap.saturating_sub(free)),
        board: board(root),
        virtual_machine: value("flags")
            .map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        load_average: root
            .text("proc/loadavg")
            .and_then(|text| text.split_whitespace().next().and_then(|load| load.parse().ok())),
        container: container(root, server).map(|(container, _)| container),
    }
}

/// Different values of a set of keys over the processors of `/proc/cpuinfo`.
fn distinct(cpus: &str, keys: &[&str]) -> u32 {
    let values = cpus.split("\n\n").filter_map(|block| {
        let of = |key: &&str| {
            let mut lines = block.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(name, _)| name.trim() == *key).map(|(_, value)| value.trim())
        };
        keys.iter().map(of).collect::<Option<Vec<_>>>()
    });
    u32::try_from(values.collect::<BTreeSet<_>>().len()).unwrap_or(0)
}

fn memory_bytes(root: &Root, name: &str) -> Option<u64> {
    let text = root.text("proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn distribution(root: &Root) -> Option<String> {
    let text = root.text("etc/os-release").or_else(|| root.text("usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn governors(root: &Root) -> Vec<String> {
    let cpus = root.names("sys/devices/system/cpu");
    let is_cpu = |name: &&String| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let governor =
        |name: &String| root.text(&format!("sys/devices/system/cpu/{name}/cpufreq/scaling_governor"));
    let found: BTreeSet<String> = cpus.iter().filter(is_cpu).filter_map(governor).collect();
    found.into_iter().collect()
}

fn numa_nodes(root: &Root) -> Option<u32> {
    let names = root.names("sys/devices/system/node");
    let is_node = |name: &&String| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
    u32::try_from(names.iter().filter(is_node).count()).ok().filter(|nodes| *nodes > 0)
}

fn board(root: &Root) -> Option<String> {
    let part = |name: &str| root.text(&format!("sys/class/dmi/id/{name}"));
    let parts: Vec<String> = ["sys_vendor", "product_name"].iter().filter_map(|name| part(name)).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The container of a process, by the names of its control groups, and its whole id.
pub(crate) fn container(root: &Root, server: Option<u32>) -> Option<(Container, String)> {
    let process = server.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let groups = root.text(&format!("proc/{process}/cgroup"))?;
    let id = groups
        .split(['/', '-', '.', ':', '\n'])
        .find(|part| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let known = [
        ("kubepods", "kubernetes"),
        ("docker", "docker"),
        ("libpod", "podman"),
        ("cri-containerd", "containerd"),
        ("crio", "cri-o"),
        ("lxc", "lxc"),
    ];
    let runtime = known.iter().find(|(word, _)| groups.contains(word)).map(|(_, name)| (*name).to_owned());
    let container = Container { runtime, id: Some(id[..ID_DIGITS].to_owned()), ..Container::default() };
    Some((container, id.to_owned()))
}

/// Processor time since boot, in ticks: all, idle, taken away by a hypervisor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuTime {
    all: u64,
    idle: u64,
    stolen: u64,
}

impl CpuTime {
    pub(crate) fn read(root: &Root) -> Option<CpuTime> {
        let text = root.text("proc/stat")?;
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is in user time already.
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        Some(CpuTime { all: ticks.iter().take(8).sum(), idle: at(3) + at(4), stolen: at(7) })
    }
}

/// One reading, from the processor time of the last.
pub(crate) fn sample(root: &Root, time_ns: u64, last: &mut Option<CpuTime>) -> HostSample {
    let now = CpuTime::read(root);
    let since = now.zip(*last).filter(|(now, last)| now.all > last.all);
    let share = |part: fn(&CpuTime) -> u64| {
        let (now, last) = since?;
        Some(part(&now).saturating_sub(part(&last)) as f64 / (now.all - last.all) as f64)
    };
    let sample = HostSample {
        time_ns,
        cpu_busy: share(|time| time.idle).map(|idle| 1.0 - idle),
        cpu_stolen: share(|time| time.stolen),
        memory_available_bytes: memory_bytes(root, "MemAvailable").map(|bytes| bytes as f64),
    };
    // Without a change the reading was too soon: the next one counts from the same start.
    if since.is_some() || last.is_none() {
        *last = now;
    }
    sample
}
