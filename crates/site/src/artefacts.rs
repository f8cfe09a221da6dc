//! Files by the hash of their content: in a folder of this host, or in an object store.

mod folder;
mod s3;

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use tokometer_record::store::sha256;

use crate::config::{Config, Storage};
use crate::start::SiteError;

pub use folder::ArtefactFolder;
pub use s3::{BucketStyle, KeySource, Keys, S3Artefacts, S3Error, S3Options};

/// A place for files that are named by the SHA-256 of their content, in hex.
///
/// A file is there whole or not at all, and once there it never changes. Should it have been changed from outside, it
/// is refused when it is read: an error of the kind `InvalidData`.
#[async_trait]
pub trait Artefacts: Send + Sync {
    /// Keeps a file; one that is there already is left as it is. The name must be the content's hash.
    async fn put(&self, name: &Hash, content: Bytes) -> io::Result<()>;

    /// A file's content; `None` where there is no such file.
    async fn get(&self, name: &Hash) -> io::Result<Option<Bytes>>;

    /// A file's content for a reader who takes it piece by piece; `None` where there is no such file. Where it is not
    /// held in memory whole, the last piece comes only once all of it was seen to be right.
    async fn open(&self, name: &Hash) -> io::Result<Option<Reading>> {
        let content = self.get(name).await?;
        Ok(content.map(|content| Reading { bytes: content.len() as u64, body: Body::from(content) }))
    }

    /// Removes a file; one that is not there is no failure.
    async fn remove(&self, name: &Hash) -> io::Result<()>;

    /// Answers if a file can be kept, as far as can be told without leaving one.
    async fn ready(&self) -> io::Result<()>;
}

/// A file that is being read.
#[derive(Debug)]
pub struct Reading {
    /// Its length.
    pub bytes: u64,
    /// Its content.
    pub body: Body,
}

/// The place that a site is configured to use, after a look whether it can be used.
pub(crate) async fn open(config: &Config) -> Result<Arc<dyn Artefacts>, SiteError> {
    match &config.storage {
        Storage::Folder => {
            let folder = ArtefactFolder::open(&config.artefacts())
                .map_err(|source| SiteError::Write { path: config.artefacts(), source })?;
            Ok(Arc::new(folder))
        }
        Storage::S3(options) => {
            let store = S3Artefacts::open(options)?;
            store.check().await?;
            Ok(Arc::new(store))
        }
    }
}

/// The same, for a command that reads alone, beside a server that may write.
pub(crate) fn reading(config: &Config) -> Result<Arc<dyn Artefacts>, SiteError> {
    match &config.storage {
        Storage::Folder => Ok(Arc::new(ArtefactFolder::reading(&config.artefacts()))),
        Storage::S3(options) => Ok(Arc::new(S3Artefacts::open(options)?)),
    }
}

/// A content that is what its name says, or the refusal.
fn verified(name: &Hash, content: Bytes) -> io::Result<Bytes> {
    if Hash::of(&content) == *name { Ok(content) } else { Err(altered(name)) }
}

fn altered(name: &Hash) -> io::Error {
    let text = format!("the file {} is not what its name says: it was changed or damaged", name.as_str());
    io::Error::new(io::ErrorKind::InvalidData, text)
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

    /// Its first two digits: names of folders, so that none has too many entries.
    fn shelf(&self) -> &str {
        &self.0[..2]
    }

    /// The 32 bytes.
    fn bytes(&self) -> Vec<u8> {
        let digits = self.0.as_bytes();
        let value = |digit: u8| if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
    }
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
        let name = Hash::of(b"content");
        assert_eq!(Hash::hex(&name.bytes()), name.as_str());
    }
}
