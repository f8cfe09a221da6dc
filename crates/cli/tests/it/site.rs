//! `serve`, `publish` and what is beside them, with the real binary.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tokometer_record::RunFolder;

use crate::support::{self, Ended, SMALL, Watched, tokometer};

/// A site in a process of its own.
struct Site {
    process: Watched,
    url: String,
    data: PathBuf,
    home: PathBuf,
    folder: tempfile::TempDir,
}

impl Site {
    fn start() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let (data, home) = (folder.path().join("data"), folder.path().join("home"));
        std::fs::create_dir(&home).unwrap();
        let (process, url) = serve(&data, "127.0.0.1:0");
        Site { process, url, data, home, folder }
    }

    /// The binary with a home of its own, which knows of the site's data.
    fn command(&self) -> Command {
        let mut command = tokometer();
        command.env("HOME", &self.home).env("TOKOMETER_SITE_DATA", &self.data);
        for name in
            ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "TOKOMETER_TOKEN", "TOKOMETER_SITE"]
        {
            command.env_remove(name);
        }
        command
    }

    fn call<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ended {
        self.command().args(args).output().unwrap().into()
    }

    /// A small run of the simulated engine; its folder.
    fn measured(&self) -> PathBuf {
        let out = self.folder.path().join(format!("runs-{}", uuid::Uuid::now_v7()));
        let ended = self.call(["demo", "--quiet", "--out", out.to_str().unwrap()].iter().chain(&SMALL));
        assert!(ended.code.is_some_and(|code| code == 0 || code == 3), "{ended:?}");
        support::only_run(&out)
    }

    fn record(&self, id: &str) -> (u16, Value) {
        let answer = get(&self.url, &format!("/api/v1/runs/{id}"));
        (answer.0, serde_json::from_str(&answer.1).unwrap())
    }
}

pub(crate) fn serve(data: &Path, listen: &str) -> (Watched, String) {
    let mut command = tokometer();
    command.args(["serve", "--listen", listen, "--data"]).arg(data);
    let mut process = Watched::start_on_stdout(&mut command);
    let line = process.wait_for("serving ");
    let url = line.split_whitespace().find(|word| word.starts_with("http")).unwrap().to_owned();
    (process, url)
}

/// Status and body.
fn get(url: &str, path: &str) -> (u16, String) {
    use std::io::{Read, Write};
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, text.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn a_demo_is_published_and_found() {
    let site = Site::start();
    let token = site.data.join("admin-token");
    assert_eq!(std::fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    let out = site.folder.path().join("runs");
    let args = ["demo", "--out", out.to_str().unwrap(), "--publish", &site.url];
    let ended = site.call(args.iter().chain(&SMALL));
    assert!(ended.code.is_some_and(|code| code == 0 || code == 3), "{ended:?}");
    let run = support::load(&support::only_run(&out));
    let link = format!("{}/runs/{}", site.url, run.id);
    assert_eq!(ended.stdout.lines().last(), Some(link.as_str()), "{ended:?}");
    assert!(ended.stderr.contains("as admin"), "{ended:?}");
    let (status, record) = site.record(&run.id);
    assert_eq!(status, 200);
    assert_eq!(record["target"]["url"], Value::Null, "the address is private");
    assert_eq!(record["cells"], serde_json::to_value(&run.cells).unwrap());
    let list: Value = serde_json::from_str(&get(&site.url, "/api/v1/runs?shelf=simulated").1).unwrap();
    assert_eq!(list["runs"][0]["id"], run.id);
    let text = std::fs::read_to_string(&token).unwrap();
    assert!(!ended.stderr.contains(text.trim()) && !ended.stdout.contains(text.trim()));
}

#[test]
fn publishing_again_leads_to_the_same_run() {
    let site = Site::start();
    let run = site.measured();
    let shown = site.call(["publish", run.to_str().unwrap(), "--show"]);
    assert_eq!(shown.json()["target"]["url"], Value::Null);
    let id = shown.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(site.record(&id).0, 404, "showing sends nothing");
    let dry = site.call(["publish", run.to_str().unwrap(), "--dry-run", "--json"]);
    assert_eq!((dry.code, dry.json()["outcome"].as_str()), (Some(0), Some("valid")));
    assert_eq!(site.record(&id).0, 404, "a dry run keeps nothing");
    let first = site.call(["publish", run.to_str().unwrap(), "--json"]);
    assert_eq!((first.code, first.json()["outcome"].as_str()), (Some(0), Some("created")), "{first:?}");
    let (_, record) = site.record(&id);
    assert_eq!(record, shown.json(), "what was shown is what was sent");
    let again = site.call(["publish", run.to_str().unwrap(), "--json"]);
    assert_eq!((again.code, again.json()["outcome"].as_str()), (Some(0), Some("replayed")), "{again:?}");
}

#[test]
fn the_token_is_checked_before_anything_is_measured() {
    let site = Site::start();
    let out = site.folder.path().join("runs");
    let file = site.folder.path().join("token");
    std::fs::write(&file, "tokometer_nobody\n").unwrap();
    let args = [
        "demo",
        "--out",
        out.to_str().unwrap(),
        "--publish",
        &site.url,
        "--token-file",
        file.to_str().unwrap(),
    ];
    let ended = site.call(args);
    ended.failed_with(1, &["token", "no longer holds"]);
    assert!(!out.exists(), "nothing was measured");
    assert!(!ended.stderr.contains("tokometer_nobody"));
    // Another address gets none of this host's tokens.
    let run = site.measured();
    site.call(["publish", run.to_str().unwrap(), "--site", "http://127.0.0.1:9"])
        .failed_with(2, &["no token", "TOKOMETER_TOKEN"]);
    let mut command = site.command();
    command
        .args(["publish", run.to_str().unwrap(), "--site", "http://bench.example.org"])
        .env("TOKOMETER_TOKEN", "x");
    Ended::from(command.output().unwrap()).failed_with(2, &["without TLS", "--without-tls"]);
}

#[test]
fn without_a_connection_a_run_waits() {
    let site = Site::start();
    let run = site.measured();
    let id = RunFolder::open(&run).unwrap().load_run().unwrap().id;
    let address = site.url.strip_prefix("http://").unwrap().to_owned();
    let Site { process, data, home, folder, url } = site;
    drop(process);
    let call = |args: &[&str]| -> Ended {
        let mut command = tokometer();
        command.args(args).env("HOME", &home).env("TOKOMETER_SITE_DATA", &data).env_remove("XDG_STATE_HOME");
        command.output().unwrap().into()
    };
    for _ in 0..2 {
        let ended = call(&["publish", run.to_str().unwrap(), "--site", &url]);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains("--queued sends it"), "{ended:?}");
    }
    let ended = call(&["publish", "--queued"]);
    assert_eq!(ended.code, Some(1), "still away: {ended:?}");
    let (process, url) = serve(&data, &address);
    let ended = call(&["publish", "--queued"]);
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 1), "{ended:?}");
    assert_eq!(get(&url, &format!("/api/v1/runs/{id}")).0, 200);
    let ended = call(&["publish", "--queued"]);
    assert!(ended.stderr.contains("nothing waits"), "{ended:?}");
    drop((process, folder));
}

#[test]
fn a_run_that_was_changed_is_not_sent() {
    let site = Site::start();
    let run = site.measured();
    let trace = std::fs::read_dir(run.join("trace")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&trace).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&trace, bytes).unwrap();
    site.call(["publish", run.to_str().unwrap()]).failed_with(1, &["is not the file", "tokometer verify"]);
}

#[test]
fn an_operator_invites_and_backs_up() {
    let site = Site::start();
    let ended = site.call(["site", "invite"]);
    assert!(ended.stdout.starts_with(&format!("{}/invitation/", site.url)), "{ended:?}");
    let users = site.call(["site", "users"]);
    assert!(users.stdout.contains("admin (admin)") && users.stdout.contains("\"data folder\""), "{users:?}");
    let token = site.call(["site", "token", "admin", "--label", "laptop"]).stdout;
    let run = site.measured();
    let mut command = site.command();
    command
        .args(["publish", run.to_str().unwrap(), "--site", &site.url])
        .env("TOKOMETER_TOKEN", token.trim());
    assert_eq!(Ended::from(command.output().unwrap()).code, Some(0));
    let id = token.split('_').nth(1).unwrap();
    assert_eq!(site.call(["site", "revoke", id]).code, Some(0));
    site.call(["site", "revoke", id]).failed_with(1, &["no token"]);
    site.call(["site", "token", "nobody"]).failed_with(1, &["no user"]);
    let backup = site.folder.path().join("backup");
    let ended = site.call(["site", "backup", backup.to_str().unwrap()]);
    assert!(ended.stderr.contains("1 runs"), "{ended:?}");
    let restored = site.folder.path().join("restored");
    let args = ["site", "restore", backup.to_str().unwrap(), "--data", restored.to_str().unwrap()];
    assert_eq!(site.call(args).code, Some(0));
    let (_process, url) = serve(&restored, "127.0.0.1:0");
    let run = RunFolder::open(&run).unwrap().load_run().unwrap();
    assert_eq!(get(&url, &format!("/api/v1/runs/{}", run.id)).0, 200);
}

/// Sends a form of a page as a browser does; head and body of the answer.
fn send_form(url: &str, path: &str, cookie: &str, fields: &str) -> String {
    use std::io::{Read, Write};
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let (method, length) = if fields.is_empty() { ("GET", 0) } else { ("POST", fields.len()) };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\norigin: {url}\r\ncookie: {cookie}\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{fields}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split(before)
        .nth(1)
        .and_then(|rest| rest.split(after).next())
        .unwrap_or_else(|| panic!("{before}: {text}"))
}

#[test]
fn a_login_publishes_until_it_is_ended() {
    let site = Site::start();
    let admin = std::fs::read_to_string(site.data.join("admin-token")).unwrap();
    // Another user than the one whose token lies in the site's folder.
    let call = |args: &[&str]| {
        let mut command = site.command();
        command.env_remove("TOKOMETER_SITE_DATA").args(args);
        command
    };
    let mut login = call(&["login", "--site", &site.url]);
    let mut login = Watched::start(&mut login);
    let line = login.wait_for("and type ");
    let code = line.split_whitespace().last().unwrap().to_owned();
    assert!(line.contains(&format!("{}/device", site.url)), "{line}");
    let signed = send_form(&site.url, "/sign-in", "", &format!("form_key=&token={}", admin.trim()));
    let cookie = between(&signed, "set-cookie: ", ";").to_owned();
    let page = send_form(&site.url, "/device", &cookie, "");
    let key = between(&page, "name=\"form_key\" value=\"", "\"").to_owned();
    let yes =
        send_form(&site.url, "/device", &cookie, &format!("form_key={key}&user_code={code}&answer=yes"));
    assert!(yes.contains("It is in"), "{yes}");
    login.wait_for("signed in at ");
    assert_eq!(login.ended().code, Some(0));
    let file = site.home.join(".config/tokometer/tokens.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let token = kept[&site.url].as_str().unwrap();
    let run = site.measured();
    let who: Ended = call(&["whoami", "--site", &site.url]).output().unwrap().into();
    assert!(who.code == Some(0) && who.stdout.starts_with("admin (admin)"), "{who:?}");
    assert!(who.stdout.contains("read, publish") && !who.stdout.contains(token), "{who:?}");
    let args = ["publish", run.to_str().unwrap(), "--site", &site.url, "--yes"];
    let sent: Ended = call(&args).output().unwrap().into();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let out: Ended = call(&["logout", "--site", &site.url]).output().unwrap().into();
    assert_eq!(out.code, Some(0), "{out:?}");
    assert!(!std::fs::read_to_string(&file).unwrap().contains(token));
    let refused: Ended = call(&["whoami", "--site", &site.url]).output().unwrap().into();
    assert!(refused.code == Some(2) && refused.stderr.contains("tokometer login --site"), "{refused:?}");
    // What was kept is worth nothing any more.
    let mut with = call(&["whoami", "--site", &site.url]);
    let ended: Ended = with.env("TOKOMETER_TOKEN", token).output().unwrap().into();
    assert!(ended.code == Some(1) && ended.stderr.contains("no longer holds"), "{ended:?}");
}

#[test]
fn a_password_of_a_database_is_no_argument() {
    let folder = tempfile::tempdir().unwrap();
    let call = |args: &[&str], variable: Option<&str>| -> Ended {
        let mut command = tokometer();
        command
            .args(args)
            .arg("--data")
            .arg(folder.path())
            .env("HOME", folder.path())
            .env_remove("DATABASE_URL");
        if let Some(url) = variable {
            command.env("DATABASE_URL", url);
        }
        command.output().unwrap().into()
    };
    // Nothing listens there, which is told without the password.
    let url = "postgres://me:hunter2@127.0.0.1:1/bench";
    for args in [["site", "users", "--database-url", url], ["site", "migrate", "--to", url]] {
        let ended = call(&args, None);
        ended.failed_with(2, &["has a password", "DATABASE_URL"]);
        assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    }
    let ended = call(&["site", "users"], Some("postgres://me:hunter2@127.0.0.1:1/bench?pasword=hunter2"));
    ended.failed_with(2, &["pasword"]);
    assert!(!ended.stderr.contains("hunter2"), "{ended:?}");
    let ended = call(&["site", "users"], Some(url));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("database") && !ended.stderr.contains("hunter2"), "{ended:?}");
    let file = folder.path().join("url");
    std::fs::write(&file, format!("{url}\n")).unwrap();
    let ended = call(&["site", "users", "--database-url-file", file.to_str().unwrap()], None);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let ended = call(&["site", "migrate"], None);
    ended.failed_with(2, &["no database is named", "DATABASE_URL"]);
    let mut shown = tokometer();
    shown.args(["config", "show", "serve"]).env("TOKOMETER_DATABASE_URL", url);
    let shown: Ended = shown.output().unwrap().into();
    assert!(shown.stdout.contains("database_url") && !shown.stdout.contains("hunter2"), "{shown:?}");
}

#[test]
fn a_site_moves_to_a_server() {
    // A server on which databases may be made; without one the library's tests move from file to file.
    let Ok(server) = std::env::var("TOKOMETER_POSTGRES") else { return };
    let site = Site::start();
    let run = site.measured();
    let published = site.call(["publish", run.to_str().unwrap(), "--json"]);
    assert_eq!(published.code, Some(0), "{published:?}");
    let id = published.json()["id"].as_str().unwrap().to_owned();
    let record = site.record(&id);
    site.process.signal("TERM");
    let name = format!("cli_{}", uuid::Uuid::now_v7().simple());
    let sql = |text: &str| {
        let done = Command::new("psql").args([&server, "-qc", text]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    sql(&format!("CREATE DATABASE {name}"));
    let url = server.replacen("/postgres?", &format!("/{name}?"), 1);
    let tried = site.call(["site", "migrate", "--to", &url, "--dry-run"]);
    assert!(tried.code == Some(0) && tried.stderr.contains("nothing was kept"), "{tried:?}");
    let moved = site.call(["site", "migrate", "--to", &url]);
    assert!(
        moved.code == Some(0) && moved.stderr.contains("1 runs are in the PostgreSQL database"),
        "{moved:?}"
    );
    site.call(["site", "migrate", "--to", &url]).failed_with(1, &["has rows already", "empty"]);
    let mut command = tokometer();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&site.data).env("DATABASE_URL", &url);
    let mut process = Watched::start_on_stdout(&mut command);
    let line = process.wait_for("serving ");
    assert!(line.contains(&name), "{line}");
    let address = line.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let (status, text) = get(address, &format!("/api/v1/runs/{id}"));
    assert_eq!((status, serde_json::from_str::<Value>(&text).unwrap()), record);
    let mut backup = site.command();
    backup.args(["site", "backup", "x"]).env("DATABASE_URL", &url);
    Ended::from(backup.output().unwrap()).failed_with(1, &["pg_dump"]);
    drop(process);
    sql(&format!("DROP DATABASE {name} WITH (FORCE)"));
}
