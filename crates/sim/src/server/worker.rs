//! A network thread: an event loop of its own, and the connections on it.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::driver::lock;
use super::fault::Line;
use super::routes::{self, App};
use super::stream::Stream;

/// How long open connections may go on when the server stops.
const GRACE: Duration = Duration::from_millis(500);

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 16_384;

/// Pause after a connection could not be accepted, as when no file is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The streams of a network thread that have tokens to send.
#[derive(Debug, Default)]
pub(super) struct Worker {
    ready: Mutex<Vec<Arc<Stream>>>,
    notify: Notify,
}

impl Worker {
    /// Hands over streams; the event loop wakes once for all of them.
    pub(super) fn wake(&self, streams: &mut Vec<Arc<Stream>>) {
        lock(&self.ready).append(streams);
        self.notify.notify_one();
    }

    /// Wakes the task of each stream, from inside the event loop.
    async fn dispatch(self: Arc<Self>) {
        let mut streams = Vec::new();
        loop {
            self.notify.notified().await;
            std::mem::swap(&mut *lock(&self.ready), &mut streams);
            for stream in streams.drain(..) {
                stream.wake();
            }
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
    handle: Handle,
    router: Router,
    /// True if the server fails on purpose.
    fails: bool,
    stopped: watch::Receiver<bool>,
}

impl Connections {
    pub(super) fn new(
        worker: Arc<Worker>,
        handle: Handle,
        app: App,
        stopped: watch::Receiver<bool>,
    ) -> Connections {
        let fails = app.faults.is_some();
        Connections { worker, handle, router: routes::router(app), fails, stopped }
    }

    /// Serves this connection on the worker. `_open` tells by its end that the connection has ended.
    fn serve(&self, stream: std::net::TcpStream, open: mpsc::Sender<()>) {
        let mut router = self.router.clone();
        let mut stopped = self.stopped.clone();
        let mut line = None;
        if self.fails {
            let cut = Line::default();
            router = router.layer(Extension(cut.clone()));
            line = stream.try_clone().ok().map(|socket| (cut, socket));
        }
        self.handle.spawn(async move {
            let _open = open;
            // A connection that fails concerns its client alone.
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            let connection = http1::Builder::new()
                .writev(false)
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            tokio::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => return reset_if_cut(line),
                _ = stopped.wait_for(|&stopped| stopped) => connection.as_mut().graceful_shutdown(),
            }
            let _ = timeout(GRACE, connection).await;
        });
    }
}

/// Makes the end of a connection a reset, if a fault wants that. The connection must not have been shut down.
fn reset_if_cut(line: Option<(Line, std::net::TcpStream)>) {
    if let Some((cut, socket)) = line
        && cut.is_cut()
        && let Ok(socket) = TcpStream::from_std(socket)
    {
        // If the system cannot do it, the connection ends all the same.
        let _ = socket.set_zero_linger();
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
        tokio::spawn(Arc::clone(&own.worker).dispatch());
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
