//! Where a running window meets the rule that ends it: `load` knows no statistics, `analysis` no window.

use std::sync::Arc;
use std::time::Duration;

use tokometer_analysis::adaptive::{MOST_SECONDS, Watch};
use tokometer_load::{Adaptive, Checked, WindowRule};
use tokometer_record::EventRow;

/// Windows that were asked to last `duration_seconds` and end by what they find.
pub(super) fn windows(duration_seconds: f64) -> Adaptive {
    Adaptive {
        longest: Duration::from_secs_f64(MOST_SECONDS.max(duration_seconds)),
        begin: Arc::new(move |start_ns| Box::new(Rule(Watch::new(start_ns, duration_seconds)))),
    }
}

struct Rule(Watch);

impl WindowRule for Rule {
    fn next_check(&self, seconds: f64) -> f64 {
        self.0.next_check(seconds)
    }

    fn take(&mut self, events: &[EventRow]) {
        for event in events {
            self.0.take(event);
        }
    }

    fn check(&mut self, seconds: f64) -> Checked {
        let (check, end) = self.0.check(seconds);
        Checked { half_width_relative: check.half_width_relative, end }
    }
}
