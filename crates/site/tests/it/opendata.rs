//! Feed, maps, dumps, embeds: what others take from the site.

use http::Method;
use serde_json::{Value, json};
use tokometer_site::domain::Role;
use tokometer_site::host;

use crate::client::{Answer, Call};
use crate::sample::{Plan, Sample};
use crate::site::Site;

/// Two measured runs of two models, and a simulated one.
async fn filled() -> (Site, Vec<Sample>) {
    let site = Site::start().await;
    let plans = [
        Plan::default(),
        Plan { model: "example/Other <8B> & \"more\"".to_owned(), step_ns: 20_000_000, ..Plan::default() },
        Plan { simulated: true, ..Plan::default() },
    ];
    let samples: Vec<Sample> = plans.iter().map(Plan::make).collect();
    for sample in &samples {
        site.publish(&site.admin, sample).await.is(201);
    }
    (site, samples)
}

async fn withdraw(site: &Site, id: &str) {
    let call = Call::new(Method::DELETE, &format!("/api/v1/runs/{id}")).token(&site.admin);
    call.json(&json!({"reason": "x"})).send(site.address).await.is(200);
}

fn xml(answer: &Answer) -> String {
    assert!(answer.header("content-type").contains("xml"), "{answer:?}");
    let text = answer.text();
    roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    text
}

#[tokio::test]
async fn the_feed_has_new_runs_first_and_can_be_narrowed() {
    let (site, samples) = filled().await;
    let answer = site.get("/feed.atom").await.is(200);
    let text = xml(&answer);
    let document = roxmltree::Document::parse(&text).unwrap();
    let atom = "http://www.w3.org/2005/Atom";
    let feed = document.root_element();
    assert_eq!((feed.tag_name().name(), feed.tag_name().namespace()), ("feed", Some(atom)));
    let child = |node: roxmltree::Node<'_, '_>, name: &str| {
        node.children()
            .find(|child| child.tag_name().name() == name)
            .and_then(|child| child.text().map(str::to_owned))
    };
    for needed in ["id", "title", "updated"] {
        assert!(child(feed, needed).is_some_and(|text| !text.is_empty()), "RFC 4287, 4.1.1: {needed}");
    }
    let entries: Vec<_> = feed.children().filter(|node| node.tag_name().name() == "entry").collect();
    let ids: Vec<String> = entries.iter().map(|entry| child(*entry, "id").unwrap()).collect();
    let expected = [1, 0].map(|index: usize| format!("urn:uuid:{}", samples[index].id()));
    assert_eq!(ids, expected, "measured runs, the newest first");
    for entry in entries {
        for needed in ["title", "updated", "summary"] {
            assert!(child(entry, needed).is_some_and(|text| !text.is_empty()), "RFC 4287, 4.1.2: {needed}");
        }
        assert!(entry.children().any(|node| node.tag_name().name() == "author"));
    }
    // The same again is not sent again, by tag and by time.
    let tag = Call::get("/feed.atom").header("if-none-match", answer.header("etag"));
    assert!(tag.send(site.address).await.is(304).body.is_empty());
    let time = Call::get("/feed.atom").header("if-modified-since", answer.header("last-modified"));
    time.send(site.address).await.is(304);
    let old = Call::get("/feed.atom").header("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT");
    old.send(site.address).await.is(200);
    let count = |text: &str| text.matches("<entry>").count();
    assert_eq!(count(&xml(&site.get("/feed.atom?model=example/Model-8B").await.is(200))), 1);
    assert_eq!(count(&xml(&site.get("/feed.atom?submitter=nobody").await.is(200))), 0);
    assert_eq!(count(&xml(&site.get("/feed.atom?shelf=simulated").await.is(200))), 1);
    site.get("/feed.atom?colour=red").await.refused(400, "bad_query");
    withdraw(&site, samples[0].id()).await;
    assert_eq!(count(&xml(&site.get("/feed.atom").await.is(200))), 1);
    let page = site.get("/?model=example/Model-8B").await.is(200).text();
    assert!(page.contains("href=\"/feed.atom?model=example%2FModel-8B\""), "each list has its feed");
    site.stop().await;
}

#[tokio::test]
async fn robots_and_models_are_told_what_is_here() {
    let (site, samples) = filled().await;
    let robots = site.get("/robots.txt").await.is(200).text();
    let url = format!("http://{}", site.address);
    assert!(robots.contains(&format!("Sitemap: {url}/sitemap.xml")), "{robots}");
    let index = xml(&site.get("/sitemap.xml").await.is(200));
    let mut places = Vec::new();
    for map in index.split("<loc>").skip(1).map(|rest| rest.split('<').next().unwrap()) {
        let map = xml(&site.get(map.strip_prefix(&url).unwrap()).await.is(200));
        places.extend(
            map.split("<loc>")
                .skip(1)
                .map(|rest| rest.split('<').next().unwrap().to_owned())
                .collect::<Vec<_>>(),
        );
    }
    for place in &places {
        let path = place.strip_prefix(&url).unwrap();
        site.get(path).await.is(200);
    }
    let is_there = |id: &str| places.iter().any(|place| place.ends_with(&format!("/runs/{id}")));
    assert!(is_there(samples[0].id()) && is_there(samples[1].id()) && !is_there(samples[2].id()));
    assert!(places.iter().any(|place| place.ends_with("/models/example/Model-8B")));
    site.get("/sitemap/runs-1.xml").await.refused(404, "not_found");
    site.get("/sitemap/x.xml").await.refused(404, "not_found");
    let text = site.get("/llms.txt").await.is(200);
    assert!(text.header("content-type").starts_with("text/plain"));
    let text = text.text();
    assert!(text.starts_with("# tokometer\n\n> "), "the form of llms.txt");
    for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        site.get(link.strip_prefix(&url).unwrap()).await.is(200);
    }
    for word in ["total", "ttft_p50", "prefill_rate", "joules_per_token", "acceptance_length"] {
        assert!(text.contains(&format!("- {word}: ")), "{word}");
    }
    site.stop().await;
}

#[tokio::test]
async fn a_run_can_be_put_into_other_pages() {
    let (site, samples) = filled().await;
    let url = format!("http://{}", site.address);
    let id = samples[1].id();
    let embed = site.get(&format!("/embed/r/{id}")).await.is(200);
    let policy = embed.header("content-security-policy");
    assert!(policy.ends_with("frame-ancestors *") && !policy.contains("script-src"), "{policy}");
    assert!(embed.headers.get("x-frame-options").is_none());
    assert!(embed.headers.get("set-cookie").is_none());
    let page = embed.text();
    assert!(page.contains("8K") && page.contains("tok/s") && !page.contains("<script"));
    assert!(page.len() < 8000, "{}", page.len());
    // Everything else stays out of frames.
    let run = site.get(&format!("/runs/{id}")).await.is(200);
    assert_eq!(run.header("x-frame-options"), "DENY");
    let run = run.text();
    let discovery = run.split("application/json+oembed").nth(1).unwrap().split("href=\"").nth(1).unwrap();
    let address = discovery.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
    let answer = site.get(address.strip_prefix(&url).unwrap()).await.is(200);
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    let answer = answer.json();
    assert_eq!((answer["version"].as_str(), answer["type"].as_str()), (Some("1.0"), Some("rich")));
    let html = answer["html"].as_str().unwrap();
    assert!(html.contains(&format!("src=\"{url}/embed/r/{id}\"")), "{html}");
    assert!(!html.contains("<8B>"), "names of others are no tags: {html}");
    let ask = async |query: &str| site.get(&format!("/oembed?{query}")).await;
    let page: String = form_urlencoded::byte_serialize(format!("{url}/runs/{id}").as_bytes()).collect();
    let small = ask(&format!("url={page}&maxwidth=300&maxheight=10")).await.is(200).json();
    assert_eq!((small["width"].as_u64(), small["height"].as_u64()), (Some(300), Some(10)));
    ask(&format!("url={page}&format=xml")).await.refused(501, "no_such_format");
    ask(&format!("url={page}&maxwidth=x")).await.refused(400, "bad_query");
    ask("url=https%3A%2F%2Felsewhere.example%2Fruns%2F1").await.refused(404, "not_found");
    ask("").await.refused(404, "not_found");
    // The frame of a snippet has no origin, and takes its style from here all the same.
    let frame = site.get(&format!("/embed/r/{id}")).await.is(200).text();
    let style = frame.split('"').find(|part| part.starts_with("/assets/") && part.contains(".css")).unwrap();
    assert_eq!(site.get(style).await.is(200).header("cross-origin-resource-policy"), "cross-origin");
    let card = site.get(&format!("/runs/{id}/card.svg")).await.is(200);
    assert_eq!(card.header("cross-origin-resource-policy"), "cross-origin");
    for snippet in ["share", "share-html", "share-frame"] {
        assert!(run.contains(&format!("<code id=\"{snippet}\">")), "{snippet}");
    }
    withdraw(&site, id).await;
    site.get(&format!("/embed/r/{id}")).await.refused(410, "withdrawn");
    ask(&format!("url={page}")).await.refused(410, "withdrawn");
    site.stop().await;
}

/// Rows of a Parquet file as JSON, and what its metadata says.
fn table(bytes: &bytes::Bytes) -> (Vec<Value>, Value) {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(bytes.clone()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let meta = pairs.iter().find(|pair| pair.key == "tokometer").unwrap().value.clone().unwrap();
    let value = |field: &parquet::record::Field| match field {
        parquet::record::Field::Null => Value::Null,
        parquet::record::Field::Str(text) => json!(text),
        parquet::record::Field::Double(number) => json!(number),
        parquet::record::Field::Long(number) | parquet::record::Field::TimestampMillis(number) => {
            json!(number)
        }
        other => panic!("{other:?}"),
    };
    let row = |row: parquet::record::Row| -> Value {
        row.get_column_iter()
            .map(|(name, field)| (name.clone(), value(field)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let rows = reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect();
    (rows, serde_json::from_str(&meta).unwrap())
}

/// The dump is made beside the requests; the first one that a fresh site makes.
async fn dump(site: &Site) -> Value {
    site.tidy().await;
    site.get("/api/v1/dump").await.is(200).json()
}

#[tokio::test]
async fn a_dump_has_what_the_lists_have() {
    let (site, samples) = filled().await;
    let listed = dump(&site).await;
    assert_eq!(listed["licence"], "CC-BY-4.0");
    let newest = &listed["dumps"][0];
    for name in ["runs", "cells"] {
        let file = newest["files"].as_array().unwrap().iter().find(|file| file["table"] == name).unwrap();
        let answer = site.get(newest["addresses"][name].as_str().unwrap()).await.is(200);
        assert_eq!(file["sha256"], tokometer_record::store::sha256(&answer.body));
        assert_eq!(file["bytes"], answer.body.len());
        assert_eq!(answer.header("content-type"), "application/vnd.apache.parquet");
        let (rows, meta) = table(&answer.body);
        assert_eq!(file["rows"], rows.len());
        assert_eq!((&meta["schema"], &meta["licence"]), (&listed["schema"], &listed["licence"]));
        assert_eq!(meta["columns"], listed["columns"][name]);
        let names: Vec<&str> =
            meta["columns"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(rows[0].as_object().unwrap().keys().collect::<Vec<_>>(), names);
    }
    let (runs, _) = table(&site.get("/api/v1/dump/latest.parquet").await.is(200).body);
    let mut ids: Vec<&str> = runs.iter().map(|row| row["run_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [samples[0].id(), samples[1].id()], "simulated runs are in no dump");
    let listed_run = site.get("/api/v1/runs?model=example/Model-8B").await.json()["runs"][0].clone();
    let row = runs.iter().find(|row| row["run_id"] == listed_run["id"]).unwrap();
    for (column, value) in [
        ("peak_tok_s", &listed_run["peak"]["value"]),
        ("peak_low_tok_s", &listed_run["peak"]["low"]),
        ("users_at_50_tok_s_and_1_s", &listed_run["users_at_limits"]),
        ("accelerators", &listed_run["accelerators"]),
        ("group_hash", &listed_run["group_hash"]),
        ("joules_per_token", &Value::Null),
    ] {
        assert_eq!(&row[column], value, "{column}");
    }
    let (cells, _) = table(&site.get("/api/v1/dump/cells.parquet").await.is(200).body);
    let own = site.get(&format!("/api/v1/runs/{}/cells", samples[0].id())).await.json();
    for cell in own["cells"].as_array().unwrap() {
        let is_it = |row: &&Value| row["run_id"] == samples[0].id() && row["cell"] == cell["name"];
        let row = cells.iter().find(is_it).unwrap();
        for (column, value) in [
            ("context_tokens", &cell["context"]),
            ("concurrency", &cell["concurrency"]),
            ("status", &cell["status"]),
            ("total_tok_s", cell.get("total").map_or(&Value::Null, |total| &total["value"])),
            ("prefill_tok_s", &cell["prefill_rate"]),
            ("ttft_p50_ms", &cell["ttft_p50"]),
        ] {
            assert_eq!(&row[column], value, "{column}");
        }
    }
    assert_eq!(cells.len(), 6);
    site.stop().await;
}

#[tokio::test]
async fn what_is_taken_down_leaves_the_dumps() {
    let (site, samples) = filled().await;
    let before = dump(&site).await;
    let old = before["dumps"][0]["files"][0]["sha256"].as_str().unwrap().to_owned();
    let again = dump(&site).await;
    assert_eq!(before["dumps"], again["dumps"], "one a day");
    // A clock that stands still would hide which came first.
    while site.get("/api/v1/dump").await.json()["dumps"] != json!([]) {
        withdraw(&site, samples[0].id()).await;
    }
    site.get("/api/v1/dump/latest.parquet").await.refused(404, "not_found");
    let after = dump(&site).await;
    assert_ne!(after["dumps"][0]["files"][0]["sha256"], old);
    let (runs, _) = table(&site.get("/api/v1/dump/runs.parquet").await.is(200).body);
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["run_id"], samples[1].id());
    assert!(!site.config.artefacts().join(&old[..2]).join(&old).exists(), "its file is gone");
    site.get("/api/v1/dump/2001-01-01/runs.parquet").await.refused(404, "not_found");
    site.stop().await;
}

#[tokio::test]
async fn a_dump_stays_whoever_sends_its_file_too() {
    let site = Site::with(|config| config.limits.loose_time = std::time::Duration::ZERO).await;
    let token = site.user("ada", Role::Publisher).await;
    site.publish(&token, &Sample::new()).await.is(201);
    let name = dump(&site).await["dumps"][0]["files"][0]["sha256"].as_str().unwrap().to_owned();
    let content = site.get("/api/v1/dump/runs.parquet").await.is(200).body;
    let path = format!("/api/v1/artefacts/{name}");
    Call::new(Method::PUT, &path).token(&token).body(content).send(site.address).await.is(201);
    // It is cleared away as a file that nobody needs, once the clock has gone on.
    let asked = json!({"sha256": [name]});
    let missing = || Call::post("/api/v1/artefacts:missing").token(&token).json(&asked).send(site.address);
    for _ in 0..1000 {
        site.tidy().await;
        if missing().await.is(200).json()["missing"] == json!([name]) {
            break;
        }
    }
    assert_eq!(missing().await.json()["missing"], json!([name]));
    site.get("/api/v1/dump/runs.parquet").await.is(200);
    site.stop().await;
}

#[tokio::test]
async fn an_empty_site_has_no_dump() {
    let site = Site::start().await;
    assert_eq!(dump(&site).await["dumps"], json!([]));
    site.stop().await;
}

#[tokio::test]
async fn the_tables_are_written_to_a_folder_too() {
    let (site, _) = filled().await;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("a/dump");
    assert_eq!(host::dump(&site.config, &to).await.unwrap(), "2 runs and 6 cells");
    let about: Value = serde_json::from_slice(&std::fs::read(to.join("dump.json")).unwrap()).unwrap();
    for file in about["files"].as_array().unwrap() {
        let name = format!("{}.parquet", file["table"].as_str().unwrap());
        let bytes = std::fs::read(to.join(name)).unwrap();
        assert_eq!(file["sha256"], tokometer_record::store::sha256(&bytes));
        assert_eq!(table(&bytes.into()).1["licence_url"], about["licence_url"]);
    }
    site.stop().await;
}
