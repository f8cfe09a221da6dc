//! The log: one JSON object a line on standard error. No secret is ever handed to it.

use tracing::level_filters::LevelFilter;

/// Starts it. `level` is `error`, `warn`, `info`, `debug` or `trace`; a second start changes nothing.
pub fn start(level: &str) {
    let level = level.parse().unwrap_or(LevelFilter::INFO);
    // Another one that was started before stays.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .try_init();
}
