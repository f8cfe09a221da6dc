//! Files that are given to `report` and `import`.

use tokometer_record::{Phase, RunFolder, Status, import, published};

use crate::support::{call, load, only_run};

const MATRICES: [(&str, &str); 2] =
    [("h200-x4.json", published::H200_X4), ("rtx-pro-6000-x4.json", published::RTX_PRO_6000_X4)];

#[test]
fn published_matrices_become_records_that_can_be_shown() {
    for (name, matrix) in MATRICES {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        let out = folder.path().join("runs");
        std::fs::write(&file, matrix).unwrap();
        let (file, out_text) = (file.to_string_lossy(), out.to_string_lossy());
        let ended = call(["import", &file, "--out", &out_text, "--quiet"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        let run_folder = only_run(&out);
        assert_eq!(ended.stdout, format!("{}\n", run_folder.join("report.html").display()));

        let run = load(&run_folder);
        assert_eq!(run, import::published(matrix, name).unwrap());
        let run_folder = run_folder.to_string_lossy();
        let report = |format: &str| {
            let ended = call(["report", &run_folder, "--format", format]);
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
            ended
        };
        assert_eq!(report("json").json(), serde_json::to_value(&run).unwrap());
        let html = report("html").stdout;
        assert_eq!(html, std::fs::read_to_string(only_run(&out).join("report.html")).unwrap());
        let terminal = report("terminal").stdout;
        assert!(!terminal.contains('\x1b'), "no colours on a pipe");
        for cell in &run.cells {
            let label = tokometer_record::context_label(cell.context_nominal);
            assert!(html.contains(&label) && terminal.contains(&label), "{label}");
        }
        // The document itself is as good as its folder.
        let document = only_run(&out).join("run.json");
        assert_eq!(call(["report", &document.to_string_lossy()]).stdout, terminal);

        let again = call(["import", &file, "--out", &out_text]);
        assert_eq!(again.code, Some(1), "{again:?}");
        assert!(again.line("error: ").contains("exists already"), "{again:?}");
    }
}

#[test]
fn result_files_of_other_tools_become_records_that_can_be_shown() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/fixtures");
    let files = [
        ("vllm-bench-serve.json", Status::Valid),
        ("vllm-bench-rust-failed.json", Status::Error),
        ("aiperf.json", Status::Valid),
        ("guidellm.json", Status::Valid),
        ("llm-inference-bench.json", Status::Valid),
    ];
    for (name, status) in files {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("runs");
        let file = format!("{fixtures}/{name}");
        let ended = call(["import", &file, "--out", &out.to_string_lossy()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let run = load(&only_run(&out));
        let first = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap();
        assert_eq!((first.status, run.imported.as_ref().unwrap().file.as_str()), (status, name));
        let shown = call(["report", &only_run(&out).to_string_lossy(), "--format", "html"]);
        assert!(shown.stdout.contains(&run.tool.name), "{name}");
        // Given to `report` as it is, it names the way.
        let refused = call(["report", &file]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("tokometer import"), "{refused:?}");
    }
}

#[test]
fn what_is_no_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("garbage"), b"\x00\xff not a record").unwrap();
    std::fs::write(path("newer.json"), r#"{"schema":"tokometer.run/2","id":"x"}"#).unwrap();
    std::fs::write(path("other.json"), r#"{"schema":"tokometer.run/1","id":7}"#).unwrap();
    std::fs::write(path("matrix.json"), published::H200_X4).unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    for (file, word) in [
        ("garbage", "not a record"),
        ("newer.json", "update tokometer"),
        ("other.json", "damaged"),
        ("matrix.json", "tokometer import"),
        ("empty", "no run.json"),
        ("nothing", "check the path"),
    ] {
        for format in ["terminal", "html", "json"] {
            let ended = call(["report", &path(file), "--format", format]);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
            let error = ended.line("error: ");
            assert!(error.contains(word) && error.contains(file), "{word:?}: {ended:?}");
        }
    }
    // As a profile it is no better.
    let ended = call(["demo", "--profile", &path("newer.json")]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.line("error: ").contains("update tokometer"), "{ended:?}");

    let runs = path("runs");
    for file in ["garbage", "newer.json", "empty", "nothing"] {
        let ended = call(["import", &path(file), "--out", &runs]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.line("error: ").contains(file), "{ended:?}");
    }
    assert!(RunFolder::open(runs.as_ref()).is_err(), "nothing was written");
}
