//! Prometheus text as engines write it.

use tokometer_wire::metrics::{MetricNames, Sample, read, series};

const NAMES: MetricNames = MetricNames {
    running: &["vllm:num_requests_running"],
    waiting: &["vllm:num_requests_waiting"],
    generated_tokens: &["vllm:generation_tokens_total", "vllm:generation_tokens"],
    prompt_tokens: &["vllm:prompt_tokens_total"],
    cached_tokens: &["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"],
    kv_used: &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
    preemptions: &["vllm:num_preemptions_total"],
    drafts: &["vllm:spec_decode_num_drafts_total"],
    draft_tokens: &["vllm:spec_decode_num_draft_tokens_total"],
    accepted_tokens: &["vllm:spec_decode_num_accepted_tokens_total"],
    accepted_per_position: &["vllm:spec_decode_num_accepted_tokens_per_pos_total"],
    acceptance_length: &["sglang:spec_accept_length"],
};

const TEXT: &str = r#"# HELP python_gc_objects_collected_total Objects collected during gc
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 6540.0
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a}b\"c\\"} 12.0
vllm:num_requests_running{engine="1",model_name="a}b\"c\\"} 4
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 9.0
vllm:generation_tokens_total{engine="0"} 1.5e+06 1767225600000
vllm:generation_tokens_total{engine="1"} 500000 # {trace_id="x"} 1.0
vllm:generation_tokens{engine="0"} 7
vllm:gpu_prefix_cache_hits_total{engine="0"} 42
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:prompt_tokens_total{engine="0"} NaN
this line is none
vllm:broken{engine="0
vllm:time_to_first_token_seconds_bucket{le="+Inf"} +Inf
vllm:cache_config_info{block_size="16",cache_dtype="fp8",note="line\nbreak, é, \\"} 1.0
plain_number 3
"#;

#[test]
fn speculative_decoding_is_read_by_position_and_over_ranks() {
    let text = r#"
vllm:spec_decode_num_drafts_total{engine="0"} 100.0
vllm:spec_decode_num_drafts_total{engine="1"} 20.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 240
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 90
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 30
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 50
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="0"} 10
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="a lot"} 10
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="99999999999"} 10
sglang:spec_accept_length{dp_rank="0"} 2.5
sglang:spec_accept_length{dp_rank="1"} 1.5
sglang:spec_accept_length{dp_rank="2"} 0.0
"#;
    let expected = Sample {
        time_ns: 1,
        drafts: Some(120.0),
        draft_tokens: Some(240.0),
        accepted_tokens: Some(90.0),
        accepted_per_position: vec![60.0, 30.0],
        acceptance_length: Some(2.0),
        ..Sample::default()
    };
    assert_eq!(read(text, &NAMES, 1), expected);
    // A server that does not speculate has no such counters.
    assert_eq!(read(TEXT, &NAMES, 1).drafts, None);
}

#[test]
fn a_sample_sums_series_and_takes_the_best_name() {
    let expected = Sample {
        time_ns: 5,
        running: Some(16.0),
        waiting: Some(0.0),
        generated_tokens: Some(2_000_000.0),
        prompt_tokens: None,
        cached_tokens: Some(42.0),
        kv_used: Some(0.5),
        ..Sample::default()
    };
    assert_eq!(read(TEXT, &NAMES, 5), expected);
    assert_eq!(read("", &NAMES, 7), Sample { time_ns: 7, ..Sample::default() });
    assert_eq!(read("<html>not metrics</html>", &NAMES, 7), Sample { time_ns: 7, ..Sample::default() });
}

#[test]
fn labels_keep_braces_quotes_and_escapes() {
    let models: Vec<_> = series(TEXT, "vllm:num_requests_running")
        .map(|(labels, value)| (labels.get("model_name"), value))
        .collect();
    let name = Some("a}b\"c\\".to_owned());
    assert_eq!(models, [(name.clone(), 12.0), (name, 4.0)]);

    let (labels, value) = series(TEXT, "vllm:cache_config_info").next().unwrap();
    assert_eq!(value, 1.0);
    let all: Vec<_> = labels.iter().collect();
    let expected = [("block_size", "16"), ("cache_dtype", "fp8"), ("note", "line\nbreak, é, \\")];
    assert_eq!(all, expected.map(|(name, value)| (name, value.to_owned())));
    assert_eq!(labels.get("other"), None);
}

#[test]
fn series_without_labels_and_infinite_values() {
    let (labels, value) = series(TEXT, "plain_number").next().unwrap();
    assert_eq!((labels.iter().count(), value), (0, 3.0));
    let (labels, value) = series(TEXT, "vllm:time_to_first_token_seconds_bucket").next().unwrap();
    assert_eq!((labels.get("le").as_deref(), value), (Some("+Inf"), f64::INFINITY));
    assert_eq!(series(TEXT, "vllm:broken").count(), 0);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".*\\PC*[{}=\"\\\\ ,]*.*") {
        let text = format!("a{{{text} 1\na {text}\n{text}");
        read(&text, &NAMES, 0);
        for (labels, _) in series(&text, "a") {
            labels.iter().for_each(drop);
        }
    }
}
