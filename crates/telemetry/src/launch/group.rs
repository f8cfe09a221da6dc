//! A process group, and the children that left it.

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::root::Root;
use crate::server;

/// Processes of one launch. Each is known by its start as well as by its number, which may be used again.
#[derive(Debug)]
pub(super) struct Group {
    root: Root,
    leader: u32,
    known: Vec<(u32, u64)>,
}

impl Group {
    pub(super) fn new(root: Root, leader: u32) -> Group {
        Group { root, leader, known: Vec::new() }
    }

    /// Remembers who belongs to it now: children may leave the group, and are still ours.
    pub(super) fn look(&mut self) {
        let mut found = server::descendants(&self.root, self.leader);
        let all = self.root.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        found.extend(
            all.filter(|pid| Stat::read(&self.root, *pid).is_some_and(|stat| stat.group == self.leader)),
        );
        for known in self.known.clone() {
            // A child of a child whose parent is gone.
            if self.runs(known) {
                found.extend(server::descendants(&self.root, known.0));
            }
        }
        for pid in found {
            let Some(stat) = Stat::read(&self.root, pid) else { continue };
            if !self.known.contains(&(pid, stat.start)) {
                self.known.push((pid, stat.start));
            }
        }
    }

    /// True while one of them runs.
    pub(super) fn is_alive(&mut self) -> bool {
        self.look();
        self.known.iter().any(|known| self.runs(*known))
    }

    /// Asks all to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Ends all, also those that are started meanwhile.
    pub(super) fn kill(&mut self) {
        for _ in 0..3 {
            self.look();
            // Where processes can't be seen one by one, the group as a whole has to do.
            if cfg!(target_os = "linux") && !self.known.iter().any(|known| self.runs(*known)) {
                return;
            }
            self.signal(Signal::SIGKILL);
        }
    }

    fn signal(&self, signal: Signal) {
        // Who is gone already needs no signal.
        let _ = killpg(Pid::from_raw(self.leader.cast_signed()), signal);
        let outside = |known: &&(u32, u64)| {
            self.runs(**known)
                && Stat::read(&self.root, known.0).is_some_and(|stat| stat.group != self.leader)
        };
        for (pid, _) in self.known.iter().filter(outside) {
            let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
        }
    }

    fn runs(&self, (pid, start): (u32, u64)) -> bool {
        Stat::read(&self.root, pid).is_some_and(|stat| stat.start == start && stat.runs)
    }
}

/// What `/proc/<pid>/stat` says.
struct Stat {
    group: u32,
    start: u64,
    /// False for one that has ended and that nobody has waited for.
    runs: bool,
}

impl Stat {
    fn read(root: &Root, pid: u32) -> Option<Stat> {
        let text = root.text(&format!("proc/{pid}/stat"))?;
        // The name may hold anything, also brackets and spaces.
        let (_, rest) = text.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let state = words.first()?;
        Some(Stat {
            group: words.get(2)?.parse().ok()?,
            start: words.get(19)?.parse().ok()?,
            runs: !matches!(*state, "Z" | "X"),
        })
    }
}
