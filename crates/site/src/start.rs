//! From a data folder to a site that answers.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::account::ensure_admin;
use crate::app::App;
use crate::artefacts::{self, S3Error};
use crate::config::Config;
use crate::dump::DumpError;
use crate::secret::NoRandomness;
use crate::server::Server;
use crate::store::{Store, StoreError};

/// Why the site could not be started, or a command on its data could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or folder can't be read.
    #[error("can't read {path}: {source}; check its permissions")]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file or folder can't be written.
    #[error(
        "can't write {path}: {source}; check its permissions and the space on its disk, or give another folder with --data"
    )]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing can listen there.
    #[error("can't listen on {address}: {source}; give another address with --listen")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The object store can't be used.
    #[error(transparent)]
    ObjectStore(#[from] S3Error),
    /// No secret can be made.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    /// A dump could not be made.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// The folder has no site.
    #[error("{path} has no site; `tokometer serve --data {path}` makes one")]
    NoSite {
        /// Which.
        path: PathBuf,
    },
    /// What was asked for can't be done.
    #[error("{what}; {hint}")]
    Refused {
        /// What.
        what: String,
        /// What to do.
        hint: String,
    },
}

/// What the first start of a folder made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// True if the admin's token is new.
    pub new_token: bool,
}

/// Opens a data folder, making what is not there, and listens.
pub async fn start(mut config: Config) -> Result<(Server, Started), SiteError> {
    if let Some(settings) = &config.sign_in {
        settings.check().map_err(|what| SiteError::Refused {
            what: format!("sign-in by a provider can't work: {what}"),
            hint: "look at the options --oidc-*".to_owned(),
        })?;
    }
    make_folder(&config.data)?;
    let store = open(&config).await?;
    let artefacts = artefacts::open(&config).await?;
    let new_token = ensure_admin(&store, &config.admin_token()).await?;
    let listener = tokio::net::TcpListener::bind(config.listen)
        .await
        .map_err(|source| SiteError::Listen { address: config.listen, source })?;
    // Port 0 took a free one.
    config.listen =
        listener.local_addr().map_err(|source| SiteError::Listen { address: config.listen, source })?;
    let app = App::new(Arc::new(store), artefacts, config);
    Ok((Server::new(listener, app), Started { new_token }))
}

/// The store of a site that is there, for a command beside the server.
pub async fn open_store(config: &Config) -> Result<Arc<Store>, SiteError> {
    if config.database_url.is_none() && !config.database().is_file() {
        return Err(SiteError::NoSite { path: config.data.clone() });
    }
    Ok(Arc::new(open(config).await?))
}

async fn open(config: &Config) -> Result<Store, StoreError> {
    match &config.database_url {
        Some(url) => Store::postgres(url).await,
        None => Store::sqlite(&config.database()).await,
    }
}

/// The folder holds tokens and traces: nobody else of the host needs to look into it.
fn make_folder(path: &Path) -> Result<(), SiteError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| SiteError::Write { path: path.to_owned(), source })
}
