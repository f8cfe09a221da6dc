//! What every handler has at hand, and the table of addresses.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokio::sync::Semaphore;

use crate::account::openid::OpenId;
use crate::artefacts::Artefacts;
use crate::config::Config;
use crate::store::Store;
use crate::web::limits::Limiter;
use crate::web::metrics::Metrics;
use crate::{api, operations, pages, web};

/// What every handler has at hand.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The parts of [`App`].
pub struct Inner {
    /// Users, runs, moderation.
    pub store: Arc<Store>,
    /// Files by hash.
    pub artefacts: Arc<dyn Artefacts>,
    /// What the site was started with.
    pub config: Config,
    /// How often clients did what.
    pub(crate) limiter: Limiter,
    /// What is counted.
    pub(crate) metrics: Metrics,
    /// Room for the analysis of uploads.
    pub(crate) checks: Semaphore,
    /// Room for files that are being received.
    pub(crate) receiving: Semaphore,
    /// Who people sign in with.
    pub(crate) openid: Option<OpenId>,
    /// What pages draw once.
    pub(crate) kept: pages::Kept,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("config", &self.config).finish_non_exhaustive()
    }
}

impl App {
    /// Puts the parts together.
    pub fn new(store: Arc<Store>, artefacts: Arc<dyn Artefacts>, config: Config) -> App {
        let limits = &config.limits;
        let openid = config.sign_in.clone().map(|settings| OpenId::new(settings, &config.url()));
        App(Arc::new(Inner {
            limiter: Limiter::default(),
            metrics: Metrics::default(),
            checks: Semaphore::new(limits.checks),
            receiving: Semaphore::new(limits.receiving),
            openid,
            kept: pages::Kept::default(),
            store,
            artefacts,
            config,
        }))
    }

    /// Does at once what is done beside the requests: clears away what nobody needs, makes the dump of the day.
    pub async fn tidy(&self) {
        crate::tidy::once(self).await;
    }

    /// Every address of the site.
    pub fn router(&self) -> Router {
        let routes = Router::new()
            .nest("/api/v1", api::routes())
            .route("/api/v1/", get(operations::api))
            .route("/health/live", get(operations::live))
            .route("/health/ready", get(operations::ready))
            .route("/metrics", get(operations::metrics))
            .route("/r/{id}", get(operations::short))
            .route("/.well-known/oauth-authorization-server", get(api::device::metadata))
            .route("/openapi.json", get(api::openapi::served))
            .merge(pages::routes())
            .fallback(pages::fault::nothing_here)
            .method_not_allowed_fallback(pages::fault::not_so);
        web::around(routes, self.clone()).with_state(self.clone())
    }
}
