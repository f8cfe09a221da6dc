//! `tokometer serve`.

use tokometer_site::{Config, Limits};

use crate::args::site::ServeArgs;
use crate::out;
use crate::session::interrupt::Signals;
use crate::{site_data, site_database};

/// Serves the site until Ctrl-C.
pub(crate) fn serve(args: ServeArgs) -> anyhow::Result<u8> {
    tokometer_site::log::start(&args.log);
    let config = Config {
        listen: args.listen,
        database_url: site_database::named(&args.data.database)?,
        data: site_data::folder(args.data.data)?,
        base_url: args.url,
        behind_proxy: args.behind_proxy,
        storage: args.storage.storage()?,
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
        let from = server.app().config.database_url.as_ref().map_or_else(
            || data.display().to_string(),
            |database| format!("the {database}, with files in {}", data.display()),
        );
        out::result_line(&format!("serving {url} from {from} (Ctrl-C ends it)"))?;
        server.run(async move { signals.next().await }).await;
        anyhow::Ok(())
    })?;
    Ok(0)
}
