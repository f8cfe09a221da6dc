//! Addresses of pages, with every name escaped.

use std::fmt::Write;

use crate::domain::RunQuery;

/// The page of a run.
pub(super) fn run(id: &str) -> String {
    format!("/runs/{}", segment(id))
}

/// The page of a cell.
pub(super) fn cell(id: &str, name: &str) -> String {
    format!("/runs/{}/cells/{}", segment(id), segment(name))
}

/// The page of a version of the method; none for one that is not ours.
pub(super) fn method(name: &str, version: &str) -> Option<String> {
    (name == "tokometer").then(|| format!("/methods/{}", segment(version)))
}

/// The page of a model, of hardware or of an engine: `/models/org/name`.
///
/// Names that a browser would take for steps between folders get the list that is narrowed to them instead.
pub(super) fn entity(folder: &str, facet: &str, name: &str) -> String {
    let odd = name.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    if odd {
        return list(&RunQuery::default().toggled(facet, name));
    }
    let path: Vec<String> = name.split('/').map(segment).collect();
    format!("/{folder}/{}", path.join("/"))
}

/// The index with this question.
pub(super) fn list(query: &RunQuery) -> String {
    match query.address() {
        address if address.is_empty() => "/".to_owned(),
        address => format!("/?{address}"),
    }
}

/// Text as one segment of a path.
pub(super) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~@:+".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string can't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(entity("models", "model", "Qwen/Qwen3 8B?"), "/models/Qwen/Qwen3%208B%3F");
        assert_eq!(entity("models", "model", "a/../b"), "/?model=a%2F..%2Fb");
        assert_eq!(entity("hardware", "hardware", "//evil"), "/?hardware=%2F%2Fevil");
        assert_eq!(run("a\"/b"), "/runs/a%22%2Fb");
    }
}
