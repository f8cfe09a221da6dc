//! Who may do what.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tokometer_site::domain::{Role, Scope, Scopes};
use tokometer_site::host;

use crate::client::Call;
use crate::sample::Sample;
use crate::sign_in::Jar;
use crate::site::Site;

#[tokio::test]
async fn the_first_start_makes_an_admin() {
    let site = Site::start().await;
    let file = site.config.admin_token();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&site.config.data).unwrap().permissions().mode() & 0o777, 0o700);
    let body = Call::get("/api/v1/whoami").token(&site.admin).send(site.address).await.is(200).json();
    assert_eq!((body["handle"].as_str(), body["role"].as_str()), (Some("admin"), Some("admin")));
    if site.config.database_url.is_some() {
        return;
    }
    // Nothing in the database is the token.
    let mut bytes = std::fs::read(site.config.database()).unwrap();
    bytes.extend(std::fs::read(site.config.data.join("site.db-wal")).unwrap_or_default());
    let secret = site.admin.rsplit_once('_').unwrap().1;
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
}

#[tokio::test]
async fn nobody_uploads_without_a_token() {
    let site = Site::start().await;
    Call::post("/api/v1/runs")
        .body(Sample::new().document())
        .send(site.address)
        .await
        .refused(401, "unknown_token");
    let path = format!("/api/v1/artefacts/{}", "0".repeat(64));
    Call::new(http::Method::PUT, &path).body("x").send(site.address).await.refused(401, "unknown_token");
}

#[tokio::test]
async fn an_invitation_holds_once() {
    let site = Site::start().await;
    let code = host::invite(&site.config, Role::Publisher).await.unwrap();
    let accept = |handle: &str| {
        let body = json!({"code": code.expose(), "handle": handle});
        Call::post("/api/v1/invitations").json(&body).send(site.address)
    };
    accept("Bad Name").await.refused(422, "bad_name");
    accept("admin").await.refused(422, "bad_name");
    let token = accept("somebody").await.is(201).json()["token"].as_str().unwrap().to_owned();
    accept("another").await.refused(410, "no_invitation");
    let code = host::invite(&site.config, Role::Publisher).await.unwrap();
    let body = json!({"code": code.expose(), "handle": "somebody"});
    Call::post("/api/v1/invitations").json(&body).send(site.address).await.refused(409, "taken");
    let body = json!({"code": code.expose(), "handle": "another"});
    Call::post("/api/v1/invitations").json(&body).send(site.address).await.is(201);
    let body = Call::get("/api/v1/whoami").token(&token).send(site.address).await.is(200).json();
    assert_eq!(body["scopes"], json!(["read", "publish"]));
}

#[tokio::test]
async fn tokens_are_good_for_their_scopes() {
    let site = Site::start().await;
    site.user("somebody", Role::Publisher).await;
    let make = |scopes: Vec<Scope>| host::new_token(&site.config, "somebody", Scopes(scopes), "test", None);
    let reads = make(vec![Scope::Read]).await.unwrap();
    Call::get("/api/v1/whoami").token(reads.expose()).send(site.address).await.is(200);
    site.post(reads.expose(), "{}").await.refused(403, "forbidden");
    assert!(make(vec![Scope::Admin]).await.is_err(), "a publisher is no admin");
    let id = reads.expose().split('_').nth(1).unwrap();
    host::revoke(&site.config, id).await.unwrap();
    Call::get("/api/v1/whoami").token(reads.expose()).send(site.address).await.refused(401, "unknown_token");
    let publishes = make(vec![Scope::Read, Scope::Publish]).await.unwrap();
    host::disable(&site.config, "somebody", "asked for it").await.unwrap();
    Call::get("/api/v1/whoami")
        .token(publishes.expose())
        .send(site.address)
        .await
        .refused(401, "unknown_token");
    assert_eq!(site.get("/api/v1/moderation").await.json()["log"][0]["action"], "user_disabled");
}

#[tokio::test]
async fn a_session_is_worth_no_more_than_its_token() {
    let site = Site::start().await;
    let make = |scopes: Scopes| host::new_token(&site.config, "admin", scopes, "test", None);
    let narrow = make(Scopes(vec![Scope::Read, Scope::Publish])).await.unwrap();
    let mut jar = Jar::default();
    let answer = jar.post_with(&site, "/sign-in", &[("token", narrow.expose())], "").await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert_eq!(jar.get(&site, "/users").await.status, 401, "it began no session");
    let whole = make(Scopes::of_role(Role::Admin)).await.unwrap();
    jar.post_with(&site, "/sign-in", &[("token", whole.expose())], "").await.is(303);
    jar.get(&site, "/users").await.is(200);
    host::revoke(&site.config, whole.expose().split('_').nth(1).unwrap()).await.unwrap();
    assert_eq!(jar.get(&site, "/users").await.status, 401, "it ended with its token");
}

#[tokio::test]
async fn trying_tokens_is_slowed_down() {
    let site = Site::with(|config| config.limits.attempts.burst = 3.0).await;
    let bad = || Call::get("/api/v1/whoami").token("tokometer_x").send(site.address);
    for _ in 0..3 {
        bad().await.refused(401, "unknown_token");
    }
    let answer = bad().await;
    answer.refused(429, "too_many_requests");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
}
