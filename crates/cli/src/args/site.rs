//! `serve`, and the commands beside it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::database::DatabaseArgs;
use super::sign_in::SignInArgs;
use super::storage::StorageArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "On an empty folder the first start makes the database and the admin, whose token lies in the folder \
                  (admin-token, readable by its owner alone). TLS is for a reverse proxy in front: give the address \
                  that readers use with --url, and --behind-proxy.\n\nExamples:\n  tokometer serve\n  \
                  tokometer serve --listen 127.0.0.1:8787 --data /srv/tokometer --url https://bench.example.org --behind-proxy\n  \
                  tokometer serve --artefacts s3://runs/site --s3-endpoint http://10.0.0.5:9000"
)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    pub(crate) listen: SocketAddr,
    /// Address that readers use, where it is another one
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Take the client's address from X-Forwarded-For, which a reverse proxy of your own sets
    #[arg(long)]
    pub(crate) behind_proxy: bool,
    /// What the log holds: error, warn, info, debug
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: String,
    // Behind the server's own options: a heading holds for what follows it.
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    #[command(flatten)]
    pub(crate) sign_in: SignInArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DataArgs {
    /// Folder of the site's data (default: the variable TOKOMETER_SITE_DATA, else the user's data folder)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SiteArgs {
    #[command(subcommand)]
    pub(crate) command: SiteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SiteCommand {
    /// Make an invitation: an address with which somebody becomes a user, once, within 14 days
    Invite {
        /// What the user may do: reader, publisher, moderator, admin
        #[arg(long, default_value = "publisher")]
        role: String,
        /// Address that readers use [default: the one that the server was started with]
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// List users and their tokens
    Users {
        #[command(flatten)]
        data: DataArgs,
    },
    /// Make another token for a user; it is printed once
    Token {
        /// The user's name
        user: String,
        /// What it is good for: read, publish, moderate, admin
        #[arg(long, value_name = "SCOPES", default_value = "read publish")]
        scopes: String,
        /// What it is called in lists
        #[arg(long, default_value = "made on the host")]
        label: String,
        /// Days that it holds [default: until it is revoked]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// End a token, by its public part as `users` lists it
    Revoke {
        /// The token's public part
        token: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Close a user's account: tokens and sessions end, runs stay
    Disable {
        /// The user's name
        user: String,
        /// Why; it is public
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Write the public tables as Parquet files, with their licence and what their columns are
    Dump {
        /// The folder to write runs.parquet, cells.parquet and dump.json to
        #[arg(long, value_name = "DIR", default_value = "dump")]
        out: PathBuf,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Copy the whole site to a new folder, also while it serves
    Backup {
        /// The folder to make
        to: PathBuf,
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        storage: Box<StorageArgs>,
    },
    /// Move a site from the SQLite file of its folder to an empty PostgreSQL database; stop its server before
    Migrate {
        /// The database: postgres://USER@HOST/NAME [default: the variable DATABASE_URL]
        #[arg(long, value_name = "URL")]
        to: Option<String>,
        /// Do and check all of it, and undo it
        #[arg(long)]
        dry_run: bool,
        /// Folder of the site's data (default: the variable TOKOMETER_SITE_DATA, else the user's data folder)
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Make a site's folder of a backup, after checking that all of it is there and whole
    Restore {
        /// The backup
        from: PathBuf,
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        storage: Box<StorageArgs>,
    },
    /// Copy the files of the data folder to an object store, and read each back; it can be repeated
    CopyArtefacts {
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        storage: Box<StorageArgs>,
    },
}
