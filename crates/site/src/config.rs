//! What the site is started with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::account::openid::OpenIdSettings;
use crate::artefacts::S3Options;
use crate::store::DatabaseUrl;

/// What the site is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Folder of database, artefacts and the admin's token.
    pub data: PathBuf,
    /// A PostgreSQL database in place of the one in the folder; several servers can share it.
    pub database_url: Option<DatabaseUrl>,
    /// The address that readers use, without a slash at its end: `https://bench.example.org`. None: `http://` and the
    /// address that is listened on.
    pub base_url: Option<String>,
    /// True behind a reverse proxy of one's own, which sets `X-Forwarded-For`: its last entry is then the client.
    pub behind_proxy: bool,
    /// Where files by hash are kept.
    pub storage: Storage,
    /// Sign-in by a provider of OpenID Connect.
    pub sign_in: Option<OpenIdSettings>,
    /// True where nobody reads without having signed in.
    pub require_sign_in: bool,
    /// Bounds on what clients can use up.
    pub limits: Limits,
}

/// Where files by hash are kept.
#[derive(Debug, Clone, Default)]
pub enum Storage {
    /// In the data folder.
    #[default]
    Folder,
    /// In an object store, which several servers can share.
    S3(Box<S3Options>),
}

/// How often one client may do something: so many at once, and so many a second on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// At once.
    pub burst: f64,
    /// A second, on average.
    pub per_second: f64,
}

impl Rate {
    const fn new(burst: f64, per_second: f64) -> Rate {
        Rate { burst, per_second }
    }
}

/// Bounds on what clients can use up.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Longest request body as it is sent, of a run, bytes.
    pub run_bytes: usize,
    /// Longest document of a run, unpacked, bytes.
    pub document_bytes: usize,
    /// Longest file, bytes.
    pub artefact_bytes: usize,
    /// Files of a user that no run names yet, bytes together.
    pub loose_bytes: u64,
    /// Longest body of a form or of a small JSON document, bytes.
    pub form_bytes: usize,
    /// Rows of one trace.
    pub trace_rows: u64,
    /// Bytes of one trace, unpacked.
    pub unpacked_bytes: u64,
    /// Rows of all traces of a run.
    pub run_rows: u64,
    /// Time for the head of a request, also between two requests of a connection.
    pub head_time: Duration,
    /// Longest silence in a body.
    pub body_silence: Duration,
    /// Slowest body, bytes a second on average, beyond the time of one silence.
    pub body_bytes_per_second: f64,
    /// Time for an answer, body of the request aside.
    pub answer_time: Duration,
    /// Time that open requests have when the server ends.
    pub grace: Duration,
    /// Uploads that are checked at once.
    pub checks: usize,
    /// Files that are received at once.
    pub receiving: usize,
    /// How long a file may wait for a run that names it.
    pub loose_time: Duration,
    /// Requests that read, by client address.
    pub reads: Rate,
    /// Uploads of runs and files, by user.
    pub uploads: Rate,
    /// Reports of problems, by client address.
    pub reports: Rate,
    /// Wrong tokens, sign-ins and invitations, by client address.
    pub attempts: Rate,
    /// Sign-ins that are begun or come back, and devices that ask for a token, by client address.
    pub beginnings: Rate,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 4096,
            run_bytes: 32 << 20,
            document_bytes: 64 << 20,
            artefact_bytes: 64 << 20,
            loose_bytes: 4 << 30,
            form_bytes: 64 << 10,
            trace_rows: 20_000_000,
            unpacked_bytes: 1 << 30,
            run_rows: 100_000_000,
            head_time: Duration::from_secs(15),
            body_silence: Duration::from_secs(15),
            body_bytes_per_second: 16.0 * 1024.0,
            answer_time: Duration::from_secs(300),
            grace: Duration::from_secs(20),
            checks: 2,
            receiving: 8,
            loose_time: Duration::from_secs(24 * 3600),
            reads: Rate::new(600.0, 100.0),
            uploads: Rate::new(2000.0, 50.0),
            reports: Rate::new(5.0, 0.05),
            attempts: Rate::new(20.0, 0.2),
            beginnings: Rate::new(30.0, 0.5),
        }
    }
}

/// Names of files in the data folder.
impl Config {
    /// The SQLite database, where no other one is named.
    pub fn database(&self) -> PathBuf {
        self.data.join("site.db")
    }

    /// Files by hash.
    pub fn artefacts(&self) -> PathBuf {
        self.data.join("artefacts")
    }

    /// The admin's token, readable by its owner alone.
    pub fn admin_token(&self) -> PathBuf {
        self.data.join("admin-token")
    }

    /// The address that readers use.
    pub fn url(&self) -> String {
        match &self.base_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.listen),
        }
    }

    /// True where browsers reach the site over TLS.
    pub fn is_secure(&self) -> bool {
        self.url().starts_with("https://")
    }
}
