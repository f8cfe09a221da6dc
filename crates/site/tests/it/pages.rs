//! Pages as they are sent: foreign text, refusals, packing, what a session's pages keep to themselves.

use crate::client::Call;
use crate::sample::Plan;
use crate::site::Site;

#[tokio::test]
async fn foreign_text_stays_text() {
    let site = Site::start().await;
    let hostile = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>";
    let plan = Plan {
        model: format!("m/{hostile}"),
        hardware: hostile.to_owned(),
        engine_version: hostile.to_owned(),
        ..Plan::default()
    };
    let mut sample = plan.make();
    sample.run.title = Some(hostile.to_owned());
    sample.run.note = Some(hostile.to_owned());
    sample.run.engine.name = Some(hostile.to_owned());
    sample.run.model.quantization = Some(hostile.to_owned());
    sample.run.launch_command = Some(hostile.to_owned());
    site.publish(&site.admin, &sample).await.is(201);
    let run = format!("/runs/{}", sample.id());
    let row = site.get("/api/v1/runs").await.json()["runs"][0].clone();
    let series = format!("/series/{}", row["series_hash"].as_str().unwrap());
    let cell = format!("{run}/cells/decode-8192-4");
    let narrowed = "/?text=%3Cscript%3E&model=%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for path in ["/", narrowed, &run, &cell, &series, "/models", "/hardware", "/engines", "/compare"] {
        let page = site.get(path).await.is(200);
        let policy = page.header("content-security-policy").to_owned();
        assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
        let text = page.text();
        assert!(!text.contains("<script>") && !text.contains("<img src=x"), "{path}");
        assert!(!text.contains(" style=") && !text.contains("<style"), "{path}");
    }
    site.stop().await;
}

#[tokio::test]
async fn a_refusal_is_a_page_for_browsers_and_a_document_for_programs() {
    let site = Site::start().await;
    for (path, status) in
        [("/no/such/page", 404), ("/runs/x", 404), ("/?goal=best", 400), ("/methods/0.1", 404)]
    {
        let page = Call::get(path).header("accept", "text/html").send(site.address).await.is(status);
        assert!(
            page.header("content-type").starts_with("text/html") && page.text().contains("<h1>"),
            "{path}"
        );
        let document = site.get(path).await.is(status);
        assert_eq!(document.header("content-type"), "application/problem+json", "{path}");
    }
    // The API has documents whoever asks.
    let answer = Call::get("/api/v1/runs/x").header("accept", "text/html").send(site.address).await.is(404);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    site.stop().await;
}

#[tokio::test]
async fn pages_are_packed_unless_they_hold_a_key() {
    let site = Site::start().await;
    let get = |path: &'static str| Call::get(path).header("accept-encoding", "br, gzip");
    let page = get("/about").send(site.address).await.is(200);
    assert_eq!(page.header("content-encoding"), "gzip");
    assert!(site.get("/about").await.text().contains("What it does not prove"));
    let form = format!("form_key=&token={}", site.admin);
    let signed =
        Call::post("/sign-in").header("origin", "http://site.test").body(form).send(site.address).await;
    let cookie = signed.is(303).header("set-cookie").split(';').next().unwrap().to_owned();
    let page = get("/about").header("cookie", &cookie).send(site.address).await.is(200);
    assert!(!page.headers.contains_key("content-encoding") && page.text().contains("Sign out"));
    assert_eq!(page.header("cache-control"), "private, no-store");
    // A form of another site changes nothing.
    let call = Call::post("/sign-out").header("origin", "http://evil.test").header("cookie", &cookie);
    call.send(site.address).await.is(403);
    site.stop().await;
}
