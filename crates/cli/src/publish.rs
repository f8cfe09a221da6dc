//! Publishing a run: what is sent, to whom, and what came of it.

mod device;
mod kept;
mod parcel;
mod queue;
mod site;
mod token;

use std::path::Path;

use serde_json::Value;

use crate::args::publish::SiteOptions;
use crate::out;

pub(crate) use kept::Kept;
pub(crate) use parcel::Parcel;
pub(crate) use queue::Queue;
pub(crate) use site::{Site, Trouble};

/// What became of a run that was to be published.
pub(crate) enum Published {
    /// It is there; the site's answer.
    There(Value),
    /// There was no connection: it waits in the queue.
    Queued,
}

/// Sends a run whose site was reached before; without a connection it is queued.
pub(crate) async fn send(
    site: &Site,
    parcel: &Parcel,
    run: &Path,
    options: &SiteOptions,
) -> anyhow::Result<Published> {
    match site.publish(parcel).await {
        Ok(answer) => Ok(Published::There(answer)),
        Err(Trouble::Away(why)) => {
            Queue::of_user()?.add(run, &site.url, options)?;
            out::say(&format!("{why}; the run waits: tokometer publish --queued sends it"));
            Ok(Published::Queued)
        }
        Err(trouble) => Err(trouble.into()),
    }
}

/// Shows the site's answer.
pub(crate) fn show(answer: &Value, json: bool) -> anyhow::Result<()> {
    if json {
        return out::result_line(&serde_json::to_string_pretty(answer)?);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let evidence = &answer["evidence"];
    out::say(&format!("evidence {} ({}):", text(&evidence["level"]), text(&evidence["words"])));
    for reason in evidence["reasons"].as_array().into_iter().flatten() {
        out::say(&format!("  {}", text(reason)));
    }
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        out::say(&format!("  note: {} {}", text(&warning["cell"]), text(&warning["text"])));
    }
    out::result_line(&text(&answer["url"]))
}
