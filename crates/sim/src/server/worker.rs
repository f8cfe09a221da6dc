//! A network thread: an event loop of its own, and the connections on it.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, timeout};
use tower_service::Service;

use super::driver::{Inbox, lock};
use super::line::{HyperSide, Line};
use super::outlet::Pumped;
use super::routes::{self, App};
use super::stream::Stream;

/// How long open connections may go on when the server stops.
const GRACE: Duration = Duration::from_millis(500);

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 16_384;

/// Pause after a connection could not be accepted, as when no file is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Pause of an engine that runs flat out while all its sockets are full.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// The streams of a network thread that have tokens to send.
#[derive(Debug, Default)]
pub(super) struct Worker {
    ready: Mutex<Vec<Arc<Stream>>>,
    notify: Notify,
    /// It has not sent yet what it was given.
    busy: AtomicBool,
}

impl Worker {
    /// Hands over streams; the event loop wakes once for all of them.
    pub(super) fn wake(&self, streams: &mut Vec<Arc<Stream>>) {
        self.busy.store(true, Ordering::Release);
        lock(&self.ready).append(streams);
        self.notify.notify_one();
    }

    /// True while it has not sent what it was given.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Sends what the streams have, one after another and without leaving the event loop in between.
    async fn dispatch(self: Arc<Self>, inbox: Arc<Inbox>) {
        let mut streams = Vec::new();
        let mut buffer = Vec::new();
        loop {
            self.notify.notified().await;
            std::mem::swap(&mut *lock(&self.ready), &mut streams);
            let mut all_full = !streams.is_empty();
            for stream in streams.drain(..) {
                all_full &= stream.send(&mut buffer) == Pumped::Blocked;
            }
            if inbox.is_flat_out() {
                if all_full {
                    sleep(FULL_PAUSE).await;
                }
                self.busy.store(false, Ordering::Release);
                inbox.look_again();
            }
            // Requests that have come meanwhile are read before the next step.
            tokio::task::yield_now().await;
        }
    }
}

/// An event loop for one thread, with room for prompts to be parsed beside it. Unlike the runtime in it, it may
/// be dropped anywhere, also on another event loop.
pub(super) struct EventLoop(Option<Runtime>);

impl EventLoop {
    pub(super) fn new(parsers: usize) -> io::Result<EventLoop> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder
            .enable_all()
            .max_blocking_threads(parsers.max(1))
            .build()
            .map(|runtime| EventLoop(Some(runtime)))
    }

    /// The runtime; there is one until the loop is dropped.
    fn runtime(&self) -> io::Result<&Runtime> {
        self.0.as_ref().ok_or_else(|| io::Error::other("the event loop has ended"))
    }

    pub(super) fn handle(&self) -> io::Result<Handle> {
        Ok(self.runtime()?.handle().clone())
    }

    /// Listens on this address, for the thread that runs this loop.
    pub(super) fn listen(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let _context = self.runtime()?.enter();
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// What makes connections on a worker.
#[derive(Clone)]
pub(super) struct Connections {
    worker: Arc<Worker>,
    inbox: Arc<Inbox>,
    handle: Handle,
    router: Router,
    stopped: watch::Receiver<bool>,
}

impl Connections {
    pub(super) fn new(
        worker: Arc<Worker>,
        handle: Handle,
        app: App,
        stopped: watch::Receiver<bool>,
    ) -> Connections {
        let inbox = Arc::clone(&app.inbox);
        Connections { worker, inbox, handle, router: routes::router(app), stopped }
    }

    /// Serves this connection on the worker. `_open` tells by its end that the connection has ended.
    fn serve(&self, stream: std::net::TcpStream, open: mpsc::Sender<()>) {
        let router = self.router.clone();
        let mut stopped = self.stopped.clone();
        self.handle.spawn(async move {
            let _open = open;
            // A connection that fails concerns its client alone.
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            let line = Arc::new(Line::new(stream));
            let service = service_fn(|mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(Arc::clone(&line));
                // A router is always ready.
                router.clone().call(request)
            });
            let connection = http1::Builder::new()
                .writev(false)
                .serve_connection(TokioIo::new(HyperSide(Arc::clone(&line))), service);
            tokio::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => return line.reset_if_cut(),
                _ = stopped.wait_for(|&stopped| stopped) => connection.as_mut().graceful_shutdown(),
            }
            let _ = timeout(GRACE, connection).await;
        });
    }
}

/// Runs the event loop until the server stops. The thread that has the listener accepts for all workers.
pub(super) fn run(
    event_loop: &EventLoop,
    own: &Connections,
    accept: Option<(TcpListener, Vec<Connections>)>,
) {
    let Ok(runtime) = event_loop.runtime() else { return };
    let (open, mut ended) = mpsc::channel(1);
    runtime.block_on(async {
        tokio::spawn(Arc::clone(&own.worker).dispatch(Arc::clone(&own.inbox)));
        let mut stopped = own.stopped.clone();
        let until_stopped = stopped.wait_for(|&stopped| stopped);
        match accept {
            Some((listener, workers)) => tokio::select! {
                () = accept_for(&listener, &workers, &open) => {}
                _ = until_stopped => {}
            },
            None => drop(until_stopped.await),
        }
        drop(open);
        let _ = timeout(GRACE * 2, ended.recv()).await;
    });
}

/// Accepts connections and deals them out in turn.
async fn accept_for(listener: &TcpListener, workers: &[Connections], open: &mpsc::Sender<()>) {
    for worker in workers.iter().cycle() {
        match accept(listener).await {
            Ok(stream) => worker.serve(stream, open.clone()),
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn accept(listener: &TcpListener) -> io::Result<std::net::TcpStream> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    stream.into_std()
}
