//! The file system as read: the real one, or a tree that a test made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

/// A file system from its root. Whatever can't be read is simply not there.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// This machine's own.
    pub fn system() -> Root {
        Root(PathBuf::from("/"))
    }

    /// A tree elsewhere.
    pub fn at(path: &Path) -> Root {
        Root(path.to_owned())
    }

    /// Where `relative` (without a leading `/`) is.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }

    /// A file's text without surrounding space; none where it is empty.
    pub(crate) fn text(&self, relative: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(relative)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A file's bytes.
    pub(crate) fn bytes(&self, relative: &str) -> Option<Vec<u8>> {
        fs::read(self.path(relative)).ok()
    }

    /// A file's number.
    pub(crate) fn number<T: FromStr>(&self, relative: &str) -> Option<T> {
        self.text(relative)?.parse().ok()
    }

    /// A file's number in hex, with or without `0x`.
    pub(crate) fn hex(&self, relative: &str) -> Option<u32> {
        u32::from_str_radix(self.text(relative)?.trim_start_matches("0x"), 16).ok()
    }

    /// What one of macOS's own programs prints: no other system is asked. A tree elsewhere has it as a file,
    /// `commands/<program>`.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Option<String> {
        if self.0 != Path::new("/") {
            return self.text(&format!("commands/{program}"));
        }
        if !cfg!(target_os = "macos") {
            return None;
        }
        let mut command = Command::new(program);
        let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Names in a folder, sorted.
    pub(crate) fn names(&self, relative: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(relative)) else { return Vec::new() };
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(Result::ok).filter_map(name).collect();
        names.sort();
        names
    }

    /// Where a link points to.
    pub(crate) fn link(&self, relative: &str) -> Option<String> {
        fs::read_link(self.path(relative)).ok()?.into_os_string().into_string().ok()
    }
}
