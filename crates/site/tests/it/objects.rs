//! Where the sites of these tests keep their files: in their folder, or in the object store that `scripts/s3.sh` has
//! started.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use tokometer_record::store::sha256;
use tokometer_site::{KeySource, Keys, S3Options, Storage};
use tokometer_wire::{Secret, ServiceClient};

/// Address of an object store that serves the tests.
const ENDPOINT: &str = "TOKOMETER_TEST_S3";
/// As `scripts/s3.sh` makes it.
pub(crate) const BUCKET: &str = "tokometer";
pub(crate) const KEY: &str = "tokometer-test";
pub(crate) const SECRET: &str = "secret-of-a-test";

/// The address of the object store, if there is one.
pub(crate) fn endpoint() -> Option<String> {
    std::env::var(ENDPOINT).ok().filter(|text| !text.is_empty())
}

/// The place for the files of a site with this folder, which is nobody else's.
pub(crate) fn storage(folder: &Path) -> Storage {
    match endpoint() {
        Some(endpoint) => {
            Storage::S3(Box::new(options(&endpoint, &sha256(folder.to_string_lossy().as_bytes()))))
        }
        None => Storage::Folder,
    }
}

/// A prefix in the bucket of an object store.
pub(crate) fn options(endpoint: &str, prefix: &str) -> S3Options {
    let mut options = S3Options::new(format!("s3://{BUCKET}/{prefix}"), keys(KEY, SECRET));
    options.endpoint = Some(endpoint.to_owned());
    options
}

pub(crate) fn keys(id: &str, secret: &str) -> KeySource {
    KeySource::Given(Keys { id: Secret::new(id), secret: Secret::new(secret), session: None })
}

/// The key of a file.
pub(crate) fn key(prefix: &str, hash: &str) -> String {
    format!("{prefix}/sha256/{}/{hash}", &hash[..2])
}

/// Writes an object as somebody who has the keys and means no good.
pub(crate) async fn write(endpoint: &str, key: &str, content: &[u8]) {
    let bucket = Bucket::new(endpoint.parse().unwrap(), UrlStyle::Path, BUCKET, "us-east-1").unwrap();
    let credentials = Credentials::new(KEY, SECRET);
    let address = bucket.put_object(Some(&credentials), key).sign(Duration::from_secs(60));
    let request = Request::builder().method(Method::PUT).uri(address.as_str());
    let request = request.body(Full::new(Bytes::copy_from_slice(content))).unwrap();
    let answer = ServiceClient::plain().send(request).await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    answer.into_body().collect().await.unwrap();
}
