//! A failure says what kind it was; the HTTP status only where it is the failure.

use tokometer_record::{FailureKind, Run, Status};
use tokometer_report::terminal;

use crate::html::{parsed, select, text};
use crate::support::{decode, everything};

/// A run whose one cell failed like this.
fn failed(kind: FailureKind, http_status: Option<u16>) -> Run {
    let mut run = everything();
    let failure = run.cells.iter().find_map(|cell| cell.error.clone());
    run.cells = vec![decode(8192, 4)];
    run.cells[0].status = Status::Error;
    run.cells[0].error = failure;
    let error = run.cells[0].error.as_mut().unwrap();
    error.kind = kind;
    error.http_status = http_status;
    "what happened".clone_into(&mut error.message);
    error.body = None;
    run
}

#[test]
fn kinds_are_told_in_words() {
    for (kind, status, words) in [
        (FailureKind::Connect, None, "no connection"),
        (FailureKind::Tls, None, "TLS set-up failed"),
        (FailureKind::HttpStatus, Some(500), "HTTP 500"),
        (FailureKind::HttpStatus, None, "HTTP error"),
        (FailureKind::Rejected, Some(429), "rejected 429"),
        (FailureKind::Rejected, None, "rejected"),
        (FailureKind::ErrorEvent, Some(200), "error event"),
        (FailureKind::Truncated, Some(200), "truncated"),
        (FailureKind::NoToken, Some(200), "no token"),
        (FailureKind::Reset, Some(200), "reset"),
        (FailureKind::Timeout, Some(200), "timeout"),
        (FailureKind::Timeout, None, "timeout"),
        (FailureKind::Malformed, Some(200), "unreadable event"),
        (FailureKind::NotAStream, Some(200), "no event stream"),
    ] {
        let run = failed(kind, status);
        let page = parsed(&run);
        assert_eq!(text(&select(&page, "#decode-8192-4 .why")[0]), words);
        let apart = if status == Some(200) { "; the answer began with HTTP 200" } else { "" };
        let whole = format!("8K × 4 {words}: what happened{apart}");
        assert_eq!(text(&select(&page, "#note-error li")[0]), whole);
        assert!(terminal(&run, 160, false).contains(&whole.replace("× 4 ", "× 4: ")), "{whole}");
    }
}
