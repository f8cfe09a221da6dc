//! The description of the API: whole, valid, and true. That answers are as described is looked at in every test
//! ([`crate::described`]).

use http::Method;
use serde_json::{Value, json};
use tokometer_site::domain::Role;

use crate::client::Call;
use crate::described::{SEEN, validator};
use crate::sample::{Plan, Sample};
use crate::site::Site;

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// Every operation of the description with its method and path.
fn operations() -> Vec<(Method, String, &'static Value)> {
    let paths = tokometer_site::openapi()["paths"].as_object().unwrap();
    let of_path = |(path, entry): (&String, &'static Value)| {
        let path = path.clone();
        let entry = entry.as_object().unwrap();
        entry.iter().map(move |(method, operation)| {
            (method.to_uppercase().parse::<Method>().unwrap(), path.clone(), operation)
        })
    };
    paths.iter().flat_map(of_path).collect()
}

/// A path with something in its places.
fn filled(path: &str) -> String {
    path.replace("{id}", "01931d3a-7c00-7000-8000-000000000001")
        .replace("{revision}", "1")
        .replace("{number}", "1")
        .replace("{sha256}", &"0".repeat(64))
        .replace("{name}", "run")
        .replace("{handle}", "somebody")
        .replace("{file}", "runs.parquet")
        .replace("{day}", "2026-12-01")
}

#[tokio::test]
async fn the_description_is_served_and_can_be_kept() {
    let site = Site::start().await;
    let answer = site.get("/openapi.json").await.is(200);
    assert_eq!(&answer.json(), tokometer_site::openapi());
    let tag = answer.header("etag").to_owned();
    let again = Call::get("/openapi.json").header("if-none-match", &tag).send(site.address).await.is(304);
    assert!(again.body.is_empty());
    for (name, make) in tokometer_record::schema::ALL {
        let schema = site.get(&format!("/api/v1/schemas/{name}")).await.is(200);
        assert_eq!(schema.json(), make(), "what `tokometer schema {name}` prints");
        assert_eq!(schema.header("content-type"), "application/schema+json");
    }
    site.get("/api/v1/schemas/nonsense").await.refused(404, "not_found");
    let page = site.get("/api").await.is(200).text();
    for (method, path, operation) in operations() {
        assert!(
            page.contains(&operation["summary"].as_str().unwrap().replace('\'', "&#39;")),
            "{method} {path} is not on the page"
        );
    }
}

/// Each path answers in the ways that are described, and says of every other one that it does not.
#[tokio::test]
async fn every_way_to_call_is_described_and_no_more() {
    let site = Site::start().await;
    let operations = operations();
    let mut paths: Vec<&String> = operations.iter().map(|(_, path, _)| path).collect();
    paths.dedup();
    assert!(paths.len() >= 20, "{}", paths.len());
    for path in paths {
        for method in METHODS {
            let is_described = operations.iter().any(|one| one.0 == method && one.1 == *path);
            let answer = Call::new(method.clone(), &filled(path)).send(site.address).await;
            assert_eq!(answer.status != 405, is_described, "{method} {path}: {answer:?}");
            if !is_described {
                answer.refused(405, "method_not_allowed");
                let allowed = answer.header("allow");
                assert!(
                    operations
                        .iter()
                        .filter(|one| one.1 == *path)
                        .all(|one| allowed.contains(one.0.as_str()))
                );
            }
        }
    }
}

#[test]
fn the_description_hangs_together() {
    let document = tokometer_site::openapi();
    assert_eq!(document["openapi"], "3.1.1");
    let mut ids = Vec::new();
    for (method, path, operation) in operations() {
        let name = format!("{method} {path}");
        ids.push(operation["operationId"].as_str().unwrap().to_owned());
        let none = Vec::new();
        let parameters = operation["parameters"].as_array().unwrap_or(&none);
        for place in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            let is_told =
                |one: &Value| one["name"] == place && one["in"] == "path" && one["required"] == true;
            assert!(parameters.iter().any(is_told), "{name}: {place}");
        }
        for parameter in parameters {
            let example = validator(&parameter["schema"]).is_valid(&parameter["example"]);
            assert!(example, "{name}: the example of {}", parameter["name"]);
            assert!(parameter["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        }
        let needs = operation["security"][0].get("token").is_some();
        assert_eq!(
            operation["responses"].get("401").is_some(),
            needs || operation["security"][1].is_object()
        );
        assert!(operation["responses"]["429"]["headers"]["Retry-After"].is_object(), "{name}");
        for (_, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            if let Some(example) = content.get("example") {
                let wrong =
                    validator(&content["schema"]).validate(example).map_err(|error| error.to_string());
                assert_eq!(wrong, Ok(()), "{name}: the example of its body");
            }
        }
    }
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "names of operations are unique");
    // Nothing is named that is not there, and nothing is there that is not named.
    let text = document.to_string();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name}");
    }
    for named in text.split("\"#/components/schemas/").skip(1) {
        let name = named.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
    }
}

/// What the description says that a list can be asked, it can be asked, with the same bounds.
#[tokio::test]
async fn every_parameter_of_a_list_is_taken_and_its_bounds_hold() {
    let site = Site::start().await;
    for path in ["/api/v1/runs", "/api/v1/facets"] {
        let operation = &tokometer_site::openapi()["paths"][path]["get"];
        for parameter in operation["parameters"].as_array().unwrap() {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let example = match parameter["example"].as_array() {
                Some(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
                None => text(&parameter["example"]),
            };
            let ask = async |value: &str| {
                let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
                site.get(&format!("{path}?{name}={value}")).await
            };
            ask(&example).await.is(200);
            let of = if schema["type"] == "array" { &schema["items"] } else { schema };
            if !of["enum"].is_null()
                || !of["anyOf"].is_null()
                || !of["pattern"].is_null() && of["maxLength"].is_null()
                || of["type"] == "integer"
            {
                ask("nonsense").await.is(400);
            }
            if let Some(most) = of["maximum"].as_u64() {
                ask(&most.to_string()).await.is(200);
                ask(&(u128::from(most) + 1).to_string()).await.is(400);
            }
            if let Some(most) = of["maxLength"].as_u64() {
                ask(&"x".repeat(most as usize)).await.is(200);
                ask(&"x".repeat(most as usize + 1)).await.is(400);
            }
        }
        site.get(&format!("{path}?limit=0")).await.refused(400, "bad_query");
        site.get(&format!("{path}?shelf=withdrawn")).await.refused(400, "bad_query");
    }
}

/// One reader, publisher and moderator after the other calls everything there is; each answer is looked at.
#[tokio::test]
async fn every_operation_answers_as_described() {
    let site = Site::start().await;
    let (one, two) = (Sample::new(), Sample::new());
    let user = site.user("somebody", Role::Moderator).await;
    let call = |method: Method, path: &str| Call::new(method, path).token(&user);
    let hashes: Vec<String> = one.files.iter().map(|file| tokometer_record::store::sha256(&file.1)).collect();
    let missing = json!({"sha256": hashes});
    let asked =
        call(Method::POST, "/api/v1/artefacts:missing").json(&missing).send(site.address).await.is(200);
    assert_eq!(asked.json()["missing"], missing["sha256"]);
    site.send_files(&user, &one).await;
    call(Method::POST, "/api/v1/runs:validate").body(one.document()).send(site.address).await.is(200);
    site.publish(&user, &one).await.is(201);
    site.publish(&user, &two).await.is(201);
    site.post(&user, one.document()).await.is(200);
    let path = format!("/api/v1/runs/{}", one.id());
    for end in ["", "/cells", "/verification", "/revisions", "/revisions/1", "/artefacts"] {
        site.get(&format!("{path}{end}")).await.is(200);
    }
    let csv = Call::get(&path).header("accept", "text/csv").send(site.address).await.is(200);
    let tag = csv.header("etag").to_owned();
    assert_ne!(tag, site.get(&path).await.header("etag"), "another form is another thing to keep");
    let kept = Call::get(&path).header("accept", "text/csv").header("if-none-match", &tag);
    kept.send(site.address).await.is(304);
    let change = json!({"note": "a note", "why": "there was none"});
    call(Method::PATCH, &path).json(&change).send(site.address).await.is(200);
    let report = json!({"kind": "other", "text": "odd"});
    let number = Call::post(&format!("{path}/reports")).json(&report).send(site.address).await.is(201).json();
    call(Method::GET, "/api/v1/reports").send(site.address).await.is(200);
    let reason = json!({"reason": "looked at"});
    let close = format!("/api/v1/reports/{}/close", number["number"]);
    call(Method::POST, &close).json(&reason).send(site.address).await.is(200);
    site.get(&format!("/api/v1/compare?base={}&to={}", one.id(), two.id())).await.is(200);
    call(Method::DELETE, &path).json(&reason).send(site.address).await.is(200);
    site.get(&path).await.refused(410, "withdrawn");
    call(Method::POST, &format!("{path}/restore")).json(&reason).send(site.address).await.is(200);
    let file = format!("/api/v1/artefacts/{}", hashes[0]);
    let content = site.get(&file).await.is(200);
    let kept = Call::get(&file).header("if-none-match", content.header("etag"));
    kept.send(site.address).await.is(304);
    site.tidy().await;
    let dumps = site.get("/api/v1/dump").await.is(200).json();
    site.get(dumps["dumps"][0]["addresses"]["cells"].as_str().unwrap()).await.is(200);
    site.get("/api/v1/dump/latest.parquet").await.is(200);
    let slow = Plan { step_ns: 40_000_000, ..Plan::default() };
    for plan in [Plan::default(), Plan::default(), Plan::default(), slow] {
        site.publish(&user, &plan.make()).await.is(201);
    }
    let odd = call(Method::GET, "/api/v1/suspicions").send(site.address).await.is(200).json();
    let dismiss = format!("/api/v1/suspicions/{}/dismiss", odd["suspicions"][0]["id"]);
    call(Method::POST, &dismiss).json(&reason).send(site.address).await.is(200);
    for path in ["", "/runs", "/facets", "/moderation", "/schemas/run"] {
        site.get(&format!("/api/v1{path}")).await.is(200);
    }
    for path in ["/api/v1/users", "/api/v1/tokens"] {
        Call::get(path).token(&site.admin).send(site.address).await.is(200);
    }
    site.user("other", Role::Publisher).await;
    let role = json!({"role": "reader", "reason": "asked for it"});
    let call_admin = Call::new(Method::PUT, "/api/v1/users/other/role").token(&site.admin);
    call_admin.json(&role).send(site.address).await.is(200);
    let tokens = call(Method::GET, "/api/v1/tokens").send(site.address).await.is(200).json();
    call(Method::GET, "/api/v1/whoami").send(site.address).await.is(200);
    let own = format!("/api/v1/tokens/{}", tokens["tokens"][0]["id"].as_str().unwrap());
    call(Method::DELETE, &own).send(site.address).await.is(200);
    let form = "client_id=a+test&scope=read";
    Call::post("/api/v1/device/code").body(form).send(site.address).await.is(200);
    Call::post("/api/v1/device/token").body("grant_type=x").send(site.address).await.is(400);
    let seen = SEEN.lock().unwrap().clone();
    // The token of a device takes a person: tests of device login come to it.
    for (method, path, _) in operations().into_iter().filter(|one| one.1 != "/api/v1/device/token") {
        assert!(seen.contains(&format!("{method} {path}")), "{method} {path} was never called with success");
    }
}

/// Bodies and addresses that can't be what is meant are refused in the words of the site.
#[tokio::test]
async fn odd_requests_are_told_what_is_odd() {
    let site = Site::start().await;
    let post = |path: &str, kind: &str, body: &'static str| {
        Call::post(path).token(&site.admin).header("content-type", kind).body(body).send(site.address)
    };
    post("/api/v1/runs", "application/x-www-form-urlencoded", "{}").await.refused(415, "unknown_kind");
    post("/api/v1/artefacts:missing", "text/plain", "{}").await.refused(415, "unknown_kind");
    post("/api/v1/artefacts:missing", "Application/JSON; charset=utf-8", "{\"sha256\": []}").await.is(200);
    post("/api/v1/runs:validate", "application/json", "{").await.refused(400, "no_json");
    let id = "01931d3a-7c00-7000-8000-000000000001";
    for revision in ["x", "-1", "0", "4294967295", "99999999999"] {
        site.get(&format!("/api/v1/runs/{id}/revisions/{revision}")).await.refused(400, "bad_address");
    }
    post("/api/v1/reports/x/close", "application/json", "{}").await.refused(400, "bad_address");
    site.get("/api/v1/runs/%ff").await.refused(400, "bad_address");
    site.get("/api/v1/artefacts/%00").await.refused(404, "not_found");
    // What a form of a page may leave empty, a program leaves out.
    site.get("/api/v1/runs?since=").await.refused(400, "bad_query");
    site.get("/api/v1/runs?shelf=ranked&shelf=ranked").await.refused(400, "bad_query");
    site.get("/api/v1/facets?model=").await.refused(400, "bad_query");
    site.get("/?since=&text=").await.is(200);
    let empty = "/api/v1/artefacts/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    Call::new(Method::PUT, empty).token(&site.admin).send(site.address).await.refused(400, "no_body");
    for query in ["", "base=", &format!("to={id},{id}"), &format!("base={id},{id}&to={id}")] {
        site.get(&format!("/api/v1/compare?{query}")).await.is(400);
    }
    let marked = Call::post(&format!("/api/v1/runs/{id}/reports"));
    let text = json!({"kind": "other", "text": "\u{202e}"});
    marked.json(&text).send(site.address).await.refused(422, "bad_identity");
    site.get("/api/v1/nothing").await.refused(404, "not_found");
    Call::new(Method::DELETE, "/openapi.json").send(site.address).await.refused(405, "method_not_allowed");
}
