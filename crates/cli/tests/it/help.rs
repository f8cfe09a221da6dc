//! Help, definitions, completions and manual pages of the real binary.

use crate::support::call;

#[test]
fn words_are_explained_and_slips_are_seen_through() {
    let ended = call(["explain", "total", "rate"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.starts_with("Total rate  (quantity)") && ended.stdout.contains("tok/s"),
        "{ended:?}"
    );
    let ended = call(["explain", "few_samples"]);
    assert!(ended.stdout.contains("(flag)") && ended.stdout.contains("fewer than 6"), "{ended:?}");
    let ended = call(["explain", "cells.window.seconds"]);
    assert!(ended.stdout.contains("field of the record, number"), "{ended:?}");
    call(["explain", "unstabel"]).failed_with(2, &["unstabel", "did you mean unstable?"]);
    let ended = call(["explain"]);
    assert!(ended.stdout.contains("Verdicts") && ended.stdout.contains("  TTFT"), "{ended:?}");
}

#[test]
fn every_command_has_help_with_examples() {
    let top = call(["--help"]);
    for heading in ["Measure:", "Read and check:", "The program itself:", "Examples:"] {
        assert!(top.stdout.contains(heading), "{heading}: {top:?}");
    }
    for command in
        ["run", "demo", "probe", "sim", "calibrate", "report", "import", "compare", "analyse", "verify"]
    {
        let help = call([command, "--help"]);
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains("Examples:\n  tokometer "), "{command}: {help:?}");
    }
    let run = call(["run", "--help"]);
    for heading in ["Server:", "Machine:", "Matrix:", "Method:", "Output:", "Resume:", "Configuration:"] {
        assert!(run.stdout.contains(&format!("\n{heading}\n")), "{heading}: {run:?}");
    }
}

#[test]
fn completions_are_made_for_four_shells() {
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef tokometer"),
        ("fish", "complete -c tokometer"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let ended = call(["completions", shell]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains(mark) && ended.stdout.contains("concurrency"), "{shell}");
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let ended = call(["man".into(), folder.path().as_os_str().to_owned()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for name in ["tokometer", "tokometer-run", "tokometer-config-show", "tokometer-explain"] {
        let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".TH"), "{name}");
    }
    let run = std::fs::read_to_string(folder.path().join("tokometer-run.1")).unwrap();
    assert!(run.contains("\\-\\-concurrency") && run.contains("Examples"), "{run}");
    let plain = call(["man"]);
    assert!(plain.stdout.contains(".SH NAME"), "{plain:?}");
}
