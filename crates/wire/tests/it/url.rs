//! URLs as users write them.

use tokometer_wire::TargetUrl;

#[track_caller]
fn check(text: &str, display: &str, host_and_port: &str) {
    let url = TargetUrl::parse(text).unwrap();
    assert_eq!((url.display().as_str(), url.host_and_port().as_str()), (display, host_and_port), "{text}");
    // What is shown can be given again.
    assert_eq!(TargetUrl::parse(display).unwrap(), url, "{text}");
}

#[track_caller]
fn check_refused(text: &str, part: &str) {
    let message = TargetUrl::parse(text).unwrap_err().to_string();
    assert!(message.contains(part), "{text}: {message}");
}

#[test]
fn hosts_and_ports() {
    check("localhost", "http://localhost", "localhost:80");
    check(" GPU-box:8000 ", "http://gpu-box:8000", "gpu-box:8000");
    check("http://127.0.0.1:80", "http://127.0.0.1", "127.0.0.1:80");
    check("https://api.example.com", "https://api.example.com", "api.example.com:443");
    check("api.example.com:443", "https://api.example.com", "api.example.com:443");
    check("[::1]:8000", "http://[::1]:8000", "[::1]:8000");
    check("HTTPS://[2001:db8::7]/", "https://[2001:db8::7]", "[2001:db8::7]:443");
}

#[test]
fn paths_lose_what_is_added_anyway() {
    for text in [
        "h:1/v1",
        "h:1/v1/",
        "http://h:1//",
        "h:1/v1/chat/completions",
        "h:1/v1/completions",
        "h:1/v1/models/",
    ] {
        check(text, "http://h:1", "h:1");
    }
    check("https://h/openai/v1/", "https://h/openai", "h:443");
    check("h:1/a/b", "http://h:1/a/b", "h:1");
    check("h:1/v1beta", "http://h:1/v1beta", "h:1");
    check("h:1/completions", "http://h:1/completions", "h:1");
}

#[test]
fn what_cannot_be_used_is_explained() {
    check_refused("", "names no host");
    check_refused("http://", "names no host");
    check_refused("ftp://h", "http:// or https://");
    check_refused("h:0", "no port");
    check_refused("h:70000", "no port");
    check_refused("h:x", "no port");
    check_refused("::1", "in brackets");
    check_refused("[::1", "not closed");
    check_refused("[::1]8000", "only :PORT");
    check_refused("[nine]:1", "no IPv6 address");
    check_refused("h h:1", "no host name");
    check_refused("h:1/a b", "percent-encode");
    check_refused("https://h/?api-version=1", "query");
}

#[test]
fn a_password_in_a_url_is_refused_and_not_shown() {
    let message = TargetUrl::parse("https://user:hunter2@h/v1").unwrap_err().to_string();
    assert!(message.contains("--api-key-file") && message.contains("@h/v1"), "{message}");
    assert!(!message.contains("hunter2") && !message.contains("user:"), "{message}");
}
