//! `--publish`: the site is asked before anything is measured, and gets the run at the end.

use std::path::Path;

use crate::args::output::OutputArgs;
use crate::args::publish::SiteOptions;
use crate::failure;
use crate::out;
use crate::publish::{self, Parcel, Published, Site, Trouble};

/// A site that will take the run.
pub(super) struct Publication {
    site: Site,
    /// Who we are there; none where the site could not be reached.
    name: Option<String>,
    options: SiteOptions,
}

impl Publication {
    /// Checks the token. A site that is away is no reason not to measure: the run will wait for it.
    pub(super) async fn prepare(output: &OutputArgs) -> anyhow::Result<Option<Publication>> {
        let Some(url) = &output.publish else { return Ok(None) };
        let site = Site::at(Some(url), &output.site)?;
        let name = match site.who().await {
            Ok(name) => Some(name),
            Err(Trouble::Away(why)) => {
                out::say(&format!("{why}; the run is measured all the same, and will wait"));
                None
            }
            Err(trouble) => return Err(trouble.into()),
        };
        Ok(Some(Publication { site, name, options: output.site.clone() }))
    }

    /// Sends the run. `code` is what it deserves by itself.
    pub(super) async fn publish(self, folder: &Path, code: u8) -> anyhow::Result<u8> {
        let failed = if code == 0 { failure::NO_RUN } else { code };
        let sent = async {
            let parcel = Parcel::pack(folder, self.options.keep_address)?;
            let name = self.name.as_deref().unwrap_or("?");
            out::say(&parcel.preview(&format!("{} as {name}", self.site.url)));
            publish::send(&self.site, &parcel, folder, &self.options).await
        };
        match sent.await {
            Ok(Published::There(answer)) => {
                publish::show(&answer, false)?;
                Ok(code)
            }
            Ok(Published::Queued) => Ok(failed),
            // The run is saved, whatever became of this.
            Err(error) => {
                failure::print(&error);
                Ok(failed)
            }
        }
    }
}
