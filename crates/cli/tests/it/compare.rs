//! Runs side by side, and traces analysed again.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokometer_record::{Comparison, RunFolder};

use crate::measured::measured_folder;
use crate::support::{call, only_run};

/// The two published matrices as runs: the folder that holds them, and their paths.
fn published() -> (tempfile::TempDir, [String; 2]) {
    let out = tempfile::tempdir().unwrap();
    let paths = ["rtx-pro-6000-x4", "h200-x4"].map(|name| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../record/published/{name}.json"));
        let runs = out.path().join(name);
        let import = ["import", &file.to_string_lossy(), "--quiet", "--out", &runs.to_string_lossy()];
        assert_eq!(call(import).code, Some(0));
        only_run(&runs).to_string_lossy().into_owned()
    });
    (out, paths)
}

#[test]
fn the_published_matrices_say_first_what_they_are_no_comparison_of() {
    let (_keep, [base, new]) = published();
    let ended = call(["compare", &base, &new]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let text = &ended.stdout;
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words:?} in {text}"));
    assert!(
        at("! not a hardware comparison: speculative decoding and MoE backend differ too") < at("SETTINGS")
    );
    assert!(at("speculative decoding: off (default) → mtp, 1 token") < at("DECODE, TOTAL RATE"));
    assert!(text.contains("dtype: bfloat16 → bfloat16") && text.contains("the same in effect"), "{text}");
    assert!(text.contains("Paired by label: 28 cells of the decode matrix"), "{text}");
    assert!(text.contains("2.07?") && text.contains("2.94?"), "{text}");
    let found: Comparison = serde_json::from_value(call(["compare", &base, &new, "--json"]).json()).unwrap();
    assert_eq!(found.against[0].decode_pairs, 28);
}

#[test]
fn gates_decide_the_exit_code() {
    let (_keep, [base, new]) = published();
    let gate = |limit: &str| call(["compare", &base, &new, "--fail-if", limit]);
    assert_eq!(gate("total_rate<-3%").code, Some(0));
    let failed = call(["compare", &new, &base, "--fail-if", "total_rate<-3%", "--fail-if", "ttft>+1000000%"]);
    assert_eq!(failed.code, Some(4), "{failed:?}");
    assert!(failed.stdout.contains("GATE total_rate<-3% on run 2: failed, judged on 28 cells"), "{failed:?}");
    gate("speed<-3%").failed_with(2, &["speed", "total_rate"]);
    call(["compare", &base, &base]).failed_with(2, &["given twice"]);
}

#[test]
fn a_part_of_the_window_is_analysed_again() {
    let run = measured_folder().to_string_lossy().into_owned();
    let whole = call(["analyse", &run, "--json"]).json();
    let recorded: Value =
        serde_json::from_slice(&std::fs::read(measured_folder().join("run.json")).unwrap()).unwrap();
    assert_eq!(whole["cells"], recorded["cells"], "the whole window gives the record");
    let part = call(["analyse", &run, "--window", "0.25s..0.75s", "--json"]).json();
    let seconds = part["cells"][1]["window"]["seconds"].as_f64().unwrap();
    assert!((seconds - 0.5).abs() < 1e-9, "{seconds}");
    assert_eq!(part["cells"][0], recorded["cells"][0], "a prefill row has no window");

    let slo = call(["analyse", &run, "--slo", "ttft<=100s,rate>=0.001,share>=1%", "--json"]).json();
    let counts = slo["slo_cells"].as_array().unwrap();
    assert!(
        counts.iter().all(|count| count["kept"] == count["requests"] && count["kept"].as_u64() > Some(0))
    );
    assert!(counts.iter().all(|count| count["passes"] == true), "{slo}");
    let strict = call(["analyse", &run, "--slo", "ttft<=0.001ms", "--json"]).json();
    assert!(strict["slo_cells"].as_array().unwrap().iter().all(|count| count["kept"] == 0), "{strict}");
}

#[test]
fn a_part_of_the_window_can_be_saved_as_a_run_that_holds() {
    let run = measured_folder().to_string_lossy().into_owned();
    let files = || -> Vec<PathBuf> {
        std::fs::read_dir(measured_folder()).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let before = files();
    let out = tempfile::tempdir().unwrap();
    let saved = call(["analyse", &run, "--window", "..0.5s", "--out", &out.path().to_string_lossy()]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    assert_eq!(files(), before, "the run itself is left alone");
    let folder = only_run(out.path());
    assert_eq!(call(["verify", &folder.to_string_lossy()]).code, Some(0));
    let derived = RunFolder::open(&folder).unwrap().load_run().unwrap();
    assert!(
        derived.remarks.iter().any(|remark| remark.contains("from 0 s to 0.5 s")),
        "{:?}",
        derived.remarks
    );
}

#[test]
fn what_cannot_be_analysed_again() {
    let run = measured_folder().to_string_lossy().into_owned();
    for window in ["5s", "9s..3s", "..", "a..b", "-1s..2s"] {
        call(["analyse", &run, &format!("--window={window}")]).failed_with(2, &[window]);
    }
    call(["analyse", &run, "--slo", "fast"]).failed_with(2, &["fast", "ttft<=1s"]);
    let out = tempfile::tempdir().unwrap();
    call(["analyse", &run, "--out", &out.path().to_string_lossy()]).failed_with(2, &["--window"]);
    let (_keep, [imported, _]) = published();
    call(["analyse", &imported]).failed_with(1, &["no traces"]);
}
