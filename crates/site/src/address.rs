//! Questions to the list as they stand in addresses: `?model=a&model=b&evidence=T2&goal=peak`.
//!
//! Pages and API read the same names, so a page's address is an API call with another path.

use std::str::FromStr;

use crate::clock;
use crate::domain::{EvidenceLevel, Filters, RunQuery};

/// Values of one facet that are taken.
pub(crate) const MOST_VALUES: usize = 50;
/// Characters of one value that are taken.
pub(crate) const MOST_CHARACTERS: usize = 200;

impl RunQuery {
    /// Reads an address's query; what it does not name stays as it is by default. Names in `others` are passed over;
    /// a name that is not known, and a value that can't be read, is an error in one sentence.
    pub fn parse(query: &str, others: &[&str]) -> Result<RunQuery, String> {
        let mut it = RunQuery::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let (name, value) = (name.as_ref(), value.as_ref());
            if value.is_empty() || others.contains(&name) {
                continue;
            }
            if value.chars().count() > MOST_CHARACTERS || value.contains('\0') {
                return Err(format!(
                    "{name} is longer than {MOST_CHARACTERS} characters, or holds a zero byte"
                ));
            }
            it.set(name, value)?;
        }
        Ok(it)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let filters = &mut self.filters;
        let text = || value.to_owned();
        match name {
            "shelf" => self.shelf = value.parse()?,
            "goal" => self.goal = value.parse()?,
            "fold" => self.fold = boolean(name, value)?,
            "after" => self.after = Some(value.parse()?),
            "limit" => {
                let limit = number(name, value)?;
                if !(1..=RunQuery::MOST).contains(&limit) {
                    return Err(format!("limit is 1 to {}", RunQuery::MOST));
                }
                self.limit = limit;
            }
            "model" => push(&mut filters.model, name, text())?,
            "hardware" => push(&mut filters.hardware, name, text())?,
            "accelerators" => push(&mut filters.accelerators, name, number(name, value)?)?,
            "engine" => push(&mut filters.engine, name, text())?,
            "engine_version" => push(&mut filters.engine_version, name, text())?,
            "quantization" => push(&mut filters.quantization, name, text())?,
            "speculative" => push(&mut filters.speculative, name, text())?,
            "context" => push(&mut filters.context, name, u64::from(number::<u32>(name, value)?))?,
            "evidence" => {
                let level = EvidenceLevel::ALL.into_iter().find(|level| level.code() == value);
                filters.evidence = Some(level.ok_or_else(|| "evidence is one of T0, T1, T2, T3".to_owned())?);
            }
            "since" => {
                let time = clock::parse(value).or_else(|| clock::parse(&format!("{value}T00:00:00Z")));
                filters.since = Some(time.ok_or_else(|| "since is a date such as 2026-11-30".to_owned())?);
            }
            "submitter" => filters.submitter = Some(text()),
            "text" => filters.text = Some(text()),
            "group" => filters.group = Some(hash(name, value)?),
            "series" => filters.series = Some(hash(name, value)?),
            _ => return Err(format!("{name:?} is no part of a list's address")),
        }
        Ok(())
    }

    /// The query of an address that leads here; empty where everything is as by default.
    pub fn address(&self) -> String {
        let default = RunQuery::default();
        let mut out = form_urlencoded::Serializer::new(String::new());
        let mut put = |name: &str, value: &str| {
            out.append_pair(name, value);
        };
        if self.shelf != default.shelf {
            put("shelf", self.shelf.code());
        }
        if self.goal != default.goal {
            put("goal", self.goal.code());
        }
        if self.fold != default.fold {
            put("fold", if self.fold { "1" } else { "0" });
        }
        if self.limit != default.limit {
            put("limit", &self.limit.to_string());
        }
        let Filters { evidence, since, submitter, text, group, series, .. } = &self.filters;
        for (name, values) in self.filters.lists() {
            for value in values {
                put(name, &value);
            }
        }
        if let Some(level) = evidence {
            put("evidence", level.code());
        }
        if let Some(since) = since {
            put("since", &clock::text(*since));
        }
        for (name, value) in [("submitter", submitter), ("text", text), ("group", group), ("series", series)]
        {
            if let Some(value) = value {
                put(name, value);
            }
        }
        if let Some(cursor) = &self.after {
            put("after", &cursor.to_string());
        }
        out.finish()
    }

    /// The same question with one value of a facet added, or taken out if it is there; from the front of the list.
    /// A name that is no facet changes nothing.
    #[must_use]
    pub fn toggled(&self, facet: &str, value: &str) -> RunQuery {
        let mut it = RunQuery { after: None, ..self.clone() };
        if facet == "evidence" {
            let is_set = it.filters.evidence.is_some_and(|level| level.code() == value);
            it.filters.evidence = None;
            if is_set {
                return it;
            }
        } else if it.filters.take_out(facet, value) {
            return it;
        }
        // A value that can't be read is none that could be chosen.
        let _ = it.set(facet, value);
        it
    }
}

impl Filters {
    /// Facets of several values, by the names that they have in addresses.
    fn lists(&self) -> [(&'static str, Vec<String>); 8] {
        let texts = |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect();
        [
            ("model", self.model.clone()),
            ("hardware", self.hardware.clone()),
            ("accelerators", texts(&self.accelerators)),
            ("engine", self.engine.clone()),
            ("engine_version", self.engine_version.clone()),
            ("quantization", self.quantization.clone()),
            ("speculative", self.speculative.clone()),
            ("context", self.context.iter().map(ToString::to_string).collect()),
        ]
    }

    /// Takes a value out of a facet; true if it was there.
    fn take_out(&mut self, facet: &str, value: &str) -> bool {
        fn without<T: ToString>(list: &mut Vec<T>, value: &str) -> bool {
            let before = list.len();
            list.retain(|one| one.to_string() != value);
            list.len() < before
        }
        match facet {
            "model" => without(&mut self.model, value),
            "hardware" => without(&mut self.hardware, value),
            "accelerators" => without(&mut self.accelerators, value),
            "engine" => without(&mut self.engine, value),
            "engine_version" => without(&mut self.engine_version, value),
            "quantization" => without(&mut self.quantization, value),
            "speculative" => without(&mut self.speculative, value),
            "context" => without(&mut self.context, value),
            _ => false,
        }
    }
}

fn push<T>(list: &mut Vec<T>, name: &str, value: T) -> Result<(), String> {
    if list.len() >= MOST_VALUES {
        return Err(format!("more than {MOST_VALUES} values of {name}"));
    }
    list.push(value);
    Ok(())
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} is a whole number"))
}

fn hash(name: &str, value: &str) -> Result<String, String> {
    let is_hash = crate::artefacts::Hash::parse(value).is_some();
    is_hash.then(|| value.to_owned()).ok_or_else(|| format!("{name} is a hash: 64 digits in lower case"))
}

fn boolean(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(format!("{name} is 1 or 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back() {
        let text = "goal=peak&fold=0&limit=7&model=a%2Fb&model=c+%26+d&accelerators=4&context=8192&evidence=T2&text=x%25";
        let query = RunQuery::parse(text, &[]).unwrap();
        assert_eq!(query.filters.model, ["a/b", "c & d"]);
        assert_eq!(RunQuery::parse(&query.address(), &[]).unwrap(), query);
        assert_eq!(RunQuery::default().address(), "");
        assert_eq!(query.toggled("model", "a/b").filters.model, ["c & d"]);
        assert_eq!(query.toggled("model", "e").filters.model.len(), 3);
        assert_eq!(query.toggled("evidence", "T2").filters.evidence, None);
        assert_eq!(query.toggled("evidence", "T1").filters.evidence, Some(EvidenceLevel::Recomputed));
    }

    #[test]
    fn what_is_not_known_is_told() {
        for bad in ["nonsense=1", "goal=best", "accelerators=x", "evidence=T9", "after=zzz", "since=soon"] {
            assert!(RunQuery::parse(bad, &[]).is_err(), "{bad}");
        }
        assert!(RunQuery::parse("view=table", &["view"]).is_ok());
        assert!(RunQuery::parse(&format!("text={}", "x".repeat(201)), &[]).is_err());
    }
}
