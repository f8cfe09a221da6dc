//! What can be wrong before anything is sent.

use std::path::PathBuf;

/// An error in what the user gave, found before anything is sent. What happens to a request is a
/// [`Failure`](crate::Failure) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The URL cannot be used.
    #[error("cannot use the URL {url:?}: {problem}")]
    Url {
        /// As it was given, without what may be a password.
        url: String,
        /// What is wrong, and what to write instead.
        problem: String,
    },
    /// A header cannot be sent.
    #[error("cannot send the header {name:?}: {problem}")]
    Header {
        /// Its name; the value may be a secret.
        name: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file of `--cacert` cannot be used.
    #[error("cannot use the CA certificate file {}: {problem}", path.display())]
    CaCertificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// TLS cannot be set up on this machine.
    #[error("cannot set up TLS: {0}; give a CA file with --cacert, or use --insecure")]
    Tls(String),
}
