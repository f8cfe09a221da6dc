//! Secrets in commands, variables, documents and text: vectors, what must survive, and a search for leaks.

use proptest::prelude::*;
use serde_json::json;
use tokometer_wire::redact::{self, REDACTED};

/// What every vector plants.
const SECRET: &str = "Zx9Planted7secretQ";

fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.replace('§', SECRET)).collect()
}

/// Commands with a secret at each `§`.
const COMMANDS: &[&[&str]] = &[
    &["vllm", "serve", "org/m", "--api-key", "§"],
    &["vllm", "serve", "org/m", "--api-key=§"],
    &["vllm", "serve", "org/m", "--api_key", "§"],
    &["vllm", "serve", "org/m", "--api-key", "a§", "b§", "c§", "--port", "8000"],
    &["vllm", "serve", "org/m", "--API-KEY", "§"],
    &["vllm", "serve", "org/m", "--api-key", "-§"],
    &["VLLM_API_KEY=§", "vllm", "serve", "org/m"],
    &["env", "HF_TOKEN=§", "vllm", "serve", "org/m"],
    &["vllm", "serve", "org/m", "--hf-token", "§"],
    &["vllm", "serve", "org/m", "--hf-token=§"],
    &["llama-server", "-hft", "§", "-m", "q.gguf"],
    &["llama-server", "--api-key-file", "/run/§/key.txt"],
    &["llama-server", "--api-key-file=/run/§/key.txt"],
    &["vllm", "serve", "m", "--ssl-keyfile", "/etc/§/server.key"],
    &["vllm", "serve", "m", "--ssl-certfile=/etc/§/server.pem"],
    &["vllm", "serve", "m", "--ssl-ca-certs", "/etc/§/ca.pem"],
    &["vllm", "serve", "m", "--config", "/home/§/vllm.yaml"],
    &["docker", "run", "--env-file", "/srv/§/env", "vllm/vllm-openai"],
    &["python", "-m", "sglang.launch_server", "--admin-api-key", "§"],
    &["python", "-m", "sglang.launch_server", "--ssl-keyfile-password", "§"],
    &["python", "-m", "sglang.launch_server", "--watermark-config", "{\"k\": \"§\"}"],
    &["python", "-m", "sglang.launch_server", "--watermark-key=§"],
    &["litellm", "--master-key", "§"],
    &["litellm", "--master_key=§"],
    &["tool", "--token", "§"],
    &["tool", "--auth-token=§"],
    &["tool", "--password", "§"],
    &["tool", "--db-password=§"],
    &["tool", "--my-secret", "§"],
    &["tool", "--clientSecret", "§"],
    &["tool", "--s3-access-key-id", "§", "--s3-secret-access-key", "§"],
    &["tool", "--session-cookie=§"],
    &["tool", "--credential", "§"],
    &["tool", "--private-key", "§"],
    &["tool", "--webhook-url", "https://hooks.example.org/§"],
    &["tool", "--sentry-dsn=https://§@sentry.example.org/1"],
    &["tool", "--salt", "§"],
    &["tool", "--otlp-headers", "x-tenant=§"],
    &["curl", "-H", "Authorization: Bearer §", "http://h"],
    &["curl", "--header", "X-Anything: §", "http://h"],
    &["curl", "--header=Cookie: a=§"],
    &["vllm", "serve", "m", "--middleware", "auth.Key:§"],
    &["vllm", "serve", "m", "--model-loader-extra-config", "{\"s3\": {\"secret_access_key\": \"§\"}}"],
    &[
        "vllm",
        "serve",
        "m",
        "--kv-transfer-config",
        "{\"kv_connector\": \"X\", \"extra\": {\"token\": \"§\"}}",
    ],
    &["vllm", "serve", "m", "--kv-transfer-config", "redis: §"],
    &["vllm", "serve", "m", "--speculative-config", "{\"model\": \"d\", \"hf_token\": \"§\"}"],
    &["vllm", "serve", "m", "--hf-overrides={\"auth\": {\"user\": \"u\", \"pass\": \"§\"}}"],
    &["vllm", "serve", "m", "--lora-modules", "a=https://u:§@h/a", "b=/x"],
    &["vllm", "serve", "s3://§@bucket/m"],
    &["vllm", "serve", "https://user:§@host/m"],
    &["vllm", "serve", "https://user:p/§@host/m"],
    &["vllm", "serve", "https://host/m?X-Amz-Signature=§&X-Amz-Date=1"],
    &["vllm", "serve", "https://host/m?a=1&token=§#x"],
    &["vllm", "serve", "https://host/m?sig=§"],
    &["tool", "redis://:§@h:6379/0"],
    &["tool", "--endpoint=postgres://u:§@h/db"],
    &["docker", "run", "-e", "HF_TOKEN=§", "-e", "X=1", "vllm/vllm-openai", "--model", "m"],
    &["docker", "run", "--env=OPENAI_API_KEY=§", "image"],
    &["bash", "-c", "vllm serve org/m --api-key §"],
    &["/bin/sh", "-c", "exec env VLLM_API_KEY=§ vllm serve org/m"],
    &["bash", "-lc", "export HF_TOKEN='§'; vllm serve org/m"],
    &["bash", "-c", "echo 'not closed §"],
    &["AWS_SECRET_ACCESS_KEY=§", "AWS_SESSION_TOKEN=§", "vllm", "serve", "m"],
    &["AZURE_STORAGE=§", "SLACK_HOOK=§", "tool"],
    &["DATABASE_URL=§", "tool"],
    &["tool", "--anything", "sk-§"],
    &["tool", "--anything=sk-ant-api03-§-§"],
    &["tool", "hf_§"],
    &["tool", "--x", "nvapi-§"],
    &["tool", "ghp_§", "github_pat_§", "glpat-§", "xoxb-§"],
    &["tool", "--x", "AKIA§", "--y", "AIza§"],
    &["tool", "--x", "eyJhbGciOiJI.eyJzdWIiOiIx§.§"],
    &["tool", "--x", "Bearer §"],
    &["tool", "--x", "Basic §=="],
    &["tool", "--x", "-----BEGIN PRIVATE KEY-----\n§\n-----END PRIVATE KEY-----\n"],
    &["tool", "--unknown-flag", "§0123456789abcdef0123456789"],
    &["tool", "[{\"name\": \"a\", \"api_key\": \"§\"}]"],
    &["tool", "{\"headers\": {\"Authorization\": \"§\"}}"],
];

#[test]
fn no_vector_leaks() {
    assert!(COMMANDS.len() >= 60, "{}", COMMANDS.len());
    for words in COMMANDS {
        let given = arguments(words);
        let shown = redact::command(&given);
        let text = shown.arguments.join(" ");
        assert!(!text.contains(SECRET), "{given:?} → {text}");
        assert_eq!(shown.arguments.len(), given.len(), "{given:?} → {text}");
        // Redacting twice changes nothing more.
        assert_eq!(redact::command(&shown.arguments).arguments, shown.arguments, "{given:?}");
        // The rendered line, as another engine tells it or a user states it.
        let quoted: Vec<String> = given.iter().map(|word| format!("'{word}'")).collect();
        if !given.iter().any(|word| word.contains('\'')) {
            let line = redact::line(&quoted.join(" "));
            assert!(!line.contains(SECRET), "{line}");
        }
        // What was removed is known, so that a log of the same server can be cleaned of it.
        if !given.iter().any(|word| {
            word.contains("/run/")
                || word.contains("/etc/")
                || word.contains("/home/")
                || word.contains("/srv/")
        }) {
            let log = format!("args: Namespace(a={SECRET})");
            let cleaned = redact::values(&log, &shown.secrets);
            let exact = shown.secrets.iter().any(|secret| secret == SECRET);
            assert!(!exact || !cleaned.contains(SECRET), "{given:?} → {cleaned}");
        }
    }
}

#[test]
fn what_is_no_secret_survives() {
    for words in [
        &["vllm", "serve", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "--max-num-batched-tokens", "8192"][..],
        &["vllm", "serve", "m", "--tokenizer-mode", "auto", "--tokenizer", "org/t", "--max-model-len=262144"],
        &["vllm", "serve", "m", "--kv-cache-dtype", "fp8", "--enable-prefix-caching", "--port", "8000"],
        &["vllm", "serve", "m", "--revision", "0123456789abcdef0123456789abcdef01234567"],
        &[
            "vllm",
            "serve",
            "m",
            "--speculative-config",
            "{\"method\": \"mtp\", \"num_speculative_tokens\": 1}",
        ],
        &["vllm", "serve", "m", "--compilation-config={\"cudagraph_mode\": \"FULL\"}"],
        &[
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "org/m",
            "--tp",
            "4",
            "--mem-fraction-static",
            "0.9",
        ],
        &[
            "llama-server",
            "-m",
            "/models/Q4_K_M-00001-of-00002.gguf",
            "-c",
            "262144",
            "-ngl",
            "99",
            "-fa",
            "on",
        ],
        &["/opt/venv/bin/python3.12", "/opt/venv/bin/vllm", "serve", "m", "--served-model-name", "a", "b"],
        &[
            "trtllm-serve",
            "m",
            "--kv_cache_free_gpu_memory_fraction",
            "0.9",
            "--extra_llm_api_options",
            "x.yaml",
        ],
        &["lmdeploy", "serve", "api_server", "m", "--session-len", "32768"],
        &["CUDA_VISIBLE_DEVICES=0,1", "NCCL_P2P_LEVEL=NVL", "vllm", "serve", "m", "--seed", "0"],
        &["tool", "/models/hub/models--a--b/snapshots/0123456789abcdef0123456789abcdef01234567"],
        &["tool", "http://host:8000/v1?stream=true", "--host", "0.0.0.0"],
    ] {
        let given = arguments(words);
        let shown = redact::command(&given);
        assert_eq!(shown.arguments, given);
        assert_eq!(shown.secrets, Vec::<String>::new());
    }
}

#[test]
fn what_is_secret_in_one_place_is_so_in_all() {
    let given =
        arguments(&["sh", "-c", "echo with § and a-§; exec serve --api-key § --port 1", "§", "--name=x§"]);
    let shown = redact::command(&given);
    assert!(!shown.arguments.join(" ").contains(SECRET), "{:?}", shown.arguments);
    let line = format!("serve --x '{{\"token\": \"{SECRET}\"}}'; echo ready");
    assert_eq!(redact::line(&line), "serve --x '{\"token\":\"<redacted>\"}' ; echo ready");
    let given = arguments(&["serve", "--api-key", "§;", "echo", "ready"]);
    let shown = redact::command(&given);
    assert_eq!(shown.arguments[3..], ["echo", "ready"]);
    assert_eq!(redact::values(&format!("key {SECRET}."), &shown.secrets), format!("key {REDACTED}."));
    // A short one may be the name of something else.
    let given = arguments(&["vllm", "serve", "m", "--api-key", "vllm"]);
    assert_eq!(redact::command(&given).arguments, ["vllm", "serve", "m", "--api-key", REDACTED]);
}

#[test]
fn variables_that_are_secret_are_known_by_their_names() {
    let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let variables = [
        of("VLLM_API_KEY", SECRET),
        of("HOME", "/home/somebody"),
        of("HF_TOKEN", "short"),
        of("TOKENIZERS_PARALLELISM", "a-long-value"),
    ];
    assert_eq!(redact::secrets_of(variables), [SECRET]);
}

#[test]
fn home_folders_lose_their_owner() {
    let given = arguments(&[
        "/home/ann/venv/bin/vllm",
        "serve",
        "/root/models/m",
        "--x=/Users/bob/y",
        "/data/home/ann/z",
    ]);
    let shown = redact::command(&given).arguments;
    assert_eq!(shown, ["~/venv/bin/vllm", "serve", "~/models/m", "--x=~/y", "/data/home/ann/z"]);
}

#[test]
fn documents_keep_their_shape() {
    let given = json!({
        "model_path": "org/m", "api_key": SECRET, "max_total_tokens": 1_000_000, "nested": [{"password": SECRET}],
        "env": {"HF_TOKEN": SECRET, "OMP_NUM_THREADS": "8"}, "launch_command": format!("x --api-key {SECRET}"),
        "auth": {"deep": SECRET, "n": 12_345_678_901_u64}, "token": 12_345_678_901_u64, "url": format!("https://a:{SECRET}@h/"),
    });
    let shown = redact::json(given);
    assert!(!shown.to_string().contains(SECRET), "{shown}");
    assert_eq!((&shown["model_path"], &shown["max_total_tokens"]), (&json!("org/m"), &json!(1_000_000)));
    assert_eq!(shown["env"]["OMP_NUM_THREADS"], "8");
    assert_eq!(shown["nested"][0]["password"], REDACTED);
    assert_eq!((&shown["token"], &shown["auth"]["n"]), (&json!(REDACTED), &json!(REDACTED)));
}

/// Lines of logs and messages with a secret at each `§`.
const LINES: &[&str] = &[
    "non-default args: {'api_key': ['§', 'b'], 'port': 8000}",
    "Namespace(api_key='§', host='0.0.0.0', hf_token=None)",
    "INFO started with --api-key § --port 8000",
    "INFO started with --api-key=§",
    "Authorization: Bearer §",
    "authorization=Basic §",
    "curl failed: Bearer §1234",
    "{\"error\": \"bad key\", \"api_key\": \"§\"}",
    "{\"error\": \"bad\", \"password\":\"a \\\" §\"}",
    "export HF_TOKEN=§",
    "HF_TOKEN: '§'",
    "cannot reach redis://:§@h:6379/0, giving up",
    "GET https://h/x?X-Amz-Signature=§ 403",
    "key sk-§ was refused",
    "pulling with hf_§...",
    "token eyJhbGciOiJI.eyJzdWIi§.§ expired",
    "-----BEGIN RSA PRIVATE KEY-----\n§\n",
    "AWS_SECRET_ACCESS_KEY = \"§\"",
    "x-api-key: §",
    "dbPassword=§;timeout=5",
];

#[test]
fn no_line_leaks() {
    for line in LINES {
        let given = line.replace('§', SECRET);
        let shown = redact::text(&given);
        assert!(!shown.contains(SECRET), "{given} → {shown}");
        assert!(shown.contains(REDACTED));
        assert_eq!(redact::text(&shown), shown, "twice: {given}");
    }
    for line in [
        "INFO 12:00:01 [core.py:58] Initializing a V1 LLM engine (v0.23.1) with config: model='org/m', max_seq_len=32768",
        "Maximum concurrency for 32,768 tokens per request: 12.5x",
        "GPU KV cache size: 409,600 tokens",
        "loading safetensors: 100% completed | 4/4 [00:10<00:00, 2.6s/it]",
        "Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
        "tokenizer_mode=auto, tokenizer_revision=None, enable_prefix_caching=True",
        "srv  update_slots: all slots are idle, n_tokens = 512",
    ] {
        assert_eq!(redact::text(line), line);
    }
}

#[test]
fn lines_are_split_as_a_shell_splits_them() {
    let words = |line: &str| redact::words(line);
    let of = |list: &[&str]| Some(list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(words("a  'b c' \"d \\\" e\" f\\ g"), of(&["a", "b c", "d \" e", "f g"]));
    assert_eq!(words("a \\\n  b ''"), of(&["a", "b", ""]));
    assert_eq!(words("a 'b"), None);
    assert_eq!(words("a b; c ';' d\\;"), of(&["a", "b", ";", "c", ";", "d;"]));
    assert_eq!(redact::line("vllm serve m --port 1"), "vllm serve m --port 1");
    assert_eq!(redact::line("vllm serve 'a b' --api-key x1y2"), "vllm serve 'a b' --api-key <redacted>");
}

proptest! {
    /// A secret is planted in any of many places among ordinary words: it never comes out.
    #[test]
    fn a_planted_secret_never_appears(
        secret in "[A-Za-z][A-Za-z0-9_.+-]{9,40}[0-9A-Za-z]",
        name in prop::sample::select(vec![
            "api-key", "api_key", "hf-token", "token", "password", "client-secret", "auth-token", "master-key",
            "private-key", "webhook", "credential", "db-password", "ssl-keyfile-password", "VLLM_API_KEY", "HF_TOKEN",
            "AWS_SECRET_ACCESS_KEY", "LITELLM_MASTER_KEY", "apiKey", "accessToken", "X_API_TOKEN",
        ]),
        form in 0..9_usize,
        before in prop::collection::vec("[a-z]{1,8}|--[a-z]{2,9}=[0-9]{1,4}|--[a-z]{2,9}|/[a-z/]{1,20}", 0..6),
        after in prop::collection::vec("[a-z]{1,8}|--[a-z]{2,9}=[0-9]{1,4}|--[a-z]{2,9}|\\{\"a\": 1\\}", 0..6),
    ) {
        prop_assume!(!["true", "false"].contains(&secret.as_str()));
        let planted: Vec<String> = match form {
            0 => vec![format!("--{name}"), secret.clone()],
            1 => vec![format!("--{name}={secret}")],
            2 => vec![format!("{}={secret}", name.replace('-', "_"))],
            3 => vec!["-e".to_owned(), format!("{}={secret}", name.replace('-', "_"))],
            4 => vec!["--any".to_owned(), format!("{{\"x\": [{{\"{name}\": \"{secret}\"}}]}}")],
            5 => vec![format!("https://user:{secret}@host/path")],
            6 => vec![format!("https://host/path?a=1&{name}={secret}&b=2")],
            7 => vec!["bash".to_owned(), "-c".to_owned(), format!("serve --{name} '{secret}' --port 1")],
            _ => vec!["-H".to_owned(), format!("X-Thing: {secret}")],
        };
        let given: Vec<String> = before.iter().chain(&planted).chain(&after).cloned().collect();
        // A secret that is one of the ordinary words is none.
        prop_assume!(!before.iter().chain(&after).any(|word| word.contains(secret.as_str())) && !name.contains(secret.as_str()));
        let shown = redact::command(&given);
        prop_assert!(!shown.arguments.join("\0").contains(&secret), "{given:?} → {:?}", shown.arguments);
        let line = given.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
        prop_assert!(!redact::line(&line).contains(&secret), "{line}");
        // And a log of the same server, in which it stands bare.
        let log = format!("started; {secret}; done");
        prop_assert!(!redact::values(&log, &shown.secrets).contains(&secret), "{:?}", shown.secrets);
    }

    /// Any text goes through, whatever is in it.
    #[test]
    fn any_text_is_taken(text in "\\PC{0,200}") {
        redact::text(&text);
        redact::line(&text);
        redact::variable("x", &text);
    }
}
