//! Files by the hash of their content.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use bytes::Bytes;
use tokometer_record::store::sha256;
use uuid::Uuid;

use crate::clock;

/// A place for files that are named by the SHA-256 of their content, in hex.
///
/// A file is there whole or not at all, and once there it never changes.
#[async_trait]
pub trait Artefacts: Send + Sync {
    /// Keeps a file; one that is there already is left as it is. The name must be the content's hash.
    async fn put(&self, name: &Hash, content: Bytes) -> io::Result<()>;

    /// A file's content; `None` where there is no such file.
    async fn get(&self, name: &Hash) -> io::Result<Option<Bytes>>;

    /// Removes a file; one that is not there is no failure.
    async fn remove(&self, name: &Hash) -> io::Result<()>;

    /// Answers if a file can be kept.
    async fn ready(&self) -> io::Result<()>;
}

/// A SHA-256 in hex: 64 digits, lower case. It can't lead to another place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(String);

impl Hash {
    /// Takes a text that is one.
    pub fn parse(text: &str) -> Option<Hash> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Hash(text.to_owned()))
    }

    /// The hash of a content.
    pub fn of(content: &[u8]) -> Hash {
        Hash(sha256(content))
    }

    /// Bytes in hex.
    pub(crate) fn hex(bytes: &[u8]) -> String {
        let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 15)]);
        bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A file that was begun so long ago is no longer being written.
const LEFT_MS: i64 = 3_600_000;

/// Files in a folder of this host: `ab/abcd…`.
#[derive(Debug, Clone)]
pub struct ArtefactFolder {
    root: PathBuf,
}

impl ArtefactFolder {
    /// Opens the folder, or makes it, and clears away what a killed process left half-written long ago: another process
    /// may be writing there.
    pub fn open(root: &Path) -> io::Result<ArtefactFolder> {
        let folder = ArtefactFolder { root: root.to_owned() };
        let begun = folder.begun();
        fs::create_dir_all(&begun)?;
        for file in fs::read_dir(&begun)? {
            let file = file?;
            let changed = file.metadata().and_then(|data| data.modified()).ok();
            let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            if changed.is_some_and(|time| time.as_millis() as i64 + LEFT_MS < clock::now()) {
                let _ = fs::remove_file(file.path());
            }
        }
        Ok(folder)
    }

    /// The folder as it is, for reading alone.
    pub(crate) fn reading(root: &Path) -> ArtefactFolder {
        ArtefactFolder { root: root.to_owned() }
    }

    /// Where files are written before they have their name.
    fn begun(&self) -> PathBuf {
        self.root.join("begun")
    }

    fn path(&self, name: &Hash) -> PathBuf {
        self.root.join(&name.0[..2]).join(&name.0)
    }

    fn write(&self, name: &Hash, content: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        if path.exists() {
            return Ok(());
        }
        let temporary = self.begun().join(Uuid::now_v7().to_string());
        let folder = self.root.join(&name.0[..2]);
        let write = || -> io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            drop(file);
            fs::create_dir_all(&folder)?;
            fs::rename(&temporary, &path)?;
            // The names too must last through a crash of the machine.
            File::open(&folder)?.sync_all()?;
            File::open(&self.root)?.sync_all()
        };
        write().inspect_err(|_| {
            // What is left of a failed write takes the space that may be missing.
            let _ = fs::remove_file(&temporary);
        })
    }
}

#[async_trait]
impl Artefacts for ArtefactFolder {
    async fn put(&self, name: &Hash, content: Bytes) -> io::Result<()> {
        let (this, name) = (self.clone(), name.clone());
        blocking(move || this.write(&name, &content)).await
    }

    async fn get(&self, name: &Hash) -> io::Result<Option<Bytes>> {
        let path = self.path(name);
        blocking(move || match fs::read(&path) {
            Ok(content) => Ok(Some(Bytes::from(content))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn remove(&self, name: &Hash) -> io::Result<()> {
        let path = self.path(name);
        blocking(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    async fn ready(&self) -> io::Result<()> {
        // Its own for each, since several processes may ask at once.
        let probe = self.begun().join(format!("probe-{}", Uuid::now_v7()));
        blocking(move || fs::write(&probe, b"?").and_then(|()| fs::remove_file(&probe))).await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_no_path() {
        assert!(Hash::parse(&"a".repeat(64)).is_some());
        for text in
            ["", "../../etc/passwd", &"A".repeat(64), &"a".repeat(63), &format!("../{}", "a".repeat(61))]
        {
            assert_eq!(Hash::parse(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn what_is_put_in_comes_out() {
        let root = tempfile::tempdir().unwrap();
        let folder = ArtefactFolder::open(root.path()).unwrap();
        let name = Hash::of(b"content");
        assert_eq!(folder.get(&name).await.unwrap(), None);
        folder.put(&name, Bytes::from_static(b"content")).await.unwrap();
        folder.put(&name, Bytes::from_static(b"content")).await.unwrap();
        assert_eq!(folder.get(&name).await.unwrap().as_deref(), Some(b"content".as_slice()));
        folder.ready().await.unwrap();
        folder.remove(&name).await.unwrap();
        folder.remove(&name).await.unwrap();
        assert_eq!(folder.get(&name).await.unwrap(), None);
        assert_eq!(fs::read_dir(folder.begun()).unwrap().count(), 0);
    }
}
