//! A site, over its API.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_ENCODING, HeaderName};
use serde_json::{Value, json};
use tokometer_wire::clock::Clock;
use tokometer_wire::{
    Answer, Connector, Control, Failure, FailureKind, Headers, Scheme, Secret, TargetUrl, Timeouts,
    TlsOptions,
};

use super::parcel::Parcel;
use super::{device, token};
use crate::args::publish::SiteOptions;
use crate::failure::Hinted;
use crate::site_data;

/// Time for one answer; a large matrix is computed again while we wait.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often something is tried.
const TRIES: u32 = 4;
/// Longest wait that a site may ask for, seconds.
const LONGEST_WAIT: u64 = 120;
/// Level of zstd: what is sent once may take its time.
const LEVEL: i32 = 9;

/// A site, and who we are there.
pub(crate) struct Site {
    /// Its address.
    pub(crate) url: String,
    control: Control,
}

/// Why something could not be published.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no connection, or the site can't do it at the moment: later it may.
    Away(String),
    /// The site said no.
    Refused {
        /// What is wrong.
        detail: String,
        /// What to do.
        hint: String,
    },
}

impl From<Trouble> for anyhow::Error {
    fn from(trouble: Trouble) -> anyhow::Error {
        match trouble {
            Trouble::Away(why) => {
                Hinted::new(why, "try again later; tokometer publish --queued sends what waits").into()
            }
            Trouble::Refused { detail, hint } => Hinted::new(detail, hint).into(),
        }
    }
}

impl Site {
    /// The site at an address, or the one on this host. Nothing is sent yet.
    pub(crate) fn at(url: Option<&str>, options: &SiteOptions) -> anyhow::Result<Site> {
        let target = Site::target(url, options)?;
        let token = token::find(options.token_file.as_deref(), &target)?;
        Site::with_token(target, &token, options)
    }

    /// Where a site is that may be given a token.
    pub(crate) fn target(url: Option<&str>, options: &SiteOptions) -> anyhow::Result<TargetUrl> {
        let url = match url {
            Some(url) => url.to_owned(),
            None => of_this_host()?,
        };
        let target = TargetUrl::parse(&url).map_err(|error| {
            Hinted::usage(error.to_string(), "a site's address looks like https://bench.example.org")
        })?;
        if target.scheme == Scheme::Http && !is_loopback(&target.host) && !options.without_tls {
            return Err(Hinted::usage(
                format!("{target} is another host without TLS: everybody on the way could read the token"),
                "give its https address; or, on a network of your own, --without-tls",
            )
            .into());
        }
        Ok(target)
    }

    /// A site with this token.
    pub(crate) fn with_token(
        target: TargetUrl,
        token: &Secret,
        options: &SiteOptions,
    ) -> anyhow::Result<Site> {
        let mut headers = Headers::new();
        headers
            .bearer(token)
            .map_err(|error| Hinted::usage(error.to_string(), "look at the token's file or variable"))?;
        Ok(Site { url: target.display(), control: control(target, headers, options)? })
    }

    /// Gets a token by a code that somebody types in a browser.
    pub(crate) async fn login(
        url: Option<&str>,
        options: &SiteOptions,
    ) -> anyhow::Result<(Secret, TargetUrl)> {
        let target = Site::target(url, options)?;
        let control = control(target.clone(), Headers::new(), options)?;
        Ok((device::login(&control, &target.display()).await?, target))
    }

    /// What the site knows of the token.
    pub(crate) async fn whoami(&self) -> Result<Value, Trouble> {
        self.ask(Method::GET, "/api/v1/whoami", &[], Bytes::new()).await
    }

    /// Ends the token.
    pub(crate) async fn end_token(&self, token: &Secret) -> Result<(), Trouble> {
        // Its public part.
        let id = token.expose().split('_').nth(1).unwrap_or_default();
        self.ask(Method::DELETE, &format!("/api/v1/tokens/{id}"), &[], Bytes::new()).await.map(|_| ())
    }

    /// Whose token it is, and whether it may publish.
    pub(crate) async fn who(&self) -> Result<String, Trouble> {
        let answer = self.whoami().await?;
        let may =
            answer["scopes"].as_array().is_some_and(|scopes| scopes.iter().any(|scope| scope == "publish"));
        let name = answer["handle"].as_str().unwrap_or_default().to_owned();
        if may {
            return Ok(name);
        }
        Err(Trouble::Refused {
            detail: format!("the token of {name} at {} is not good for publishing", self.url),
            hint: "ask the site's operator for one with the scope `publish`".to_owned(),
        })
    }

    /// Sends the files that are not there, then the document.
    pub(crate) async fn publish(&self, parcel: &Parcel) -> Result<Value, Trouble> {
        self.send(parcel, "/api/v1/runs").await
    }

    /// Lets the site check it, and keep nothing.
    pub(crate) async fn validate(&self, parcel: &Parcel) -> Result<Value, Trouble> {
        self.send(parcel, "/api/v1/runs:validate").await
    }

    async fn send(&self, parcel: &Parcel, path: &str) -> Result<Value, Trouble> {
        let wanted: Vec<&String> = parcel.files.iter().map(|(sha256, _)| sha256).collect();
        let body = Bytes::from(json!({ "sha256": wanted }).to_string());
        let answer = self.ask(Method::POST, "/api/v1/artefacts:missing", &[], body).await?;
        let missing = answer["missing"].as_array().cloned().unwrap_or_default();
        for (sha256, content) in &parcel.files {
            if missing.iter().any(|hash| hash == sha256.as_str()) {
                self.ask(Method::PUT, &format!("/api/v1/artefacts/{sha256}"), &[], content.clone()).await?;
            }
        }
        let packed = zstd::bulk::compress(&parcel.document, LEVEL)
            .map_err(|error| Trouble::Away(format!("the document can't be packed: {error}")))?;
        let headers = [
            (CONTENT_ENCODING, "zstd".to_owned()),
            (HeaderName::from_static("idempotency-key"), parcel.key()),
        ];
        self.ask(Method::POST, path, &headers, Bytes::from(packed)).await
    }

    /// Asks, a few times where it may help. Every call may come twice: it changes nothing the second time.
    async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, String)],
        body: Bytes,
    ) -> Result<Value, Trouble> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.control.send(method.clone(), path, headers, body.clone(), PATIENCE).await;
            let (wait, why) = match answer {
                Ok(answer) if answer.is_success() => return Ok(answer.json().unwrap_or(Value::Null)),
                Ok(answer) if matches!(answer.status, 429 | 502..=504) => (
                    retry_after(&answer),
                    format!("{} can't do it at the moment ({})", self.url, answer.status),
                ),
                Ok(answer) => return Err(self.refusal(&answer)),
                Err(failure) if is_passing(&failure) => (None, format!("{}: {}", self.url, failure.message)),
                Err(failure) => {
                    return Err(Trouble::Refused {
                        detail: format!("{}: {}", self.url, failure.message),
                        hint: "is it the address of a site of tokometer?".to_owned(),
                    });
                }
            };
            if tries == TRIES {
                return Err(Trouble::Away(why));
            }
            tokio::time::sleep(wait.unwrap_or(Duration::from_millis(250 << tries))).await;
        }
    }

    fn refusal(&self, answer: &Answer) -> Trouble {
        let problem = answer.json().unwrap_or(Value::Null);
        let text = |name: &str| problem[name].as_str().map(str::to_owned);
        Trouble::Refused {
            detail: text("detail").unwrap_or_else(|| format!("{} answered {}", self.url, answer.status)),
            hint: text("hint").unwrap_or_else(|| "is it the address of a site of tokometer?".to_owned()),
        }
    }
}

fn control(target: TargetUrl, headers: Headers, options: &SiteOptions) -> anyhow::Result<Control> {
    let tls = TlsOptions { insecure: false, ca_certificate: options.site_cacert.clone() };
    let timeouts = Timeouts { connect: Duration::from_secs(10), idle: PATIENCE };
    let connector = Connector::new(target, &tls, headers, Clock::start(), timeouts)
        .map_err(|error| Hinted::usage(error.to_string(), "--site-cacert takes a PEM file"))?;
    Ok(Control::new(connector))
}

fn retry_after(answer: &Answer) -> Option<Duration> {
    let seconds = answer.header("retry-after")?.parse::<u64>().ok()?;
    Some(Duration::from_secs(seconds.clamp(1, LONGEST_WAIT)))
}

fn is_passing(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Connect | FailureKind::Reset | FailureKind::Timeout)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// The address of the site whose data is on this host.
fn of_this_host() -> anyhow::Result<String> {
    let folder = site_data::folder(std::env::var_os(site_data::VARIABLE).map(Into::into))?;
    let address = site_data::address(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    address.ok_or_else(|| {
        Hinted::usage(
            "no site is named, and none is on this host",
            "name one with --site URL, or TOKOMETER_SITE",
        )
        .into()
    })
}
