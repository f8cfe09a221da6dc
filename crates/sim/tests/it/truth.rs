//! The simulator as a ruler: steady rates, joined events, and when it really sent them.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::{Value, json};
use tokometer_record::truth::{Truth, TruthSend};
use tokometer_sim::{Profile, Running, Server, ServerOptions, SimError, TruthTo};

use crate::client::{Answer, chat, receive, send};

const CHAT: &str = "/v1/chat/completions";

fn start(rate: Option<f64>, events_per_write: u32) -> Running {
    let options = ServerOptions {
        truth: Some(TruthTo::Memory),
        events_per_write: NonZeroU32::new(events_per_write),
        ..ServerOptions::default()
    };
    Server::start(Profile::steady(rate).unwrap(), options).unwrap()
}

fn named(name: &str, tokens: u64) -> Value {
    let mut body = chat("Hello", tokens);
    body["model"] = json!("steady");
    body["user"] = json!(name);
    body
}

/// Runs requests side by side.
fn ask(running: &Running, bodies: &[Value]) -> Vec<Answer> {
    let open: Vec<_> =
        bodies.iter().map(|body| send(running.addr(), "POST", CHAT, "", &body.to_string())).collect();
    open.into_iter().map(receive).collect()
}

/// Events with text; counted in the text, since there are many.
fn texts(answer: &Answer) -> usize {
    assert!(answer.body.ends_with("data: [DONE]\n\n"));
    let count = |part: &str| answer.body.matches(part).count();
    count("\"content\":\"") - count("\"content\":\"\"")
}

fn sends<'a>(truth: &'a Truth, name: &str) -> Vec<&'a TruthSend> {
    let request = truth.requests.iter().find(|request| request.label.as_deref() == Some(name)).unwrap();
    truth.sends.iter().filter(|send| send.request == request.request).collect()
}

#[test]
fn each_token_is_an_event_and_each_event_has_its_write() {
    let running = start(Some(200.0), 0);
    let answers = ask(&running, &[named("a", 30), named("b", 12)]);
    assert_eq!([texts(&answers[0]), texts(&answers[1])], [30, 12]);
    let truth = running.stop_and_tell().unwrap();
    assert_eq!(truth.requests.len(), 2);
    for (name, tokens) in [("a", 30), ("b", 12)] {
        let sends = sends(&truth, name);
        assert_eq!(sends.iter().map(|send| send.tokens).sum::<u32>(), tokens);
        let arrival_ns = truth.requests.iter().find(|r| r.label.as_deref() == Some(name)).unwrap().arrival_ns;
        let mut before = arrival_ns;
        for send in sends {
            assert!(before <= send.before_ns && send.before_ns <= send.after_ns, "{send:?}");
            assert!(send.due_ns <= send.before_ns, "{send:?}");
            before = send.after_ns;
        }
    }
    assert!(truth.meta.first_request_ns.unwrap() >= truth.meta.start_ns);
}

#[test]
fn joined_events_keep_their_number_and_their_rate() {
    let running = start(Some(400.0), 8);
    let answers = ask(&running, &[named("a", 43)]);
    assert_eq!(texts(&answers[0]), 43);
    let truth = running.stop_and_tell().unwrap();
    let tokens: Vec<u32> = sends(&truth, "a").iter().map(|send| send.tokens).collect();
    // The first goes alone, the last as they are.
    assert_eq!(tokens, [1, 8, 8, 8, 8, 8, 2]);
    let due: Vec<u64> = sends(&truth, "a").iter().map(|send| send.due_ns).collect();
    let step_ns = 2_500_000;
    assert_eq!(due[2] - due[1], 8 * step_ns);
    assert_eq!(due[6] - due[5], 2 * step_ns);
}

#[test]
fn all_streams_are_served_by_the_same_steps() {
    let running = start(Some(100.0), 0);
    let bodies: Vec<Value> = (0..20).map(|stream| named(&stream.to_string(), 20)).collect();
    ask(&running, &bodies);
    let truth = running.stop_and_tell().unwrap();
    let last_due = |name: u32| sends(&truth, &name.to_string()).iter().skip(5).map(|send| send.due_ns).next();
    for stream in 0..20 {
        let due = last_due(stream).unwrap();
        let shared = truth.sends.iter().filter(|send| send.due_ns == due).count();
        assert!(shared > 1, "stream {stream} is served alone");
    }
}

#[test]
fn flat_out_every_token_comes_and_no_backlog_grows() {
    let running = start(None, 8);
    let answers = ask(&running, &[named("a", 20_000), named("b", 20_000)]);
    assert!(answers.iter().all(|answer| texts(answer) == 20_000));
    let truth = running.stop_and_tell().unwrap();
    assert!(truth.sends.iter().all(|send| send.tokens <= 8));
}

#[test]
fn a_request_that_comes_while_others_run_flat_out_is_served() {
    let running = start(None, 0);
    let endless = send(running.addr(), "POST", CHAT, "", &named("endless", 1 << 30).to_string());
    endless.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let answers = ask(&running, &[named("late", 50)]);
    assert_eq!(texts(&answers[0]), 50);
    drop(endless);
}

#[test]
fn a_client_that_does_not_read_fills_its_socket() {
    let running = start(None, 8);
    let silent = send(running.addr(), "POST", CHAT, "", &named("silent", 24_000).to_string());
    // Another stream is not held up by it.
    let answers = ask(&running, &[named("other", 16_000)]);
    assert_eq!(texts(&answers[0]), 16_000);
    let answer = receive(silent);
    assert_eq!(texts(&answer), 24_000);
    let truth = running.stop_and_tell().unwrap();
    assert_eq!(sends(&truth, "silent").iter().map(|send| send.tokens).sum::<u32>(), 24_000);
    assert!(truth.meta.full_sockets > 0);
}

#[test]
fn a_long_truth_goes_into_its_file_as_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.parquet");
    let options = ServerOptions { truth: Some(TruthTo::File(path.clone())), ..ServerOptions::default() };
    let running = Server::start(Profile::steady(None).unwrap(), options).unwrap();
    // More than one block of 65,536 writes.
    let answers = ask(&running, &[named("a", 60_000), named("b", 60_000)]);
    assert!(answers.iter().all(|answer| texts(answer) == 60_000));
    assert!(!path.exists());
    running.stop_and_save().unwrap();
    let truth = Truth::load(&path).unwrap();
    assert_eq!(truth.requests.len(), 2);
    for name in ["a", "b"] {
        let sends = sends(&truth, name);
        assert_eq!(sends.iter().map(|send| send.tokens).sum::<u32>(), 60_000);
        assert!(sends.windows(2).all(|pair| pair[0].after_ns <= pair[1].before_ns));
    }

    let nowhere = TruthTo::File(folder.path().join("missing/truth.parquet"));
    let options = ServerOptions { truth: Some(nowhere), ..ServerOptions::default() };
    let refused = Server::start(Profile::steady(None).unwrap(), options);
    assert!(matches!(refused, Err(SimError::Truth(_))), "{refused:?}");
}

#[test]
fn nothing_is_told_where_nothing_was_asked() {
    let running = Server::start(Profile::steady(Some(50.0)).unwrap(), ServerOptions::default()).unwrap();
    assert!(running.stop_and_tell().is_none());
}

#[test]
fn a_rate_must_be_one() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
        assert!(matches!(Profile::steady(Some(rate)), Err(SimError::Rate { .. })), "{rate}");
    }
}
