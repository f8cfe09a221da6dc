//! Cores for the engine and others for the client, so that neither takes the other's time.

/// Which cores are whose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cores {
    /// Logical cores of the client; empty where they cannot be told apart.
    pub(crate) client: Vec<usize>,
    /// Logical cores of the engine.
    pub(crate) engine: Vec<usize>,
}

impl Cores {
    /// Halves the cores that this process may use. Logical cores of one physical core stay together as far as there
    /// are two physical ones.
    pub(crate) fn split() -> Cores {
        let mut all = system::allowed();
        if all.len() < 2 {
            return Cores::default();
        }
        all.sort_by_key(|&core| (system::physical(core), core));
        let client = all.split_off(all.len() / 2);
        Cores { client, engine: all }
    }

    /// True if client and engine have cores of their own.
    pub(crate) fn are_separate(&self) -> bool {
        !self.client.is_empty()
    }

    /// Cores of the engine, for shares of its time.
    pub(crate) fn of_engine(&self) -> usize {
        self.engine.len().max(1)
    }

    /// This thread, and the threads and processes that it starts from now on, run on the client's cores.
    pub(crate) fn take_clients(&self) {
        system::pin(&self.client);
    }

    /// The same with the engine's cores.
    pub(crate) fn take_engines(&self) {
        system::pin(&self.engine);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    const THIS_THREAD: Pid = Pid::from_raw(0);

    pub(super) fn allowed() -> Vec<usize> {
        let Ok(set) = sched_getaffinity(THIS_THREAD) else { return Vec::new() };
        (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect()
    }

    /// Package and core of a logical core; all alike where the system does not tell.
    pub(super) fn physical(core: usize) -> (u32, u32) {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu{core}/topology/{name}");
            std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        (read("physical_package_id"), read("core_id"))
    }

    pub(super) fn pin(cores: &[usize]) {
        let mut set = CpuSet::new();
        let all_fit = cores.iter().all(|&core| set.set(core).is_ok());
        if !cores.is_empty() && all_fit {
            // Where it is refused, client and engine share cores, and the figures show it.
            sched_setaffinity(THIS_THREAD, &set).ok();
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn allowed() -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn physical(_core: usize) -> (u32, u32) {
        (0, 0)
    }

    pub(super) fn pin(_cores: &[usize]) {}
}

#[cfg(test)]
mod tests {
    use super::Cores;

    #[test]
    fn no_core_is_given_twice() {
        let cores = Cores::split();
        assert!(cores.client.iter().all(|core| !cores.engine.contains(core)), "{cores:?}");
        assert_eq!(cores.client.is_empty(), cores.engine.is_empty());
    }
}
