//! A command line that cannot be meant: exit code 2, and a message that says what is expected.

use crate::support::{Ended, call, tokometer};

/// Nothing listens there; none of these must come so far.
const NOWHERE: &str = "127.0.0.1:9";

#[test]
fn bad_values_say_what_is_expected() {
    for (option, value, expected) in [
        ("--contexts", "8x", "8192, or as 8k"),
        ("--contexts", "0", "8192, or as 8k"),
        ("--contexts", "", "8192, or as 8k"),
        ("--contexts", "-1", "8192, or as 8k"),
        ("--contexts", "8k,8192", "twice"),
        ("--concurrency", "a", "1,2,4"),
        ("--concurrency", "0", "1,2,4"),
        ("--concurrency", "-1", "1,2,4"),
        ("--prefill-contexts", "8x", "8192, or as 8k"),
        ("--duration", "1y", "30s, 2m"),
        ("--duration", "0", "30s, 2m"),
        ("--duration", "-5", "30s, 2m"),
        ("--duration", "1e300", "up to a day"),
        ("--timeout", "soon", "30s, 2m"),
        ("--timeout", "1e300", "up to a day"),
        ("--request-json", "[1]", "expected a JSON object"),
        ("--request-json", "{x", "expected an object"),
        ("--request-json", r#"{"top_k": 2, "max_tokens": 50}"#, "use --max-output"),
        ("--request-json", r#"{"messages": []}"#, "--corpus"),
        ("--temperature", "nan", "from 0 on"),
        ("--temperature", "-1", "from 0 on"),
        ("--top-p", "1.5", "from 0 to 1"),
        ("--max-output", "0", "1.."),
        ("--prefill-repeats", "0", "1..=1000"),
        ("--kv-tokens", "0", "1.."),
        ("--prompts", "both", "shared, unique"),
        ("--endpoint", "responses", "chat, completions"),
        ("--at-end", "stop", "cut, finish"),
    ] {
        let ended = call(["run", NOWHERE, option, value]);
        assert_eq!(ended.code, Some(2), "{option} {value:?}: {ended:?}");
        assert!(ended.stderr.contains(expected), "{option} {value:?}: {ended:?}");
        assert!(ended.stderr.contains(option), "{option} {value:?}: {ended:?}");
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn options_that_exclude_each_other() {
    for args in [
        ["--json", "--quiet"].as_slice(),
        &["--api-key-env", "A", "--api-key-file", "b"],
        &["--unheard-of"],
        &["second-url"],
    ] {
        let ended = call(["run", NOWHERE].iter().chain(args));
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }
    assert_eq!(call(["report"]).code, Some(2));
    assert_eq!(call([] as [&str; 0]).code, Some(2));
}

#[test]
fn files_and_variables_that_options_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("blank"), " \n").unwrap();
    std::fs::write(path("few"), "hardly a word").unwrap();
    for (args, words) in [
        (["--api-key-file", &path("nothing")], ["API key", "nothing"]),
        (["--api-key-file", &path("blank")], ["empty", "blank"]),
        (["--api-key-env", "TOKOMETER_TEST_UNSET"], ["TOKOMETER_TEST_UNSET", "--api-key-file"]),
        (["--corpus", &path("nothing")], ["corpus", "nothing"]),
        (["--corpus", &path("few")], ["words", "at least"]),
    ] {
        call(["run", NOWHERE].iter().chain(&args)).failed_with(2, &words);
    }
    let cacert = ["run", "https://127.0.0.1:9", "--cacert"];
    call(cacert.iter().copied().chain([path("few").as_str()])).failed_with(2, &["few", "PEM"]);
}

#[test]
fn headers_that_cannot_be_sent() {
    for (header, words) in [
        ("sk-no-colon-here", ["Name: value", "--header"]),
        ("bad name: x", ["bad name", "--header"]),
        ("Content-Length: 5", ["Content-Length", "leave it out"]),
    ] {
        let ended = call(["run", NOWHERE, "--header", header]);
        ended.failed_with(2, &words);
        assert!(!ended.stderr.contains("sk-no-colon"), "may be a key: {ended:?}");
    }
}

#[test]
fn addresses_that_are_none() {
    for (url, word) in [
        ("ftp://host", "http://"),
        ("http://", "no host"),
        ("", "no host"),
        ("host:99999", "65535"),
        ("::1:8000", "[::1]:8000"),
        ("http://host/v1?x=1", "query"),
    ] {
        call(["run", url]).failed_with(2, &[word]);
    }
}

#[test]
fn a_password_in_the_address_is_refused_and_not_shown() {
    for url in ["http://me:open-sesame@127.0.0.1:9/v1", "me:open-sesame@127.0.0.1:9"] {
        let ended = call(["run", url]);
        ended.failed_with(2, &["password", "--api-key-file"]);
        assert!(!ended.stderr.contains("sesame"), "{ended:?}");
    }
}

#[test]
fn cold_prompts_must_be_unique() {
    let out = tempfile::tempdir().unwrap();
    let demo = ["demo", "--dry-run", "--cold", "--out", &out.path().to_string_lossy()];
    call(demo).failed_with(2, &["--cold", "--prompts unique"]);
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0, "nothing was written");
    assert_eq!(call(demo.iter().chain(&["--prompts", "unique"])).code, Some(0));
}

#[test]
fn profiles_that_are_none() {
    for command in ["demo", "sim"] {
        let ended = call([command, "--profile", "h100"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.line("error: ").contains("h200-x4"), "{ended:?}");
    }
}

#[test]
fn slips_of_the_pen_are_seen_through() {
    let ended = call(["rnu"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("'run'"), "{ended:?}");
    let show = |name: &str| {
        let mut command = tokometer();
        Ended::from(command.args(["config", "show", "run"]).env(name, "3s").output().unwrap())
    };
    let ended = show("TOKOMETER_DURATON");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.line("note: ").contains("did you mean TOKOMETER_DURATION?"), "{ended:?}");
    for known in ["TOKOMETER_DURATION", "TOKOMETER_TOKEN", "TOKOMETER_OF_SOMEBODY_ELSE"] {
        let ended = show(known);
        assert!(ended.code == Some(0) && !ended.stderr.contains("note: "), "{known}: {ended:?}");
    }
}
