//! A site in this process, on a free port and an empty folder.

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::oneshot;
use tokometer_site::domain::Role;
use tokometer_site::{Config, Limits, host};

use crate::client::{self, Answer, Call};
use crate::database::Scratch;
use crate::described;
use crate::objects;
use crate::sample::Sample;

/// A site that answers until it is dropped.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) admin: String,
    pub(crate) config: Config,
    app: tokometer_site::App,
    _folder: TempDir,
    pub(crate) database: Option<Scratch>,
    end: Option<oneshot::Sender<()>>,
    running: tokio::task::JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start() -> Site {
        Site::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Site {
        let database = Scratch::new().await;
        let site = Site::on(database.as_ref(), change).await;
        Site { database, ..site }
    }

    /// On a database that others use too; none: on a file of its own.
    pub(crate) async fn on(database: Option<&Scratch>, change: impl FnOnce(&mut Config)) -> Site {
        // Whatever a test is about: the API answers as it is described.
        client::WATCH.get_or_init(|| described::check);
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            data: folder.path().join("data"),
            database_url: database.map(Scratch::url),
            base_url: None,
            behind_proxy: false,
            storage: objects::storage(folder.path()),
            sign_in: None,
            require_sign_in: false,
            limits: Limits { grace: Duration::from_secs(5), ..Limits::default() },
        };
        change(&mut config);
        let is_new = !config.admin_token().exists();
        let (server, started) = tokometer_site::start(config.clone()).await.unwrap();
        assert_eq!(started.new_token, is_new);
        let address = server.address();
        let app = server.app().clone();
        let (end, ended) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(async { drop(ended.await) }));
        let admin = std::fs::read_to_string(config.admin_token()).unwrap().trim().to_owned();
        Site { address, admin, config, app, _folder: folder, database: None, end: Some(end), running }
    }

    /// True if these bytes stand in the site's file; none stand there where its database is a server.
    pub(crate) fn file_holds(&self, text: &str) -> bool {
        if self.config.database_url.is_some() {
            return false;
        }
        let mut bytes = std::fs::read(self.config.database()).unwrap();
        bytes.extend(std::fs::read(self.config.data.join("site.db-wal")).unwrap_or_default());
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// A new user; the token.
    pub(crate) async fn user(&self, handle: &str, role: Role) -> String {
        let code = host::invite(&self.config, role).await.unwrap();
        let body = serde_json::json!({"code": code.expose(), "handle": handle});
        let answer = Call::post("/api/v1/invitations").json(&body).send(self.address).await.is(201);
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    /// Sends a sample's files, then its document.
    pub(crate) async fn publish(&self, token: &str, sample: &Sample) -> Answer {
        self.send_files(token, sample).await;
        self.post(token, sample.document()).await
    }

    pub(crate) async fn send_files(&self, token: &str, sample: &Sample) {
        for (_, bytes) in &sample.files {
            let path = format!("/api/v1/artefacts/{}", tokometer_record::store::sha256(bytes));
            let call = Call::new(http::Method::PUT, &path).token(token).body(bytes.clone());
            call.send(self.address).await.is(201);
        }
    }

    pub(crate) async fn post(&self, token: &str, document: impl Into<bytes::Bytes>) -> Answer {
        Call::post("/api/v1/runs").token(token).body(document).send(self.address).await
    }

    /// Has done what is done beside the requests.
    pub(crate) async fn tidy(&self) {
        self.app.tidy().await;
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Call::get(path).send(self.address).await
    }

    /// Ends it as a signal does; its folder goes with it.
    pub(crate) async fn stop(mut self) {
        drop(self.end.take());
        self.running.await.unwrap();
    }
}
