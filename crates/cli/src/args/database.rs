//! Which database a site has.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Storage")]
pub(crate) struct DatabaseArgs {
    /// PostgreSQL database in place of the file in the data folder: postgres://USER@HOST/NAME (default: the variable
    /// DATABASE_URL). A password is for the variable, PGPASSWORD or ~/.pgpass
    #[arg(long, value_name = "URL", conflicts_with = "database_url_file")]
    pub(crate) database_url: Option<String>,
    /// File that holds that address
    #[arg(long, value_name = "FILE")]
    pub(crate) database_url_file: Option<PathBuf>,
}
