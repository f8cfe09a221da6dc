//! Where a site keeps the files of its runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tokometer_site::{BucketStyle, KeySource, Keys, S3Options, Storage};
use tokometer_wire::Secret;

use crate::failure::Hinted;

/// Variables of Amazon's own tools, which are taken where no option says otherwise.
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const ENDPOINTS: [&str; 2] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Storage")]
pub(crate) struct StorageArgs {
    /// Where the files of runs are kept: s3://BUCKET/PREFIX of an S3-compatible object store [default: the data folder]
    #[arg(long, value_name = "PLACE")]
    pub(crate) artefacts: Option<String>,
    /// Address of the object store [default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's of the region]
    #[arg(long, value_name = "URL")]
    pub(crate) s3_endpoint: Option<String>,
    /// Region of the bucket [default: AWS_REGION, AWS_DEFAULT_REGION, or us-east-1]
    #[arg(long, value_name = "NAME")]
    pub(crate) s3_region: Option<String>,
    /// How requests name the bucket [default: path with an endpoint of your own, else virtual-host]
    #[arg(long, value_name = "STYLE")]
    pub(crate) s3_style: Option<Style>,
    /// File with the keys, as Amazon's tools write it; read again when it changes [default: AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) s3_keys: Option<PathBuf>,
    /// PEM file of a certificate authority that signed the object store's certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) s3_ca: Option<PathBuf>,
}

/// How requests name the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// <https://host/bucket/key>
    Path,
    /// <https://bucket.host/key>
    VirtualHost,
}

impl StorageArgs {
    /// What they mean, with what the environment says.
    pub(crate) fn storage(self) -> anyhow::Result<Storage> {
        let Some(place) = self.artefacts else {
            let orphan = [
                ("--s3-endpoint", self.s3_endpoint.is_some()),
                ("--s3-region", self.s3_region.is_some()),
                ("--s3-style", self.s3_style.is_some()),
                ("--s3-keys", self.s3_keys.is_some()),
                ("--s3-ca", self.s3_ca.is_some()),
            ];
            return match orphan.iter().find(|(_, given)| *given) {
                None => Ok(Storage::Folder),
                Some((option, _)) => Err(Hinted::usage(
                    format!("{option} is given, and no object store"),
                    "name it with --artefacts s3://BUCKET/PREFIX",
                )
                .into()),
            };
        };
        let keys = match self.s3_keys {
            Some(path) => KeySource::File(path),
            None => KeySource::Given(keys_of_environment()?),
        };
        let mut options = S3Options::new(place, keys);
        options.endpoint = self.s3_endpoint.or_else(|| first_of(&ENDPOINTS));
        options.region = self.s3_region.or_else(|| first_of(&REGIONS)).unwrap_or(options.region);
        options.style = self.s3_style.map(|style| match style {
            Style::Path => BucketStyle::Path,
            Style::VirtualHost => BucketStyle::VirtualHost,
        });
        options.ca_certificate = self.s3_ca;
        Ok(Storage::S3(Box::new(options)))
    }
}

fn keys_of_environment() -> anyhow::Result<Keys> {
    let needed = |name: &str| {
        variable(name).map(Secret::new).ok_or_else(|| {
            Hinted::usage(
                format!("the object store needs keys, and the variable {name} is not set"),
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file with --s3-keys",
            )
        })
    };
    Ok(Keys {
        id: needed("AWS_ACCESS_KEY_ID")?,
        secret: needed("AWS_SECRET_ACCESS_KEY")?,
        session: variable("AWS_SESSION_TOKEN").map(Secret::new),
    })
}

fn first_of(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| variable(name))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::Cli;

    /// What the book shows of servers that no test has is at least understood.
    #[test]
    fn commands_of_the_book_are_understood() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for page in ["serving.md", "postgresql.md", "publishing.md"] {
            let text = std::fs::read_to_string(docs.join(page)).unwrap().replace("\\\n", " ");
            let commands: Vec<&str> = text.lines().filter(|line| line.starts_with("tokometer ")).collect();
            assert!(!commands.is_empty(), "{page}");
            for command in commands {
                // What is in quotes is one word.
                let quoted = |(at, part): (usize, &str)| {
                    if at % 2 == 1 { part.replace(' ', "_") } else { part.into() }
                };
                let plain: String = command.split('"').enumerate().map(quoted).collect();
                let parsed = Cli::try_parse_from(plain.split_whitespace());
                assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
            }
        }
    }
}
