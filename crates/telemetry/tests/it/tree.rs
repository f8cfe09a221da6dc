//! File trees that look like a machine's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;
use tokometer_telemetry::{Machine, Options, Root};

/// A tree that a test fills.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    /// Writes a file.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> &Tree {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Makes a link.
    pub(crate) fn link(&self, path: &str, to: &str) -> &Tree {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.path())
    }

    /// The machine of this tree; it has no NVIDIA driver.
    pub(crate) fn machine(&self) -> Machine {
        let nvml = vec![self.path().join("no-such-library.so")];
        Machine::look(Options { root: self.root(), nvml, ..Options::default() })
    }
}
