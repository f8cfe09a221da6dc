use tokometer_plan::{Limits, Plan, Request, SpeedGuess, Step, build};
use tokometer_record::{AtEnd, Prompts};

const GUESS: SpeedGuess = SpeedGuess { prefill_rate: 10_000.0, per_request_rate: 100.0 };

fn plan(request: &Request) -> Plan {
    let request = Request {
        contexts: Some(vec![10_000, 20_000]),
        concurrency: Some(vec![1, 4]),
        duration_seconds: 10.0,
        max_output_tokens: 1000,
        ..request.clone()
    };
    build(&request, &Limits::default()).unwrap()
}

fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-6, "{left} is not {right}");
}

#[test]
fn the_time_of_a_plan_is_that_of_its_phases() {
    let plan = plan(&Request::default());
    // 1 s chat + 1 s prefill of 10,000 + 2 s prefill of 20,000 + 3 s decode.
    close(plan.warm_up_seconds(&GUESS), 7.0);
    // Prefill: drain 0.5 s + prompt. Cell: two drains, ready 5 s, window 10 s, pause 2 s, and the scout where
    // its prompt is new to the server.
    let expected: Vec<f64> = plan
        .steps
        .iter()
        .map(|step| match step {
            Step::Prefill { prompt_tokens, .. } => 0.5 + *prompt_tokens as f64 / 10_000.0,
            Step::Cell { context, concurrency: 1 } => 18.0 + *context as f64 / 10_000.0,
            Step::Cell { .. } => 18.0,
        })
        .collect();
    for (step, seconds) in expected.iter().enumerate() {
        close(plan.step_seconds(step, &GUESS), *seconds);
    }
    close(plan.estimate_seconds(&GUESS), 7.0 + expected.iter().sum::<f64>());
    close(plan.remaining_seconds(3, &GUESS), expected[3..].iter().sum());
    close(plan.remaining_seconds(plan.steps.len(), &GUESS), 0.0);
}

#[test]
fn prompts_of_their_own_and_running_out_take_longer() {
    let last = |request: &Request| {
        let plan = plan(request);
        plan.step_seconds(plan.steps.len() - 1, &GUESS)
    };
    let shared = last(&Request::default());
    // 20,000 × 4: three streams have prompts that the cell of one stream did not warm.
    close(last(&Request { prompts: Prompts::Unique, ..Request::default() }), shared + 3.0 * 2.0);
    close(last(&Request { prompts: Prompts::Unique, cold: true, ..Request::default() }), shared + 4.0 * 2.0);
    close(last(&Request { at_end: AtEnd::Finish, ..Request::default() }), shared + 10.0);
}

#[test]
fn bytes_count_every_request() {
    // 1000 tokens of output take 10 s: two rounds in 5 s + 10 s.
    let tokens = 10_000 + 20_000 // warm-up
        + 10_000 + 20_000 // prefill
        + 30_000 * (1 + 2) // C = 1: scout and two rounds
        + 30_000 * (1 + 8); // C = 4
    assert_eq!(plan(&Request::default()).prompt_bytes(5.0, &GUESS), 5 * tokens);
}

#[test]
fn a_plan_of_nothing_takes_no_time() {
    let request = Request { contexts: Some(vec![10_000]), ..Request::default() };
    let plan = build(&request, &Limits { max_model_length: Some(5000), ..Limits::default() }).unwrap();
    assert!(plan.steps.is_empty() && plan.warm_up().is_none());
    close(plan.estimate_seconds(&GUESS), 0.0);
    assert_eq!(plan.prompt_bytes(5.0, &GUESS), 0);
}

#[test]
fn rounds_add_up_and_later_ones_find_their_prompts_warm() {
    let once = plan(&Request::default());
    let plan = plan(&Request { repeats: 3, ..Request::default() });
    assert_eq!((once.step_count(), plan.step_count()), (6, 18));
    // In the first round two scouts read 10,000 and 20,000 tokens.
    let first = once.remaining_seconds(0, &GUESS);
    let later = first - 3.0;
    close(plan.remaining_seconds(0, &GUESS), first + 2.0 * later);
    close(plan.remaining_seconds(6, &GUESS), 2.0 * later);
    close(plan.remaining_seconds(3, &GUESS), once.remaining_seconds(3, &GUESS) + 2.0 * later);
    close(plan.remaining_seconds(17, &GUESS), 18.0);
    close(plan.remaining_seconds(18, &GUESS), 0.0);
    let warm_up = 30_000;
    let round = once.prompt_bytes(1.0, &GUESS) - warm_up;
    assert_eq!(plan.prompt_bytes(1.0, &GUESS), warm_up + 3 * round);
}
