//! The record itself.

use tokometer_record::Run;

use crate::ReportError;

/// Indented JSON with a line feed at its end.
pub(crate) fn render(run: &Run) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(run)?;
    text.push('\n');
    Ok(text)
}
