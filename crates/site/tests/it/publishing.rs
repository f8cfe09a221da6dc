//! From an upload to what readers see.

use serde_json::json;
use tokometer_record::import;
use tokometer_site::domain::Role;

use crate::client::Call;
use crate::sample::{Plan, Sample};
use crate::site::Site;

#[tokio::test]
async fn a_run_is_published_and_found() {
    let site = Site::start().await;
    let sample = Sample::new();
    let answer = site.publish(&site.admin, &sample).await.is(201);
    let body = answer.json();
    assert_eq!(body["evidence"]["level"], "T2", "{body}");
    assert_eq!(body["shelf"], "ranked");
    assert_eq!(answer.header("location"), body["url"].as_str().unwrap());

    let record = site.get(&format!("/api/v1/runs/{}", sample.id())).await.is(200);
    assert_eq!(record.json(), serde_json::to_value(&sample.run).unwrap());
    let tag = record.header("etag").to_owned();
    let path = format!("/api/v1/runs/{}", sample.id());
    Call::get(&path).header("if-none-match", &tag).send(site.address).await.is(304);
    let csv = Call::get(&path).header("accept", "text/csv").send(site.address).await.is(200).text();
    assert_eq!(csv.lines().count(), 1 + sample.run.cells.len());

    let list = site.get("/api/v1/runs").await.is(200).json();
    let row = &list["runs"][0];
    assert_eq!(row["id"], sample.id());
    let total = |name: &str| {
        let cell = sample.run.cells.iter().find(|cell| cell.name() == name).unwrap();
        cell.throughput.as_ref().unwrap().total
    };
    assert_eq!(row["one_user"]["value"], total("decode-8192-1"));
    assert_eq!(row["peak"]["value"], total("decode-8192-4"));
    assert_eq!(row["peak_per_accelerator"], total("decode-8192-4") / 4.0);
    assert_eq!(row["contexts"], json!([8192]));

    let short = site.get(&format!("/r/{}", sample.id())).await.is(308);
    assert_eq!(short.header("location"), format!("/runs/{}", sample.id()));

    let artefacts = site.get(&format!("{path}/artefacts")).await.is(200).json();
    let address = artefacts["artefacts"][0]["address"].as_str().unwrap();
    let file = site.get(address).await.is(200);
    assert!(sample.files.iter().any(|(_, bytes)| *bytes == file.body));
    let verification = site.get(&format!("{path}/verification")).await.is(200).json();
    assert_eq!(verification["passed"], true);
    site.stop().await;
}

#[tokio::test]
async fn a_dry_run_keeps_nothing() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    let call = Call::post("/api/v1/runs:validate").token(&site.admin).body(sample.document());
    let body = call.send(site.address).await.is(200).json();
    assert_eq!((body["outcome"].as_str(), body["evidence"]["level"].as_str()), (Some("valid"), Some("T2")));
    assert_eq!(site.get("/api/v1/runs").await.json()["runs"], json!([]));
}

#[tokio::test]
async fn bodies_may_be_packed() {
    let site = Site::start().await;
    for encoding in ["zstd", "gzip"] {
        let sample = Sample::new();
        site.send_files(&site.admin, &sample).await;
        let body = crate::bodies::pack(encoding, &sample.document());
        let call =
            Call::post("/api/v1/runs").token(&site.admin).header("content-encoding", encoding).body(body);
        call.send(site.address).await.is(201);
    }
    let call = Call::post("/api/v1/runs").token(&site.admin).header("content-encoding", "br").body("x");
    call.send(site.address).await.refused(415, "unknown_encoding");
}

#[tokio::test]
async fn retries_do_no_harm() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    let post = |key: &'static str, document: Vec<u8>| {
        let call =
            Call::post("/api/v1/runs").token(&site.admin).header("idempotency-key", key).body(document);
        call.send(site.address)
    };
    post("one", sample.document()).await.is(201);
    assert_eq!(post("one", sample.document()).await.is(200).json()["outcome"], "replayed");
    assert_eq!(post("two", sample.document()).await.is(200).json()["outcome"], "replayed", "by its id");
    let other = Sample::new();
    site.send_files(&site.admin, &other).await;
    post("one", other.document()).await.refused(409, "key_reused");
    assert_eq!(site.get("/api/v1/runs?fold=0").await.json()["runs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn files_come_first() {
    let site = Site::start().await;
    let sample = Sample::new();
    let body = site.post(&site.admin, sample.document()).await.refused(409, "missing_files");
    assert_eq!(body["missing"].as_array().unwrap().len(), sample.files.len());
    let wanted: Vec<_> =
        sample.files.iter().map(|(_, bytes)| tokometer_record::store::sha256(bytes)).collect();
    let ask = || Call::post("/api/v1/artefacts:missing").token(&site.admin).json(&json!({"sha256": wanted}));
    assert_eq!(ask().send(site.address).await.json()["missing"], json!(wanted));
    site.publish(&site.admin, &sample).await.is(201);
    assert_eq!(ask().send(site.address).await.json()["missing"], json!([]));
}

#[tokio::test]
async fn evidence_is_computed() {
    let site = Site::start().await;
    for (counted, level) in [(None, "T1"), (Some(1.3), "T1"), (Some(1.0), "T2")] {
        let sample = Plan { counted, ..Plan::default() }.make();
        let body = site.publish(&site.admin, &sample).await.is(201).json();
        assert_eq!(body["evidence"]["level"], level, "{counted:?}: {body}");
    }
    let text = tokometer_record::published::H200_X4;
    let run = import::published(text, "h200-x4.json").unwrap();
    let body = site.post(&site.admin, serde_json::to_vec(&run).unwrap()).await.is(201).json();
    assert_eq!((body["evidence"]["level"].as_str(), body["shelf"].as_str()), (Some("T0"), Some("reported")));
    let sample = Plan { simulated: true, ..Plan::default() }.make();
    let body = site.publish(&site.admin, &sample).await.is(201).json();
    assert_eq!(body["shelf"], "simulated");
    let ids = |list: serde_json::Value| list["runs"].as_array().unwrap().len();
    assert_eq!(
        ids(site.get("/api/v1/runs?fold=0").await.json()),
        3,
        "neither import nor simulation is ranked"
    );
    assert_eq!(ids(site.get("/api/v1/runs?shelf=reported").await.json()), 1);
    assert_eq!(ids(site.get("/api/v1/runs?shelf=simulated").await.json()), 1);
}

#[tokio::test]
async fn others_can_confirm_a_run() {
    let site = Site::start().await;
    let level = async |id: &str| {
        let rows = site.get("/api/v1/runs?fold=0&fields=id,evidence").await.json();
        let row = rows["runs"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
        row["evidence"]["level"].as_str().unwrap().to_owned()
    };
    let (mine, again, other) = (Sample::new(), Sample::new(), Sample::new());
    site.publish(&site.admin, &mine).await.is(201);
    site.publish(&site.admin, &again).await.is(201);
    assert_eq!(level(mine.id()).await, "counters_agree", "oneself confirms nothing");
    let somebody = site.user("somebody", Role::Publisher).await;
    site.publish(&somebody, &other).await.is(201);
    for sample in [&mine, &again, &other] {
        assert_eq!(level(sample.id()).await, "replicated");
    }
    let list = site.get("/api/v1/runs").await.json();
    assert_eq!(list["runs"].as_array().unwrap().len(), 1, "replicates are one row");
    let row = &list["runs"][0];
    assert_eq!((row["replicates"].as_u64(), row["submitters"].as_u64()), (Some(3), Some(2)));
    assert_eq!(row["spread"]["peak"]["n"], 3);
    let path = format!("/api/v1/runs/{}", other.id());
    let call = Call::new(http::Method::DELETE, &path).token(&somebody).json(&json!({"reason": "a mistake"}));
    call.send(site.address).await.is(200);
    assert_eq!(level(mine.id()).await, "counters_agree", "what was withdrawn confirms nothing");
}

#[tokio::test]
async fn revisions_are_added() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    let path = format!("/api/v1/runs/{}", sample.id());
    let patch = |token: &str, body: serde_json::Value| {
        Call::new(http::Method::PATCH, &path).token(token).json(&body).send(site.address)
    };
    let body = patch(&site.admin, json!({"title": "Better", "why": "clearer"})).await.is(200).json();
    assert_eq!(body["revision"], 2);
    assert_eq!(site.get(&path).await.json()["title"], "Better");
    assert_eq!(site.get(&format!("{path}/revisions/1")).await.json()["title"], json!(null));
    let list = site.get(&format!("{path}/revisions")).await.json();
    assert_eq!(list["revisions"][1]["why"], "clearer");
    patch(&site.admin, json!({"cells": []})).await.refused(400, "bad_body");
    patch(&site.admin, json!({"title": "x".repeat(300)})).await.refused(422, "bad_identity");
    let somebody = site.user("somebody", Role::Publisher).await;
    patch(&somebody, json!({"title": "Mine"})).await.refused(403, "forbidden");
    site.get(&format!("{path}/revisions/9")).await.refused(404, "not_found");
}
