//! HTTP/2: connections that several streams share.
//!
//! A stream leases a place on a connection; when all places of all connections are taken, another one is opened.
//! A connection belongs to the thread that opened it, as its task runs there. The h2 library is used as it is,
//! below hyper: only there are the server's limit and the numbers of streams to be had.

mod arrivals;
mod tap;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::sync::Notify;

use crate::exchange::StampSource;
use crate::failure::{Failure, FailureKind};
use crate::timer;
use crate::transport::Transport;

pub(crate) use arrivals::{Arrival, Arrivals};
use tap::Tap;

/// What a stream may send before it has to wait for us; far more than an engine sends while we are late.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;
/// The same for all streams of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 1 << 30;
/// Streams on a connection whose server states no limit.
const UNSTATED_LIMIT: usize = 256;

/// All shared connections to one target.
#[derive(Default)]
pub(crate) struct Pool {
    /// Held while a connection is opened, so that those who ask meanwhile find its places.
    links: tokio::sync::Mutex<Links>,
    /// The server chose HTTP/1.1 when it had the choice.
    declined: AtomicBool,
}

#[derive(Default)]
struct Links {
    open: Vec<Arc<Link>>,
    /// The last failure to open one, and when.
    failed: Option<(u64, Failure)>,
}

/// One shared connection.
pub(crate) struct Link {
    sender: SendRequest<Bytes>,
    arrivals: Arc<Mutex<Arrivals>>,
    source: Arc<Mutex<StampSource>>,
    end: Arc<Ending>,
    leases: AtomicUsize,
    thread: ThreadId,
    connect_ns: u64,
}

/// Whether and why a connection has ended.
#[derive(Default)]
struct Ending {
    ended: AtomicBool,
    problem: Mutex<Option<String>>,
    changed: Notify,
}

/// A connection ends with its task, also when the task's runtime is taken down.
struct EndsWithTask(Arc<Ending>);

impl Drop for EndsWithTask {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
        self.0.changed.notify_one();
    }
}

/// A place on a shared connection.
pub(crate) struct Lease {
    link: Arc<Link>,
}

/// What the pool has for somebody who asks.
pub(crate) enum Found {
    Lease {
        lease: Lease,
        /// It was opened for this.
        opened: bool,
    },
    /// A transport whose server chose HTTP/1.1, and its set-up time.
    Declined(Transport, u64),
}

impl Pool {
    /// True if the server is known to choose HTTP/1.1.
    pub(crate) fn is_declined(&self) -> bool {
        self.declined.load(Ordering::Relaxed)
    }

    /// A place on an open connection, else on one that `open` opens; `must` if HTTP/1.1 will not do instead.
    pub(crate) async fn lease(
        &self,
        now_ns: impl Fn() -> u64,
        limit: Duration,
        must: bool,
        open: impl Future<Output = Result<(Transport, u64), Failure>>,
    ) -> Result<Found, Failure> {
        let asked_ns = now_ns();
        let mut links = self.links.lock().await;
        links.open.retain(|link| !link.is_ended());
        let here = thread::current().id();
        let free = links.open.iter().find(|link| link.thread == here && link.has_room());
        if let Some(link) = free {
            return Ok(Found::Lease { lease: link.lease(), opened: false });
        }
        // Who waited while the last attempt failed need not try again by itself.
        if let Some((failed_ns, failure)) = &links.failed
            && *failed_ns >= asked_ns
        {
            return Err(failure.clone());
        }
        let opened = match open.await {
            Ok((transport, _)) if transport.chose_http1() && must => {
                Err(refused("it did not choose it when TLS was set up"))
            }
            Ok((transport, connect_ns)) if transport.chose_http1() => {
                self.declined.store(true, Ordering::Relaxed);
                return Ok(Found::Declined(transport, connect_ns));
            }
            Ok((transport, connect_ns)) => {
                let opened = timer::timeout(limit, Link::open(transport, connect_ns)).await;
                opened.unwrap_or_else(|| Err(refused("it sent no settings in time")))
            }
            Err(failure) => Err(failure),
        };
        match opened {
            Ok(link) => {
                let lease = link.lease();
                links.open.push(link);
                links.failed = None;
                Ok(Found::Lease { lease, opened: true })
            }
            Err(failure) => {
                links.failed = Some((now_ns(), failure.clone()));
                Err(failure)
            }
        }
    }
}

impl Link {
    /// Sets HTTP/2 up, and waits for the server's settings: they hold its limit of streams.
    async fn open(transport: Transport, connect_ns: u64) -> Result<Arc<Link>, Failure> {
        let arrivals = Arc::new(Mutex::new(Arrivals::default()));
        let source = Arc::new(Mutex::new(transport.socket().source()));
        let end = Arc::new(Ending::default());
        let tap = Tap::new(transport, Arc::clone(&arrivals), Arc::clone(&source));
        let mut builder = h2::client::Builder::new();
        builder
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_header_list_size(64 << 10)
            .enable_push(false);
        let (sender, connection) =
            builder.handshake::<_, Bytes>(tap).await.map_err(|error| refused(&error.to_string()))?;
        let ending = EndsWithTask(Arc::clone(&end));
        let settled = Arc::clone(&arrivals);
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let mut told = false;
            let result = poll_fn(|cx| {
                let poll = connection.as_mut().poll(cx);
                if !told && lock(&settled).settled {
                    told = true;
                    ending.0.changed.notify_one();
                }
                poll
            })
            .await;
            *lock(&ending.0.problem) = result.err().map(|error| error.to_string());
        });
        end.changed.notified().await;
        let link = Link {
            sender,
            arrivals,
            source,
            end,
            leases: AtomicUsize::new(0),
            thread: thread::current().id(),
            connect_ns,
        };
        if link.is_ended() {
            return Err(refused(link.problem().as_deref().unwrap_or("it closed the connection")));
        }
        Ok(Arc::new(link))
    }

    fn lease(self: &Arc<Link>) -> Lease {
        self.leases.fetch_add(1, Ordering::Relaxed);
        Lease { link: Arc::clone(self) }
    }

    fn has_room(&self) -> bool {
        let limit = match self.sender.current_max_send_streams() {
            usize::MAX => UNSTATED_LIMIT,
            stated => stated,
        };
        self.leases.load(Ordering::Relaxed) < limit && self.takes_requests()
    }

    fn takes_requests(&self) -> bool {
        // A server that is about to close takes no further requests.
        let mut sender = self.sender.clone();
        let ready = sender.poll_ready(&mut Context::from_waker(Waker::noop()));
        !self.is_ended() && !matches!(ready, Poll::Ready(Err(_)))
    }

    fn is_ended(&self) -> bool {
        self.end.ended.load(Ordering::Acquire)
    }

    fn problem(&self) -> Option<String> {
        lock(&self.end.problem).clone()
    }
}

fn refused(problem: &str) -> Failure {
    Failure::new(
        FailureKind::Connect,
        format!("the server does not speak HTTP/2 here ({problem}): try HTTP/1.1 (--http 1)"),
    )
}

impl Lease {
    /// Set-up time of the connection.
    pub(crate) fn connect_ns(&self) -> u64 {
        self.link.connect_ns
    }

    pub(crate) fn source(&self) -> StampSource {
        *lock(&self.link.source)
    }

    /// True if the connection takes another request.
    pub(crate) fn is_usable(&self) -> bool {
        self.link.takes_requests()
    }

    pub(crate) fn sender(&self) -> SendRequest<Bytes> {
        self.link.sender.clone()
    }

    pub(crate) fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        lock(&self.link.arrivals)
    }

    /// Why the connection ended, where that is known.
    pub(crate) fn problem(&self) -> Option<String> {
        self.link.problem()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.link.leases.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Nobody panics while holding one of these; and if so, what they hold is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
