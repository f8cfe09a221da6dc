//! Every address and every role: who may do what.

use http::Method;
use tokometer_site::domain::{Deed, Role};

use crate::client::Call;
use crate::sample::Sample;
use crate::sign_in::Jar;
use crate::site::Site;

/// What an address is for: everybody, or a deed. Whoever adds an address that changes something adds a line.
enum For {
    All,
    Only(Deed),
}

use For::{All, Only};

/// Of the API: they ask for a token.
const API: &[(&str, &str, For)] = &[
    ("GET", "/whoami", Only(Deed::KeepAccount)),
    ("GET", "/tokens", Only(Deed::KeepAccount)),
    ("DELETE", "/tokens/{id}", Only(Deed::KeepAccount)),
    ("POST", "/runs", Only(Deed::Publish)),
    ("POST", "/runs:validate", Only(Deed::Publish)),
    ("POST", "/artefacts:missing", Only(Deed::Publish)),
    ("PUT", "/artefacts/{sha256}", Only(Deed::Publish)),
    ("PATCH", "/runs/{id}", Only(Deed::Revise)),
    ("DELETE", "/runs/{id}", Only(Deed::Withdraw)),
    ("POST", "/runs/{id}/restore", Only(Deed::ModerateRuns)),
    ("POST", "/runs/{id}/reports", All),
    ("GET", "/reports", Only(Deed::CloseReports)),
    ("POST", "/reports/{number}/close", Only(Deed::CloseReports)),
    ("GET", "/suspicions", Only(Deed::CloseReports)),
    ("POST", "/suspicions/{number}/dismiss", Only(Deed::CloseReports)),
    ("GET", "/users", Only(Deed::SeeUsers)),
    ("PUT", "/users/{handle}/role", Only(Deed::ChangeRoles)),
    ("POST", "/invitations", All),
    ("POST", "/device/code", All),
    ("POST", "/device/token", All),
];

/// Pages: they ask for a session. Those that lead to `/sign-in` by themselves are tried elsewhere.
const PAGES: &[(&str, &str, For)] = &[
    ("POST", "/runs/{id}/problem", All),
    ("POST", "/runs/{id}/withdraw", Only(Deed::Withdraw)),
    ("POST", "/runs/{id}/restore", Only(Deed::ModerateRuns)),
    ("POST", "/moderation/{number}/close", Only(Deed::CloseReports)),
    ("POST", "/moderation/suspicions/{number}/dismiss", Only(Deed::CloseReports)),
    ("POST", "/account/tokens", Only(Deed::KeepAccount)),
    ("POST", "/account/tokens/{id}/revoke", Only(Deed::KeepAccount)),
    ("POST", "/account/identities/remove", Only(Deed::KeepAccount)),
    ("POST", "/device", Only(Deed::KeepAccount)),
    ("GET", "/users", Only(Deed::SeeUsers)),
    ("POST", "/users/{handle}/role", Only(Deed::ChangeRoles)),
    ("POST", "/invitation/{code}", All),
    ("POST", "/sign-in", All),
    ("POST", "/sign-in/new", All),
    ("POST", "/sign-out", All),
];

/// Every address that changes something has its line above: those of the API as they are described, those of pages as
/// they stand in the source.
#[test]
fn every_address_is_listed() {
    for (path, entry) in tokometer_site::openapi()["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap();
        for method in entry.as_object().unwrap().keys().filter(|method| *method != "get") {
            let listed = API.iter().any(|(of, known, _)| of.eq_ignore_ascii_case(method) && *known == path);
            assert!(listed, "{method} {path} has no line in the table of who may do what");
        }
    }
    let source = "src/pages.rs";
    let text = std::fs::read_to_string(format!("{}/{source}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    for line in text.split("#[cfg(test)]").next().unwrap().split(".route(\"").skip(1) {
        let (path, rest) = line.split_once('"').unwrap();
        let rest = rest.split(".route").next().unwrap();
        for method in ["post", "put", "patch", "delete"] {
            if rest.contains(&format!("{method}(")) {
                let listed =
                    PAGES.iter().any(|(of, known, _)| of.eq_ignore_ascii_case(method) && *known == path);
                assert!(listed, "{source}: {method} {path} has no line in the table of who may do what");
            }
        }
    }
}

fn filled(path: &str, run: &str) -> String {
    path.replace("{id}", run)
        .replace("{sha256}", &"0".repeat(64))
        .replace("{number}", "1")
        .replace("{handle}", "nobody")
        .replace("{code}", "none")
}

#[tokio::test]
async fn every_role_does_what_it_may() {
    let site = Site::with(|config| config.limits.attempts.burst = 500.0).await;
    let run = Sample::new().id().to_owned();
    let mut people = vec![(None, String::new(), Jar::default())];
    for role in Role::ALL {
        let token = site.user(&format!("a-{}", role.code()), role).await;
        let mut jar = Jar::default();
        jar.post_with(&site, "/sign-in", &[("token", &token)], "").await.is(303);
        people.push((Some(role), token, jar));
    }
    let mut tried = 0;
    for (role, token, jar) in &mut people {
        for (method, path, whom) in API {
            let path = format!("/api/v1{}", filled(path, &run));
            let mut call = Call::new(Method::from_bytes(method.as_bytes()).unwrap(), &path).body("{}");
            if role.is_some() {
                call = call.token(token);
            }
            let status = call.send(site.address).await.status.as_u16();
            judge(*role, method, &path, whom, status);
            tried += 1;
        }
        for (method, path, whom) in PAGES {
            // A session that was ended can do nothing after it.
            if *path == "/sign-out" || *path == "/sign-in" {
                continue;
            }
            let path = filled(path, &run);
            let status = if *method == "GET" {
                jar.get(&site, &path).await.status
            } else if role.is_some() {
                jar.post(&site, &path, &[]).await.status
            } else {
                jar.post_with(&site, &path, &[], "").await.status
            };
            judge(*role, method, &path, whom, status.as_u16());
            tried += 1;
        }
    }
    assert_eq!(tried, 5 * (API.len() + PAGES.len() - 2));
}

fn judge(role: Option<Role>, method: &str, path: &str, whom: &For, status: u16) {
    let what = format!("{method} {path} as {role:?}: {status}");
    assert!(status < 500, "{what}");
    match (whom, role) {
        (All, _) => assert!(status != 401 && status != 403, "{what}"),
        (Only(_), None) => assert_eq!(status, 401, "{what}"),
        (Only(deed), Some(role)) if role >= deed.least() => assert!(status != 401 && status != 403, "{what}"),
        (Only(_), Some(_)) => assert_eq!(status, 403, "{what}"),
    }
}

#[tokio::test]
async fn a_private_site_shows_nothing_to_strangers() {
    let site = Site::with(|config| config.require_sign_in = true).await;
    let token = site.user("ada", Role::Reader).await;
    for path in ["/api/v1/runs", "/api/v1/facets", "/api/v1/moderation", "/api/v1/compare?runs=x", "/"] {
        site.get(path).await.refused(401, "not_signed_in");
    }
    Call::get("/api/v1/runs").token("tokometer_wrong").send(site.address).await.refused(401, "unknown_token");
    let list = Call::get("/api/v1/runs").token(&token).send(site.address).await.is(200);
    assert_eq!(list.header("cache-control"), "private, no-store");
    let mut jar = Jar::default();
    let away = jar.get(&site, "/models?x=1").await.is(303);
    assert_eq!(away.header("location"), "/sign-in?next=%2Fmodels%3Fx%3D1");
    for open in ["/sign-in", "/health/live", "/robots.txt", "/.well-known/oauth-authorization-server"] {
        assert_eq!(jar.get(&site, open).await.status, 200, "{open}");
    }
    let back =
        jar.post_with(&site, "/sign-in", &[("token", &token), ("next", "/models?x=1")], "").await.is(303);
    assert_eq!(back.header("location"), "/models?x=1");
    jar.get(&site, "/").await.is(200);
}

#[tokio::test]
async fn an_admin_changes_roles_in_public() {
    let site = Site::start().await;
    site.user("ada", Role::Publisher).await;
    let mut jar = Jar::default();
    jar.post_with(&site, "/sign-in", &[("token", &site.admin)], "").await.is(303);
    let fields = [("role", "moderator"), ("reason", "knows the hardware")];
    jar.post(&site, "/users/ada/role", &fields).await.is(303);
    assert!(jar.get(&site, "/users").await.text().contains("<td>moderator</td>"));
    assert_eq!(jar.post(&site, "/users/admin/role", &fields).await.status, 422, "not one's own");
    assert_eq!(
        jar.post(&site, "/users/ada/role", &[("role", "reader")]).await.status,
        422,
        "not without a reason"
    );
    let log = site.get("/api/v1/moderation").await.json();
    assert_eq!(log["log"][0]["reason"], "ada: publisher became moderator: knows the hardware", "{log}");
}
