//! The site: where runs are published, found and compared.
//!
//! **In:** run records with their traces, over HTTP. **Out:** pages and an API. [`start`] opens a data folder (one
//! SQLite file unless a PostgreSQL database is named, files by hash, the admin's token) and listens; [`Server::run`] answers until it is told to end.
//!
//! No number in an upload is trusted: each is computed again from the traces with `tokometer-analysis`, and what stands
//! behind a run ([`domain::EvidenceLevel`]) follows from that alone. Revisions are added, never changed.
//!
//! ```no_run
//! # async fn example() -> Result<(), tokometer_site::SiteError> {
//! use tokometer_site::{Config, Limits, Storage};
//!
//! let config = Config {
//!     listen: ([127, 0, 0, 1], 0).into(),
//!     data: "site".into(),
//!     database_url: None,
//!     base_url: None,
//!     behind_proxy: false,
//!     storage: Storage::Folder,
//!     sign_in: None,
//!     require_sign_in: false,
//!     limits: Limits::default(),
//! };
//! let (server, _) = tokometer_site::start(config).await?;
//! println!("http://{}", server.address());
//! server.run(std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

mod account;
mod address;
mod api;
mod app;
mod artefacts;
mod canonical;
mod clock;
mod config;
pub mod domain;
mod dump;
mod facts;
pub mod host;
pub mod log;
mod operations;
mod packed;
mod pages;
mod problem;
mod secret;
mod server;
mod start;
pub mod store;
mod tidy;
mod trust;
mod web;

pub use account::openid::OpenIdSettings;
pub use api::openapi::document as openapi;
pub use app::App;
pub use artefacts::{
    ArtefactFolder, Artefacts, BucketStyle, Hash, KeySource, Keys, Reading, S3Artefacts, S3Error, S3Options,
};
pub use config::{Config, Limits, Rate, Storage};
pub use dump::DumpError;
pub use server::Server;
pub use start::{SiteError, Started, open_store, start};
