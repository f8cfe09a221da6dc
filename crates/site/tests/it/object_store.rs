//! A site whose files are in a real object store, which `scripts/s3.sh` starts: these tests do nothing without it.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokometer_record::store::sha256;
use tokometer_site::domain::Role;
use tokometer_site::{Artefacts, Config, Hash, S3Artefacts, S3Options, Storage, host};
use uuid::Uuid;

use crate::client::Call;
use crate::objects;
use crate::sample::Sample;
use crate::site::Site;

/// A prefix of one's own in the store of these tests.
fn place() -> Option<(String, String, S3Options)> {
    let endpoint = objects::endpoint()?;
    let prefix = Uuid::now_v7().to_string();
    let options = objects::options(&endpoint, &prefix);
    Some((endpoint, prefix, options))
}

/// Makes something of the options wrong.
type Change<'a> = &'a dyn Fn(&mut S3Options);

#[tokio::test]
async fn the_first_look_names_what_is_wrong() {
    let Some((_, _, options)) = place() else { return };
    let check = async |change: Change<'_>| {
        let mut options = options.clone();
        change(&mut options);
        let result = S3Artefacts::open(&options).unwrap().check().await;
        result.map_err(|error| {
            let text = error.to_string();
            assert!(!text.contains(objects::SECRET) && !text.contains("wrong-secret"), "{text}");
            text
        })
    };
    assert_eq!(check(&|_| {}).await, Ok(()));
    let cases: [(Change<'_>, &str); 5] = [
        (&|options| options.keys = objects::keys(objects::KEY, "wrong-secret"), "AWS_SECRET_ACCESS_KEY"),
        (&|options| options.keys = objects::keys("nobody", "wrong-secret"), "AWS_ACCESS_KEY_ID"),
        (&|options| options.keys = objects::keys("tokometer-reader", "secret-of-a-reader"), "s3:PutObject"),
        (&|options| options.place = "s3://nothing-here/x".to_owned(), "no bucket \"nothing-here\""),
        (&|options| options.endpoint = Some("http://127.0.0.1:1".to_owned()), "--s3-endpoint"),
    ];
    for (change, words) in cases {
        let text = check(change).await.expect_err(words);
        assert!(text.contains(words), "{words:?} is missing in {text}");
    }
    // A site does not start with it.
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = options.clone();
    wrong.keys = objects::keys(objects::KEY, "wrong-secret");
    let site = Site::start().await;
    let config = Config {
        data: folder.path().join("d"),
        storage: Storage::S3(Box::new(wrong)),
        ..site.config.clone()
    };
    let error = tokometer_site::start(config).await.unwrap_err().to_string();
    assert!(error.contains("refuses the signature"), "{error}");
}

#[tokio::test]
async fn files_are_kept_and_removed() {
    let Some((endpoint, prefix, options)) = place() else { return };
    let store = S3Artefacts::open(&options).unwrap();
    for bytes in [0, 1, 5 << 20] {
        let content: Bytes = (0..bytes).map(|at: u32| (at ^ at >> 8) as u8).collect();
        let name = Hash::of(&content);
        assert_eq!(store.get(&name).await.unwrap(), None);
        store.put(&name, content.clone()).await.unwrap();
        store.put(&name, content.clone()).await.unwrap();
        assert!(store.get(&name).await.unwrap() == Some(content.clone()));
        // What is there and altered is put right by sending it again.
        objects::write(&endpoint, &objects::key(&prefix, name.as_str()), b"altered").await;
        assert_eq!(store.get(&name).await.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
        store.put(&name, content.clone()).await.unwrap();
        assert!(store.get(&name).await.unwrap() == Some(content));
        store.remove(&name).await.unwrap();
        store.remove(&name).await.unwrap();
        assert_eq!(store.get(&name).await.unwrap(), None);
    }
    store.ready().await.unwrap();
}

#[tokio::test]
async fn an_altered_file_is_refused_and_told() {
    let Some((endpoint, prefix, options)) = place() else { return };
    let site = Site::with(|config| config.storage = Storage::S3(Box::new(options))).await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    let (_, bytes) = &sample.files[1];
    let hash = sha256(bytes);
    let path = format!("/api/v1/artefacts/{hash}");
    let answer = site.get(&path).await.is(200);
    assert_eq!(
        (answer.header("content-length"), &answer.body[..]),
        (bytes.len().to_string().as_str(), &bytes[..])
    );
    let mut altered = bytes.clone();
    altered[0] ^= 1;
    objects::write(&endpoint, &objects::key(&prefix, &hash), &altered).await;
    site.get(&path).await.refused(500, "damaged_file");
    // Nothing else is touched, and the file can be brought again.
    site.get(&format!("/api/v1/runs/{}", sample.id())).await.is(200);
    let put = Call::new(http::Method::PUT, &path).token(&site.admin).body(bytes.clone());
    put.send(site.address).await.is(201);
    assert_eq!(site.get(&path).await.is(200).body, *bytes);
}

#[tokio::test]
async fn a_site_moves_to_an_object_store() {
    let Some((_, _, options)) = place() else { return };
    let site = Site::with(|config| config.storage = Storage::Folder).await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    let error = host::copy_artefacts(&site.config).await.unwrap_err().to_string();
    assert!(error.contains("--artefacts"), "{error}");
    let moved = Config { storage: Storage::S3(Box::new(options)), ..site.config.clone() };
    let first = host::copy_artefacts(&moved).await.unwrap();
    assert_eq!(first.files, sample.files.len() as u64);
    assert_eq!(first, host::copy_artefacts(&moved).await.unwrap(), "it can be repeated");
    // From here on the folder's files are of no use.
    std::fs::remove_dir_all(moved.artefacts()).unwrap();
    let (server, _) =
        tokometer_site::start(Config { listen: ([127, 0, 0, 1], 0).into(), ..moved.clone() }).await.unwrap();
    let address = server.address();
    let running = tokio::spawn(server.run(std::future::pending()));
    for (_, bytes) in &sample.files {
        let path = format!("/api/v1/artefacts/{}", sha256(bytes));
        assert_eq!(Call::get(&path).send(address).await.is(200).body, *bytes);
    }
    running.abort();
    // And a backup takes them from there.
    let folder = tempfile::tempdir().unwrap();
    let done = host::backup(&moved, &folder.path().join("backup")).await.unwrap();
    assert!(done.ends_with(&format!("{} files", sample.files.len())), "{done}");
}

#[tokio::test]
async fn files_that_no_run_names_are_cleared_away() {
    let Some((_, _, options)) = place() else { return };
    let store = S3Artefacts::open(&options).unwrap();
    let site = Site::with(|config| config.storage = Storage::S3(Box::new(options))).await;
    let (kept, loose) = (Sample::new(), Sample::new());
    site.publish(&site.admin, &kept).await.is(201);
    site.send_files(&site.admin, &loose).await;
    let there = async |sample: &Sample| store.get(&Hash::of(&sample.files[1].1)).await.unwrap().is_some();
    assert!(there(&kept).await && there(&loose).await);
    // A server that starts looks at once.
    let mut config = site.config.clone();
    config.listen = ([127, 0, 0, 1], 0).into();
    config.limits.loose_time = Duration::ZERO;
    let (server, _) = tokometer_site::start(config).await.unwrap();
    let running = tokio::spawn(server.run(std::future::pending()));
    while there(&loose).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(there(&kept).await);
    running.abort();
}

/// An object store of its own, in a process group that ends with it.
struct ObjectStore {
    child: Child,
    port: u16,
}

impl ObjectStore {
    fn start(folder: &Path, port: u16) -> ObjectStore {
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = Command::new(script());
        command.arg("serve").arg(folder).arg(port.to_string()).process_group(0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let store = ObjectStore { child, port };
        let ready = Command::new(script()).arg("wait").arg(port.to_string()).status().unwrap();
        assert!(ready.success(), "{}", std::fs::read_to_string(folder.join("log")).unwrap());
        store
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for ObjectStore {
    /// As `kill -9` does.
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/s3.sh")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_store_that_is_killed_and_comes_back() {
    if objects::endpoint().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let store = ObjectStore::start(folder.path(), address.port());
    let mut options = objects::options(&store.endpoint(), "killed");
    options.tries = 2;
    let site = Site::with(|config| config.storage = Storage::S3(Box::new(options))).await;
    let token = site.user("publisher", Role::Publisher).await;
    let mut published = Vec::new();
    for _ in 0..5 {
        let sample = Sample::new();
        site.publish(&token, &sample).await.is(201);
        published.push(sample);
    }
    // Uploads go on while it is killed: each is acknowledged, or refused with when to come again.
    let mut store = Some(store);
    let mut refused = Vec::new();
    while refused.len() < 3 {
        let sample = Sample::new();
        if published.len() == 8 {
            drop(store.take());
        }
        let mut last = None;
        for (_, bytes) in &sample.files {
            let path = format!("/api/v1/artefacts/{}", sha256(bytes));
            let put = Call::new(http::Method::PUT, &path).token(&token).body(bytes.clone());
            last = Some(put.send(site.address).await);
        }
        let last = last.unwrap();
        if last.status == 201 {
            site.post(&token, sample.document()).await.is(201);
            published.push(sample);
        } else {
            last.refused(503, "unavailable");
            assert!(last.header("retry-after").parse::<u64>().unwrap() > 0);
            site.post(&token, sample.document()).await.refused(409, "missing_files");
            refused.push(sample);
        }
    }
    site.get("/health/ready").await.refused(503, "unavailable");
    site.get("/health/live").await.is(200);
    let file = |sample: &Sample| format!("/api/v1/artefacts/{}", sha256(&sample.files[1].1));
    site.get(&file(&published[0])).await.refused(503, "unavailable");
    // What needs no file goes on.
    site.get(&format!("/api/v1/runs/{}", published[0].id())).await.is(200);

    let _store = ObjectStore::start(folder.path(), address.port());
    site.get("/health/ready").await.is(200);
    for sample in &refused {
        site.publish(&token, sample).await.is(201);
    }
    for sample in published.iter().chain(&refused) {
        for (_, bytes) in &sample.files {
            let path = format!("/api/v1/artefacts/{}", sha256(bytes));
            assert_eq!(site.get(&path).await.is(200).body, *bytes);
        }
    }
    let facets = site.get("/api/v1/facets?fold=0").await.json();
    assert_eq!(facets["total"], (published.len() + refused.len()) as u64);
}
