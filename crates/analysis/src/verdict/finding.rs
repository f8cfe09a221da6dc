//! What a rule found: figures, and the sentence made from them.

use tokometer_record::{Figure, Flag, FlagCode, Reason, ReasonRule};

/// What a rule found.
pub(super) struct Finding {
    text: String,
    figures: Vec<Figure>,
}

impl Finding {
    pub(super) fn new(text: impl Into<String>) -> Finding {
        Finding { text: text.into(), figures: Vec::new() }
    }

    /// Adds the figure that was held against a limit.
    pub(super) fn against(self, name: &str, value: f64, limit: f64, unit: &str) -> Finding {
        self.with(name, value, Some(limit), unit)
    }

    /// Adds a figure that stands beside it.
    pub(super) fn figure(self, name: &str, value: f64, unit: &str) -> Finding {
        self.with(name, value, None, unit)
    }

    /// The same, where it is known.
    pub(super) fn maybe(self, name: &str, value: Option<f64>, unit: &str) -> Finding {
        match value {
            Some(value) => self.figure(name, value, unit),
            None => self,
        }
    }

    /// What is no number is no figure.
    fn with(mut self, name: &str, value: f64, limit: Option<f64>, unit: &str) -> Finding {
        let limit = limit.filter(|limit| limit.is_finite());
        if value.is_finite() {
            self.figures.push(Figure { name: name.to_owned(), value, unit: unit.to_owned(), limit });
        }
        self
    }

    pub(super) fn reason(self) -> Reason {
        Reason {
            rule: ReasonRule::Method,
            text: self.text,
            figures: self.figures,
            needed: None,
            available: None,
        }
    }

    pub(super) fn flag(self, code: FlagCode) -> Flag {
        Flag { code, detail: self.text, figures: self.figures }
    }
}
