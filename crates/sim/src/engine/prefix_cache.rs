//! The prefix cache: hashes of prompt blocks, the longest unused given up first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Known blocks. A block's hash depends on all blocks before it, so a known block stands for a whole prefix.
///
/// Blocks that came with one prompt are kept as a *run*, hung onto the run of the prefix that was known
/// already. Use is noted per run, on the path from the deepest matched one up; so a run was used no later
/// than its parent, and giving up the longest unused run from its end never leaves a block without those
/// before it. That is why the longest known prefix can be found by halving.
#[derive(Debug)]
pub(super) struct PrefixCache {
    capacity_blocks: usize,
    run_of_block: HashMap<u64, u32, BuildHasherDefault<HashedAlready>>,
    runs: HashMap<u32, Run>,
    /// Longest unused first; of a parent and a child used together, the child.
    order: BTreeSet<(u64, Reverse<u32>)>,
    uses: u64,
    next_run: u32,
}

#[derive(Debug)]
struct Run {
    blocks: Vec<u64>,
    parent: Option<u32>,
    used: u64,
}

impl PrefixCache {
    /// An empty cache.
    pub(super) fn new(capacity_blocks: usize) -> PrefixCache {
        PrefixCache {
            capacity_blocks,
            run_of_block: HashMap::default(),
            runs: HashMap::new(),
            order: BTreeSet::new(),
            uses: 0,
            next_run: 0,
        }
    }

    /// Number of leading blocks that are known; they count as used now.
    pub(super) fn find(&mut self, blocks: &[u64]) -> usize {
        let known = blocks.partition_point(|block| self.run_of_block.contains_key(block));
        self.uses += 1;
        let mut next = self.run_of(&blocks[..known]);
        while let Some(id) = next {
            let Some(run) = self.runs.get_mut(&id) else { break };
            self.order.remove(&(run.used, Reverse(id)));
            run.used = self.uses;
            self.order.insert((run.used, Reverse(id)));
            next = run.parent;
        }
        known
    }

    /// Makes all these blocks known.
    pub(super) fn insert(&mut self, blocks: &[u64]) {
        let known = self.find(blocks);
        if known == blocks.len() {
            return;
        }
        let id = self.next_run;
        self.next_run = self.next_run.wrapping_add(1);
        let run =
            Run { blocks: blocks[known..].to_vec(), parent: self.run_of(&blocks[..known]), used: self.uses };
        self.run_of_block.extend(run.blocks.iter().map(|&block| (block, id)));
        self.order.insert((run.used, Reverse(id)));
        self.runs.insert(id, run);
        self.give_up_surplus();
    }

    /// Number of known blocks.
    pub(super) fn len(&self) -> usize {
        self.run_of_block.len()
    }

    fn run_of(&self, blocks: &[u64]) -> Option<u32> {
        self.run_of_block.get(blocks.last()?).copied()
    }

    fn give_up_surplus(&mut self) {
        while self.len() > self.capacity_blocks {
            let Some(&(used, Reverse(id))) = self.order.first() else { return };
            let Some(run) = self.runs.get_mut(&id) else { return };
            let surplus = self.run_of_block.len() - self.capacity_blocks;
            let kept = run.blocks.len().saturating_sub(surplus);
            for block in run.blocks.drain(kept..) {
                self.run_of_block.remove(&block);
            }
            if kept == 0 {
                self.runs.remove(&id);
                self.order.remove(&(used, Reverse(id)));
            }
        }
    }
}

/// Passes on keys that are hashes already.
#[derive(Debug, Default)]
struct HashedAlready(u64);

impl Hasher for HashedAlready {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_longest_known_prefix() {
        let mut cache = PrefixCache::new(100);
        assert_eq!(cache.find(&[1, 2, 3]), 0);
        cache.insert(&[1, 2, 3]);
        assert_eq!(cache.find(&[1, 2, 3, 4]), 3);
        cache.insert(&[1, 2, 7, 8]);
        assert_eq!(cache.find(&[1, 2, 7, 9]), 3);
        assert_eq!(cache.find(&[1, 2, 3]), 3);
        assert_eq!(cache.len(), 5);
    }

    #[test]
    fn gives_up_the_longest_unused_from_its_end() {
        let mut cache = PrefixCache::new(6);
        cache.insert(&[1, 2, 3, 4]);
        cache.insert(&[1, 2, 5]);
        cache.insert(&[10, 11]);
        assert_eq!(cache.len(), 6);
        // The trunk was used with its branch: the branch goes first.
        assert_eq!(cache.find(&[1, 2, 5]), 2);
        assert_eq!(cache.find(&[1, 2, 3, 4]), 4);
        assert_eq!(cache.find(&[10, 11]), 2);
        cache.insert(&[20, 21, 22]);
        assert_eq!(cache.len(), 6);
        assert_eq!(cache.find(&[1, 2, 3, 4]), 1);
        assert_eq!(cache.find(&[20, 21, 22]), 3);
    }

    #[test]
    fn a_prompt_larger_than_the_cache_keeps_its_start() {
        let mut cache = PrefixCache::new(3);
        cache.insert(&[1, 2, 3, 4, 5]);
        assert_eq!(cache.find(&[1, 2, 3, 4, 5]), 3);
    }
}
