//! A calibration as a file.

use tokometer_record::calibration::Check;
use tokometer_record::{Calibration, RecordError, Run};

use crate::sample;

#[test]
fn a_calibration_comes_back_as_it_was_saved_into_a_new_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokometer/calibration.json");
    let calibration = sample::calibration();
    calibration.save(&path).unwrap();
    assert_eq!(Calibration::load(&path).unwrap(), calibration);
}

#[test]
fn what_is_no_calibration_or_a_newer_one_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calibration.json");
    assert!(matches!(Calibration::load(&path), Err(RecordError::Read { .. })));
    for text in
        ["no JSON", "{}", r#"{"schema": "tokometer.run/1"}"#, r#"{"schema": "tokometer.calibration/1"}"#]
    {
        std::fs::write(&path, text).unwrap();
        assert!(matches!(Calibration::load(&path), Err(RecordError::Damaged { .. })), "{text}");
    }
    std::fs::write(&path, r#"{"schema": "tokometer.calibration/2"}"#).unwrap();
    assert!(matches!(Calibration::load(&path), Err(RecordError::NewerSchema { .. })));
}

#[test]
fn one_failed_check_fails_it() {
    let mut calibration = sample::calibration();
    assert!(calibration.passed());
    calibration.checks.push(Check { passed: false, ..calibration.checks[0].clone() });
    assert!(!calibration.passed());
}

#[test]
fn a_run_of_before_has_none() {
    let mut document = serde_json::to_value(sample::run()).unwrap();
    document.as_object_mut().unwrap().remove("calibration");
    let run: Run = serde_json::from_value(document).unwrap();
    assert_eq!(run.calibration, None);
}
