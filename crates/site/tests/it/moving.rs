//! From one database to another.

use serde_json::json;
use tokometer_site::domain::Role;
use tokometer_site::store::{Rehearsal, Store, StoreError};
use tokometer_site::{Config, host};

use crate::client::Call;
use crate::database::Scratch;
use crate::sample::Sample;
use crate::site::Site;

/// A site on a file, with something in most tables.
async fn filled() -> (Site, Sample, Sample) {
    let site = Site::on(None, |_| {}).await;
    let (one, two) = (Sample::new(), Sample::new());
    let token = site.user("somebody", Role::Publisher).await;
    site.publish(&token, &one).await.is(201);
    site.publish(&site.admin, &two).await.is(201);
    let report = json!({"kind": "wrong_number", "text": "they look odd"});
    let path = format!("/api/v1/runs/{}/reports", one.id());
    Call::post(&path).json(&report).send(site.address).await.is(201);
    let withdrawal = json!({"reason": "asked for it"});
    let path = format!("/api/v1/runs/{}", two.id());
    Call::new(http::Method::DELETE, &path)
        .token(&site.admin)
        .json(&withdrawal)
        .send(site.address)
        .await
        .is(200);
    (site, one, two)
}

#[tokio::test]
async fn every_row_is_moved() {
    let (site, ..) = Box::pin(filled()).await;
    let source = Store::sqlite(&site.config.database()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = Store::sqlite(&folder.path().join("other.db")).await.unwrap();
    let rehearsed = source.move_to(&target, Rehearsal::Yes).await.unwrap();
    assert_eq!(target.count_runs().await.unwrap(), 0, "a rehearsal keeps nothing");
    let moved = source.move_to(&target, Rehearsal::No).await.unwrap();
    assert_eq!(moved, rehearsed);
    for (table, least) in [("users", 2), ("tokens", 2), ("invitations", 1), ("runs", 2), ("revisions", 2)] {
        assert_eq!(moved.rows(table), least, "{table}: {moved:?}");
    }
    for table in ["cells", "artefacts", "run_artefacts", "trace_prints", "moderation", "problems"] {
        assert!(moved.rows(table) > 0, "{table}: {moved:?}");
    }
    assert_eq!(target.generation().await.unwrap(), source.generation().await.unwrap());
    let again = source.move_to(&target, Rehearsal::No).await.unwrap_err();
    assert!(matches!(again, StoreError::NotEmpty { .. }), "{again}");
}

#[tokio::test]
async fn a_site_goes_on_on_a_server() {
    let Some(database) = Scratch::new().await else { return };
    let (site, one, two) = Box::pin(filled()).await;
    let paths = [format!("/api/v1/runs/{}", one.id()), "/api/v1/moderation".to_owned()];
    let mut before = Vec::new();
    for path in &paths {
        before.push(site.get(path).await.is(200).json());
    }
    let config = site.config.clone();
    host::migrate(&config, &database.url(), Rehearsal::Yes).await.unwrap();
    let moved = host::migrate(&config, &database.url(), Rehearsal::No).await.unwrap();
    assert_eq!(moved.rows("runs"), 2);
    let again = host::migrate(&config, &database.url(), Rehearsal::No).await.unwrap_err().to_string();
    assert!(again.contains("has rows already"), "{again}");

    let config = Config { database_url: Some(database.url()), ..config };
    let (server, started) = tokometer_site::start(config).await.unwrap();
    assert!(!started.new_token, "the folder's token still holds");
    let address = server.address();
    let running = tokio::spawn(server.run(std::future::pending()));
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(Call::get(path).send(address).await.is(200).json(), before);
    }
    Call::get(&format!("/api/v1/runs/{}", two.id())).send(address).await.is(410);
    for (_, bytes) in &one.files {
        let hash = tokometer_record::store::sha256(bytes);
        assert_eq!(Call::get(&format!("/api/v1/artefacts/{hash}")).send(address).await.is(200).body, *bytes);
    }
    // Numbers go on behind those that came along.
    let report = json!({"kind": "wrong_number", "text": "once more"});
    let path = format!("/api/v1/runs/{}/reports", one.id());
    Call::post(&path).json(&report).send(address).await.is(201);
    Call::get("/api/v1/whoami").token(&site.admin).send(address).await.is(200);
    running.abort();
}
