//! Sign-in by a provider: the way there and back, and a provider that lies.

use serde_json::json;
use tokometer_site::domain::{Role, Scope, Scopes};
use tokometer_site::host;

use crate::client::{Answer, Call};
use crate::provider::{Fault, Provider};
use crate::site::Site;

/// A browser as far as cookies go.
#[derive(Default)]
pub(crate) struct Jar(Vec<(String, String)>);

impl Jar {
    fn header(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep(&mut self, answer: &Answer) {
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            assert!(line.contains("HttpOnly") && line.contains("SameSite=Lax"), "{line}");
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            self.0.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.0.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(crate) async fn get(&mut self, site: &Site, path: &str) -> Answer {
        let answer = Call::get(path)
            .header("cookie", &self.header())
            .header("accept", "text/html")
            .send(site.address)
            .await;
        self.keep(&answer);
        answer
    }

    /// Sends a form of this session.
    pub(crate) async fn post(&mut self, site: &Site, path: &str, fields: &[(&str, &str)]) -> Answer {
        let key = self.form_key(site).await;
        self.post_with(site, path, fields, &key).await
    }

    pub(crate) async fn post_with(
        &mut self,
        site: &Site,
        path: &str,
        fields: &[(&str, &str)],
        key: &str,
    ) -> Answer {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields).append_pair("form_key", key);
        let answer = Call::post(path)
            .header("cookie", &self.header())
            .header("accept", "text/html")
            .header("origin", "http://site.test")
            .body(body.finish())
            .send(site.address)
            .await;
        self.keep(&answer);
        answer
    }

    async fn form_key(&mut self, site: &Site) -> String {
        let page = self.get(site, "/sign-in").await.text();
        page.split("name=\"form_key\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    }

    /// To the provider and back; the site's answer.
    pub(crate) async fn sign_in(&mut self, site: &Site, provider: &Provider, next: &str) -> Answer {
        let there = self.get(site, &format!("/sign-in/start?next={next}")).await.is(303);
        let (code, state) = provider.agree(there.header("location"));
        self.get(site, &format!("/sign-in/return?code={code}&state={state}")).await
    }
}

pub(crate) async fn site_of(provider: &Provider) -> Site {
    let settings = provider.settings();
    Site::with(|config| {
        config.limits.attempts.burst = 200.0;
        config.limits.beginnings.burst = 400.0;
        config.sign_in = Some(settings);
    })
    .await
}

#[tokio::test]
async fn somebody_new_chooses_a_name_and_comes_back() {
    let provider = Provider::start().await;
    let site = site_of(&provider).await;
    let mut jar = Jar::default();
    assert!(jar.get(&site, "/sign-in").await.text().contains("Sign in with Test Provider"));
    let back = jar.sign_in(&site, &provider, "%2Fdevice").await.is(303);
    assert_eq!(back.header("location"), "/sign-in/new?next=%2Fdevice");
    assert!(!jar.has("tokometer") && !jar.has("tokometer-way"));
    let page = jar.get(&site, "/sign-in/new?next=%2Fdevice").await.is(200).text();
    assert!(page.contains("value=\"ada-lovelace\"") && !page.contains("secret-mail"), "{page}");
    let bad = jar.post_with(&site, "/sign-in/new", &[("handle", "Not Good")], "").await;
    assert_eq!(bad.status, 422);
    let done =
        jar.post_with(&site, "/sign-in/new", &[("handle", "ada"), ("next", "//evil.test")], "").await.is(303);
    assert_eq!(done.header("location"), "/", "never to another site");
    assert!(jar.has("tokometer") && !jar.has("tokometer-new"));
    let page = jar.get(&site, "/account").await.is(200).text();
    assert!(page.contains("Your role is publisher") && page.contains("Ada.Lovelace"), "{page}");
    // Nothing of an address is kept.
    assert!(!site.file_holds("secret-mail"));
    // The second time there is nothing to choose, and the session is another one.
    let first = jar.0.iter().find(|(name, _)| name == "tokometer").unwrap().1.clone();
    let back = jar.sign_in(&site, &provider, "%2Faccount").await.is(303);
    assert_eq!(back.header("location"), "/account");
    let old = Call::get("/account")
        .header("cookie", &format!("tokometer={first}"))
        .send(site.address)
        .await
        .is(303);
    assert!(old.header("location").starts_with("/sign-in"), "the session from before has ended");
    // Signed out here, and shown the way out there.
    let out = jar.post(&site, "/sign-out", &[]).await.is(303);
    assert_eq!(out.header("location"), "/signed-out");
    let page = jar.get(&site, "/signed-out").await.text();
    assert!(page.contains(&format!("{}/end?client_id=the-site", provider.issuer())), "{page}");
    assert_eq!(jar.get(&site, "/account").await.status, 303);
}

#[tokio::test]
async fn a_way_leads_back_once_and_in_one_browser() {
    let provider = Provider::start().await;
    let site = site_of(&provider).await;
    let mut jar = Jar::default();
    let there = jar.get(&site, "/sign-in/start").await.is(303);
    let (code, state) = provider.agree(there.header("location"));
    let path = format!("/sign-in/return?code={code}&state={state}");
    // Another browser, and another state.
    assert_eq!(Jar::default().get(&site, &path).await.status, 400);
    let mut other = Jar::default();
    other.get(&site, "/sign-in/start").await.is(303);
    assert_eq!(other.get(&site, &path).await.status, 400);
    assert_eq!(jar.get(&site, &format!("/sign-in/return?code={code}&state=wrong")).await.status, 400);
    assert_eq!(jar.get(&site, &format!("{path}&iss=https%3A%2F%2Fother.test")).await.status, 400);
    let kept = Jar(jar.0.clone());
    jar.get(&site, &path).await.is(303);
    assert_eq!(jar.get(&site, &path).await.status, 400, "the way was used");
    // With the cookie of before the provider says that the code was used.
    let mut again = Jar(kept.0);
    assert_eq!(again.get(&site, &path).await.status, 400);
    assert!(!again.has("tokometer-new"));
    // Whoever does not want to.
    let there = jar.get(&site, "/sign-in/start").await.is(303);
    let (_, state) = provider.agree(there.header("location"));
    let no = jar.get(&site, &format!("/sign-in/return?error=access_denied&state={state}")).await;
    assert!(no.status == 400 && no.text().contains("do not want to sign in"), "{no:?}");
}

#[tokio::test]
async fn lies_are_found() {
    let provider = Provider::start().await;
    let site = site_of(&provider).await;
    for fault in [
        Fault::Nonce,
        Fault::Audience,
        Fault::TwoAudiences,
        Fault::AuthorizedParty,
        Fault::Issuer,
        Fault::Expired,
        Fault::Future,
        Fault::AlgNone,
        Fault::AlgHmac,
        Fault::OtherKey,
        Fault::BrokenSignature,
        Fault::NoIdToken,
        Fault::ServerError,
    ] {
        provider.set(|lie| lie.fault = fault);
        let mut jar = Jar::default();
        let answer = jar.sign_in(&site, &provider, "%2F").await;
        assert_eq!(answer.status, 502, "{fault:?}: {answer:?}");
        assert!(!jar.has("tokometer-new") && !jar.has("tokometer"), "{fault:?}");
    }
    provider.set(|lie| lie.fault = Fault::Huge);
    assert_eq!(Jar::default().sign_in(&site, &provider, "%2F").await.status, 503);
    // Told of somebody else where it is asked for more.
    provider.set(|lie| {
        lie.fault = Fault::OtherPerson;
        lie.claims = json!({});
    });
    assert_eq!(Jar::default().sign_in(&site, &provider, "%2F").await.status, 502);
    provider.set(|lie| {
        lie.fault = Fault::None;
        lie.userinfo = json!({"preferred_username": "grace"});
    });
    let mut jar = Jar::default();
    jar.sign_in(&site, &provider, "%2F").await.is(303);
    assert!(jar.get(&site, "/sign-in/new").await.text().contains("value=\"grace\""));
}

#[tokio::test]
async fn new_keys_are_fetched() {
    let provider = Provider::start().await;
    let site = site_of(&provider).await;
    Jar::default().sign_in(&site, &provider, "%2F").await.is(303);
    Jar::default().sign_in(&site, &provider, "%2F").await.is(303);
    assert_eq!(provider.lie.lock().unwrap().described, 1, "the description is kept");
    provider.set(|lie| (lie.key, lie.told_key) = (1, 1));
    // Not more often than every five seconds, whatever keys are named.
    tokio::time::sleep(std::time::Duration::from_millis(5100)).await;
    Jar::default().sign_in(&site, &provider, "%2F").await.is(303);
    assert_eq!(provider.lie.lock().unwrap().described, 2);
}

#[tokio::test]
async fn a_provider_that_is_away_is_said_to_be() {
    let provider = Provider::start().await;
    provider.set(|lie| lie.discovery_redirects = true);
    let site = site_of(&provider).await;
    let answer = Jar::default().get(&site, "/sign-in/start").await;
    assert_eq!(answer.status, 502, "redirects are not followed");
    provider.set(|lie| (lie.discovery_redirects, lie.discovery_status) = (false, 500));
    assert_eq!(Jar::default().get(&site, "/sign-in/start").await.status, 502);
    let mut settings = provider.settings();
    // Nobody listens there.
    settings.issuer = "http://127.0.0.1:9".to_owned();
    let site = Site::with(|config| config.sign_in = Some(settings)).await;
    let answer = Jar::default().get(&site, "/sign-in/start").await;
    assert!(answer.status == 503 && answer.text().contains("a token can sign in"), "{answer:?}");
    // A slow one: no browser waits for ever. The limit is the site's own.
    let provider = Provider::start().await;
    provider.set(|lie| lie.fault = Fault::Slow);
    let site = site_of(&provider).await;
    assert_eq!(Jar::default().sign_in(&site, &provider, "%2F").await.status, 503);
}

#[tokio::test]
async fn groups_decide_who_comes_in_and_as_what() {
    let provider = Provider::start().await;
    let mut settings = provider.settings();
    settings.allowed_groups = vec!["bench".to_owned()];
    settings.group_roles = vec![("ops".to_owned(), Role::Admin)];
    settings.role = Role::Reader;
    let site = Site::with(|config| config.sign_in = Some(settings)).await;
    assert_eq!(Jar::default().sign_in(&site, &provider, "%2F").await.status, 403);
    provider.set(|lie| lie.claims = json!({"preferred_username": "ada", "groups": ["bench"]}));
    let mut jar = Jar::default();
    jar.sign_in(&site, &provider, "%2F").await.is(303);
    jar.post_with(&site, "/sign-in/new", &[("handle", "ada")], "").await.is(303);
    assert!(jar.get(&site, "/account").await.text().contains("Your role is reader"));
    // A change of groups is a change of role, at the next sign-in, and is told.
    provider.set(|lie| lie.claims["groups"] = json!(["bench", "ops"]));
    jar.sign_in(&site, &provider, "%2F").await.is(303);
    assert!(jar.get(&site, "/account").await.text().contains("Your role is admin"));
    let log = site.get("/api/v1/moderation").await.json();
    assert_eq!(log["log"][0]["action"], "role_changed", "{log}");
    // What an admin decides here stays while the groups stay.
    let role = Call::new(http::Method::PUT, "/api/v1/users/ada/role").token(&site.admin);
    role.json(&json!({"role": "moderator", "reason": "test"})).send(site.address).await.is(200);
    jar.sign_in(&site, &provider, "%2F").await.is(303);
    assert!(jar.get(&site, "/account").await.text().contains("Your role is moderator"));
    // Closed accounts stay closed.
    tokometer_site::host::disable(&site.config, "ada", "test").await.unwrap();
    assert_eq!(jar.sign_in(&site, &provider, "%2F").await.status, 403);
}

#[tokio::test]
async fn an_identity_is_added_to_an_account_that_is_there() {
    let provider = Provider::start().await;
    let site = site_of(&provider).await;
    let token = site.user("invited", Role::Publisher).await;
    let mut jar = Jar::default();
    jar.post_with(&site, "/sign-in", &[("token", &token)], "").await.is(303);
    let back = jar.sign_in(&site, &provider, "%2Faccount").await.is(303);
    assert!(back.header("location").starts_with("/sign-in/new"));
    let page = jar.get(&site, "/sign-in/new").await.text();
    assert!(page.contains("Add it to invited"), "{page}");
    // A foreign page can't do it: it does not know the session's key.
    assert_eq!(jar.post_with(&site, "/sign-in/new", &[], "").await.status, 403);
    jar.post(&site, "/sign-in/new", &[]).await.is(303);
    let mut other = Jar::default();
    assert_eq!(other.sign_in(&site, &provider, "%2Faccount").await.is(303).header("location"), "/account");
    assert!(other.get(&site, "/account").await.text().contains("invited"));
    let fields = [("issuer", provider.issuer()), ("subject", "person-1".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // A token for less than all is no way in, so the identity stays while there is no other token.
    let make = |scopes: Scopes| host::new_token(&site.config, "invited", scopes, "test", None);
    host::revoke(&site.config, token.split('_').nth(1).unwrap()).await.unwrap();
    make(Scopes(vec![Scope::Read])).await.unwrap();
    let left = other.post(&site, "/account/identities/remove", &fields).await.is(422);
    assert!(left.text().contains("only way in"), "{}", left.text());
    make(Scopes::of_role(Role::Publisher)).await.unwrap();
    other.post(&site, "/account/identities/remove", &fields).await.is(303);
    let back = Jar::default().sign_in(&site, &provider, "%2F").await.is(303);
    assert!(back.header("location").starts_with("/sign-in/new"));
}
