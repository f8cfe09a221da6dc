//! `/metrics`, with the names of vLLM.

use std::fmt::Write;

use crate::Profile;
use crate::engine::Stats;
use crate::tokenizer::BLOCK_TOKENS;

/// Media type of the text format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The gauges and counters in the text format of Prometheus.
pub(super) fn render(profile: &Profile, stats: &Stats) -> String {
    let kv_tokens = profile.kv_tokens();
    let used = (stats.kv_used_tokens as f64 / kv_tokens as f64).min(1.0);
    let mut page = Page { text: String::new(), labels: labels(profile) };

    page.gauge("num_requests_running", "Requests in the running batch.", stats.running as f64);
    page.gauge("num_requests_waiting", "Requests that wait for room.", stats.waiting as f64);
    page.gauge("kv_cache_usage_perc", "Share of the KV cache in use, 0 to 1.", used);

    page.counter("num_preemptions", "Requests put back; this engine never does.", 0);
    page.counter("prompt_tokens", "Prompt tokens, cached ones included.", stats.prompt_tokens);
    page.counter("prompt_tokens_cached", "Prompt tokens from the prefix cache.", stats.cached_tokens);
    page.counter("generation_tokens", "Output tokens.", stats.generated_tokens);
    page.counter("prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", stats.prompt_tokens);
    page.counter("prefix_cache_hits", "Prompt tokens found in the prefix cache.", stats.cached_tokens);

    page.head("request_success_total", "Ended requests by reason.", "counter");
    for (reason, count) in
        [("stop", stats.ended_by_stop), ("length", stats.ended_by_length), ("abort", stats.aborted)]
    {
        page.sample("request_success_total", &format!(",finished_reason=\"{reason}\""), count as f64);
    }

    let at_once = kv_tokens as f64 / profile.max_model_length() as f64;
    page.head("cache_config_info", "The KV cache's configuration.", "gauge");
    page.sample(
        "cache_config_info",
        &format!(
            ",block_size=\"{BLOCK_TOKENS}\",enable_prefix_caching=\"True\",num_gpu_blocks=\"{}\",\
             kv_cache_size_tokens=\"{kv_tokens}\",kv_cache_max_concurrency=\"{at_once}\"",
            kv_tokens / BLOCK_TOKENS,
        ),
        1.0,
    );
    page.text
}

struct Page {
    text: String,
    labels: String,
}

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, "", value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = format!("{name}_total");
        self.head(&name, help, "counter");
        self.sample(&name, "", value as f64);
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}");
    }

    fn sample(&mut self, name: &str, more_labels: &str, value: f64) {
        let _ = writeln!(self.text, "vllm:{name}{{{}{more_labels}}} {value:?}", self.labels);
    }
}

fn labels(profile: &Profile) -> String {
    let name = profile.served_name().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("engine=\"0\",model_name=\"{name}\"")
}
