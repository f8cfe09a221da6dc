//! The accept loop: connections, their limits, and the end.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt;

use crate::app::App;
use crate::tidy;
use crate::web::client::Peer;

/// Longest head of a request, bytes.
const HEAD_BYTES: usize = 32 * 1024;
/// Most headers of a request.
const HEADERS: usize = 100;

/// A site that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: App,
}

impl Server {
    pub(crate) fn new(listener: TcpListener, app: App) -> Server {
        Server { listener, app }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.app.config.listen
    }

    /// What its handlers have at hand.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Answers until `end`, then lets open requests come to theirs.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Server { listener, app } = self;
        let router = app.router();
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(app.config.limits.connections));
        let tidying = tokio::spawn(tidy::keep(app.clone()));
        let mut end = std::pin::pin!(end);
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { break };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut end => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // No file is left, or the client is gone already: others go on.
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    continue;
                }
            };
            let connection = graceful.watch(connection(stream, peer, &app, router.clone()));
            let app = app.clone();
            app.metrics.connected();
            tokio::spawn(async move {
                // A client that breaks off is its own matter.
                let _ = connection.await;
                app.metrics.disconnected();
                drop(place);
            });
        }
        drop(listener);
        tidying.abort();
        tracing::info!("ending: open requests are answered first");
        if tokio::time::timeout(app.config.limits.grace, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests were still open at the end");
        }
        app.store.close().await;
    }
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    app: &App,
    router: axum::Router,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + use<> {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request.map(Body::new))
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.config.limits.head_time)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service)
}
