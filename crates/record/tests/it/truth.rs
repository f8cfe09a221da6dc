//! The truth of a simulated engine as a file.

use tokometer_record::truth::{Truth, TruthMeta, TruthRequest, TruthSend, TruthWriter};
use tokometer_record::{CellTrace, RecordError, RunFolder};

use crate::sample;

fn truth() -> Truth {
    let request = |request, label: Option<&str>| TruthRequest {
        request,
        label: label.map(str::to_owned),
        arrival_ns: 1_000 + u64::from(request),
        prompt_tokens: 40,
    };
    let send = |request, tokens, at| TruthSend {
        request,
        tokens,
        due_ns: at,
        before_ns: at + 20,
        after_ns: at + 31,
    };
    Truth {
        meta: TruthMeta {
            schema: TruthMeta::SCHEMA.to_owned(),
            profile: "steady, 50 tokens/s".to_owned(),
            events_per_write: 8,
            network_threads: 2,
            start_ns: 900,
            first_request_ns: Some(990),
            full_sockets: 3,
        },
        requests: vec![request(0, Some("7")), request(1, None)],
        sends: vec![send(0, 1, 2_000), send(0, 8, 3_000), send(1, 1, 2_500)],
    }
}

#[test]
fn a_truth_comes_back_as_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.parquet");
    truth().save(&path).unwrap();
    assert_eq!(Truth::load(&path).unwrap(), truth());
    let empty = Truth { requests: Vec::new(), sends: Vec::new(), ..truth() };
    empty.save(&path).unwrap();
    assert_eq!(Truth::load(&path).unwrap(), empty);
}

#[test]
fn another_file_is_no_truth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.parquet");
    std::fs::write(&path, "no Parquet").unwrap();
    assert!(matches!(Truth::load(&path), Err(RecordError::Damaged { .. })));
    let trace: CellTrace = sample::trace();
    let run = RunFolder::create(folder.path(), "run").unwrap();
    let file = run.save_trace(&trace).unwrap();
    let error = Truth::load(&run.path.join(file.file)).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
}

#[test]
fn a_truth_may_come_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.parquet");
    let whole = truth();
    let mut writer = TruthWriter::create(&path).unwrap();
    // Writes come in the order of time, not by request.
    writer.sends(&[whole.sends[0], whole.sends[2]]).unwrap();
    writer.requests(&whole.requests[..1]).unwrap();
    writer.sends(&[whole.sends[1]]).unwrap();
    writer.requests(&whole.requests[1..]).unwrap();
    assert!(!path.exists());
    writer.finish(&whole.meta).unwrap();
    assert_eq!(Truth::load(&path).unwrap(), whole);

    let left = TruthWriter::create(&folder.path().join("other.parquet")).unwrap();
    drop(left);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
