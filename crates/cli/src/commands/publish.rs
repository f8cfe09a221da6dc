//! `tokometer publish RUN`.

use std::path::Path;

use crate::args::publish::PublishArgs;
use crate::failure;
use crate::out;
use crate::publish::{self, Parcel, Published, Queue, Site, Trouble};

/// Publishes a run, or what waits in the queue.
pub(crate) fn publish(args: &PublishArgs) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        match &args.run {
            Some(run) => one(args, run).await,
            None => queued(args).await,
        }
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    code
}

async fn one(args: &PublishArgs, run: &Path) -> anyhow::Result<u8> {
    let parcel = Parcel::pack(run, args.options.keep_address)?;
    if args.show {
        out::result_line(&serde_json::to_string_pretty(&parcel.run)?)?;
        return Ok(0);
    }
    let site = Site::at(args.site.as_deref(), &args.options)?;
    let name = match site.who().await {
        Ok(name) => name,
        Err(Trouble::Away(why)) if !args.dry_run => {
            Queue::of_user()?.add(run, &site.url, &args.options)?;
            out::say(&format!("{why}; the run waits: tokometer publish --queued sends it"));
            return Ok(failure::NO_RUN);
        }
        Err(trouble) => return Err(trouble.into()),
    };
    out::say(&parcel.preview(&format!("{} as {name}", site.url)));
    if args.dry_run {
        publish::show(&site.validate(&parcel).await?, args.json)?;
        return Ok(0);
    }
    if !args.yes && out::can_ask() && !confirmed()? {
        out::say("nothing was sent");
        return Ok(failure::INTERRUPTED);
    }
    match publish::send(&site, &parcel, run, &args.options).await? {
        Published::There(answer) => publish::show(&answer, args.json).map(|()| 0),
        Published::Queued => Ok(failure::NO_RUN),
    }
}

/// What is sent is public: the answer must be a word, not a mere line end.
fn confirmed() -> std::io::Result<bool> {
    let answer = out::ask("publish? [y/N] ")?;
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}

async fn queued(args: &PublishArgs) -> anyhow::Result<u8> {
    let waiting = Queue::of_user()?.waiting()?;
    if waiting.is_empty() {
        out::say("nothing waits");
        return Ok(0);
    }
    let mut code = 0;
    for one in waiting {
        let sent = async {
            let parcel = Parcel::pack(&one.run, one.options.keep_address)?;
            let site = Site::at(Some(&one.site), &one.options)?;
            let name = site.who().await?;
            out::say(&parcel.preview(&format!("{} as {name}", site.url)));
            if !args.yes && out::can_ask() && !confirmed()? {
                return anyhow::Ok(None);
            }
            Ok(Some(site.publish(&parcel).await?))
        };
        match sent.await {
            Ok(Some(answer)) => {
                one.done()?;
                publish::show(&answer, args.json)?;
            }
            Ok(None) => out::say(&format!("{} waits on", one.run.display())),
            Err(error) => {
                code = failure::print(&error);
                out::say(&format!("{} waits on", one.run.display()));
            }
        }
    }
    Ok(code)
}
