//! Device login, and what else an account keeps.

use serde_json::Value;
use tokometer_site::domain::Role;

use crate::client::{Answer, Call};
use crate::sign_in::Jar;
use crate::site::Site;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

async fn form(site: &Site, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let kind = "application/x-www-form-urlencoded";
    Call::post(path).header("content-type", kind).body(body).send(site.address).await
}

pub(crate) async fn ask(site: &Site) -> (String, String) {
    let fields = [("client_id", "tokometer <b>"), ("scope", "read publish"), ("host", "gpu1")];
    let asked = form(site, "/api/v1/device/code", &fields).await.is(200);
    assert_eq!(asked.header("cache-control"), "no-store");
    let asked = asked.json();
    let text = |name: &str| asked[name].as_str().unwrap().to_owned();
    assert!(text("verification_uri").ends_with("/device"));
    assert_eq!(
        text("verification_uri_complete"),
        format!("{}?user_code={}", text("verification_uri"), text("user_code"))
    );
    assert_eq!((asked["expires_in"].as_i64(), asked["interval"].as_i64()), (Some(900), Some(5)));
    (text("device_code"), text("user_code"))
}

pub(crate) async fn poll(site: &Site, code: &str) -> Answer {
    form(site, "/api/v1/device/token", &[("grant_type", GRANT), ("device_code", code), ("client_id", "t")])
        .await
}

/// Lets the time that a device must wait pass, in the database.
async fn forget_pauses(site: &Site) {
    change(site, "UPDATE devices SET asked_at = NULL").await;
}

async fn change(site: &Site, statement: &'static str) {
    use sqlx::Connection;
    let url = format!("sqlite://{}", site.config.database().display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn error(answer: &Answer) -> Value {
    assert_eq!(answer.status, 400, "{answer:?}");
    answer.json()["error"].clone()
}

async fn signed_in(site: &Site, handle: &str, role: Role) -> Jar {
    let token = site.user(handle, role).await;
    let mut jar = Jar::default();
    jar.post_with(site, "/sign-in", &[("token", &token)], "").await.is(303);
    jar
}

#[tokio::test]
async fn a_program_is_let_in() {
    let site = Site::start().await;
    let (device, user) = ask(&site).await;
    let mut jar = Jar::default();
    let away = jar.get(&site, &format!("/device?user_code={user}")).await.is(303);
    assert_eq!(away.header("location"), format!("/sign-in?next=%2Fdevice%3Fuser_code%3D{user}"));
    let mut jar = signed_in(&site, "ada", Role::Publisher).await;
    assert!(jar.get(&site, &format!("/device?user_code={user}")).await.text().contains(&user));
    assert_eq!(error(&poll(&site, &device).await), "authorization_pending");
    assert_eq!(error(&poll(&site, &device).await), "slow_down");
    let typed = user.replace('-', " ").to_lowercase();
    let page = jar.post(&site, "/device", &[("user_code", &typed)]).await.is(200).text();
    assert!(
        page.contains("tokometer &#60;b&#62;") && page.contains("gpu1") && page.contains("127.0.0.1"),
        "{page}"
    );
    assert!(page.contains("read, publish"), "{page}");
    // A page from elsewhere can't answer.
    assert_eq!(
        jar.post_with(&site, "/device", &[("user_code", &user), ("answer", "yes")], "").await.status,
        403
    );
    jar.post(&site, "/device", &[("user_code", &user), ("answer", "yes")]).await.is(200);
    assert_eq!(
        jar.post(&site, "/device", &[("user_code", &user), ("answer", "no")]).await.status,
        404,
        "answered"
    );
    // Another process of the same site knows it too.
    forget_pauses(&site).await;
    let (server, _) = tokometer_site::start(site.config.clone()).await.unwrap();
    let address = server.address();
    let running = tokio::spawn(server.run(std::future::pending()));
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("grant_type", GRANT), ("device_code", device.as_str())])
        .finish();
    let granted = Call::post("/api/v1/device/token").body(body).send(address).await.is(200).json();
    running.abort();
    assert_eq!(
        (granted["token_type"].as_str(), granted["scope"].as_str()),
        (Some("Bearer"), Some("read publish"))
    );
    let token = granted["access_token"].as_str().unwrap();
    let who = Call::get("/api/v1/whoami").token(token).send(site.address).await.is(200).json();
    assert_eq!(who["handle"], "ada");
    assert_eq!(error(&poll(&site, &device).await), "invalid_grant", "a code leads to a token once");
    // Of codes only hashes are kept; of the token too.
    let mut bytes = std::fs::read(site.config.database()).unwrap();
    bytes.extend(std::fs::read(site.config.data.join("site.db-wal")).unwrap_or_default());
    for secret in [device.as_str(), &user.replace('-', ""), token.rsplit_once('_').unwrap().1] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
    // It stands on the page of the account, and is ended there.
    let page = jar.get(&site, "/account").await.text();
    assert!(page.contains("tokometer &#60;b&#62; on gpu1"), "{page}");
    let id = token.split('_').nth(1).unwrap();
    jar.post(&site, &format!("/account/tokens/{id}/revoke"), &[]).await.is(303);
    Call::get("/api/v1/whoami").token(token).send(site.address).await.refused(401, "unknown_token");
}

#[tokio::test]
async fn a_program_is_refused_or_comes_too_late() {
    let site = Site::with(|config| config.limits.attempts.burst = 6.0).await;
    let mut jar = signed_in(&site, "ada", Role::Reader).await;
    let (device, user) = ask(&site).await;
    jar.post(&site, "/device", &[("user_code", &user), ("answer", "no")]).await.is(200);
    assert_eq!(error(&poll(&site, &device).await), "access_denied");
    // A reader can't give what a reader does not have.
    let (device, user) = ask(&site).await;
    let page = jar.post(&site, "/device", &[("user_code", &user)]).await.is(200).text();
    assert!(page.contains("more than your role allows: publish"), "{page}");
    jar.post(&site, "/device", &[("user_code", &user), ("answer", "yes")]).await.is(200);
    assert_eq!(poll(&site, &device).await.is(200).json()["scope"], "read");
    let (device, user) = ask(&site).await;
    change(&site, "UPDATE devices SET expires_at = 1 + created_at").await;
    assert_eq!(jar.post(&site, "/device", &[("user_code", &user), ("answer", "yes")]).await.status, 404);
    assert_eq!(error(&poll(&site, &device).await), "expired_token");
    assert_eq!(error(&form(&site, "/api/v1/device/code", &[]).await), "invalid_request");
    let admin = [("client_id", "t"), ("scope", "admin")];
    assert_eq!(error(&form(&site, "/api/v1/device/code", &admin).await), "invalid_scope");
    assert_eq!(error(&form(&site, "/api/v1/device/token", &[]).await), "unsupported_grant_type");
    // Trying codes is slowed down, for a user too.
    let mut last = 0;
    for _ in 0..8 {
        last = jar.post(&site, "/device", &[("user_code", "BBBB-BBBB")]).await.status.as_u16();
    }
    assert_eq!(last, 429);
}

#[tokio::test]
async fn one_keeps_ones_own_tokens() {
    let site = Site::start().await;
    let mut jar = signed_in(&site, "ada", Role::Publisher).await;
    let fields = [("label", "the <lab>"), ("scope", "read"), ("scope", "publish"), ("days", "30")];
    let page = jar.post(&site, "/account/tokens", &fields).await.is(200);
    assert_eq!(page.header("cache-control"), "no-store");
    let page = page.text();
    let token = page.split("id=\"new-token\">").nth(1).unwrap().split('<').next().unwrap();
    Call::get("/api/v1/whoami").token(token).send(site.address).await.is(200);
    let list = jar.get(&site, "/account").await.text();
    assert!(list.contains("the &#60;lab&#62;") && !list.contains(token), "shown once");
    for bad in [
        [("label", "x"), ("scope", "admin")],
        [("label", "x"), ("scope", "nonsense")],
        [("label", ""), ("scope", "read")],
    ] {
        assert!(jar.post(&site, "/account/tokens", &bad).await.status.is_client_error(), "{bad:?}");
    }
    let tokens = Call::get("/api/v1/tokens").token(token).send(site.address).await.is(200).json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 2);
    // Nobody ends another's.
    let other = site.user("eve", Role::Moderator).await;
    let id = token.split('_').nth(1).unwrap();
    let end = |token: &str| {
        Call::new(http::Method::DELETE, &format!("/api/v1/tokens/{id}")).token(token).send(site.address)
    };
    end(&other).await.refused(404, "not_found");
    end(token).await.is(200);
    end(token).await.refused(401, "unknown_token");
}
