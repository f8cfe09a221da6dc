//! The set-up and the glossary, as they follow from the record.

use tokometer_record::{Evidence, Hardware, Phase, Prompts, Run, TokenSource};

use crate::html::{parsed, select, text};
use crate::support::{everything, h200};

fn shown(run: &Run, path: &str) -> String {
    text(&select(&parsed(run), &format!("#setup [data-path='{path}']"))[0])
}

#[test]
fn names_of_unknown_facts_have_no_commas() {
    let mut run = everything();
    run.hardware = Hardware::default();
    let page = parsed(&run);
    let said = text(&select(&page, "#setup .group .unknown")[0]);
    assert_eq!(said, "Not in the recordclass, accelerators, total memory, operating system");
    for label in select(&page, "#setup [data-unknown], #setup [data-path] dt") {
        assert!(!text(&label).contains(','), "{}", text(&label));
    }
}

#[test]
fn token_sources_are_those_of_decode_rows() {
    let mut run = everything();
    for cell in run.cells.iter_mut().filter(|cell| cell.phase == Phase::Prefill) {
        cell.tokens.source = Some(TokenSource::UsageFinal);
    }
    assert_eq!(shown(&run, "cells.tokens.source"), "Tokens counted byusage on each event");
}

#[test]
fn sources_of_capacity_are_named_once() {
    let mut run = everything();
    let source = "vllm:cache_config_info";
    run.evidence.push(Evidence {
        field: "capacity.kv_tokens".to_owned(),
        value: "1048576".to_owned(),
        source: source.to_owned(),
    });
    assert_eq!(shown(&run, "capacity.kv_tokens"), format!("KV cache1,048,576 tokens {source}"));
    assert_eq!(shown(&run, "capacity.concurrent_requests"), "Requests at once256 --max-num-seqs");
    run.capacity.kv_source = None;
    assert_eq!(shown(&run, "capacity.kv_tokens"), format!("KV cache1,048,576 tokens {source}"));
}

#[test]
fn the_glossary_tells_how_warm_prompts_were() {
    let said = |run: &Run| {
        let page = parsed(run);
        let found =
            select(&page, ".definitions div").iter().map(text).find(|term| term.starts_with("TTFT in "));
        found.unwrap()
    };
    let mut run = everything();
    assert!(said(&run).contains("already in the server's prefix cache"));
    run.settings.prompts = Some(Prompts::Unique);
    assert!(said(&run).contains("sent once before the measured requests"));
    run.settings.cold = Some(true);
    let cold = said(&run);
    assert!(cold.contains("first request is cold") && cold.contains("find their own prompt"), "{cold}");
    run.engine.prefix_caching = Some(false);
    assert!(said(&run).contains("no prefix cache"));
    assert!(said(&h200()).contains("does not tell"));
}
