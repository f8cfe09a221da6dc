//! `tokometer probe URL`.

use std::time::Duration;

use serde_json::Value;
use tokometer_target::{Conformance, ConformanceOptions, Framing, ProbeOptions, RouteConformance, Target};
use tokometer_wire::clock::Clock;

use crate::args::run::ProbeArgs;
use crate::out;
use crate::session::server;

/// Time without a byte after which a request of the conformance report has failed.
const IDLE: Duration = Duration::from_mins(2);
/// Name and version of the document that `--json` prints.
const SCHEMA: &str = "tokometer.probe/1";

/// Shows what is known of a server, and how it streams.
pub(crate) fn probe(args: &ProbeArgs) -> anyhow::Result<u8> {
    let clock = Clock::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let text = runtime.block_on(ask(args, clock));
    runtime.shutdown_timeout(Duration::from_millis(200));
    out::result(&text?)?;
    Ok(0)
}

async fn ask(args: &ProbeArgs, clock: Clock) -> anyhow::Result<String> {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => server::find(&tokometer_target::USUAL_PORTS, !args.json, args.json).await?,
    };
    let server = server::reach(&url, &args.target, IDLE, clock)?;
    let options = ProbeOptions { model: args.target.model.clone(), no_requests: args.no_requests };
    let target = tokometer_target::probe(&server.control, &options).await?;
    let conformance = if args.no_requests {
        None
    } else {
        let salt = uuid::Uuid::now_v7().simple().to_string();
        let options = ConformanceOptions::new(salt);
        Some(tokometer_target::conformance(&server.connector, &target, &options).await)
    };
    if args.json {
        let document = document(&target, conformance.as_ref())?;
        return Ok(serde_json::to_string_pretty(&document)? + "\n");
    }
    let mut page = Page::default();
    page.target(&target);
    if let Some(conformance) = &conformance {
        page.conformance(conformance)?;
    }
    Ok(page.text)
}

fn document(target: &Target, conformance: Option<&Conformance>) -> anyhow::Result<Value> {
    let mut document = serde_json::Map::new();
    document.insert("schema".to_owned(), SCHEMA.into());
    if let Value::Object(description) = target.description() {
        document.extend(description);
    }
    document.insert("conformance".to_owned(), serde_json::to_value(conformance)?);
    Ok(Value::Object(document))
}

/// Text in sections of lines.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn target(&mut self, target: &Target) {
        let engine = target.engine.name.as_deref().unwrap_or("unknown engine");
        let simulated = if target.simulated { "SIMULATED · " } else { "" };
        self.heading(&format!("{simulated}{}: {engine} with {}", target.url, target.served_name()));
        self.heading("facts");
        for fact in &target.evidence {
            self.line(&fact.field, &format!("{} ({})", fact.value, fact.source));
        }
        if let Some(blocks) = target.kv_blocks {
            let per_request = format!("{:.1} fixed per request", blocks.fixed_per_request);
            self.line(
                "kv_blocks",
                &format!("{} of {} tokens, {per_request}", blocks.blocks, blocks.block_tokens),
            );
        }
        self.heading("not known");
        for (field, reason) in &target.unknown {
            self.line(field, reason);
        }
        self.heading("how it is used");
        let description = target.description();
        self.line("request fields", &description["use"]["request_fields"].to_string());
        self.line(
            "prompts are sized by",
            target.tokenize.map_or("the usage of requests", |route| route.name()),
        );
        self.line("drained by", &target.drain().to_string());
        self.line("aborted by", &target.abort().to_string());
        self.line("prefix cache is reset by", &target.cache_reset().to_string());
        let field = &description["use"]["cache_salt"];
        self.line(
            "salted by",
            &format!("chat {}, completions {}", salt(&field["chat"]), salt(&field["completions"])),
        );
    }

    fn conformance(&mut self, conformance: &Conformance) -> anyhow::Result<()> {
        self.heading(&format!("conformance ({} requests)", conformance.requests));
        for route in &conformance.routes {
            self.route(route)?;
        }
        self.finding("unknown fields", &serde_json::to_value(&conformance.unknown_fields)?);
        if conformance.quirks.is_empty() {
            self.line("quirks", "none");
        }
        for quirk in &conformance.quirks {
            let quirk_code = serde_json::to_value(quirk.code)?;
            self.line(&spoken(&quirk_code), &format!("{} ({})", quirk.seen, quirk.path));
        }
        Ok(())
    }

    fn route(&mut self, route: &RouteConformance) -> anyhow::Result<()> {
        let told = serde_json::to_value(route)?;
        self.line(route.path, route.problem.as_deref().unwrap_or("streams"));
        if let Some(framing) = &route.framing {
            self.line("  framing", &framed(framing)?);
        }
        if let Some(first) = &route.first_payload {
            let before = if first.before.is_empty() {
                String::new()
            } else {
                format!(", after {}", first.before.join("; "))
            };
            self.line("  first output", &format!("event {} in {}{before}", first.event, first.field));
        }
        self.finding("  usage", &told["usage"]);
        self.finding("  exact length", &told["exact_length"]);
        self.finding("  cached tokens", &told["cached_tokens"]);
        if let Some(read) = &route.reading {
            let failure = read.failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
            let first = read
                .first_payload_ms
                .map(|ms| format!(", first output after {ms:.1} ms"))
                .unwrap_or_default();
            let counts = format!(
                "{} of {} events with output in {} reads",
                read.payload_events, read.events, read.reads
            );
            self.line(
                "  as measured",
                &format!("{}{failure}; tokens from {}; {counts}{first}", read.outcome, read.token_source),
            );
        }
        Ok(())
    }

    /// What was found, and what it was seen by.
    fn finding(&mut self, topic: &str, finding: &Value) {
        if let (Some(found), Some(seen)) = (finding["found"].as_str(), finding["seen"].as_str()) {
            self.line(topic, &format!("{}: {seen}", found.replace('_', " ")));
        }
    }

    fn heading(&mut self, text: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.text.extend([gap, text, "\n"]);
    }

    fn line(&mut self, topic: &str, text: &str) {
        self.text.extend([&format!("  {topic:<30} "), text, "\n"]);
    }
}

/// The word of a code as it is read: `no done marker`.
fn spoken(code: &Value) -> String {
    code.as_str().unwrap_or_default().replace('_', " ")
}

fn salt(field: &Value) -> &str {
    field.as_str().unwrap_or("the prompt's first words")
}

fn framed(framing: &Framing) -> anyhow::Result<String> {
    let done = if framing.done_marker { "closed by [DONE]" } else { "no [DONE]" };
    let (form, ends) =
        (spoken(&serde_json::to_value(framing.form)?), spoken(&serde_json::to_value(framing.line_ends)?));
    let kind = framing.content_type.as_deref().unwrap_or("no content type");
    Ok(format!("{} {form}, line ends {ends}, {done} ({kind}, {} bytes)", framing.events, framing.bytes))
}
