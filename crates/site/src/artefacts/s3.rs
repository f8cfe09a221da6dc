//! Files in an S3-compatible object store.
//!
//! Keys are `PREFIX/sha256/ab/abcd…`. A file is sent in one request with its checksum, which the store holds against
//! what arrives, and is held against its name when it is read. What may pass (an overloaded store, a lost connection)
//! is tried again; everything is safe to repeat, since a name tells the content.

mod answer;
mod body;
mod error;
mod options;

use std::fmt;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, IF_NONE_MATCH};
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use rusty_s3::actions::{DeleteObject, GetObject, PutObject};
use rusty_s3::{Bucket, Credentials, S3Action};
use tokio::time::{Instant, timeout};
use tokometer_report::base64;
use tokometer_wire::{ServiceClient, TlsOptions, WireError};
use url::Url;
use uuid::Uuid;

use super::{Artefacts, Hash, Reading};
use answer::Refusal;
use body::Verified;
use options::KeyRing;

pub use error::S3Error;
pub use options::{BucketStyle, KeySource, Keys, S3Options};

/// How long a signature holds: enough for clocks that differ a little.
const SIGNED_FOR: Duration = Duration::from_secs(900);
/// Before the second try; it doubles from try to try.
const PAUSE: Duration = Duration::from_millis(200);
/// Slowest store, bytes a second, beyond the time for an answer.
const SLOWEST: f64 = 64.0 * 1024.0;
/// The longest file that is read into memory whole. No upload is longer.
const MOST: u64 = 256 << 20;
/// A file up to this length is seen to be right before the first byte is given out.
const AT_ONCE: u64 = 1 << 20;
/// How long an answer that the store is ready holds: those who ask for it ask often.
const READY: Duration = Duration::from_secs(5);
const CHECKSUM: &str = "x-amz-checksum-sha256";

/// What is asked of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Read,
    Write,
    Remove,
}

impl Doing {
    fn words(self) -> &'static str {
        match self {
            Doing::Read => "read a file",
            Doing::Write => "write a file",
            Doing::Remove => "remove a file",
        }
    }
}

/// Files in an object store.
pub struct S3Artefacts {
    client: ServiceClient,
    bucket: Bucket,
    prefix: String,
    keys: KeyRing,
    answer_time: Duration,
    tries: u32,
    /// False once the store was found not to know `If-None-Match` on a PUT.
    knows_conditions: AtomicBool,
    ready: Mutex<Option<Instant>>,
}

impl fmt::Debug for S3Artefacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.bucket.base_url().as_str();
        f.debug_struct("S3Artefacts")
            .field("bucket", &place)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl S3Artefacts {
    /// Reads the options and the keys; asks nothing yet.
    ///
    /// # Errors
    /// An option or the file of keys can't be used.
    pub fn open(options: &S3Options) -> Result<S3Artefacts, S3Error> {
        let (bucket, prefix) = options.bucket()?;
        let client = if bucket.base_url().scheme() == "https" {
            let tls = TlsOptions { insecure: false, ca_certificate: options.ca_certificate.clone() };
            ServiceClient::new(&tls).map_err(no_tls)?
        } else {
            ServiceClient::plain()
        };
        Ok(S3Artefacts {
            client,
            bucket,
            prefix,
            keys: KeyRing::open(&options.keys)?,
            answer_time: options.answer_time,
            tries: options.tries.max(1),
            knows_conditions: AtomicBool::new(true),
            ready: Mutex::new(None),
        })
    }

    /// Writes, reads and removes an object, and says what of it fails and which setting to look at.
    ///
    /// # Errors
    /// What the store refused.
    pub async fn check(&self) -> Result<(), S3Error> {
        let id = Uuid::now_v7().to_string();
        let key = format!("{}probe/{id}", self.prefix);
        let content = Bytes::from(id);
        let name = Hash::of(&content);
        self.write(&key, &name, &content).await?;
        let odd = |what: &str| S3Error::Odd { what: what.to_owned() };
        match self.read(&key).await? {
            Some(found) if found == content => {}
            Some(_) => return Err(odd("an object that was just written has another content")),
            None => return Err(odd("an object that was just written is not there")),
        }
        self.remove_key(&key).await?;
        // Without the right to list, a file that is missing can't be told from one that is refused.
        match self.read(&key).await? {
            None => Ok(()),
            Some(_) => Err(odd("an object that was just removed is still there")),
        }
    }

    fn key(&self, name: &Hash) -> String {
        format!("{}sha256/{}/{}", self.prefix, name.shelf(), name.as_str())
    }

    /// One request; its answer, or why there is none.
    async fn ask(
        &self,
        doing: Doing,
        key: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Result<Response<Incoming>, Refusal>, S3Error> {
        let credentials = self.keys.now()?;
        let (method, url) = self.signed(doing, key, headers, &credentials);
        let limit = self.answer_time + Duration::from_secs_f64(body.len() as f64 / SLOWEST);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        // What a URL can be, a URI can be.
        *request.uri_mut() = url.as_str().parse().map_err(|_| S3Error::Option {
            what: "the address of the object store can't be asked for".to_owned(),
            hint: "check --s3-endpoint",
        })?;
        request.headers_mut().extend(headers.iter().cloned().map(|(name, value)| (Some(name), value)));
        let away = |why: String| S3Error::Away { doing: doing.words(), place: self.place(), why, tries: 0 };
        let response = timeout(limit, self.client.send(request))
            .await
            .map_err(|_| away(format!("no answer within {:.1} s", limit.as_secs_f64())))?
            .map_err(|failure| away(failure.message))?;
        if response.status().is_success() {
            return Ok(Ok(response));
        }
        let refusal = timeout(self.answer_time, Refusal::read(response)).await;
        Ok(Err(refusal.map_err(|_| away("its answer did not end".to_owned()))?))
    }

    /// The address of a request. What it says of the content is signed too, as the store asks for.
    fn signed(
        &self,
        doing: Doing,
        key: &str,
        headers: &[(HeaderName, HeaderValue)],
        credentials: &Credentials,
    ) -> (Method, Url) {
        fn sign<'a>(mut action: impl S3Action<'a>, headers: &'a [(HeaderName, HeaderValue)]) -> Url {
            for (name, value) in headers.iter().filter(|(name, _)| name.as_str().starts_with("x-amz-")) {
                action.headers_mut().insert(name.as_str(), value.to_str().unwrap_or_default());
            }
            action.sign(SIGNED_FOR)
        }
        let (bucket, credentials) = (&self.bucket, Some(credentials));
        match doing {
            Doing::Read => (Method::GET, sign(GetObject::new(bucket, credentials, key), headers)),
            Doing::Write => (Method::PUT, sign(PutObject::new(bucket, credentials, key), headers)),
            Doing::Remove => (Method::DELETE, sign(DeleteObject::new(bucket, credentials, key), headers)),
        }
    }

    /// Host and port, for messages.
    fn place(&self) -> String {
        self.bucket.base_url().authority().to_owned()
    }

    fn refused(&self, doing: Doing, refusal: &Refusal) -> S3Error {
        refusal.error(doing.words(), self.bucket.name(), self.bucket.region())
    }

    /// Writes an object, also over another one where the store can't be asked to leave it.
    async fn write(&self, key: &str, name: &Hash, content: &Bytes) -> Result<(), S3Error> {
        let mut tries = Tries::new(self.tries);
        loop {
            match self.write_once(key, name, content).await {
                Err(error) => tries.again(error).await?,
                done => return done,
            }
        }
    }

    async fn write_once(&self, key: &str, name: &Hash, content: &Bytes) -> Result<(), S3Error> {
        let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))];
        // Letters of base64 are fit for a header.
        if let Ok(checksum) = HeaderValue::from_str(&base64(&name.bytes())) {
            headers.push((HeaderName::from_static(CHECKSUM), checksum));
        }
        let only_new = (IF_NONE_MATCH, HeaderValue::from_static("*"));
        if self.knows_conditions.load(Ordering::Relaxed) {
            headers.push(only_new.clone());
        }
        let Err(refusal) = self.ask(Doing::Write, key, &headers, content.clone()).await? else {
            return Ok(());
        };
        let is_conditional = headers.contains(&only_new);
        if is_conditional && refusal.status == 501 {
            self.knows_conditions.store(false, Ordering::Relaxed);
        } else if is_conditional && refusal.status == 412 {
            // It is there already. Should it have been changed meanwhile, it is put right.
            match self.read_once(key).await? {
                Some(found) if Hash::of(&found) == *name => return Ok(()),
                _ => tracing::warn!(key, "an object was changed or damaged: it is written again"),
            }
        } else {
            return Err(self.refused(Doing::Write, &refusal));
        }
        headers.retain(|header| *header != only_new);
        match self.ask(Doing::Write, key, &headers, content.clone()).await? {
            Ok(_) => Ok(()),
            Err(refusal) => Err(self.refused(Doing::Write, &refusal)),
        }
    }

    /// An object's content, whatever it is.
    async fn read(&self, key: &str) -> Result<Option<Bytes>, S3Error> {
        let mut tries = Tries::new(self.tries);
        loop {
            match self.read_once(key).await {
                Err(error) => tries.again(error).await?,
                done => return done,
            }
        }
    }

    async fn read_once(&self, key: &str) -> Result<Option<Bytes>, S3Error> {
        match self.begin(key).await? {
            Some((length, body)) => self.collect(length, body).await.map(Some),
            None => Ok(None),
        }
    }

    /// An object's length, and its content as it comes.
    async fn begin(&self, key: &str) -> Result<Option<(u64, Incoming)>, S3Error> {
        match self.ask(Doing::Read, key, &[], Bytes::new()).await? {
            Ok(response) => {
                let body = response.into_body();
                let length = hyper::body::Body::size_hint(&body).exact().filter(|length| *length <= MOST);
                let odd =
                    || S3Error::Odd { what: "an object has no length, or is longer than any file".into() };
                Ok(Some((length.ok_or_else(odd)?, body)))
            }
            Err(refusal) if refusal.is_missing_object() => Ok(None),
            Err(refusal) => Err(self.refused(Doing::Read, &refusal)),
        }
    }

    async fn collect(&self, length: u64, body: Incoming) -> Result<Bytes, S3Error> {
        let away =
            |why: String| S3Error::Away { doing: Doing::Read.words(), place: self.place(), why, tries: 0 };
        let limit = self.answer_time + Duration::from_secs_f64(length as f64 / SLOWEST);
        let collected = timeout(limit, body.collect()).await;
        let collected =
            collected.map_err(|_| away(format!("a file did not come within {} s", limit.as_secs())))?;
        Ok(collected.map_err(|error| away(format!("it broke off ({error})")))?.to_bytes())
    }

    async fn remove_key(&self, key: &str) -> Result<(), S3Error> {
        let mut tries = Tries::new(self.tries);
        loop {
            let error = match self.ask(Doing::Remove, key, &[], Bytes::new()).await {
                Ok(Err(refusal)) if !refusal.is_missing_object() => self.refused(Doing::Remove, &refusal),
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            tries.again(error).await?;
        }
    }

    /// A file for a reader; one try.
    async fn open_once(&self, name: &Hash) -> Result<Option<Reading>, S3Error> {
        let Some((bytes, body)) = self.begin(&self.key(name)).await? else { return Ok(None) };
        if bytes > AT_ONCE {
            let body = Verified::new(body, name.clone(), self.answer_time);
            return Ok(Some(Reading { bytes, body: Body::new(body) }));
        }
        let content = self.collect(bytes, body).await?;
        if Hash::of(&content) != *name {
            return Err(S3Error::Altered { name: name.as_str().to_owned() });
        }
        Ok(Some(Reading { bytes, body: Body::from(content) }))
    }
}

#[async_trait]
impl Artefacts for S3Artefacts {
    async fn put(&self, name: &Hash, content: Bytes) -> io::Result<()> {
        Ok(self.write(&self.key(name), name, &content).await?)
    }

    async fn get(&self, name: &Hash) -> io::Result<Option<Bytes>> {
        match self.read(&self.key(name)).await? {
            Some(content) if Hash::of(&content) != *name => {
                Err(S3Error::Altered { name: name.as_str().to_owned() }.into())
            }
            content => Ok(content),
        }
    }

    async fn open(&self, name: &Hash) -> io::Result<Option<Reading>> {
        let mut tries = Tries::new(self.tries);
        loop {
            match self.open_once(name).await {
                Err(error) => tries.again(error).await?,
                done => return Ok(done?),
            }
        }
    }

    async fn remove(&self, name: &Hash) -> io::Result<()> {
        Ok(self.remove_key(&self.key(name)).await?)
    }

    /// The store answers, knows the keys, and lets them look; that they may write was seen at the start.
    async fn ready(&self) -> io::Result<()> {
        let lately = |ready: &Option<Instant>| ready.is_some_and(|at| at.elapsed() < READY);
        // A poisoned lock would only hold a time.
        let last = || self.ready.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if lately(&last()) {
            return Ok(());
        }
        let key = format!("{}probe/ready", self.prefix);
        self.read_once(&key).await.map_err(|error| error.after(1))?;
        *last() = Some(Instant::now());
        Ok(())
    }
}

fn no_tls(error: WireError) -> S3Error {
    let what = match error {
        WireError::Tls(problem) => format!("TLS to the object store can't be set up: {problem}"),
        error => error.to_string(),
    };
    S3Error::Option { what, hint: "give a PEM file of the store's certificate authority with --s3-ca" }
}

/// How often something was tried.
struct Tries {
    tried: u32,
    most: u32,
}

impl Tries {
    fn new(most: u32) -> Tries {
        Tries { tried: 0, most }
    }

    /// Waits before another try; fails where that is of no use, or it was tried often enough.
    async fn again(&mut self, error: S3Error) -> Result<(), S3Error> {
        self.tried += 1;
        if !error.is_passing() || self.tried >= self.most {
            return Err(error.after(self.tried));
        }
        tracing::warn!(%error, tried = self.tried, "the object store is asked again");
        tokio::time::sleep(pause(self.tried)).await;
        Ok(())
    }
}

/// Before the next try: longer from try to try, and not the same for all who wait.
fn pause(tried: u32) -> Duration {
    let chance = getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX));
    PAUSE.mul_f64(f64::from(1_u32 << (tried - 1).min(6)) * (0.5 + chance))
}
