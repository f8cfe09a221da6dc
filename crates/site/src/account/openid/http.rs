//! Requests to the provider: over TLS but on this host, bounded in time and length, redirects not followed.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use openidconnect::{HttpRequest, HttpResponse};
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Control, Headers, Scheme, TargetUrl, Timeouts, TlsOptions};

use super::settings::is_loopback;

/// Time for one answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer, bytes.
const MOST: usize = 1 << 20;

/// Why the provider could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Away(String);

/// Asks the provider, or whom it names.
pub(super) async fn ask(
    request: HttpRequest,
    ca: Option<PathBuf>,
    patience: Duration,
) -> Result<HttpResponse, Away> {
    let away = |error: &dyn std::fmt::Display| Away(error.to_string());
    let uri = request.uri();
    let authority = uri.authority().ok_or_else(|| Away(format!("{uri} names no host")))?;
    let scheme = uri.scheme_str().unwrap_or_default();
    let target = TargetUrl::parse(&format!("{scheme}://{authority}")).map_err(|error| away(&error))?;
    if target.scheme == Scheme::Http && !is_loopback(&target.host) {
        return Err(Away(format!("{target} is another host without TLS")));
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let tls = TlsOptions { insecure: false, ca_certificate: ca };
    let timeouts = Timeouts { connect: patience, idle: patience };
    let connector = Connector::new(target, &tls, Headers::new(), Clock::start(), timeouts);
    let control = Control::limited(connector.map_err(|error| away(&error))?, MOST);
    let headers: Vec<_> = request
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.to_str().ok()?.to_owned())))
        .collect();
    let method = request.method().clone();
    let answer = control
        .send(method, &path, &headers, Bytes::from(request.into_body()), patience)
        .await
        .map_err(|failure| Away(failure.message))?;
    let mut response = http::Response::builder().status(answer.status);
    if let Some(kind) = answer.header("content-type") {
        response = response.header(CONTENT_TYPE, kind);
    }
    response.body(answer.body.to_vec()).map_err(|error| away(&error))
}

/// Time for one answer, where nothing else is said.
pub(super) fn patience() -> Duration {
    PATIENCE
}
