//! `tokometer schema`.

use tokometer_record::schema;

use crate::args::report::SchemaArgs;

/// Prints the JSON Schema of a document.
pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<u8> {
    let found = schema::ALL.iter().find(|(name, _)| *name == args.name);
    let make = found.map_or(schema::run as fn() -> _, |(_, make)| *make);
    crate::out::result_line(&serde_json::to_string_pretty(&make())?)?;
    Ok(0)
}
