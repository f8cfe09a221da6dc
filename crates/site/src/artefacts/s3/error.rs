//! What an object store refuses, and which setting to look at.

use std::io;
use std::path::PathBuf;

/// Why something can't be done with an object store. No text of it holds a key, a signature or what the store said in
/// its own words.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum S3Error {
    /// An option can't be what was meant.
    #[error("{what}; {hint}")]
    Option {
        /// What is wrong.
        what: String,
        /// What to write instead.
        hint: &'static str,
    },
    /// The file with the keys can't be used.
    #[error(
        "can't use the key file {path}: {why}; it needs the lines aws_access_key_id = … and aws_secret_access_key = …"
    )]
    KeyFile {
        /// Which.
        path: PathBuf,
        /// What is wrong; never a part of it.
        why: String,
    },
    /// There is no bucket of that name.
    #[error(
        "the object store has no bucket {bucket:?}; make it, or check the name in --artefacts and --s3-endpoint"
    )]
    NoBucket {
        /// Its name.
        bucket: String,
    },
    /// The access key is not known.
    #[error(
        "the object store does not know the access key; check AWS_ACCESS_KEY_ID, or the file of --s3-keys"
    )]
    UnknownKey,
    /// The signature is not the one that the store computes.
    #[error(
        "the object store refuses the signature; check AWS_SECRET_ACCESS_KEY (or the file of --s3-keys), then \
         --s3-region, and that a proxy in front of the store leaves the header host as it is"
    )]
    WrongSecret,
    /// Keys that hold for a time, and that time is over.
    #[error(
        "the keys of the object store have expired; give new ones, by the file of --s3-keys also while the site runs"
    )]
    Expired,
    /// Known, but not allowed.
    #[error(
        "the object store does not allow it to {doing} ({code}); the key needs s3:GetObject, s3:PutObject and \
         s3:DeleteObject on the objects, and s3:ListBucket on the bucket {bucket:?}"
    )]
    Denied {
        /// What was tried.
        doing: &'static str,
        /// The store's word for it.
        code: String,
        /// Which bucket.
        bucket: String,
    },
    /// The clocks differ too much for a signature.
    #[error(
        "the clock of this machine and that of the object store are {apart} apart; set this one (time synchronisation)"
    )]
    Clock {
        /// By how much, in words.
        apart: String,
    },
    /// The bucket lies elsewhere.
    #[error(
        "the bucket {bucket:?} lies in the region {region:?}; give it with --s3-region, and its --s3-endpoint"
    )]
    Region {
        /// Which bucket.
        bucket: String,
        /// Where it is, or `unknown`.
        region: String,
    },
    /// It can't at the moment, and could not on any try.
    #[error("the object store could not {doing}: {status} {code}, after {tries} tries; try again later")]
    Busy {
        /// What was tried.
        doing: &'static str,
        /// Of the last answer.
        status: u16,
        /// The store's word for it.
        code: String,
        /// How often.
        tries: u32,
    },
    /// It can't be reached, or breaks off, on any try.
    #[error(
        "the object store at {place} can't be reached to {doing}: {why} (after {tries} tries); check --s3-endpoint, with https also --s3-ca, and that it runs"
    )]
    Away {
        /// What was tried.
        doing: &'static str,
        /// Host and port.
        place: String,
        /// Of the last try.
        why: String,
        /// How often.
        tries: u32,
    },
    /// What arrived there was not what was sent.
    #[error(
        "the object store received something else than was sent ({code}); is a proxy in between that changes bodies?"
    )]
    Damaged {
        /// The store's word for it.
        code: String,
    },
    /// A file is not what its name says.
    #[error(
        "the file {name} in the object store is not what its name says: it was changed or damaged; put it back from a backup"
    )]
    Altered {
        /// Its hash.
        name: String,
    },
    /// What was written for a try can't be read back, or not removed.
    #[error(
        "the object store does not keep what it is given: {what}; is it an S3-compatible store that the key may read from?"
    )]
    Odd {
        /// What was found.
        what: String,
    },
    /// Some other answer.
    #[error(
        "the object store could not {doing}: it answered {status} {code}; check --s3-endpoint and --s3-style"
    )]
    Other {
        /// What was tried.
        doing: &'static str,
        /// Its status.
        status: u16,
        /// The store's word for it, or nothing.
        code: String,
    },
}

impl S3Error {
    /// True if another try may do.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, S3Error::Busy { .. } | S3Error::Away { .. } | S3Error::Damaged { .. })
    }
}

impl From<S3Error> for io::Error {
    fn from(error: S3Error) -> io::Error {
        let kind = match &error {
            S3Error::Altered { .. } => io::ErrorKind::InvalidData,
            S3Error::Busy { .. } | S3Error::Away { .. } => io::ErrorKind::TimedOut,
            S3Error::Denied { .. } | S3Error::WrongSecret | S3Error::UnknownKey | S3Error::Expired => {
                io::ErrorKind::PermissionDenied
            }
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
