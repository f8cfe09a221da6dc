//! Where an object store is, and with which keys it is asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusty_s3::{Bucket, Credentials, UrlStyle};
use tokometer_wire::Secret;
use url::Url;

use super::S3Error;

/// How requests name the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketStyle {
    /// `https://host/bucket/key`.
    Path,
    /// `https://bucket.host/key`.
    VirtualHost,
}

/// Where an object store is, and how it is asked.
#[derive(Debug, Clone)]
pub struct S3Options {
    /// `s3://bucket`, or `s3://bucket/prefix`.
    pub place: String,
    /// Address of the store; none: Amazon's of the region.
    pub endpoint: Option<String>,
    /// Region that signatures are for.
    pub region: String,
    /// How requests name the bucket; none: in the path of an endpoint that was given, in front of Amazon's.
    pub style: Option<BucketStyle>,
    /// A PEM file of further certificate authorities.
    pub ca_certificate: Option<PathBuf>,
    /// Where the keys are.
    pub keys: KeySource,
    /// Longest wait for an answer, and for the next piece of one.
    pub answer_time: Duration,
    /// How often a request is sent at most, where trying again may do.
    pub tries: u32,
}

impl S3Options {
    /// A place of Amazon's store, in the region that it had first.
    pub fn new(place: impl Into<String>, keys: KeySource) -> S3Options {
        S3Options {
            place: place.into(),
            endpoint: None,
            region: "us-east-1".to_owned(),
            style: None,
            ca_certificate: None,
            keys,
            answer_time: Duration::from_secs(20),
            tries: 4,
        }
    }
}

/// Where the keys of an object store are.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// They were given.
    Given(Keys),
    /// In a file as Amazon's tools write it, which is read again when it has changed.
    File(PathBuf),
}

/// The keys of an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// Access key.
    pub id: Secret,
    /// Secret key.
    pub secret: Secret,
    /// Of keys that hold for a time.
    pub session: Option<Secret>,
}

impl Keys {
    fn credentials(&self) -> Credentials {
        let (id, secret) = (self.id.expose(), self.secret.expose());
        match &self.session {
            Some(session) => Credentials::new_with_token(id, secret, session.expose()),
            None => Credentials::new(id, secret),
        }
    }

    /// Reads the section `default` of a file, or what stands above all sections.
    fn parse(text: &str) -> Result<Keys, &'static str> {
        let (mut id, mut secret, mut session, mut is_ours) = (None, None, None, true);
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                is_ours = section.trim_end_matches(']').trim() == "default";
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            let value = Some(value.trim()).filter(|value| is_ours && !value.is_empty());
            match name.trim().to_ascii_lowercase().as_str() {
                "aws_access_key_id" => id = value.or(id),
                "aws_secret_access_key" => secret = value.or(secret),
                "aws_session_token" => session = value.or(session),
                _ => {}
            }
        }
        Ok(Keys {
            id: Secret::new(id.ok_or("it has no aws_access_key_id in the section [default]")?),
            secret: Secret::new(secret.ok_or("it has no aws_secret_access_key in the section [default]")?),
            session: session.map(Secret::new),
        })
    }
}

/// The keys as they are now.
#[derive(Debug)]
pub(super) enum KeyRing {
    Given(Arc<Credentials>),
    File { path: PathBuf, last: Mutex<Option<(Version, Arc<Credentials>)>> },
}

/// What tells that a file has changed.
type Version = (Option<SystemTime>, u64);

impl KeyRing {
    pub(super) fn open(source: &KeySource) -> Result<KeyRing, S3Error> {
        let ring = match source {
            KeySource::Given(keys) => KeyRing::Given(Arc::new(keys.credentials())),
            KeySource::File(path) => KeyRing::File { path: path.clone(), last: Mutex::new(None) },
        };
        ring.now()?;
        Ok(ring)
    }

    /// The keys; a file that has changed is read again.
    pub(super) fn now(&self) -> Result<Arc<Credentials>, S3Error> {
        let (path, last) = match self {
            KeyRing::Given(credentials) => return Ok(Arc::clone(credentials)),
            KeyRing::File { path, last } => (path, last),
        };
        let fail = |why: String| S3Error::KeyFile { path: path.clone(), why };
        let version = version(path).map_err(|error| fail(error.to_string()))?;
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, credentials)) = &*last
            && *known == version
        {
            return Ok(Arc::clone(credentials));
        }
        let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        let credentials = Arc::new(Keys::parse(&text).map_err(|why| fail(why.to_owned()))?.credentials());
        *last = Some((version, Arc::clone(&credentials)));
        Ok(credentials)
    }
}

fn version(path: &Path) -> std::io::Result<Version> {
    let about = fs::metadata(path)?;
    Ok((about.modified().ok(), about.len()))
}

impl S3Options {
    /// The bucket, and the prefix of its keys: empty, or with a slash at its end.
    pub(super) fn bucket(&self) -> Result<(Bucket, String), S3Error> {
        let option = |what: String, hint| S3Error::Option { what, hint };
        let hint = "write it as s3://BUCKET or s3://BUCKET/PREFIX";
        let rest = self
            .place
            .strip_prefix("s3://")
            .ok_or_else(|| option(format!("{:?} is no place of an object store", self.place), hint))?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
        if name.len() < 3 || name.len() > 63 || !plain(name) {
            return Err(option(format!("{name:?} is no name of a bucket"), hint));
        }
        let prefix = prefix.trim_matches('/');
        let whole = |part: &str| !part.is_empty() && part != "." && part != ".." && plain(part);
        if !prefix.is_empty() && !prefix.split('/').all(whole) {
            return Err(option(
                format!("the prefix {prefix:?} has other characters than letters, digits and -._"),
                hint,
            ));
        }
        if self.region.is_empty() || !plain(&self.region) {
            return Err(option(
                format!("{:?} is no name of a region", self.region),
                "give it with --s3-region, for example eu-central-1",
            ));
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok((self.bucket_of(name)?, prefix))
    }

    fn bucket_of(&self, name: &str) -> Result<Bucket, S3Error> {
        let hint = "write it as https://HOST or http://HOST:PORT, without user and password";
        let address =
            self.endpoint.clone().unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", self.region));
        // Not shown: a password may be what is wrong with it.
        let unusable = || S3Error::Option { what: "the address of --s3-endpoint can't be used".into(), hint };
        let endpoint: Url = address.parse().map_err(|_| unusable())?;
        if !endpoint.username().is_empty() || endpoint.password().is_some() || endpoint.query().is_some() {
            return Err(unusable());
        }
        let usual = if self.endpoint.is_some() { BucketStyle::Path } else { BucketStyle::VirtualHost };
        let style = match self.style.unwrap_or(usual) {
            BucketStyle::Path => UrlStyle::Path,
            BucketStyle::VirtualHost => UrlStyle::VirtualHost,
        };
        Bucket::new(endpoint, style, name.to_owned(), self.region.clone()).map_err(|error| S3Error::Option {
            what: format!("the bucket {name:?} can't be asked for at the address of --s3-endpoint ({error})"),
            hint: "give --s3-style path where the endpoint is an IP address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(place: &str, endpoint: Option<&str>, style: Option<BucketStyle>) -> S3Options {
        let keys = Keys { id: Secret::new("id"), secret: Secret::new("hush-hush"), session: None };
        S3Options {
            endpoint: endpoint.map(str::to_owned),
            region: "eu-central-1".to_owned(),
            style,
            ..S3Options::new(place, KeySource::Given(keys))
        }
    }

    #[test]
    fn places_become_addresses() {
        let address = |place: &str, endpoint, style| {
            let (bucket, prefix) = options(place, endpoint, style).bucket().unwrap();
            bucket.object_url(&format!("{prefix}key")).to_string()
        };
        assert_eq!(address("s3://runs", None, None), "https://runs.s3.eu-central-1.amazonaws.com/key");
        assert_eq!(
            address("s3://runs/a/b/", Some("http://10.0.0.1:9000"), None),
            "http://10.0.0.1:9000/runs/a/b/key"
        );
        assert_eq!(
            address("s3://runs", Some("https://s3.example.org"), Some(BucketStyle::VirtualHost)),
            "https://runs.s3.example.org/key"
        );
    }

    #[test]
    fn what_can_not_be_meant_is_told() {
        for place in
            ["runs", "s3://", "s3://a/b", "s3://run s", "s3://runs/../other", "s3://runs/a//b", "s3://runs/ä"]
        {
            let error = options(place, None, None).bucket().unwrap_err().to_string();
            assert!(error.contains("s3://BUCKET"), "{place}: {error}");
        }
        let error =
            options("s3://runs", Some("https://me:hunter2@s3.example.org"), None).bucket().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let virtual_host = options("s3://runs", Some("http://127.0.0.1:1"), Some(BucketStyle::VirtualHost));
        assert!(virtual_host.bucket().unwrap_err().to_string().contains("--s3-style path"));
        assert!(!format!("{:?}", options("s3://runs", None, None)).contains("hush"));
    }

    #[test]
    fn a_key_file_is_read_again_when_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let source = KeySource::File(path.clone());
        let error = KeyRing::open(&source).unwrap_err().to_string();
        assert!(error.contains("keys"), "{error}");
        fs::write(&path, "[other]\naws_access_key_id = no\n[default]\naws_secret_access_key=s3cr3t\n")
            .unwrap();
        let error = KeyRing::open(&source).unwrap_err().to_string();
        assert!(error.contains("aws_access_key_id") && !error.contains("s3cr3t"), "{error}");
        fs::write(&path, "aws_access_key_id = one\naws_secret_access_key = s3cr3t\n").unwrap();
        let ring = KeyRing::open(&source).unwrap();
        assert_eq!(ring.now().unwrap().key(), "one");
        fs::write(&path, "aws_access_key_id = second\naws_secret_access_key = x=y\naws_session_token = t\n")
            .unwrap();
        let now = ring.now().unwrap();
        assert_eq!((now.key(), now.secret(), now.token()), ("second", "x=y", Some("t")));
    }
}
