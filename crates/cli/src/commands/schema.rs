//! `tokometer schema`.

/// Prints the JSON Schema of the record.
pub(crate) fn schema() -> anyhow::Result<u8> {
    crate::out::result_line(&serde_json::to_string_pretty(&tokometer_record::schema::run())?)?;
    Ok(0)
}
