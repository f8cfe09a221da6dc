//! The JSON Schema of the run document, generated from its types.
