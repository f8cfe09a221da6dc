//! Standard output and standard error. Results go to the first, everything else to the second.

use std::io::{ErrorKind, IsTerminal, Write};

/// Writes to standard output. A closed pipe is no failure: the reader has what it wanted.
pub(crate) fn result(text: &str) -> anyhow::Result<()> {
    result_bytes(text.as_bytes())
}

/// As [`result`], of any bytes.
pub(crate) fn result_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard output.
pub(crate) fn result_line(text: &str) -> anyhow::Result<()> {
    result(&format!("{text}\n"))
}

/// Writes a line to standard error; a dashboard that has taken the terminal shows it as an event.
pub(crate) fn say(text: &str) {
    if crate::dashboard::takes(text) {
        return;
    }
    let mut err = std::io::stderr().lock();
    drop(writeln!(err, "{text}"));
}

/// Writes to standard error without a line end.
fn show(text: &str) {
    let mut err = std::io::stderr().lock();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// True if standard output is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// True if standard error is a terminal.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// True if a question can be asked and answered.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && stderr_is_terminal()
}

/// Asks a question; the answer without surrounding space.
pub(crate) fn ask(question: &str) -> std::io::Result<String> {
    show(question);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// Asks whether to start.
pub(crate) fn confirmed() -> std::io::Result<bool> {
    let answer = ask("start? [Y/n] ")?;
    Ok(answer.is_empty() || answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}

/// Width of the terminal that standard output goes to, or 100 columns on a pipe.
pub(crate) fn width() -> usize {
    columns(terminal_size::terminal_size_of(std::io::stdout())).unwrap_or(100)
}

fn columns(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0).max(40))
}

/// True if colours are wanted on standard output.
pub(crate) fn colour() -> bool {
    stdout_is_terminal() && wants_colour()
}

/// True if colours are wanted on standard error.
pub(crate) fn stderr_colour() -> bool {
    stderr_is_terminal() && wants_colour()
}

fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// `1 cell`, `3 cells`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
