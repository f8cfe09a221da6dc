//! What happened beside the numbers is not silent: requests sent again, remarks of the run.

use tokometer_record::Status;
use tokometer_report::{html, terminal};

use crate::html::{parsed, select, text};
use crate::support::{decode, everything, h200};

#[test]
fn requests_sent_again_are_told() {
    let mut run = everything();
    run.cells.truncate(2);
    run.cells.push(decode(8192, 2));
    run.cells.push(decode(8192, 4));
    run.cells.push(decode(8192, 8));
    run.cells[0].requests.resent = Some(1);
    run.cells[2].requests.resent = Some(3);
    run.cells[3].status = Status::Error;
    run.cells[3].requests.resent = Some(3);
    let page = parsed(&run);
    let notes = |row: &str| text(&select(&page, &format!("tr[data-cell='{row}'] .flags"))[0]);
    assert_eq!(notes("decode-8192-2"), "resent");
    assert_eq!(notes("decode-8192-4"), "resent");
    assert_eq!(notes("prefill-8192"), "simulated, resent");
    assert_eq!(notes("decode-8192-8"), "");
    let link = &select(&page, "tr[data-cell='decode-8192-2'] .flags a")[0];
    assert_eq!(link.value().attr("title"), Some("3 requests were sent again"));
    let lines: Vec<String> = select(&page, "#note-resent li").iter().map(text).collect();
    assert_eq!(lines, ["prefill 8K 1 request was sent again", "8K × 2, 8K × 4 3 requests were sent again"]);
    assert_eq!(text(&select(&page, "#decode-8192-2 .marks")[0]), "a");
    let said = terminal(&run, 120, false);
    assert!(said.contains("ᵃ resent. The server had closed"), "{said}");
    assert!(said.contains("  8K × 2, 8K × 4: 3 requests were sent again"), "{said}");
}

#[test]
fn without_one_nothing_is_said() {
    for run in [everything(), h200()] {
        assert!(
            !html(&run).unwrap().contains("note-resent") && !terminal(&run, 120, false).contains("resent")
        );
    }
}

#[test]
fn remarks_of_the_run_are_shown() {
    let mut run = h200();
    run.remarks = vec!["the corpus repeats".to_owned(), "the server stopped answering".to_owned()];
    let remarks: Vec<String> = select(&parsed(&run), ".remarks li").iter().map(text).collect();
    assert_eq!(remarks, ["The corpus repeats", "The server stopped answering"]);
    let said = terminal(&run, 120, false);
    assert!(said.contains("\n! The corpus repeats\n! The server stopped answering\n"), "{said}");
}
