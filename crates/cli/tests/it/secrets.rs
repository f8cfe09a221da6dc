//! A key reaches the server and nothing else.

use std::path::Path;

use crate::scripted::Scripted;
use crate::support::{Ended, SMALL, call, only_run, tokometer};

/// Checks that none of `secrets` is in what a call printed or left.
pub(crate) fn hidden(secrets: &[&str], ended: &Ended, out: &Path) {
    for secret in secrets {
        assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret), "printed: {ended:?}");
    }
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for secret in secrets {
                let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!found, "{secret} is in {}", path.display());
            }
        }
    }
}

#[test]
fn a_server_that_repeats_the_key_does_not_leak_it() {
    const KEY: &str = "sk-from-somewhere-0123456789";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let file = file.to_string_lossy();
    for how in [
        ["--api-key-file", &file].as_slice(),
        &["--api-key-env", "TOKOMETER_TEST_KEY"],
        &["--header", "Authorization: Bearer sk-from-somewhere-0123456789"],
        &["--header", "X-Api-Key: sk-from-somewhere-0123456789"],
        // Nothing named: OPENAI_API_KEY.
        &[],
    ] {
        let server = Scripted::http(|request| match request.line.as_str() {
            "GET /v1/models" => (200, "application/json", r#"{"data":[{"id":"m"}]}"#.to_owned()),
            // Both texts end in messages, and the second in the record.
            _ => (400, "application/json", serde_json::json!({"you sent": request.headers}).to_string()),
        });
        let out = tempfile::tempdir().unwrap();
        let mut command = tokometer();
        command.args(["run", &server.url(), "--out"]).arg(out.path()).args(SMALL).args(how);
        match how {
            [] => command.env("OPENAI_API_KEY", KEY),
            _ => command.env("TOKOMETER_TEST_KEY", KEY),
        };
        let ended = Ended::from(command.output().unwrap());
        ended.failed_with(1, &["400"]);
        assert!(only_run(out.path()).join("run.json").is_file());
        hidden(&[KEY], &ended, out.path());
        let sent = server.asked().iter().all(|request| request.headers.iter().any(|line| line.contains(KEY)));
        assert!(sent, "the server needs it");
    }
}

#[test]
fn a_probe_that_repeats_the_key_does_not_leak_it() {
    const KEY: &str = "sk-echo";
    let server = Scripted::http(|request| {
        let key = request.headers.iter().find(|line| line.contains(KEY)).unwrap();
        (500, "application/json", serde_json::json!({"you sent": key}).to_string())
    });
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    command.args(["run", &server.url(), "--out"]).arg(out.path()).env("OPENAI_API_KEY", KEY);
    let ended = Ended::from(command.output().unwrap());
    ended.failed_with(1, &["500", "you sent"]);
    hidden(&[KEY], &ended, out.path());
}

#[test]
fn a_demo_takes_no_key_of_the_users() {
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    command.args(["demo", "--dry-run", "--json", "--out"]).arg(out.path()).env("OPENAI_API_KEY", "sk-users");
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.json()["target"]["headers"], serde_json::json!([]));
    hidden(&["sk-users"], &ended, out.path());
}

#[test]
fn the_preview_shows_every_text_and_takes_a_last_look() {
    const PLANTED: &str = "sk-planted-0123456789abcdef";
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy();
    let demo = ["demo", "--dry-run", "--quiet", "--title", "A title", "--note", "A note", "--out", &folder];
    assert_eq!(call(demo).code, Some(0));
    let run = only_run(out.path());
    let preview = || call(["report", &run.to_string_lossy(), "--preview"]);
    let clean = preview();
    for words in [
        "title: A title",
        "note: A note",
        "target.url: http://127.0.0.1",
        "hardware.",
        "cells: ",
        "evidence[0]",
    ] {
        assert!(clean.stdout.contains(words), "{words}: {clean:?}");
    }
    assert!(!clean.stdout.contains("removed:"), "{clean:?}");
    // A record of an older version, that a newer rule would have kept clean.
    let file = run.join("run.json");
    let mut document: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    document["launch_command"] = format!("vllm serve m --api-key {PLANTED}").into();
    document["remarks"] = serde_json::json!([format!("refused: key {PLANTED}")]);
    std::fs::write(&file, document.to_string()).unwrap();
    let looked = preview();
    assert!(looked.stdout.contains("removed: a secret in launch_command"), "{looked:?}");
    assert!(looked.stdout.contains("removed: a secret in remarks[0]"), "{looked:?}");
    assert!(looked.stdout.contains("launch_command: vllm serve m --api-key <redacted>"), "{looked:?}");
    assert!(!looked.stdout.contains(PLANTED), "{looked:?}");
}
