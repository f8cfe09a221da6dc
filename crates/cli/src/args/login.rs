//! `login`, `logout`, `whoami`.

use std::path::PathBuf;

use clap::Args;

use super::publish::SiteOptions;

/// Which site.
#[derive(Debug, Args)]
#[command(
    after_help = "`login` shows a short code and an address. Open the address with any browser, on any machine, sign in \
                  there, and type the code: the token comes here and is kept for you alone, by site. `publish` and \
                  --publish take, in this order: --token-file, the variable TOKOMETER_TOKEN, the token of `login`, the \
                  admin's of a site on this host.\n\nExamples:\n  tokometer login --site https://bench.example.org\n  \
                  tokometer whoami --site https://bench.example.org\n  tokometer logout --site https://bench.example.org"
)]
pub(crate) struct LoginArgs {
    /// Address of the site (default: the site on this host)
    #[arg(long, value_name = "URL", help_heading = "Publishing")]
    pub(crate) site: Option<String>,
    /// Trust this certificate authority (PEM) beside the system's, for the site
    #[arg(long, value_name = "FILE", help_heading = "Publishing")]
    pub(crate) site_cacert: Option<PathBuf>,
    /// Send the token without TLS to another host
    #[arg(long, help_heading = "Publishing")]
    pub(crate) without_tls: bool,
}

impl LoginArgs {
    /// As publishing has it.
    pub(crate) fn options(&self) -> SiteOptions {
        SiteOptions {
            token_file: None,
            keep_address: false,
            site_cacert: self.site_cacert.clone(),
            without_tls: self.without_tls,
        }
    }
}
