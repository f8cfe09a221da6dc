//! How often a client may do something, and how long an answer may take.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::client;
use crate::app::App;
use crate::config::Rate;
use crate::problem::Problem;

/// Clients that are remembered; beyond it those are forgotten that have all of their room again.
const MOST: usize = 50_000;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Doing {
    Reading,
    Uploading,
    Reporting,
    /// Giving a token, a session or a code that is wrong.
    Trying,
    /// Beginning to sign in, or to ask for a device's token.
    Beginning,
}

/// Whose doing it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    Address(IpAddr),
    User(String),
}

/// Buckets that fill with time and are emptied by requests.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    buckets: Mutex<HashMap<(Doing, Whose), Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, rate: Rate, now: Instant) -> f64 {
        let time = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + time * rate.per_second).min(rate.burst)
    }
}

impl Limiter {
    /// Takes one, or says how long to wait.
    pub(crate) fn take(&self, doing: Doing, whose: Whose, rate: Rate) -> Result<(), Duration> {
        self.change(doing, whose, rate, 1.0)
    }

    /// Says how long to wait where nothing is left, and takes nothing.
    pub(crate) fn look(&self, doing: Doing, whose: Whose, rate: Rate) -> Result<(), Duration> {
        self.change(doing, whose, rate, 0.0)
    }

    fn change(&self, doing: Doing, whose: Whose, rate: Rate, amount: f64) -> Result<(), Duration> {
        let now = Instant::now();
        // A poisoned lock would only hold numbers.
        let mut buckets = self.buckets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() >= MOST {
            let full = Duration::from_secs_f64((rate.burst / rate.per_second).min(3600.0));
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at) < full);
        }
        let bucket = buckets.entry((doing, whose)).or_insert(Bucket { left: rate.burst, at: now });
        let left = bucket.filled(rate, now);
        *bucket = Bucket { left, at: now };
        if left < 1.0 {
            return Err(Duration::from_secs_f64(((1.0 - left) / rate.per_second).min(86_400.0)));
        }
        bucket.left = left - amount;
        Ok(())
    }
}

/// Limits requests by address. What changes something has a limit of its own beside it.
pub(crate) async fn reads(State(app): State<App>, request: Request, next: Next) -> Response {
    let address = client::address(&app.config, request.extensions(), request.headers());
    let rate = app.config.limits.reads;
    match app.limiter.take(Doing::Reading, Whose::Address(address), rate) {
        Ok(()) => next.run(request).await,
        Err(wait) => Problem::too_many("requests", wait).into_response(),
    }
}

/// Ends what takes too long.
pub(crate) async fn time(State(app): State<App>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(app.config.limits.answer_time, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::unavailable().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_fills_with_time() {
        let limiter = Limiter::default();
        let rate = Rate { burst: 2.0, per_second: 0.5 };
        let whose = || Whose::User("one".to_owned());
        let take = || limiter.take(Doing::Uploading, whose(), rate);
        assert!(take().is_ok() && take().is_ok());
        assert_eq!(take(), Err(Duration::from_secs(2)));
        assert!(limiter.take(Doing::Reporting, whose(), rate).is_ok(), "of another kind");
        assert!(
            limiter.take(Doing::Uploading, Whose::User("two".to_owned()), rate).is_ok(),
            "of another user"
        );
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(limiter.look(Doing::Uploading, whose(), rate).is_ok());
        assert!(take().is_ok() && take().is_err());
    }
}
