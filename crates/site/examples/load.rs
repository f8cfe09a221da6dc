//! A site under load: so many runs, readers that ask for lists, counts and runs, and writers that publish.
//!
//! `cargo run --release -p tokometer-site --example load -- [RUNS] [SECONDS]` (10,000 and 20 by default) prints for each
//! kind of request how many there were, the median, the 99th percentile, and what went wrong. The folder is a temporary
//! one; set TMPDIR to choose its disk.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it measures and prints, and ends where it can't"
)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tokometer_record::store::sha256;
use tokometer_site::domain::{
    CellRow, Evidence, EvidenceLevel, Headline, NewRun, Publication, RunRow, Shelf,
};
use tokometer_site::store::Store;
use tokometer_site::{Config, Limits, Rate, Server};
use uuid::Uuid;

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/it/client.rs"]
mod client;
#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/it/sample.rs"]
mod sample;

use client::Call;
use sample::{Plan, Sample};

const READERS: usize = 64;
const WRITERS: usize = 8;
/// Requests alone, for the time of an index without anybody else.
const ALONE: usize = 20;

/// Times of one kind of request, seconds, and the statuses that were no success.
#[derive(Default)]
struct Times {
    seconds: Vec<f64>,
    wrong: BTreeMap<String, u64>,
}

type Book = Arc<Mutex<BTreeMap<&'static str, Times>>>;

fn main() {
    let argument = |place: usize, default: usize| {
        std::env::args().nth(place).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (runs, seconds) = (argument(1, 10_000), argument(2, 20));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(load(runs, Duration::from_secs(seconds as u64)));
}

async fn load(runs: usize, time: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let unlimited = Rate { burst: 1e9, per_second: 1e9 };
    let limits = Limits { reads: unlimited, uploads: unlimited, ..Limits::default() };
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        data: folder.path().to_owned(),
        base_url: None,
        behind_proxy: false,
        sign_in: None,
        require_sign_in: false,
        limits,
    };
    let (server, _) = tokometer_site::start(config.clone()).await.expect("a site");
    let admin = std::fs::read_to_string(config.admin_token()).expect("a token").trim().to_owned();
    let begin = Instant::now();
    let ids = fill(&config, runs).await;
    println!("{runs} runs stored in {:.1} s", begin.elapsed().as_secs_f64());
    let address = Server::address(&server);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async { drop(ended.await) }));

    let book = Book::default();
    for path in QUESTIONS {
        for _ in 0..ALONE {
            ask(&book, "alone", address, Call::get(path)).await;
        }
        let times = book.lock().expect("the book").remove("alone").expect("times");
        println!("{path}: alone, {}", words(&times));
    }

    let stop = Arc::new(AtomicBool::new(false));
    let ids = Arc::new(ids);
    let mut tasks = Vec::new();
    for number in 0..READERS {
        tasks.push(tokio::spawn(read(
            Arc::clone(&book),
            address,
            Arc::clone(&ids),
            Arc::clone(&stop),
            number,
        )));
    }
    for _ in 0..WRITERS {
        tasks.push(tokio::spawn(write(Arc::clone(&book), address, admin.clone(), Arc::clone(&stop))));
    }
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("a task");
    }
    println!("{READERS} readers and {WRITERS} writers for {} s:", time.as_secs());
    for (kind, times) in book.lock().expect("the book").iter() {
        println!("{kind:>9}: {}", words(times));
    }
    drop(end);
    serving.await.expect("the server");
}

/// What readers ask of lists.
const QUESTIONS: [&str; 7] = [
    "/",
    "/api/v1/runs",
    "/api/v1/facets",
    "/api/v1/runs?model=example%2FModel-7&goal=peak",
    "/api/v1/facets?model=example%2FModel-7&accelerators=4",
    "/api/v1/runs?context=32768&evidence=T2&goal=users",
    "/api/v1/runs?text=h200",
];

async fn read(book: Book, address: SocketAddr, ids: Arc<Vec<String>>, stop: Arc<AtomicBool>, number: usize) {
    let mut turn = number;
    while !stop.load(Ordering::Relaxed) {
        turn += 1;
        let (kind, path) = match turn % 4 {
            0 | 1 => ("list", QUESTIONS[turn % QUESTIONS.len()].to_owned()),
            2 => ("run", format!("/api/v1/runs/{}", ids[turn * 7919 % ids.len()])),
            _ => ("cells", format!("/api/v1/runs/{}/cells", ids[turn * 104_729 % ids.len()])),
        };
        ask(&book, kind, address, Call::get(&path)).await;
    }
}

async fn write(book: Book, address: SocketAddr, admin: String, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let sample: Sample = Plan::default().make();
        for (_, bytes) in &sample.files {
            let path = format!("/api/v1/artefacts/{}", sha256(bytes));
            let call = Call::new(http::Method::PUT, &path).token(&admin).body(bytes.clone());
            ask(&book, "file", address, call).await;
        }
        ask(&book, "publish", address, Call::post("/api/v1/runs").token(&admin).body(sample.document()))
            .await;
    }
}

async fn ask(book: &Book, kind: &'static str, address: SocketAddr, call: Call) {
    let begin = Instant::now();
    let answer = call.try_send(address).await;
    let seconds = begin.elapsed().as_secs_f64();
    let mut book = book.lock().expect("the book");
    let times = book.entry(kind).or_default();
    match answer {
        Ok(answer) if answer.status.is_success() => times.seconds.push(seconds),
        Ok(answer) => *times.wrong.entry(answer.status.to_string()).or_default() += 1,
        Err(error) => *times.wrong.entry(error).or_default() += 1,
    }
}

fn words(times: &Times) -> String {
    let mut sorted = times.seconds.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted.get(((sorted.len().max(1) - 1) as f64 * share).round() as usize).copied();
    let ms =
        |seconds: Option<f64>| seconds.map_or("-".to_owned(), |seconds| format!("{:.1} ms", seconds * 1e3));
    let wrong: u64 = times.wrong.values().sum();
    format!(
        "n {}, median {}, p99 {}, largest {}, errors {wrong} {:?}",
        sorted.len(),
        ms(at(0.5)),
        ms(at(0.99)),
        ms(sorted.last().copied()),
        times.wrong
    )
}

/// Stores runs of many set-ups, two of each; their ids.
async fn fill(config: &Config, runs: usize) -> Vec<String> {
    let store = Store::sqlite(&config.database()).await.expect("a store");
    let user = store.user("admin").await.expect("users").expect("the admin");
    let mut sample = Sample::new();
    let mut ids = Vec::with_capacity(runs);
    for number in 0..runs {
        sample.run.id = Uuid::now_v7().to_string();
        let row = row(&sample.run.id, number);
        ids.push(row.id.clone());
        let new = NewRun {
            user_id: user.id.clone(),
            cells: cells(number),
            document: serde_json::to_vec(&sample.run).expect("JSON"),
            verification: verification(&sample.run.id),
            artefacts: Vec::new(),
            prints: Vec::new(),
            idempotency: None,
            log: Vec::new(),
            row,
        };
        assert_eq!(store.publish(new).await.expect("published"), Publication::Created);
    }
    store.close().await;
    ids
}

fn verification(id: &str) -> Vec<u8> {
    let text = serde_json::json!({"schema": "tokometer.verification/1", "run": id, "title": "", "passed": true,
        "findings": [], "cells": [], "not_checked": []});
    text.to_string().into_bytes()
}

fn row(id: &str, number: usize) -> RunRow {
    let setup = number / 2;
    let spread = (setup * 7919 % 10_007) as f64;
    let headline = |value: f64| Some(Headline { value, low: Some(value * 0.99), high: Some(value * 1.01) });
    let of = |names: &[&str]| names[setup % names.len()].to_owned();
    RunRow {
        id: id.to_owned(),
        submitter: "admin".to_owned(),
        revision: 1,
        shelf: Shelf::Ranked,
        measured_at: Some(1_760_000_000_000),
        published_at: 1_760_000_000_000 + number as i64 * 60_000,
        revised_at: 1_760_000_000_000 + number as i64 * 60_000,
        withdrawn_reason: None,
        title: format!("example/Model-{}", setup % 40),
        model: format!("example/Model-{}", setup % 40),
        hardware: of(&["H200 SXM", "H100 SXM", "RTX PRO 6000 Blackwell", "B200", "MI300X", "RTX 5090"]),
        accelerators: Some([1, 2, 4, 8][setup / 7 % 4]),
        engine: of(&["vllm", "sglang", "tensorrt-llm", "llama.cpp", "tgi"]),
        engine_version: format!("0.{}.{}", setup / 3 % 9, setup % 3),
        quantization: of(&["BF16", "FP8", "Q4_K_M", "NVFP4"]),
        speculative: of(&["off", "mtp 1", "eagle 3"]),
        contexts: [8192, 16_384, 32_768, 65_536, 131_072][..=setup % 5].to_vec(),
        method: "tokometer 1.0".to_owned(),
        evidence: Evidence {
            level: EvidenceLevel::CountersAgree,
            reasons: vec!["made up for load".to_owned()],
        },
        group_hash: sha256(format!("group {setup}").as_bytes()),
        series_hash: sha256(format!("series {}", setup % 5000).as_bytes()),
        content_sha256: sha256(id.as_bytes()),
        one_user: headline(10.0 + spread / 50.0),
        peak: headline(100.0 + spread),
        peak_per_accelerator: Some(100.0 + spread / 4.0),
        prefill: Some(1000.0 + spread * 3.0),
        users_at_limits: Some((setup % 129) as u32),
        joules_per_token: setup.is_multiple_of(3).then_some(0.5 + spread / 5000.0),
        valid_cells: 40,
        all_cells: 48,
        is_lead: true,
        replicates: 1,
        submitters: 1,
        spread: BTreeMap::new(),
    }
}

fn cells(number: usize) -> Vec<CellRow> {
    let cell = |context: u64, concurrency: u32| {
        let value = 50.0 * f64::from(concurrency) + number as f64 / 1000.0;
        CellRow {
            name: format!("decode-{context}-{concurrency}"),
            phase: "decode",
            context,
            concurrency,
            status: "valid",
            total: Some(Headline { value, low: Some(value * 0.99), high: Some(value * 1.01) }),
            prefill_rate: None,
            ttft_p50: Some(100.0),
            per_request_p50: Some(50.0),
            joules_per_token: None,
            acceptance_length: None,
        }
    };
    let contexts = [8192, 32_768].into_iter();
    contexts.flat_map(|context| [1, 4, 16, 64].map(|concurrency| cell(context, concurrency))).collect()
}
