//! Settings from a file, the environment and the command line, by the real binary.

use std::collections::BTreeMap;
use std::path::Path;

use tokometer_record::Phase;

use crate::support::{Ended, load, only_run, tokometer};

/// Every option of `run`, with a value in the file, one in the environment, one on the command line.
const RUN: [(&str, &str, &str, &str); 64] = [
    ("target.url", "'a:1'", "b:2", "c:3"),
    ("target.model", "'a'", "b", "c"),
    ("target.api_key_env", "'A'", "B", "C"),
    ("target.api_key_file", "'/a'", "/b", "/c"),
    ("target.header", "['X-A: 1', 'X-B: 2']", "X-C: 3", "X-D: 4"),
    ("target.insecure", "true", "0", ""),
    ("target.cacert", "'/a'", "/b", "/c"),
    ("target.http", "1", "2", "auto"),
    ("target.allow_busy", "true", "false", ""),
    ("machine.launch", "'a serve'", "b serve", "c serve"),
    ("machine.launch_timeout", "'1s'", "2s", "3s"),
    ("machine.stated_command", "'a'", "b", "c"),
    ("machine.model_id", "'a'", "b", "c"),
    ("machine.revision", "'a'", "b", "c"),
    ("machine.quantization", "'a'", "b", "c"),
    ("machine.engine_name", "'a'", "b", "c"),
    ("machine.engine_version", "'a'", "b", "c"),
    ("machine.engine_commit", "'a'", "b", "c"),
    ("machine.engine_repository", "'a'", "b", "c"),
    ("machine.engine_build", "'a'", "b", "c"),
    ("machine.hardware", "'/a'", "/b", "/c"),
    ("machine.accelerators", "'/a'", "/b", "/c"),
    ("machine.agent", "'a:1'", "b:2", "c:3"),
    ("machine.agent_token_file", "'/a'", "/b", "/c"),
    ("machine.agent_server_port", "1", "2", "3"),
    ("machine.include_hostname", "true", "no", ""),
    ("machine.no_machine", "true", "off", ""),
    ("matrix.contexts", "[1024, '2k']", "4k", "8k"),
    ("matrix.concurrency", "[1, 2]", "4", "8,16"),
    ("matrix.prefill_contexts", "'1k'", "2k", "4k"),
    ("matrix.prefill_repeats", "2", "3", "4"),
    ("matrix.kv_tokens", "1", "2", "3"),
    ("matrix.repeats", "2", "3", "4"),
    ("matrix.order", "'shuffled'", "standard", "shuffled"),
    ("method.duration", "'1s'", "2s", "3s"),
    ("method.adaptive", "true", "false", ""),
    ("method.max_output", "1", "2", "3"),
    ("method.prompts", "'unique'", "shared", "unique"),
    ("method.cold", "true", "n", ""),
    ("method.respect_eos", "true", "0", ""),
    ("method.temperature", "0.5", "0.6", "0.7"),
    ("method.top_p", "0.5", "0.6", "0.7"),
    ("method.seed", "2", "3", "4"),
    ("method.request_json", "{ top_k = 1 }", "{\"top_k\":2}", "{\"top_k\":3}"),
    ("method.endpoint", "'completions'", "chat", "completions"),
    ("method.timeout", "'1s'", "2s", "3s"),
    ("method.corpus", "'/a'", "/b", "/c"),
    ("method.at_end", "'finish'", "cut", "finish"),
    ("method.source_address", "['127.0.0.1', '127.0.0.2']", "127.0.0.3", "127.0.0.4"),
    ("method.load_threads", "1", "2", "3"),
    ("output.out", "'/a'", "/b", "/c"),
    ("output.title", "'a'", "b", "c"),
    ("output.note", "'a'", "b", "c"),
    ("output.dry_run", "true", "false", ""),
    ("output.json", "true", "false", ""),
    ("output.plain", "true", "false", ""),
    ("output.quiet", "true", "false", ""),
    ("output.yes", "true", "false", ""),
    ("output.publish", "'http://a'", "http://b", "http://c"),
    ("publishing.token_file", "'/a'", "/b", "/c"),
    ("publishing.keep_address", "true", "false", ""),
    ("publishing.site_cacert", "'/a'", "/b", "/c"),
    ("publishing.without_tls", "true", "false", ""),
    ("resume.resume", "'/a'", "/b", "/c"),
];
/// Options of `run` that need others, or whose values are tried elsewhere.
const ELSEWHERE: [&str; 3] = ["preset", "resume.redo", "resume.allow_changed"];

fn show(folder: &Path, file: &str, variables: &[(String, String)], args: &[String]) -> Ended {
    std::fs::write(folder.join("tokometer.toml"), file).unwrap();
    let mut command = tokometer();
    command.env_remove("TOKOMETER_CONFIG").current_dir(folder).envs(variables.iter().cloned());
    command.args(["config", "show", "run"]).args(args).output().unwrap().into()
}

/// Setting → value and source, as `config show` prints them.
fn shown(ended: &Ended) -> BTreeMap<String, (String, String)> {
    let mut section = String::new();
    let mut found = BTreeMap::new();
    for line in ended.stdout.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut section);
            continue;
        }
        let (left, source) = line.rsplit_once("# ").unwrap_or((line, ""));
        let Some((key, value)) = left.split_once(" = ") else {
            if let Some(key) = left.strip_prefix("# ").and_then(|left| left.split_once(" is not set")) {
                let path = if section.is_empty() { key.0.to_owned() } else { format!("{section}.{}", key.0) };
                found.insert(path, (String::new(), source.to_owned()));
            }
            continue;
        };
        let path = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        found.insert(path, (value.trim().to_owned(), source.to_owned()));
    }
    found
}

fn variable(path: &str) -> String {
    format!("TOKOMETER_{}", path.rsplit('.').next().unwrap().to_uppercase())
}

#[test]
fn every_option_of_run_comes_from_the_file_the_environment_and_the_line_in_rising_order() {
    let folder = tempfile::tempdir().unwrap();
    let plain = show(folder.path(), "", &[], &[]);
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let known = shown(&plain);
    for path in known.keys().filter(|path| !ELSEWHERE.contains(&path.as_str())) {
        assert!(RUN.iter().any(|(tried, ..)| tried == path), "{path} is not tried here");
    }
    for (path, file, environment, line) in RUN {
        let (section, key) = path.split_once('.').unwrap();
        let file = format!("[{section}]\n{key} = {file}\n");
        let of =
            |ended: &Ended| shown(ended).get(path).cloned().unwrap_or_else(|| panic!("{path}: {ended:?}"));
        let default = known[path].clone();
        assert!(default.1.starts_with("default · TOKOMETER_"), "{path}: {default:?}");

        let from_file = of(&show(folder.path(), &file, &[], &[]));
        assert!(from_file.1.starts_with("tokometer.toml:2"), "{path}: {from_file:?}");
        assert_ne!(from_file.0, default.0, "{path}");

        let variables = [(variable(path), environment.to_owned())];
        let from_environment = of(&show(folder.path(), &file, &variables, &[]));
        assert_eq!(from_environment.1, variable(path), "{path}");
        assert_ne!(from_environment.0, from_file.0, "{path}");

        let long = format!("--{}", key.replace('_', "-"));
        let args = match (key, line) {
            ("url", line) => vec![line.to_owned()],
            (_, "") => vec![long],
            (_, line) => vec![format!("{long}={line}")],
        };
        let from_line = of(&show(folder.path(), &file, &variables, &args));
        assert_eq!(from_line.1, format!("command line · {}", variable(path)), "{path}");
        assert_ne!(from_line.0, from_environment.0, "{path}");
    }
}

#[test]
fn what_the_file_switches_on_the_line_switches_off() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[method]\nadaptive = true\n";
    let ended = show(folder.path(), file, &[], &["--adaptive=false".to_owned()]);
    assert_eq!(shown(&ended)["method.adaptive"].0, "false", "{ended:?}");
    let out = folder.path().join("runs");
    let run = |args: &[&str]| -> Ended {
        let mut command = tokometer();
        command.env_remove("TOKOMETER_CONFIG").current_dir(folder.path());
        command.args(["demo", "--dry-run", "--quiet", "--out"]).arg(&out).args(args).output().unwrap().into()
    };
    assert_eq!(run(&[]).code, Some(0));
    let with = load(&only_run(&out));
    assert!(with.settings.adaptive);
    std::fs::remove_dir_all(&out).unwrap();
    assert_eq!(run(&["--adaptive=false"]).code, Some(0));
    assert!(!load(&only_run(&out)).settings.adaptive);
}

#[test]
fn a_preset_stands_right_below_what_is_named_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[method]\nduration = '60s'\n";
    let of = |ended: &Ended, path: &str| shown(ended)[path].clone();
    let preset = |name: &str| vec!["--preset".to_owned(), name.to_owned()];

    let ended = show(folder.path(), file, &[], &preset("quick"));
    assert_eq!(of(&ended, "method.duration").0, "\"10s\"", "above the file: {ended:?}");
    assert!(of(&ended, "method.duration").1.starts_with("preset quick, named by --preset"), "{ended:?}");
    let ended = show(folder.path(), &format!("preset = 'quick'\n{file}"), &[], &[]);
    assert_eq!(of(&ended, "method.duration").0, "\"60s\"", "below the file's own keys: {ended:?}");
    assert_eq!(of(&ended, "matrix.contexts").0, "\"8k,32k\"");
    let line = [preset("quick"), vec!["--duration".to_owned(), "3s".to_owned()]].concat();
    let ended = show(folder.path(), file, &[], &line);
    assert_eq!(of(&ended, "method.duration").0, "\"3s\"");
    let ended = show(folder.path(), file, &[("TOKOMETER_PRESET".to_owned(), "standart".to_owned())], &[]);
    ended.failed_with(2, &["standart", "TOKOMETER_PRESET", "did you mean standard"]);
    for name in ["quick", "standard", "compat"] {
        let args = [preset(name), vec!["--dry-run".to_owned()]].concat();
        assert_eq!(show(folder.path(), "", &[], &args).code, Some(0), "{name}");
    }
}

#[test]
fn the_nearest_file_from_here_upward_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(folder.path().join("tokometer.toml"), "[output]\nout = 'kept'\ntitle = 'ours'\n").unwrap();
    let mut command = tokometer();
    command.env_remove("TOKOMETER_CONFIG").current_dir(&below).args(["demo", "--dry-run", "--quiet"]);
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // A folder that the file names lies beside the file.
    assert_eq!(load(&only_run(&folder.path().join("kept"))).title.as_deref(), Some("ours"));

    std::fs::write(below.join("other.toml"), "[output]\nout = 'elsewhere'\n").unwrap();
    let mut command = tokometer();
    command.current_dir(&below).args(["demo", "--dry-run", "--quiet", "--config", "other.toml"]);
    assert_eq!(Ended::from(command.output().unwrap()).code, Some(0));
    assert_eq!(load(&only_run(&below.join("elsewhere"))).title, None);
}

#[test]
fn what_cannot_be_used_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (file, variables, words) in [
        ("[matrix]\ncontext = '8k'\n", vec![], ["tokometer.toml:2", "context", "did you mean contexts"]),
        ("[method]\nduration = 'soon'\n", vec![], ["tokometer.toml:2", "method.duration", "30s, 2m"]),
        ("[method]\nprompts = 'both'\n", vec![], ["tokometer.toml:2", "method.prompts", "shared"]),
        ("", vec![("TOKOMETER_DURATION", "soon")], ["TOKOMETER_DURATION", "soon", "30s, 2m"]),
        ("", vec![("TOKOMETER_ADAPTIVE", "perhaps")], ["TOKOMETER_ADAPTIVE", "perhaps", "true or false"]),
        (
            "[target]\nheader = 'Authorization: Bearer sk-aaaabbbbccccdddd'\n",
            vec![],
            ["tokometer.toml:2", "secret", "api_key_file"],
        ),
    ] {
        let variables: Vec<_> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let ended = show(folder.path(), file, &variables, &[]);
        ended.failed_with(2, &words);
        assert!(!ended.stderr.contains("sk-aaaa"), "{ended:?}");
    }
    // Of options that exclude each other the one from the higher place stays.
    let file = "[target]\napi_key_file = '/a'\n";
    let line = ["--api-key-env".to_owned(), "B".to_owned()];
    let found = shown(&show(folder.path(), file, &[], &line));
    assert_eq!(found["target.api_key_file"].0, "");
    assert_eq!(found["target.api_key_env"].0, "\"B\"");
}

#[test]
fn numbers_by_other_definitions_are_named_as_such() {
    let out = tempfile::tempdir().unwrap();
    let ended: Ended = {
        let mut command = tokometer();
        let line = ["demo", "--preset", "compat", "--contexts", "1k", "--prefill-contexts", "1k,2k"];
        command.args(line).args(["--concurrency", "1,2", "--duration", "2s", "--out"]).arg(out.path());
        command.output().unwrap().into()
    };
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    assert!(ended.stdout.contains("definitions of llm-inference-bench 0.6.2"), "{ended:?}");
    let folder = only_run(out.path());
    let run = load(&folder);
    assert_eq!(run.settings.max_output_tokens, 8192);
    assert!(run.remarks.iter().any(|remark| remark.contains("preset compat")), "{:?}", run.remarks);
    let mut report = tokometer();
    let again = Ended::from(report.args(["report", "--format", "compat"]).arg(&folder).output().unwrap());
    assert!(ended.stdout.ends_with(&again.stdout), "{again:?}");
    for (context, method) in [("1K", "integrated_scout (N = 1)"), ("2K", "scout_only (N = 1)")] {
        let line =
            again.stdout.lines().find(|line| line.ends_with(method)).unwrap_or_else(|| panic!("{again:?}"));
        assert!(line.starts_with(context), "{line}");
    }
    // The same tokens over nearly the same time.
    let cell = run.cells.iter().find(|cell| cell.phase == Phase::Decode && cell.concurrency == 1).unwrap();
    let row: Vec<&str> = again
        .stdout
        .lines()
        .find(|line| line.starts_with("1K          1"))
        .unwrap()
        .split_whitespace()
        .collect();
    let total: f64 = row[2].parse().unwrap();
    let ours = cell.throughput.as_ref().unwrap().total;
    assert!(total >= ours * 0.999 && total < ours * 1.05, "{total} and {ours}");
    assert_eq!(row[9].parse::<u64>().ok(), cell.tokens.out, "{row:?}");
}
