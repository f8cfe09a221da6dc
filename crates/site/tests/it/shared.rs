//! Several servers on one PostgreSQL database, and a database that goes away and comes back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::client::Call;
use crate::database::Scratch;
use crate::faults::{Process, admin_of, upload};
use crate::sample::Sample;
use crate::site::Site;

/// Uploads at once.
const UPLOADS: usize = 200;
/// Uploads that were acknowledged when one of the processes is killed.
const ACKNOWLEDGED: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_that_another_one_needs() {
    let Some(database) = Scratch::new().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // At once, on a database without tables.
    let begun = [(); 2].map(|()| {
        let (data, address) = (data.clone(), database.text());
        std::thread::spawn(move || Process::start(&data, Some(&address), None))
    });
    let [one, other] = begun.map(|thread| thread.join().unwrap());
    let admin = admin_of(&data);
    let samples: Vec<Sample> = (0..UPLOADS).map(|_| Sample::new()).collect();
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let pid = Pid::from_raw(one.id() as i32);
    let mut uploads = Vec::new();
    for (number, sample) in samples.iter().cloned().enumerate() {
        let (first, second) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let (first, second, survivor) = (first.address, second.address, other.address);
        let (admin, acknowledged) = (admin.clone(), Arc::clone(&acknowledged));
        uploads.push(tokio::spawn(async move {
            let sent = upload(first, &admin, &sample).await;
            let again = match sent {
                Ok(201) => {
                    if acknowledged.fetch_add(1, Ordering::SeqCst) + 1 == ACKNOWLEDGED {
                        // Here and now: the others are under way.
                        kill(pid, Signal::SIGKILL).unwrap();
                    }
                    // A client that did not hear of it sends it once more, to whom it finds.
                    upload(if number % 3 == 0 { second } else { survivor }, &admin, &sample).await
                }
                Ok(status) => panic!("{status} from a server that lives"),
                Err(_) => upload(survivor, &admin, &sample).await,
            };
            (sample.id().to_owned(), sent, again)
        }));
    }
    let (mut broken, mut known) = (0, 0);
    for upload in uploads {
        let (id, sent, again) = upload.await.unwrap();
        match (sent, again) {
            (Ok(_), Ok(200) | Err(_)) => known += 1,
            // Lost with its server, or only its answer was.
            (Err(_), Ok(201 | 200)) => broken += 1,
            outcome => panic!("{id}: {outcome:?}"),
        }
    }
    assert!(broken > 0, "the kill came when all was done");
    let facets = Call::get("/api/v1/facets?fold=0").send(other.address).await.is(200).json();
    assert_eq!(facets["total"], UPLOADS as u64, "each of them once");
    for sample in &samples {
        let path = format!("/api/v1/runs/{}", sample.id());
        let answer = Call::get(&path).send(other.address).await.is(200);
        assert_eq!(answer.json(), serde_json::to_value(&sample.run).unwrap());
        for (_, bytes) in &sample.files {
            let hash = tokometer_record::store::sha256(bytes);
            let file = Call::get(&format!("/api/v1/artefacts/{hash}")).send(other.address).await.is(200);
            assert_eq!(file.body, *bytes);
        }
    }
    println!("{known} acknowledged at first, {broken} sent again after the kill");
    one.kill();
    other.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_at_two_servers_is_one_upload() {
    let Some(database) = Scratch::new().await else { return };
    let first = Site::on(Some(&database), |_| {}).await;
    let second = Site::on(Some(&database), |config| config.data.clone_from(&first.config.data)).await;
    assert_eq!(first.admin, second.admin);
    for number in 0..10 {
        let sample = Sample::new();
        first.send_files(&first.admin, &sample).await;
        let call = |site: &Site| {
            let key = format!("key-{number}");
            let call = Call::post("/api/v1/runs").token(&first.admin).header("idempotency-key", &key);
            call.body(sample.document()).send(site.address)
        };
        let (one, other) = tokio::join!(call(&first), call(&second));
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 201], "{one:?} {other:?}");
        for field in ["id", "url", "shelf", "content_sha256"] {
            let without_host =
                |value: &serde_json::Value| value.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            assert_eq!(without_host(&one.json()[field]), without_host(&other.json()[field]));
        }
    }
    // What one of them changed, the other one shows.
    let facets = first.get("/api/v1/facets?fold=0").await.json();
    assert_eq!(
        (facets["total"].as_u64(), facets),
        (Some(10), second.get("/api/v1/facets?fold=0").await.json())
    );
    first.publish(&first.admin, &Sample::new()).await.is(201);
    assert_eq!(second.get("/api/v1/facets?fold=0").await.json()["total"], 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_first_server_makes_a_token() {
    let Some(database) = Scratch::new().await else { return };
    let first = Site::on(Some(&database), |_| {}).await;
    let folder = tempfile::tempdir().unwrap();
    let config = tokometer_site::Config { data: folder.path().join("other"), ..first.config.clone() };
    let (_, started) = tokometer_site::start(config.clone()).await.unwrap();
    assert!(!started.new_token && !config.admin_token().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_comes_back_is_used_again() {
    if Scratch::new().await.is_none() {
        return;
    }
    let server = Server::start();
    let site = Site::with(|config| config.database_url = Some(server.url.parse().unwrap())).await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    server.command("stop");
    for path in ["/api/v1/runs", "/api/v1/facets", "/health/ready"] {
        let answer = site.get(path).await;
        answer.refused(503, "unavailable");
        assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0, "{answer:?}");
        assert!(!answer.text().contains("postgres"), "nothing of the database is told: {answer:?}");
    }
    let refused = site.post(&site.admin, Sample::new().document()).await;
    refused.refused(503, "unavailable");
    let page = Call::get("/").header("accept", "text/html").send(site.address).await.is(503);
    assert!(page.header("content-type").starts_with("text/html"), "{page:?}");
    site.get("/health/live").await.is(200);

    server.command("start");
    let mut tries = 0;
    while site.get("/health/ready").await.status != 200 {
        tries += 1;
        assert!(tries < 600, "it never becomes ready again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    site.get(&format!("/api/v1/runs/{}", sample.id())).await.is(200);
    site.publish(&site.admin, &Sample::new()).await.is(201);
    assert_eq!(site.get("/api/v1/facets?fold=0").await.is(200).json()["total"], 2);
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_goes_on_when_a_newer_one_adds_a_column() {
    let Some(database) = Scratch::new().await else { return };
    let site = Site::on(Some(&database), |_| {}).await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    let path = format!("/api/v1/runs/{}", sample.id());
    let all = || statuses_of(&site, &path);
    assert!(all().await.iter().all(|status| *status == 200));
    database.run("ALTER TABLE runs ADD COLUMN of_later BIGINT").await;
    // Connections with old statements say so once.
    let mut tries = 0;
    while all().await.iter().any(|status| {
        assert!(*status == 200 || *status == 503, "{status}");
        *status != 200
    }) {
        tries += 1;
        assert!(tries < 50, "it never finds its way");
    }
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    while site.post(&site.admin, sample.document()).await.status != 201 {
        tries += 1;
        assert!(tries < 50, "it never publishes again");
    }
}

/// Statuses of as many requests at once as use several connections.
async fn statuses_of(site: &Site, path: &str) -> Vec<u16> {
    let asked = (0..20).map(|_| tokio::spawn(Call::get(path).send(site.address)));
    let mut statuses = Vec::new();
    for answer in asked.collect::<Vec<_>>() {
        statuses.push(answer.await.unwrap().status.as_u16());
    }
    statuses
}

/// A PostgreSQL server of one test.
struct Server {
    folder: tempfile::TempDir,
    url: String,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let url = script("start", folder.path()).trim().to_owned();
        Server { folder, url }
    }

    fn command(&self, what: &str) -> String {
        script(what, self.folder.path())
    }
}

fn script(what: &str, folder: &Path) -> String {
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh");
    let output = Command::new(script).arg(what).arg(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.command("stop");
    }
}
