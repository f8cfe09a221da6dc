//! The text format of Prometheus.

use std::fmt::Write;

use http::StatusCode;

use super::answer::with_type;

/// Media type of the text format.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of gauges and counters.
pub(super) struct Page {
    text: String,
    prefix: &'static str,
    labels: String,
}

impl Page {
    /// An empty page. All names begin with `prefix`; `labels` stand in each series, as they are.
    pub(super) fn new(prefix: &'static str, labels: String) -> Page {
        Page { text: String::new(), prefix, labels }
    }

    /// The label of the model.
    pub(super) fn model_label(name: &str) -> String {
        let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("model_name=\"{name}\"")
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, "", value);
    }

    /// A counter by its whole name.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        self.sample(name, "", value as f64);
    }

    /// A gauge that is always 1 and tells by its labels.
    pub(super) fn info(&mut self, name: &str, help: &str, labels: &str) {
        self.head(name, help, "gauge");
        self.sample(name, labels, 1.0);
    }

    /// A histogram of which only the sum and the count are known.
    pub(super) fn histogram(&mut self, name: &str, help: &str, sum: u64, count: u64) {
        self.head(name, help, "histogram");
        self.sample(&format!("{name}_bucket"), "le=\"+Inf\"", count as f64);
        self.sample(&format!("{name}_sum"), "", sum as f64);
        self.sample(&format!("{name}_count"), "", count as f64);
    }

    pub(super) fn head(&mut self, name: &str, help: &str, kind: &str) {
        let prefix = self.prefix;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
    }

    pub(super) fn sample(&mut self, name: &str, more_labels: &str, value: f64) {
        let Page { prefix, labels, .. } = self;
        let between = if labels.is_empty() || more_labels.is_empty() { "" } else { "," };
        let labels = match format!("{labels}{between}{more_labels}") {
            none if none.is_empty() => none,
            some => format!("{{{some}}}"),
        };
        let _ = writeln!(self.text, "{prefix}{name}{labels} {value:?}");
    }

    /// The page as an answer.
    pub(super) fn answer(self) -> axum::response::Response {
        with_type(StatusCode::OK, MEDIA_TYPE, self.text)
    }
}
