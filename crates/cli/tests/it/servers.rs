//! Servers that cannot be measured: exit code 1, one sentence, what to try.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use crate::scripted::Scripted;
use crate::support::{SMALL, call, load, only_run, simulated};

/// Tries to measure `url` with more arguments, which must leave nothing on disk.
fn refused(url: &str, more: &[&str], words: &[&str]) {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy();
    let ended = call(["run", url, "--out", &folder].iter().chain(&SMALL).chain(more));
    ended.failed_with(1, words);
    assert_eq!(ended.stdout, "");
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0, "{ended:?}");
}

#[test]
fn nothing_listens() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    refused(&free.to_string(), &[], &["nothing listens", &free.to_string(), "start the server"]);
}

#[test]
fn a_host_that_is_unknown() {
    refused("nowhere.invalid:8000", &[], &["nowhere.invalid", "cannot find the host"]);
}

#[test]
fn tls_to_a_plain_server() {
    let server = simulated(None);
    refused(&format!("https://{}", server.addr()), &[], &["does not speak TLS", "http://"]);
}

#[test]
fn plain_to_a_tls_server() {
    // What TLS servers do with a request in the clear: a fatal alert, or nothing at all.
    let alert = Scripted::raw(&[0x15, 3, 3, 0, 2, 2, 10]);
    refused(&alert.url(), &[], &["no HTTP", "https"]);
    let closes = Scripted::raw(b"");
    refused(&closes.url(), &[], &["closed the connection", "https"]);
}

#[test]
fn a_key_that_is_missing_or_wrong() {
    let server = simulated(Some("sk-the-right-one"));
    let url = server.addr().to_string();
    refused(&url, &[], &["asks for an API key", "401", "OPENAI_API_KEY", "--api-key-file"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "sk-a-wrong-one\n").unwrap();
    let wrong = ["--api-key-file", &file.to_string_lossy()];
    refused(&url, &wrong, &["refuses the API key", "401", "--api-key-env"]);
}

#[test]
fn no_api_or_another_thing() {
    let answers =
        |status, media, body: &'static str| Scripted::http(move |_| (status, media, body.to_owned()));
    let page = "<!doctype html><title>Chat</title>";
    for (server, words) in [
        (answers(404, "application/json", "{}"), ["no OpenAI-compatible API", "404", "base URL"]),
        (answers(200, "text/html", page), ["a web page", "list of models", "not of its web interface"]),
        (answers(200, "text/plain", "hello"), ["no JSON", "list of models", "API"]),
        (answers(200, "application/json", r#"{"data":[]}"#), ["serves no model", "load a model", "start"]),
        (answers(503, "application/json", r#"{"error":"loading"}"#), ["503", "loading", "log"]),
        (Scripted::raw(b"SSH-2.0-OpenSSH_9.9\r\n"), ["no HTTP", "list of models", "https"]),
    ] {
        refused(&server.url(), &[], &words);
    }
}

#[test]
fn models_that_must_be_named() {
    let server = Scripted::models(r#"{"data":[{"id":"small"},{"id":"large"}]}"#);
    refused(&server.url(), &[], &["several models", "small", "large", "--model"]);
    refused(&server.url(), &["--model", "smal"], &["no model \"smal\"", "small", "large", "--model"]);
    let server = simulated(None);
    refused(&server.addr().to_string(), &["--model", "other"], &["no model \"other\"", "qwen"]);
}

#[test]
fn a_folder_that_cannot_be_written() {
    let server = simulated(None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for out in [file.clone(), file.join("below"), "/proc/below".into()] {
        if !out.starts_with("/proc") || Path::new("/proc/self").exists() {
            let url = server.addr().to_string();
            let ended = call(["run", &url, "--out", &out.to_string_lossy()].iter().chain(&SMALL));
            ended.failed_with(1, &["could not be saved", &out.to_string_lossy(), "--out"]);
            let matrix = folder.path().join("matrix.json");
            std::fs::write(&matrix, tokometer_record::published::H200_X4).unwrap();
            let ended = call(["import", &matrix.to_string_lossy(), "--out", &out.to_string_lossy()]);
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(ended.line("error: ").contains(&*out.to_string_lossy()), "{ended:?}");
        }
    }
}

#[test]
fn a_server_that_is_busy() {
    let server = simulated(None);
    let mut other = TcpStream::connect(server.addr()).unwrap();
    let body = r#"{"model":"qwen","stream":true,"max_tokens":100000,"ignore_eos":true,"messages":[{"role":"user","content":"Count."}]}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    other.write_all(format!("{head}{body}").as_bytes()).unwrap();
    other.read_exact(&mut [0; 400]).unwrap();
    refused(&server.addr().to_string(), &[], &["other requests", "1 running", "--allow-busy"]);
}

#[test]
fn a_context_above_the_limit_is_a_row() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let url = server.addr().to_string();
    let args = ["run", &url, "--contexts", "512k", "--concurrency", "1,2", "--out"];
    let ended = call(args.iter().copied().chain([&*out.path().to_string_lossy()]));
    // Left out by plan, and nothing else was asked for.
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("nothing fits this server"), "{ended:?}");
    let run = load(&only_run(out.path()));
    assert_eq!(run.state, tokometer_record::RunState::Finished);
    assert_eq!(run.cells.len(), 3);
    for cell in &run.cells {
        assert_eq!(cell.status, tokometer_record::Status::OverLimit);
        let reason = cell.reason.as_ref().unwrap();
        assert_eq!(reason.available, Some(262_144));
    }
    assert!(run.remarks.iter().any(|remark| remark.contains("no request was sent")), "{:?}", run.remarks);
}

#[test]
fn a_server_that_fails_at_the_first_real_request() {
    let server = Scripted::http(|request| match request.line.as_str() {
        "GET /v1/models" => (200, "application/json", r#"{"data":[{"id":"m"}]}"#.to_owned()),
        "POST /v1/chat/completions" => {
            (500, "application/json", r#"{"error":{"message":"out of memory"}}"#.to_owned())
        }
        _ => (404, "application/json", "{}".to_owned()),
    });
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy();
    let ended = call(["run", &server.url(), "--out", &folder].iter().chain(&SMALL));
    ended.failed_with(1, &["500", "out of memory", "log"]);
    let run = load(&only_run(out.path()));
    assert_eq!(run.state, tokometer_record::RunState::Failed);
    assert!(run.state_reason.unwrap().contains("out of memory"));
}
