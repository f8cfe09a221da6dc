//! `tokometer login`, `logout` and `whoami`.

use crate::args::login::LoginArgs;
use crate::failure::Hinted;
use crate::out;
use crate::publish::{Kept, Site};

/// Gets a token of a site, and keeps it.
pub(crate) fn login(args: &LoginArgs) -> anyhow::Result<u8> {
    wait_for(async {
        let (token, target) = Site::login(args.site.as_deref(), &args.options()).await?;
        let kept = Kept::of_user()?;
        // Checked before it takes the place of another one.
        let site = Site::with_token(target.clone(), &token, &args.options())?;
        let name = site.who().await?;
        kept.keep(&target, &token)?;
        out::say(&format!("signed in at {target} as {name}; the token is in {}", kept.place()));
        Ok(0)
    })
}

/// Ends the token at the site, and forgets it.
pub(crate) fn logout(args: &LoginArgs) -> anyhow::Result<u8> {
    wait_for(async {
        let target = Site::target(args.site.as_deref(), &args.options())?;
        let kept = Kept::of_user()?;
        let Some(token) = kept.find(&target)? else {
            let hint =
                "a token in TOKOMETER_TOKEN or in a file of your own is ended on the site, at /account";
            return Err(Hinted::usage(format!("there is no login at {target}"), hint).into());
        };
        let site = Site::with_token(target.clone(), &token, &args.options())?;
        let ended = site.end_token(&token).await;
        kept.forget(&target)?;
        ended.map_err(|error| {
            anyhow::Error::from(error)
                .context(format!("the token is forgotten here; {target} may still take it"))
        })?;
        out::say(&format!("signed out at {target}"));
        Ok(0)
    })
}

/// Says who one is at a site.
pub(crate) fn whoami(args: &LoginArgs) -> anyhow::Result<u8> {
    wait_for(async {
        let site = Site::at(args.site.as_deref(), &args.options())?;
        let known = site.whoami().await?;
        let text = |name: &str| known[name].as_str().unwrap_or("?").to_owned();
        let scopes: Vec<_> =
            known["scopes"].as_array().into_iter().flatten().filter_map(|one| one.as_str()).collect();
        out::result_line(&format!(
            "{} ({}) at {}, token {} for {}",
            text("handle"),
            text("role"),
            site.url,
            text("token"),
            scopes.join(", ")
        ))?;
        Ok(0)
    })
}

fn wait_for(work: impl Future<Output = anyhow::Result<u8>>) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    code
}
