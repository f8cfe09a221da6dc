//! What somebody with a token, or without, may try.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokometer_record::trace::parquet;
use tokometer_site::domain::Role;
use uuid::Uuid;

use crate::client::Call;
use crate::sample::{Plan, Sample};
use crate::site::Site;

/// What a script or a shell would run, a page would take as its own, and a database as a command.
const HOSTILE: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'; DROP TABLE runs; --",
    "x' OR '1'='1",
    "{{7*7}}${7*7}<%= 7*7 %>",
];

#[tokio::test]
async fn a_forged_record_is_refused() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    let forge = async |change: &dyn Fn(&mut tokometer_record::Run)| {
        let mut forged = sample.clone();
        change(&mut forged.run);
        site.post(&site.admin, forged.document()).await.refused(422, "record_differs")
    };
    let body = forge(&|run| run.cells[1].throughput.as_mut().unwrap().total = 1.77e16).await;
    let named = body["findings"].to_string();
    assert!(named.contains("decode-8192-1") && named.contains("throughput.total"), "{named}");
    forge(&|run| run.cells[1].throughput.as_mut().unwrap().total *= 1.006).await;
    forge(&|run| run.cells[2].ttft_ms.as_mut().unwrap().p50 = Some(1.0)).await;
    forge(&|run| run.cells[2].status = tokometer_record::Status::Unstable).await;
    forge(&|run| run.cells[2].flags.push(flag())).await;
    forge(&|run| drop(run.cells.pop())).await;
    forge(&|run| run.cells[1].trace = None).await;
    forge(&|run| run.settings.duration_seconds = 30.0).await;
    assert_eq!(site.get("/api/v1/runs").await.json()["runs"], json!([]));
    let mut twice = sample.clone();
    twice.run.cells[2].trace = twice.run.cells[1].trace.clone();
    site.post(&site.admin, twice.document()).await.refused(422, "bad_identity");
    // What rounding of another machine could do is told, not refused.
    let mut near = sample.clone();
    near.run.cells[1].client_lag_us.as_mut().unwrap().mean = Some(50.001);
    let body = site.post(&site.admin, near.document()).await.is(201).json();
    assert!(body["evidence"]["reasons"].to_string().contains("are off by up to"), "{body}");
}

fn flag() -> tokometer_record::Flag {
    let code = tokometer_record::FlagCode::PowerCapped;
    tokometer_record::Flag { code, detail: "made up".to_owned(), figures: Vec::new() }
}

#[tokio::test]
async fn an_edited_trace_is_refused() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.publish(&site.admin, &Sample::new()).await.is(201);
    // Every event comes a tenth sooner, and the record names the new file, but its numbers are those of the old one.
    let plan = Plan { id: sample.id().to_owned(), ..Plan::default() };
    let mut traces = sample.traces();
    for event in &mut traces[1].events {
        event.arrival_ns -= event.arrival_ns / 10;
    }
    let edited = plan.of_traces(&traces);
    let mut forged = edited.clone();
    forged.run.cells[1] = sample.run.cells[1].clone();
    forged.run.cells[1].trace.clone_from(&edited.run.cells[1].trace);
    site.publish(&site.admin, &forged).await.refused(422, "record_differs");
    // A trace of another run.
    let mut foreign = sample.clone();
    let other = Sample::new();
    foreign.run.cells[1].trace.clone_from(&other.run.cells[1].trace);
    site.send_files(&site.admin, &other).await;
    site.publish(&site.admin, &foreign).await.refused(422, "record_differs");
    // A file that is no trace.
    let mut broken = sample.clone();
    let bytes = b"PAR1 no, it is not PAR1".to_vec();
    let file = broken.run.cells[1].trace.as_mut().unwrap();
    (file.sha256, file.bytes) = (tokometer_record::store::sha256(&bytes), bytes.len() as u64);
    broken.files.push(("x".to_owned(), bytes));
    site.publish(&site.admin, &broken).await.refused(422, "record_differs");
    // Each byte of a trace turned round, one at a time here and there: refused, and never a fault.
    for place in (0..sample.files[1].1.len()).step_by(sample.files[1].1.len() / 40) {
        let mut damaged = sample.clone();
        damaged.files[1].1[place] ^= 0xff;
        let bytes = &damaged.files[1].1;
        let file = damaged.run.cells[1].trace.as_mut().unwrap();
        file.sha256 = tokometer_record::store::sha256(bytes);
        let answer = site.publish(&site.admin, &damaged).await;
        // A byte that no reader looks at changes nothing but the hash.
        let harmless = answer.status == 201 || answer.status == 409;
        assert!(harmless || answer.status == 422, "{place}: {answer:?}");
        if harmless {
            break;
        }
    }
}

#[tokio::test]
async fn figures_beyond_the_hardware_are_kept_out() {
    let site = Site::start().await;
    // 8 billion weights of 2 bytes: 80 % of them read once a step by 4 × 4.8 TB/s are 1,500 steps a second.
    let make = |step_ns: u64| Plan { step_ns, ttft_ns: 1_000_000, ..Plan::default() }.make();
    let body = site.publish(&site.admin, &make(200_000)).await.refused(422, "impossible");
    assert!(body["detail"].as_str().unwrap().contains("times what the hardware can do"), "{body}");
    let sample = make(500_000);
    let body = site.publish(&site.admin, &sample).await.is(201).json();
    assert_eq!(
        (body["evidence"]["level"].as_str(), body["shelf"].as_str()),
        (Some("T0"), Some("reported")),
        "{body}"
    );
    let log = site.get("/api/v1/moderation").await.json();
    assert_eq!(
        (log["log"][0]["action"].as_str(), log["log"][0]["run"].as_str()),
        (Some("implausible"), Some(sample.id()))
    );
}

#[tokio::test]
async fn a_measurement_is_published_once() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    let somebody = site.user("somebody", Role::Publisher).await;
    // The same record by somebody else.
    site.publish(&somebody, &sample).await.refused(409, "id_taken");
    // The same traces under another run's id, and later.
    let copy = Plan { id: Uuid::now_v7().to_string(), ..Plan::default() };
    let mut traces = sample.traces();
    for trace in &mut traces {
        trace.meta.run.clone_from(&copy.id);
    }
    site.publish(&somebody, &copy.of_traces(&traces)).await.refused(409, "same_events");
    site.publish(&site.admin, &copy.of_traces(&traces)).await.refused(409, "same_events");
}

#[tokio::test]
async fn the_public_part_of_a_token_opens_nothing() {
    let site = Site::start().await;
    let (start, secret) = site.admin.rsplit_once('_').unwrap();
    let whoami = async |token: String| {
        let answer = Call::get("/api/v1/whoami").token(&token).send(site.address).await;
        answer.refused(401, "unknown_token")
    };
    let turned: String = secret.chars().rev().collect();
    let mut answers = Vec::new();
    for token in [
        format!("{start}_{turned}"),
        start.to_owned(),
        String::new(),
        "x".repeat(10_000),
        site.admin.to_uppercase(),
    ] {
        answers.push(whoami(token).await);
    }
    // One that is right in form, with the stolen prefix and another one's secret.
    let other = site.user("somebody", Role::Publisher).await;
    let (_, secret) = other.rsplit_once('_').unwrap();
    answers.push(whoami(format!("{start}_{secret}")).await);
    answers.dedup();
    assert_eq!(answers.len(), 1, "nothing is learnt from the answer: {answers:?}");
    Call::get("/api/v1/whoami").token(&site.admin).send(site.address).await.is(200);
}

#[tokio::test]
async fn a_users_runs_are_theirs() {
    let site = Site::start().await;
    let sample = Sample::new();
    let owner = site.user("owner", Role::Publisher).await;
    site.publish(&owner, &sample).await.is(201);
    let path = format!("/api/v1/runs/{}", sample.id());
    let other = site.user("other", Role::Publisher).await;
    let as_other = |method: http::Method, path: &str| {
        Call::new(method, path).token(&other).json(&json!({"reason": "x"}))
    };
    as_other(http::Method::DELETE, &path).send(site.address).await.refused(403, "forbidden");
    let patch = Call::new(http::Method::PATCH, &path).token(&other).json(&json!({"title": "Mine"}));
    patch.send(site.address).await.refused(403, "forbidden");
    as_other(http::Method::POST, &format!("{path}/restore"))
        .send(site.address)
        .await
        .refused(403, "forbidden");
    Call::get("/api/v1/reports").token(&other).send(site.address).await.refused(403, "forbidden");
    Call::new(http::Method::DELETE, &path)
        .json(&json!({"reason": "x"}))
        .send(site.address)
        .await
        .refused(401, "unknown_token");
    assert_eq!(site.get(&path).await.is(200).json()["title"], json!(null));
}

#[tokio::test]
async fn hostile_texts_are_texts() {
    let site = Site::start().await;
    for text in HOSTILE {
        let mut sample =
            Plan { model: format!("{text}/Model-8B"), hardware: format!("H200 {text}"), ..Plan::default() }
                .make();
        sample.run.title = Some(text.to_owned());
        sample.run.note = Some(text.to_owned());
        sample.run.remarks = vec![text.to_owned()];
        sample.run.engine.build = Some(text.to_owned());
        site.publish(&site.admin, &sample).await.is(201);
        let path = format!("/api/v1/runs/{}", sample.id());
        assert_eq!(site.get(&path).await.json()["title"], text);
    }
    for text in HOSTILE {
        let query: String = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("model", format!("{text}/Model-8B")),
                ("text", text.to_owned()),
                ("fold", "0".to_owned()),
            ])
            .finish();
        let list = site.get(&format!("/api/v1/runs?{query}")).await.is(200).json();
        assert_eq!(list["runs"].as_array().unwrap().len(), 1, "{text}");
        let facets = site.get(&format!("/api/v1/facets?{query}")).await.is(200).json();
        assert_eq!(facets["total"], 1);
    }
    let csv = Call::get("/api/v1/runs?fold=0").header("accept", "text/csv").send(site.address).await.text();
    assert!(!csv.lines().any(|line| line.starts_with('=')));
    for query in
        ["limit=1;DROP TABLE runs", "goal=one_user;--", "after=0000000000000000-x'", "shelf=withdrawn'--"]
    {
        let query = query.replace(' ', "%20");
        site.get(&format!("/api/v1/runs?{query}")).await.refused(400, "bad_query");
    }
    site.get("/api/v1/runs/1'%20OR%20'1'='1").await.refused(404, "not_found");
}

#[tokio::test]
async fn names_that_turn_text_or_hide_are_refused() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    for title in ["a\u{202e}b", "a\u{0}b", "a\u{1b}[31m", "a\rb", &"x".repeat(201)] {
        let mut hostile = sample.clone();
        hostile.run.title = Some(title.to_owned());
        site.post(&site.admin, hostile.document()).await.refused(422, "bad_identity");
    }
}

#[tokio::test]
async fn paths_lead_nowhere() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    for name in
        ["../../etc/passwd", "/etc/passwd", "trace/../../x", "a\\b", "", "trace/decode-8192-4.parquet"]
    {
        let mut hostile = sample.clone();
        hostile.run.cells[1].trace.as_mut().unwrap().file = name.to_owned();
        site.post(&site.admin, hostile.document()).await.refused(422, "bad_identity");
    }
    for id in ["../../etc/passwd", "1", "00000000-0000-0000-0000-000000000000", &sample.id().to_uppercase()] {
        let mut hostile = sample.clone();
        hostile.run.id = id.to_owned();
        site.post(&site.admin, hostile.document()).await.refused(422, "bad_identity");
    }
    for path in [
        "/api/v1/runs/..%2f..%2fetc%2fpasswd",
        "/..%2f..%2fetc/passwd",
        "/api/v1/artefacts/..%2fsite.db",
        "//etc/passwd",
    ] {
        assert_eq!(site.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn headers_hold_one_line_each() {
    let site = Site::start().await;
    let mut sample = Sample::new();
    sample.run.title = Some("x\nx-evil: yes".to_owned());
    site.publish(&site.admin, &sample).await.is(201);
    for path in [
        format!("/api/v1/runs/{}", sample.id()),
        "/api/v1/runs?text=%0d%0ax-evil:%20yes&limit=1&fold=0".to_owned(),
    ] {
        let answer = site.get(&path).await.is(200);
        assert!(answer.headers.get("x-evil").is_none());
    }
    // A request with more than one way to tell its end.
    let mut stream = tokio::net::TcpStream::connect(site.address).await.unwrap();
    let request = "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 8192];
    let length = stream.read(&mut answer).await.unwrap();
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(text.starts_with("HTTP/1.1 4"), "{text}");
}

#[tokio::test]
async fn secrets_are_sent_back_unread() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    let secret = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg";
    let mut leaking = sample.clone();
    leaking.run.launch_command = Some(format!("vllm serve m --api-key {secret}"));
    let body = site.post(&site.admin, leaking.document()).await.refused(422, "secret");
    assert!(!body.to_string().contains(secret));
    let mut leaking = sample.clone();
    leaking.run.note = Some(format!("the key is {secret}"));
    site.post(&site.admin, leaking.document()).await.refused(422, "secret");
}

#[tokio::test]
async fn odd_documents_are_refused() {
    let site = Site::start().await;
    let post = |body: String| site.post(&site.admin, body);
    post(String::new()).await.refused(400, "no_json");
    post("[".repeat(100_000)).await.refused(400, "no_json");
    post("{}".to_owned()).await.refused(422, "unknown_schema");
    post(json!({"schema": "tokometer.run/9"}).to_string()).await.refused(422, "unknown_schema");
    post(json!({"schema": "tokometer.run/1"}).to_string()).await.refused(422, "no_record");
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    let mut document: serde_json::Value = serde_json::from_slice(&sample.document()).unwrap();
    document["extra"] = json!("smuggled");
    post(document.to_string()).await.refused(422, "record_differs");
    let mut late = sample.clone();
    late.run.created_at = Some("2999-01-01T00:00:00Z".to_owned());
    site.post(&site.admin, late.document()).await.refused(422, "bad_identity");
    let mut plan = sample.clone();
    plan.run.state = tokometer_record::RunState::DryRun;
    site.post(&site.admin, plan.document()).await.refused(422, "bad_identity");
}

#[tokio::test]
async fn a_trace_with_a_long_text_in_every_row_is_refused() {
    let site = Site::start().await;
    let sample = Sample::new();
    let mut traces = sample.traces();
    let row = traces[1].requests[0].clone();
    traces[1].requests = (0..300_000)
        .map(|number| tokometer_record::RequestRow {
            request: number,
            finish_reason: Some("x".repeat(4096)),
            ..row.clone()
        })
        .collect();
    let bytes = parquet::write(&traces[1]).unwrap();
    assert!(bytes.len() < 20 << 20);
    let mut hostile = sample.clone();
    let file = hostile.run.cells[1].trace.as_mut().unwrap();
    (file.sha256, file.bytes) = (tokometer_record::store::sha256(&bytes), bytes.len() as u64);
    hostile.files.push(("x".to_owned(), bytes));
    site.publish(&site.admin, &hostile).await.refused(422, "record_differs");
}
