//! From a port to the processes that listen on it: `/proc/net/tcp` names the socket, `/proc/<pid>/fd` who has it.

use std::collections::BTreeSet;

use crate::root::Root;

/// State of a listening socket.
const LISTEN: &str = "0A";

/// Processes that listen on `port`, oldest first.
pub(super) fn listeners(root: &Root, port: u16) -> Vec<u32> {
    holders(root, &sockets(root, "proc/net", port))
}

/// The same in the network namespaces of other processes: those of containers.
pub(super) fn listeners_in_namespaces(root: &Root, port: u16) -> Vec<u32> {
    let own = root.link("proc/self/ns/net");
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    for pid in pids(root) {
        let Some(namespace) = root.link(&format!("proc/{pid}/ns/net")) else { continue };
        if Some(&namespace) != own.as_ref() && seen.insert(namespace) {
            found.extend(sockets(root, &format!("proc/{pid}/net"), port));
        }
    }
    holders(root, &found)
}

/// Inodes of the listening sockets on a port.
fn sockets(root: &Root, folder: &str, port: u16) -> BTreeSet<u64> {
    let suffix = format!(":{port:04X}");
    let tables = ["tcp", "tcp6"].into_iter().filter_map(|name| root.text(&format!("{folder}/{name}")));
    let mut found = BTreeSet::new();
    for table in tables {
        for line in table.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, state, _, _, _, _, _, inode, ..] = words.as_slice() else { continue };
            if *state == LISTEN && local.ends_with(&suffix) {
                found.extend(inode.parse::<u64>().ok().filter(|inode| *inode > 0));
            }
        }
    }
    found
}

/// Processes that have one of these sockets open.
fn holders(root: &Root, sockets: &BTreeSet<u64>) -> Vec<u32> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = sockets.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let holds = |pid: &u32| {
        let folder = format!("proc/{pid}/fd");
        let fds = root.names(&folder);
        fds.iter().any(|fd| root.link(&format!("{folder}/{fd}")).is_some_and(|link| names.contains(&link)))
    };
    let mut found: Vec<u32> = pids(root).filter(holds).collect();
    found.sort_unstable();
    found
}

fn pids(root: &Root) -> impl Iterator<Item = u32> {
    root.names("proc").into_iter().filter_map(|name| name.parse().ok())
}
