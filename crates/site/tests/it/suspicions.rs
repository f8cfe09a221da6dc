//! Runs that are worth a moderator's look.

use http::Method;
use serde_json::{Value, json};
use tokometer_site::domain::Role;

use crate::client::Call;
use crate::sample::Plan;
use crate::site::Site;

async fn odd(site: &Site, moderator: &str) -> Vec<Value> {
    let answer = Call::get("/api/v1/suspicions").token(moderator).send(site.address).await.is(200).json();
    answer["suspicions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn replicates_are_not_odd() {
    let site = Site::start().await;
    for _ in 0..8 {
        site.publish(&site.admin, &Plan::default().make()).await.is(201);
    }
    // Another engine version, a little faster, and another machine.
    let newer = Plan { engine_version: "0.34.0".to_owned(), step_ns: 8_000_000, ..Plan::default() };
    site.publish(&site.admin, &newer.make()).await.is(201);
    let other = Plan { hardware: "B300".to_owned(), step_ns: 2_000_000, ..Plan::default() };
    site.publish(&site.admin, &other.make()).await.is(201);
    assert_eq!(odd(&site, &site.admin).await, Vec::<Value>::new());
}

#[tokio::test]
async fn figures_of_another_run_are_told_to_moderators_alone() {
    let site = Site::start().await;
    let first = Plan::default();
    site.publish(&site.admin, &first.make()).await.is(201);
    // Every event a little later in a way that no median shows: its prints differ, its figures do not.
    let copy = Plan { id: Plan::default().id, ..first.clone() };
    let mut traces = copy.traces();
    for trace in &mut traces {
        trace.meta.run = copy.id.clone();
        if trace.events.len() > 1 {
            let last = trace.events.len() - 1;
            trace.events[last].arrival_ns -= 1;
            let request = trace.events[last].request as usize;
            trace.requests[request].end_ns =
                trace.requests[request].end_ns.max(trace.events[last].arrival_ns);
        }
    }
    let somebody = site.user("somebody", Role::Publisher).await;
    let sample = copy.of_traces(&traces);
    let id = sample.id().to_owned();
    site.publish(&somebody, &sample).await.is(201);

    let moderator = site.user("careful", Role::Moderator).await;
    let found = odd(&site, &moderator).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["kind"], &found[0]["run_id"]), (&json!("near_duplicate"), &json!(id)));
    assert_eq!(found[0]["other_id"], first.id);
    // It hides nothing, and nobody else sees it.
    Call::get("/api/v1/suspicions").token(&somebody).send(site.address).await.refused(403, "forbidden");
    site.get("/api/v1/suspicions").await.refused(401, "unknown_token");
    let row = &site.get("/api/v1/runs?fold=0&goal=newest").await.json()["runs"][0];
    assert_eq!((&row["id"], &row["shelf"]), (&json!(id), &json!("ranked")));
    for path in [format!("/api/v1/runs/{id}"), format!("/runs/{id}"), "/moderation".to_owned()] {
        assert!(!site.get(&path).await.is(200).text().contains("last digit"), "{path}");
    }
    // A moderator's page has it, with both runs side by side.
    let form = format!("form_key=&token={moderator}");
    let signed =
        Call::post("/sign-in").header("origin", "http://site.test").body(form).send(site.address).await;
    let cookie = signed.is(303).header("set-cookie").split(';').next().unwrap().to_owned();
    let page = Call::get("/moderation").header("cookie", &cookie).send(site.address).await.is(200).text();
    assert!(
        page.contains("last digit") && page.contains(&format!("/compare?runs={},{id}", first.id)),
        "{page}"
    );
    let key = page.split("name=\"form_key\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let number = found[0]["id"].as_i64().unwrap();
    let dismiss = format!("/moderation/suspicions/{number}/dismiss");
    let form = |reason: &str| {
        let body = format!("form_key={key}&reason={reason}");
        Call::post(&dismiss).header("origin", "http://site.test").header("cookie", &cookie).body(body)
    };
    form("").send(site.address).await.refused(422, "no_reason");
    form("the+same+rack").send(site.address).await.is(303);
    assert_eq!(odd(&site, &moderator).await.len(), 0);
    let again = Call::post(&format!("/api/v1/suspicions/{number}/dismiss")).token(&moderator);
    again.json(&json!({"reason": "x"})).send(site.address).await.refused(409, "already");
    let log = site.get("/api/v1/moderation").await.text();
    assert!(!log.contains("rack"), "what was put aside is nobody's business: {log}");
    site.stop().await;
}

#[tokio::test]
async fn a_run_far_from_its_replicates_is_odd() {
    let site = Site::start().await;
    for _ in 0..6 {
        site.publish(&site.admin, &Plan::default().make()).await.is(201);
    }
    let slow = Plan { step_ns: 30_000_000, ..Plan::default() }.make();
    site.publish(&site.admin, &slow).await.is(201);
    let found = odd(&site, &site.admin).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["kind"], &found[0]["run_id"]), (&json!("outlier"), &json!(slow.id())));
    let text = found[0]["text"].as_str().unwrap();
    assert!(text.contains("times the median of 6 other runs of the same set-up"), "{text}");
    let number = found[0]["id"].as_i64().unwrap();
    let call = Call::post(&format!("/api/v1/suspicions/{number}/dismiss")).token(&site.admin);
    call.json(&json!({"reason": "it was throttled, and says so"})).send(site.address).await.is(200);
    // One that is taken down needs no look.
    let other = Plan { step_ns: 40_000_000, ..Plan::default() }.make();
    site.publish(&site.admin, &other).await.is(201);
    assert_eq!(odd(&site, &site.admin).await.len(), 1);
    let call = Call::new(Method::DELETE, &format!("/api/v1/runs/{}", other.id())).token(&site.admin);
    call.json(&json!({"reason": "x"})).send(site.address).await.is(200);
    assert_eq!(odd(&site, &site.admin).await.len(), 0);
    site.stop().await;
}
