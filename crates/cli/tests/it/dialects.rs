//! `tokometer probe` and `tokometer run` on the simulated engine when it answers like others: that side was
//! written from what the engines do, not from this client.

use serde_json::Value;
use tokometer_record::Phase;
use tokometer_sim::{Dialect, Profile, Running, Server, ServerOptions};

use crate::support::{SMALL, call, load, only_run};

fn server(dialect: Dialect) -> Running {
    let options = ServerOptions { dialect, ..ServerOptions::default() };
    Server::start(Profile::builtin("h200-x4").unwrap(), options).unwrap()
}

/// What `probe --json` must say of a dialect.
struct Expected {
    dialect: Dialect,
    engine: &'static str,
    max_length: Option<u64>,
    kv_tokens: Option<u64>,
    gauges: Option<&'static str>,
    usage: &'static str,
    cached: &'static str,
    unknown_fields: &'static str,
}

const LENGTH: Option<u64> = Some(262_144);
const KV: Option<u64> = Some(3_145_728);

#[rustfmt::skip]
const EXPECTED: [Expected; 8] = [
    Expected { dialect: Dialect::Native, engine: "tokometer-sim", max_length: LENGTH, kv_tokens: KV,
        gauges: Some("/metrics"), usage: "continuous", cached: "some", unknown_fields: "ignored" },
    Expected { dialect: Dialect::Vllm, engine: "vllm", max_length: LENGTH, kv_tokens: KV,
        gauges: Some("/metrics"), usage: "continuous", cached: "untold", unknown_fields: "ignored" },
    Expected { dialect: Dialect::VllmRust, engine: "vllm", max_length: LENGTH, kv_tokens: KV,
        gauges: Some("/metrics"), usage: "continuous", cached: "untold", unknown_fields: "ignored" },
    Expected { dialect: Dialect::Sglang, engine: "sglang", max_length: LENGTH, kv_tokens: KV,
        gauges: Some("/metrics"), usage: "continuous", cached: "untold", unknown_fields: "ignored" },
    Expected { dialect: Dialect::LlamaCpp, engine: "llama.cpp", max_length: LENGTH, kv_tokens: KV,
        gauges: Some("/metrics"), usage: "final", cached: "some", unknown_fields: "ignored" },
    Expected { dialect: Dialect::TensorRtLlm, engine: "tensorrt-llm", max_length: None, kv_tokens: KV,
        gauges: Some("/prometheus/metrics"), usage: "continuous", cached: "some", unknown_fields: "rejected" },
    Expected { dialect: Dialect::Tgi, engine: "tgi", max_length: LENGTH, kv_tokens: None,
        gauges: Some("/metrics"), usage: "final", cached: "untold", unknown_fields: "ignored" },
    Expected { dialect: Dialect::Ollama, engine: "ollama", max_length: LENGTH, kv_tokens: None,
        gauges: None, usage: "final", cached: "untold", unknown_fields: "ignored" },
];

#[test]
fn probe_names_each_engine_its_facts_and_how_it_streams() {
    assert_eq!(EXPECTED.len(), Dialect::ALL.len(), "every dialect is expected to be something");
    for expected in EXPECTED {
        let server = server(expected.dialect);
        let ended = call(["probe", &format!("http://{}", server.addr()), "--json"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let document = ended.json();
        let name = expected.dialect.name();
        let is = |pointer: &str, value: Value| {
            assert_eq!(document.pointer(pointer), Some(&value), "{name} {pointer}: {document:#}");
        };
        is("/engine/name", expected.engine.into());
        is("/model/max_length", expected.max_length.into());
        is("/capacity/kv_tokens", expected.kv_tokens.into());
        assert_eq!(document.pointer("/use/metrics/path").and_then(Value::as_str), expected.gauges, "{name}");
        is("/simulated", true.into());
        is("/conformance/unknown_fields/found", expected.unknown_fields.into());
        for route in document["conformance"]["routes"].as_array().unwrap() {
            assert_eq!(route["problem"], Value::Null, "{name}: {route:#}");
            assert_eq!(route["usage"]["found"], expected.usage, "{name}: {route:#}");
            assert_eq!(route["cached_tokens"]["found"], expected.cached, "{name}: {route:#}");
            assert_eq!(route["exact_length"]["found"], "exact", "{name}: {route:#}");
            assert_eq!(route["reading"]["outcome"], "ended", "{name}: {route:#}");
        }
        for fact in document["evidence"].as_array().unwrap() {
            assert!(fact["source"].as_str().is_some_and(|source| !source.is_empty()), "{name}: {fact}");
        }
    }
}

#[test]
fn probe_without_requests_sends_none() {
    let server = server(Dialect::Sglang);
    let ended = call(["probe", &format!("http://{}", server.addr()), "--no-requests"]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("sglang") && !ended.stdout.contains("conformance ("), "{}", ended.stdout);
}

#[test]
fn each_dialect_is_measured_to_the_token() {
    let measured = [Dialect::Vllm, Dialect::VllmRust, Dialect::Sglang, Dialect::LlamaCpp];
    let threads = measured.map(|dialect| {
        std::thread::spawn(move || {
            let server = server(dialect);
            let out = tempfile::tempdir().unwrap();
            let url = format!("http://{}", server.addr());
            let folder = out.path().to_str().unwrap();
            let args = ["run", &url, "--at-end", "finish", "--max-output", "300", "--yes", "--quiet"];
            let ended = call(args.into_iter().chain(SMALL).chain(["--out", folder]));
            assert!(matches!(ended.code, Some(0 | 3)), "{} {ended:?}", dialect.name());
            let run = load(&only_run(out.path()));
            let cells: Vec<_> = run.cells.iter().filter(|cell| cell.phase == Phase::Decode).collect();
            assert_eq!(cells.len(), 2);
            for cell in cells {
                let what = format!("{} × {}: {:?}", dialect.name(), cell.concurrency, cell.reason);
                assert_eq!(cell.requests.failed, Some(0), "{what}");
                assert!(cell.tokens.server.is_some_and(|tokens| tokens >= 300), "{what}");
                assert_eq!(cell.tokens.server, cell.tokens.client, "{what}");
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
}
