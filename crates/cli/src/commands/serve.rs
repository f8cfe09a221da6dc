//! `tokometer serve`.

use anyhow::Context;
use tokometer_site::{Config, Limits, OpenIdSettings};
use tokometer_wire::Secret;

use crate::args::sign_in::SignInArgs;
use crate::args::site::ServeArgs;
use crate::failure::Hinted;
use crate::out;
use crate::session::interrupt::Signals;
use crate::site_data;

/// Variable that holds the site's secret at the provider of identities.
const SECRET: &str = "TOKOMETER_OIDC_SECRET";

/// Serves the site until Ctrl-C.
pub(crate) fn serve(args: ServeArgs) -> anyhow::Result<u8> {
    tokometer_site::log::start(&args.log);
    let config = Config {
        listen: args.listen,
        data: site_data::folder(args.data.data)?,
        base_url: args.url,
        behind_proxy: args.behind_proxy,
        require_sign_in: args.sign_in.require_sign_in,
        sign_in: provider(args.sign_in)?,
        limits: Limits::default(),
    };
    let data = config.data.clone();
    let token = config.admin_token();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let (server, started) = tokometer_site::start(config).await?;
        let url = server.app().config.url();
        site_data::keep_address(&data, &format!("http://{}", server.address()))?;
        if started.new_token {
            out::say(&format!("the admin's token is in {}", token.display()));
        }
        out::result_line(&format!("serving {url} from {} (Ctrl-C ends it)", data.display()))?;
        server.run(async move { signals.next().await }).await;
        anyhow::Ok(())
    })?;
    Ok(0)
}

/// The provider that is named, if one is.
fn provider(args: SignInArgs) -> anyhow::Result<Option<OpenIdSettings>> {
    let Some(issuer) = args.oidc_issuer else { return Ok(None) };
    let usage = |why: String| Hinted::usage(why, "see tokometer serve --help");
    let role = |text: &str| text.parse().map_err(&usage);
    let secret = match &args.oidc_client_secret_file {
        Some(path) => {
            Some(std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?)
        }
        None => std::env::var(SECRET).ok(),
    };
    let group_roles = args.oidc_group_role.iter().map(|text| {
        let (group, of) = text
            .rsplit_once('=')
            .ok_or_else(|| usage(format!("{text:?} is no group and role, like bench-admins=admin")))?;
        anyhow::Ok((group.to_owned(), role(of)?))
    });
    Ok(Some(OpenIdSettings {
        name: args.oidc_name,
        issuer,
        client_id: args.oidc_client_id.unwrap_or_default(),
        client_secret: secret.filter(|text| !text.trim().is_empty()).map(|text| Secret::new(text.trim())),
        scopes: args.oidc_scopes.split_whitespace().map(str::to_owned).collect(),
        handle_claim: args.oidc_handle_claim,
        groups_claim: args.oidc_groups_claim,
        allowed_groups: args.oidc_allow_group,
        allowed_domains: args.oidc_allow_domain,
        group_roles: group_roles.collect::<Result<_, _>>()?,
        role: role(&args.oidc_role)?,
        ca_certificate: args.oidc_cacert,
    }))
}
