//! Variables of a grid, and the texts that they stand in.

use super::SweepError;

/// One combination of a grid's values, and which of its names were asked for.
pub(super) struct Filling<'a> {
    pub(super) place: &'a str,
    pub(super) values: &'a [(String, String)],
    pub(super) used: &'a mut Vec<String>,
}

impl Filling<'_> {
    /// `text` with each `{name}` replaced. Braces around anything else stay (JSON), so do `${name}` (a shell's) and,
    /// with one pair of braces less, `{{name}}`.
    pub(super) fn fill(&mut self, key: &str, text: &str) -> Result<String, SweepError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            if let Some(name) = braced(from, "{{", "}}") {
                out.extend(["{", name, "}"]);
                rest = &from[name.len() + 4..];
                continue;
            }
            let Some(name) = braced(from, "{", "}").filter(|_| !before.ends_with('$')) else {
                out.push('{');
                rest = &from[1..];
                continue;
            };
            let Some((_, value)) = self.values.iter().find(|(known, _)| known == name) else {
                return Err(SweepError::Variable {
                    place: self.place.to_owned(),
                    key: key.to_owned(),
                    name: name.to_owned(),
                    known: self.values.iter().map(|(known, _)| known.clone()).collect(),
                });
            };
            out.push_str(value);
            self.used.push(name.to_owned());
            rest = &from[name.len() + 2..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// The name at the beginning of `text` between these marks.
fn braced<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (name, _) = text.strip_prefix(open)?.split_once(close)?;
    is_name(name).then_some(name)
}

/// True for what may be a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Every combination of the values, the last variable changing fastest; one without any for an empty grid.
pub(super) fn combinations(grid: &[(String, Vec<String>)]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for (name, values) in grid {
        all = all
            .iter()
            .flat_map(|chosen: &Vec<(String, String)>| {
                values.iter().map(|value| {
                    let mut chosen = chosen.clone();
                    chosen.push((name.clone(), value.clone()));
                    chosen
                })
            })
            .collect();
    }
    all
}
