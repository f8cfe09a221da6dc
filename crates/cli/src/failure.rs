//! How a command fails: one sentence, what to try, an exit code (method section 8).

use std::fmt;

/// Exit code: the run could not be made.
pub(crate) const NO_RUN: u8 = 1;
/// Exit code: the command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// Exit code: finished with cells that are neither valid nor left out by plan.
pub(crate) const UNSOUND: u8 = 3;
/// Exit code: a comparison's gate failed.
pub(crate) const GATE: u8 = 4;
/// Exit code: ended by the user; what was measured is saved.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error with a next step, for `error:` and `hint:` lines.
#[derive(Debug)]
pub(crate) struct Hinted {
    message: String,
    hint: String,
    code: u8,
}

impl Hinted {
    /// The run could not be made; `hint` says what to try.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Hinted {
        Hinted { message: message.into(), hint: hint.into(), code: NO_RUN }
    }

    /// What to try.
    #[cfg(test)]
    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }

    /// The arguments do not fit together, or name something that cannot be used.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Hinted {
        Hinted { message: message.into(), hint: hint.into(), code: USAGE }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

/// Prints an error and its causes; the exit code.
pub(crate) fn print(error: &anyhow::Error) -> u8 {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    let mut line = String::from("error: ");
    for (index, cause) in causes.iter().enumerate() {
        // Errors that show their source in their own text would say it twice.
        if index > 0 && causes[index - 1].contains(cause.as_str()) {
            continue;
        }
        if index > 0 {
            line.push_str(": ");
        }
        line.push_str(cause);
    }
    crate::out::say(&line);
    // Through the error itself and not through its chain, which hides what was added as context.
    let Some(Hinted { hint, code, .. }) = error.downcast_ref::<Hinted>() else {
        crate::out::say(
            "hint: the message says what to do; tokometer explain WORD says what a word of it means",
        );
        return NO_RUN;
    };
    crate::out::say(&format!("hint: {hint}"));
    *code
}
