//! Problems, and what is done about them.

use serde_json::json;
use tokometer_site::domain::Role;

use crate::client::Call;
use crate::sample::Sample;
use crate::site::Site;

#[tokio::test]
async fn a_run_is_taken_down_and_shown_again() {
    let site = Site::start().await;
    let sample = Sample::new();
    let owner = site.user("owner", Role::Publisher).await;
    site.publish(&owner, &sample).await.is(201);
    let path = format!("/api/v1/runs/{}", sample.id());
    let reason = json!({"reason": "the GPU was shared"});
    Call::new(http::Method::DELETE, &path)
        .token(&owner)
        .json(&json!({"reason": " "}))
        .send(site.address)
        .await
        .refused(422, "no_reason");
    Call::new(http::Method::DELETE, &path).token(&owner).json(&reason).send(site.address).await.is(200);
    let body = site.get(&path).await.refused(410, "withdrawn");
    assert_eq!(body["reason"], "the GPU was shared");
    assert_eq!(site.get("/api/v1/runs").await.json()["runs"], json!([]));
    for (_, bytes) in &sample.files {
        let hash = tokometer_record::store::sha256(bytes);
        site.get(&format!("/api/v1/artefacts/{hash}")).await.refused(404, "not_found");
    }
    let moderator = site.user("careful", Role::Moderator).await;
    let restore = format!("{path}/restore");
    Call::post(&restore)
        .token(&moderator)
        .json(&json!({"reason": "it was not"}))
        .send(site.address)
        .await
        .is(200);
    site.get(&path).await.is(200);
    let log = site.get("/api/v1/moderation").await.json();
    let told: Vec<_> = log["log"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["actor"].as_str().unwrap(), entry["action"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("careful", "restored"), ("owner", "withdrawn")]);
    Call::post(&restore).token(&moderator).json(&reason).send(site.address).await.refused(409, "already");
    // Publishing it again leads to the one that is there.
    assert_eq!(site.publish(&owner, &sample).await.is(200).json()["outcome"], "replayed");
}

#[tokio::test]
async fn anybody_reports_a_problem() {
    let site = Site::with(|config| config.limits.reports.burst = 3.0).await;
    let sample = Sample::new();
    site.publish(&site.admin, &sample).await.is(201);
    let path = format!("/api/v1/runs/{}/reports", sample.id());
    let report = |body: serde_json::Value| Call::post(&path).json(&body).send(site.address);
    let body = json!({"kind": "wrong_number", "text": "too fast to be true", "cell": "decode-8192-4"});
    let number = report(body.clone()).await.is(201).json()["number"].as_i64().unwrap();
    report(json!({"kind": "other", "text": "x", "cell": "decode-1-1"})).await.refused(404, "not_found");
    report(json!({"kind": "other", "text": " "})).await.refused(422, "no_text");
    report(body.clone()).await.refused(429, "too_many_requests");
    report(json!({"kind": "rant", "text": "x"})).await.refused(400, "bad_body");
    let moderator = site.user("careful", Role::Moderator).await;
    let open = Call::get("/api/v1/reports").token(&moderator).send(site.address).await.is(200).json();
    assert_eq!(
        (open["reports"][0]["text"].as_str(), open["reports"].as_array().unwrap().len()),
        (Some("too fast to be true"), 1)
    );
    let close = format!("/api/v1/reports/{number}/close");
    let reason = json!({"reason": "measured again: it is true"});
    Call::post(&close).token(&moderator).json(&reason).send(site.address).await.is(200);
    Call::post(&close).token(&moderator).json(&reason).send(site.address).await.refused(409, "already");
    let log = site.get("/api/v1/moderation").await.json();
    assert_eq!(
        (log["log"][0]["action"].as_str(), log["log"][0]["run"].as_str()),
        (Some("problem_closed"), Some(sample.id()))
    );
}
