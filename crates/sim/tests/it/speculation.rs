//! Speculative decoding: what the counters say is what the engine did.

use std::sync::Arc;

use tokometer_sim::engine::{Emission, Engine, Request, RequestId};
use tokometer_sim::tokenizer::Prompt;
use tokometer_sim::{Dialect, Profile, Server, ServerOptions, Speculation};

use crate::client::{chat, metric, post};
use crate::runs::fast;

fn speculating() -> Profile {
    fast().with_speculation("3,0.7".parse().unwrap())
}

/// Runs four requests to their ends in virtual time.
fn run(profile: Profile) -> (Engine, Vec<Emission>) {
    let mut engine = Engine::new(Arc::new(profile));
    let mut out = Vec::new();
    for number in 1..=4 {
        let mut prompt = Prompt::default();
        (0..100).for_each(|token| prompt.push(number * 1000 + token));
        let id = RequestId(number.into());
        engine.submit(Request {
            id,
            prompt,
            max_tokens: 4000,
            natural_end: None,
            arrival_ns: 0,
            trick: None,
        });
    }
    while let Some(due_ns) = engine.next_deadline() {
        engine.advance(due_ns, &mut out);
    }
    (engine, out)
}

#[test]
fn counters_are_what_the_engine_did() {
    let (engine, out) = run(speculating());
    let stats = engine.stats();
    let drafts: Vec<u32> = out.iter().filter_map(|emission| emission.accepted).collect();
    assert_eq!(stats.drafts, drafts.len() as u64);
    assert_eq!(stats.draft_tokens, 3 * stats.drafts);
    assert_eq!(stats.accepted_tokens, drafts.iter().map(|accepted| u64::from(*accepted)).sum::<u64>());
    for position in 0..4 {
        let deeper = drafts.iter().filter(|accepted| **accepted > position as u32).count();
        assert_eq!(stats.accepted_per_position[position], deeper as u64, "position {position}");
    }
    assert_eq!(stats.generated_tokens, 4 * 4000);
    let tokens: u64 = out.iter().map(|emission| u64::from(emission.tokens)).sum();
    assert_eq!(tokens, 4 * 4000, "no output is longer than asked");
    // The first token of a request comes from its prompt.
    assert_eq!(out.iter().filter(|emission| emission.accepted.is_none()).count(), 4);

    let length = 1.0 + stats.accepted_tokens as f64 / stats.drafts as f64;
    let expected = "3,0.7".parse::<Speculation>().unwrap().expected_length();
    assert!((length - expected).abs() < 0.05, "{length}, {expected} expected");
    assert!((stats.recent_acceptance_length() - expected).abs() < 0.5);
}

#[test]
fn it_repeats_itself_and_takes_fewer_steps_of_the_same_length() {
    let (_, once) = run(speculating());
    let (_, again) = run(speculating());
    assert_eq!(once, again);
    let (plain, slow) = run(fast());
    assert_eq!(plain.stats().drafts, 0);
    let end = |out: &[Emission]| out.last().unwrap().due_ns as f64;
    let faster = end(&slow) / end(&once);
    assert!((2.3..2.7).contains(&faster), "{faster}");
}

#[test]
fn acceptance_can_be_certain_or_never() {
    let (engine, _) = run(fast().with_speculation(Speculation::new(2, 1.0).unwrap()));
    assert_eq!(engine.stats().accepted_tokens, engine.stats().draft_tokens);
    let (engine, _) = run(fast().with_speculation(Speculation::new(2, 0.0).unwrap()));
    assert_eq!((engine.stats().accepted_tokens, engine.stats().recent_acceptance_length()), (0, 1.0));
    for wrong in ["", "3", "0,0.5", "17,0.5", "3,1.1", "3,NaN", "a,b"] {
        assert!(wrong.parse::<Speculation>().unwrap_err().to_string().contains("3,0.7"), "{wrong}");
    }
}

#[test]
fn dialects_tell_it_by_their_own_names() {
    let start = |profile: Profile, dialect: Dialect| {
        Server::start(profile, ServerOptions { dialect, ..ServerOptions::default() }).unwrap()
    };
    let server = start(speculating(), Dialect::Vllm);
    let answer = post(server.addr(), "/v1/chat/completions", &chat("Say something.", 400));
    let events = answer.events();
    let texts = events.iter().filter(|event| event.pointer("/choices/0/delta/content").is_some()).count();
    assert!(texts < 300, "{texts} frames for 400 tokens");
    let (drafts, accepted) = (
        metric(server.addr(), "vllm:spec_decode_num_drafts_total"),
        metric(server.addr(), "vllm:spec_decode_num_accepted_tokens_total"),
    );
    let first = metric(
        server.addr(),
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",model_name=\"model\",position=\"0\"}",
    );
    assert!(drafts > 100.0 && accepted > drafts && first < drafts, "{drafts} {accepted} {first}");
    server.stop();

    let server = start(speculating(), Dialect::Sglang);
    post(server.addr(), "/v1/chat/completions", &chat("Say something.", 400));
    let length = metric(server.addr(), "sglang:spec_accept_length");
    assert!((1.5..4.0).contains(&length), "{length}");
    server.stop();

    let server = start(fast(), Dialect::Vllm);
    assert!(!crate::client::get(server.addr(), "/metrics").body.contains("spec_decode"));
    server.stop();
}
