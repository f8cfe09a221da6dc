//! What an object store says when it does not do what it was asked for.

use http::header::DATE;
use http::{HeaderMap, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::S3Error;
use crate::clock;

/// The longest document of an error that is read.
const LONGEST: usize = 64 << 10;
/// Clocks that differ by less are not to blame.
const APART_MILLIS: i64 = 300_000;

/// A refusal. Of its document only the words of known fields are kept: the rest may quote what was sent.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The store's word: `NoSuchKey`.
    code: String,
    /// Where the bucket lies, if the store says it.
    region: Option<String>,
    /// By how much the store's clock is ahead of ours, ms.
    ahead: Option<i64>,
}

impl Refusal {
    pub(super) async fn read(response: Response<Incoming>) -> Refusal {
        let (parts, body) = response.into_parts();
        // A document that breaks off tells as much as none.
        let document = Limited::new(body, LONGEST).collect().await;
        let document = document.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Refusal::of(parts.status.as_u16(), &parts.headers, &String::from_utf8_lossy(&document))
    }

    fn of(status: u16, headers: &HeaderMap, document: &str) -> Refusal {
        let header = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let word = |text: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (!text.is_empty() && text.len() <= 64 && text.bytes().all(fits)).then(|| text.to_owned())
        };
        let region = header("x-amz-bucket-region").or_else(|| element(document, "Region"));
        let date = header(DATE.as_str()).and_then(|text| jiff::fmt::rfc2822::parse(text).ok());
        Refusal {
            status,
            code: element(document, "Code").and_then(word).unwrap_or_default(),
            region: region.and_then(word),
            ahead: date.map(|date| date.timestamp().as_millisecond() - clock::now()),
        }
    }

    /// True if the store works and has no such object.
    pub(super) fn is_missing_object(&self) -> bool {
        self.status == 404 && self.code != "NoSuchBucket"
    }

    /// What it means.
    pub(super) fn error(&self, doing: &'static str, bucket: &str, region: &str) -> S3Error {
        let code = self.code.clone();
        let bucket = || bucket.to_owned();
        let elsewhere = self.region.as_deref().filter(|other| *other != region);
        match (self.status, self.code.as_str()) {
            (_, "NoSuchBucket") => S3Error::NoBucket { bucket: bucket() },
            (301, _)
            | (
                _,
                "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException",
            ) => {
                let region = self.region.clone().unwrap_or_else(|| "unknown".to_owned());
                S3Error::Region { bucket: bucket(), region }
            }
            (302..=308 | 400, _) if let Some(other) = elsewhere => {
                S3Error::Region { bucket: bucket(), region: other.to_owned() }
            }
            (
                _,
                "BadDigest" | "InvalidDigest" | "XAmzContentSHA256Mismatch" | "XAmzContentChecksumMismatch",
            ) => S3Error::Damaged { code },
            (_, "RequestTimeTooSkewed") => S3Error::Clock { apart: self.apart() },
            (400 | 403, _) if self.ahead.is_some_and(|ahead| ahead.abs() > APART_MILLIS) => {
                S3Error::Clock { apart: self.apart() }
            }
            (_, "InvalidAccessKeyId") => S3Error::UnknownKey,
            (_, "SignatureDoesNotMatch") => S3Error::WrongSecret,
            (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => S3Error::Expired,
            (401 | 403, _) => S3Error::Denied { doing, code, bucket: bucket() },
            // A bucket that was just made leads elsewhere for a while; a condition met another upload of the same.
            (307 | 409 | 429 | 500.., _) | (_, "SlowDown" | "RequestTimeout") => {
                S3Error::Busy { doing, status: self.status, code, tries: 0 }
            }
            (status, _) => S3Error::Other { doing, status, code },
        }
    }

    fn apart(&self) -> String {
        match self.ahead {
            Some(ahead) => format!("{} s", (ahead as f64 / 1000.0).abs().round()),
            None => "more than 15 minutes".to_owned(),
        }
    }
}

impl S3Error {
    /// The same, with the number of tries that it took.
    pub(super) fn after(mut self, tried: u32) -> S3Error {
        if let S3Error::Busy { tries, .. } | S3Error::Away { tries, .. } = &mut self {
            *tries = tried;
        }
        self
    }
}

/// The text of the first element of this name. Documents of errors have no attributes there, and no markup inside.
fn element<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    rest.split_once('<').map(|(text, _)| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, code: &str, headers: &[(&'static str, String)]) -> S3Error {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let document = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message>\
             <StringToSign>AWS4 hush</StringToSign><SignatureProvided>hush</SignatureProvided></Error>"
        );
        Refusal::of(status, &headers, &document).error("read a file", "runs", "eu-central-1")
    }

    /// The header of the store's clock, this much off ours.
    fn date(off_millis: i64) -> (&'static str, String) {
        let at = jiff::Timestamp::from_millisecond(clock::now() + off_millis).unwrap();
        let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
        ("date", printer.timestamp_to_rfc9110_string(&at).unwrap())
    }

    #[test]
    fn each_refusal_names_what_to_look_at() {
        let region = ("x-amz-bucket-region", "us-west-2".to_owned());
        let cases = [
            (error(404, "NoSuchBucket", &[]), "--artefacts", false),
            (error(403, "InvalidAccessKeyId", &[date(0)]), "AWS_ACCESS_KEY_ID", false),
            (error(403, "SignatureDoesNotMatch", &[date(-2000)]), "AWS_SECRET_ACCESS_KEY", false),
            (error(403, "AccessDenied", &[date(0)]), "s3:ListBucket", false),
            // Headers have whole seconds: 999 or 1000.
            (error(403, "AccessDenied", &[date(1_000_000)]), " s apart", false),
            (error(403, "RequestTimeTooSkewed", &[]), "clock", false),
            (error(400, "ExpiredToken", &[]), "expired", false),
            (error(301, "PermanentRedirect", std::slice::from_ref(&region)), "\"us-west-2\"", false),
            (error(307, "TemporaryRedirect", &[region]), "\"us-west-2\"", false),
            (error(307, "TemporaryRedirect", &[]), "307", true),
            (error(503, "SlowDown", &[]), "503 SlowDown", true),
            (error(500, "InternalError", &[]), "500 InternalError", true),
            (error(400, "BadDigest", &[]), "BadDigest", true),
            (error(405, "MethodNotAllowed", &[]), "--s3-endpoint", false),
            (error(502, "what <is> \u{1b}[31m this", &[]), "502", true),
        ];
        for (error, words, passing) in cases {
            assert_eq!(error.is_passing(), passing, "{error}");
            let text = error.after(3).to_string();
            assert!(text.contains(words), "{words:?} is missing in {text}");
            assert!(!text.contains("hush") && !text.contains('\u{1b}'), "{text}");
        }
    }
}
