//! What the operator says of the provider.

use std::path::PathBuf;

use tokometer_wire::Secret;

use crate::domain::Role;

/// Sign-in by a provider of OpenID Connect.
#[derive(Debug, Clone)]
pub struct OpenIdSettings {
    /// What the provider is called on the button.
    pub name: String,
    /// The provider's address, exactly as it names itself (`iss`).
    pub issuer: String,
    /// Who this site is to the provider.
    pub client_id: String,
    /// The site's secret there; none for a public client, which PKCE alone protects.
    pub client_secret: Option<Secret>,
    /// Scopes that are asked for beside `openid`.
    pub scopes: Vec<String>,
    /// The claim that suggests a public name; parts of nested ones are joined by dots.
    pub handle_claim: String,
    /// The claim that lists a person's groups.
    pub groups_claim: String,
    /// Groups of which a person must be in one; empty: anybody.
    pub allowed_groups: Vec<String>,
    /// Domains of which a person's confirmed address of e-mail must be in one; empty: anybody.
    pub allowed_domains: Vec<String>,
    /// Groups that lead to a role; the highest counts.
    pub group_roles: Vec<(String, Role)>,
    /// The role of who signs in for the first time, where no group leads to one.
    pub role: Role,
    /// A certificate authority (PEM) that is trusted for the provider, beside the system's.
    pub ca_certificate: Option<PathBuf>,
}

impl Default for OpenIdSettings {
    fn default() -> OpenIdSettings {
        OpenIdSettings {
            name: "your organisation".to_owned(),
            issuer: String::new(),
            client_id: String::new(),
            client_secret: None,
            scopes: vec!["profile".to_owned(), "email".to_owned()],
            handle_claim: "preferred_username".to_owned(),
            groups_claim: "groups".to_owned(),
            allowed_groups: Vec::new(),
            allowed_domains: Vec::new(),
            group_roles: Vec::new(),
            role: Role::Publisher,
            ca_certificate: None,
        }
    }
}

impl OpenIdSettings {
    /// Says what can't work, before anybody tries to sign in.
    pub(crate) fn check(&self) -> Result<(), String> {
        let url = tokometer_wire::TargetUrl::parse(&self.issuer).map_err(|error| error.to_string())?;
        if !self.issuer.starts_with("https://")
            && !(self.issuer.starts_with("http://") && is_loopback(&url.host))
        {
            return Err(format!("the issuer {:?} is no https address", self.issuer));
        }
        if self.client_id.is_empty() {
            return Err("the client id is empty".to_owned());
        }
        if self.group_roles.iter().any(|(group, _)| group.is_empty()) {
            return Err("a group without a name can't lead to a role".to_owned());
        }
        Ok(())
    }
}

/// True for this host itself, where TLS protects nothing.
pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}
