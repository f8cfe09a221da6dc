//! Who signs in at a site, and how.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Sign-in by a provider (OpenID Connect)")]
pub(crate) struct SignInArgs {
    /// The provider's address, exactly as it names itself; the site's own is registered there with /sign-in/return
    #[arg(long, value_name = "URL", requires = "oidc_client_id")]
    pub(crate) oidc_issuer: Option<String>,
    /// What the site is called at the provider
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    pub(crate) oidc_client_id: Option<String>,
    /// File that holds the site's secret at the provider (default: the variable TOKOMETER_OIDC_SECRET)
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,
    /// What the provider is called on the button
    #[arg(long, value_name = "NAME", default_value = "your organisation")]
    pub(crate) oidc_name: String,
    /// Scopes to ask for beside openid
    #[arg(long, value_name = "SCOPES", default_value = "profile email")]
    pub(crate) oidc_scopes: String,
    /// Claim that suggests a public name
    #[arg(long, value_name = "CLAIM", default_value = "preferred_username")]
    pub(crate) oidc_handle_claim: String,
    /// Claim that lists groups; of nested ones the names joined by dots
    #[arg(long, value_name = "CLAIM", default_value = "groups")]
    pub(crate) oidc_groups_claim: String,
    /// Let in only who is in this group; may be given several times
    #[arg(long, value_name = "GROUP")]
    pub(crate) oidc_allow_group: Vec<String>,
    /// Let in only who has a confirmed address of e-mail of this domain; may be given several times
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) oidc_allow_domain: Vec<String>,
    /// Role that a group leads to, like bench-admins=admin; may be given several times
    #[arg(long, value_name = "GROUP=ROLE")]
    pub(crate) oidc_group_role: Vec<String>,
    /// Role of who signs in for the first time: reader, publisher, moderator, admin
    #[arg(long, value_name = "ROLE", default_value = "publisher")]
    pub(crate) oidc_role: String,
    /// Trust this certificate authority (PEM) beside the system's, for the provider
    #[arg(long, value_name = "FILE")]
    pub(crate) oidc_cacert: Option<PathBuf>,
    /// Show nothing to who has not signed in
    #[arg(long)]
    pub(crate) require_sign_in: bool,
}
