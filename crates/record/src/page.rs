//! A page as a data file: the documents that a report page holds in `<script type="application/json">` elements.
//!
//! The JSON of a page has every `<` written as `\u003c`, so the first `</script>` behind an element's start is its end.

/// Name of the element that holds the run document.
pub const RUN: &str = "run";
/// Name of the element that holds the details of its cells.
pub const DETAILS: &str = "details";

/// True if a file's text is a page and no bare document.
pub fn is_page(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype html"))
}

/// The JSON text of the element with this name; none where the page has no such element.
pub fn embedded<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("<script type=\"application/json\" id=\"{name}\">");
    let from = page.find(&start)? + start.len();
    let length = page[from..].find("</script>")?;
    Some(&page[from..from + length])
}

/// The run that a page holds; `file` names the page in messages.
pub fn run(page: &str, file: &std::path::Path) -> Result<crate::Run, crate::RecordError> {
    let json = embedded(page, RUN).ok_or_else(|| crate::RecordError::NotARecord {
        path: file.to_owned(),
        why: "it is no page with an embedded record".to_owned(),
    })?;
    serde_json::from_str(json)
        .map_err(|error| crate::RecordError::Damaged { path: file.to_owned(), why: error.to_string() })
}

/// JSON text made safe to stand in a page: it can neither end its element nor open a comment in it.
pub fn escape(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        let json = r#"{"a":"</script><!-- <script>"}"#;
        let page = format!(
            "<!DOCTYPE html>\n<script>1</script><script type=\"application/json\" id=\"run\">{}</script>",
            escape(json)
        );
        assert!(is_page(page.as_bytes()) && !is_page(json.as_bytes()));
        let found: serde_json::Value = serde_json::from_str(embedded(&page, RUN).unwrap()).unwrap();
        assert_eq!(found, serde_json::from_str::<serde_json::Value>(json).unwrap());
        assert_eq!(embedded(&page, DETAILS), None);
    }
}
