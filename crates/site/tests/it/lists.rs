//! Finding runs.

use serde_json::{Value, json};

use crate::client::Call;
use crate::sample::{Plan, Sample};
use crate::site::Site;

/// Six runs of two models, two machines and three engine versions.
async fn filled() -> (Site, Vec<Sample>) {
    let site = Site::start().await;
    let mut samples = Vec::new();
    for index in 0..6_u64 {
        let plan = Plan {
            model: ["example/Model-8B", "example/Other-8B"][(index % 2) as usize].to_owned(),
            accelerators: [4, 8][(index / 3) as usize],
            engine_version: format!("0.{}", index % 3),
            step_ns: 10_000_000 + index * 1_000_000,
            ..Plan::default()
        };
        let sample = plan.make();
        site.publish(&site.admin, &sample).await.is(201);
        samples.push(sample);
    }
    (site, samples)
}

fn ids(list: &Value) -> Vec<String> {
    list["runs"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn goals_sort_and_cursors_go_on() {
    let (site, samples) = filled().await;
    let fastest_first: Vec<String> = samples.iter().map(|sample| sample.id().to_owned()).collect();
    assert_eq!(ids(&site.get("/api/v1/runs?goal=one_user").await.json()), fastest_first);
    assert_eq!(ids(&site.get("/api/v1/runs?goal=peak").await.json()), fastest_first);
    let newest_first: Vec<String> = fastest_first.iter().rev().cloned().collect();
    assert_eq!(ids(&site.get("/api/v1/runs?goal=newest").await.json()), newest_first);
    // No run has an energy: all are there, by their ids.
    assert_eq!(ids(&site.get("/api/v1/runs?goal=energy").await.json()), fastest_first);
    for goal in ["one_user", "newest", "energy"] {
        let (mut found, mut path) = (Vec::new(), format!("/api/v1/runs?goal={goal}&limit=4"));
        loop {
            let answer = site.get(&path).await.is(200);
            let list = answer.json();
            found.extend(ids(&list));
            let Some(next) = list["next"].as_str() else { break };
            let link = answer.header("link").to_owned();
            assert!(link.contains(next) && link.ends_with("rel=\"next\""), "{link}");
            path = link[link.find("/api").unwrap()..link.find('>').unwrap()].to_owned();
        }
        let mut unique = found.clone();
        unique.sort();
        unique.dedup();
        assert_eq!((found.len(), unique.len()), (6, 6), "{goal}");
    }
}

#[tokio::test]
async fn facets_say_what_one_would_see() {
    let (site, _) = filled().await;
    for query in [
        "",
        "model=example/Model-8B",
        "model=example/Model-8B&accelerators=8",
        "engine_version=0.1&engine_version=0.2",
        "context=8192&evidence=T2",
        "text=other",
        "text=NOTHING",
    ] {
        let facets = site.get(&format!("/api/v1/facets?{query}")).await.is(200).json();
        let site = &site;
        let seen = |query: String| async move {
            ids(&site.get(&format!("/api/v1/runs?limit=500&{query}")).await.json()).len() as u64
        };
        assert_eq!(facets["total"], seen(query.to_owned()).await, "{query}");
        for facet in ["model", "accelerators", "engine_version", "context"] {
            let others: Vec<&str> =
                query.split('&').filter(|part| !part.starts_with(&format!("{facet}="))).collect();
            for one in facets[facet].as_array().unwrap() {
                let value = one["value"].as_str().unwrap();
                let count = seen(format!("{}&{facet}={value}", others.join("&"))).await;
                assert_eq!(one["count"], count, "{query}: {facet} {value}");
            }
        }
    }
}

#[tokio::test]
async fn counts_follow_changes() {
    let (site, samples) = filled().await;
    let total = async || site.get("/api/v1/facets").await.json()["total"].as_u64().unwrap();
    assert_eq!(total().await, 6);
    let path = format!("/api/v1/runs/{}", samples[0].id());
    Call::new(http::Method::DELETE, &path)
        .token(&site.admin)
        .json(&json!({"reason": "x"}))
        .send(site.address)
        .await
        .is(200);
    assert_eq!(total().await, 5);
    site.publish(&site.admin, &Sample::new()).await.is(201);
    assert_eq!(total().await, 6);
}

#[tokio::test]
async fn answers_have_the_form_that_is_asked() {
    let (site, _) = filled().await;
    let ask = |accept: &str, path: &str| Call::get(path).header("accept", accept).send(site.address);
    let csv = ask("text/csv", "/api/v1/runs?fields=id,peak").await.is(200).text();
    assert_eq!(csv.lines().next(), Some("id,peak_tok_s,peak_low_tok_s,peak_high_tok_s"));
    assert_eq!(csv.lines().count(), 7);
    let lines = ask("application/x-ndjson", "/api/v1/runs?fields=id,model").await.is(200).text();
    for line in lines.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap().as_object().unwrap().len(), 2);
    }
    ask("image/png", "/api/v1/runs").await.refused(406, "not_acceptable");
    site.get("/api/v1/runs?fields=secrets").await.refused(400, "bad_fields");
    site.get("/api/v1/runs?colour=red").await.refused(400, "bad_query");
}

#[tokio::test]
async fn runs_are_compared() {
    let (site, samples) = filled().await;
    let id = |index: usize| samples[index].id();
    let body =
        site.get(&format!("/api/v1/compare?base={}&to={},{}", id(0), id(2), id(4))).await.is(200).json();
    assert_eq!(body["runs"].as_array().unwrap().len(), 3);
    let expected = tokometer_analysis::compare(
        &[0, 2, 4].map(|index: usize| samples[index].run.clone()),
        &tokometer_analysis::CompareOptions::default(),
    );
    assert_eq!(body, serde_json::to_value(expected.unwrap()).unwrap(), "as `tokometer compare` has it");
    site.get(&format!("/api/v1/compare?base={}", id(0))).await.refused(400, "bad_comparison");
    site.get(&format!("/api/v1/compare?base={}&to={}", id(0), id(0))).await.refused(400, "bad_comparison");
    site.get(&format!("/api/v1/compare?base={}&to=nonsense", id(0))).await.refused(404, "not_found");
}
