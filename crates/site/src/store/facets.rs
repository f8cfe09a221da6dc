//! Counts of facets.
//!
//! One query counts the rows of each combination of values; every facet is then counted from these with the filters of
//! all *others* in force, so that a count says what one would see. Combinations are kept until the list changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::list::narrow;
use super::sql::sql;
use super::{Store, StoreError};
use crate::domain::{EvidenceLevel, FacetCount, Facets, Filters, RunQuery, Shelf};

/// Lists whose combinations are kept.
const MOST_KEPT: usize = 32;

impl Store {
    /// The counts of a list.
    pub async fn facets(&self, query: &RunQuery) -> Result<Facets, StoreError> {
        let generation = self.generation().await?;
        let wanted = Wanted::of(query);
        let kept = self.facets.lock().ok().and_then(|kept| kept.get(&wanted, generation));
        let combinations = if let Some(combinations) = kept {
            combinations
        } else {
            let found = Arc::new(self.combinations(query).await?);
            if let Ok(mut kept) = self.facets.lock() {
                kept.put(wanted, generation, Arc::clone(&found));
            }
            found
        };
        Ok(count(&combinations, &query.filters))
    }

    /// The combinations of a list.
    async fn combinations(&self, query: &RunQuery) -> Result<Vec<Combination>, StoreError> {
        let columns = "model, hardware, accelerators, engine, engine_version, quantization, speculative, contexts, evidence";
        let mut sql = sql("SELECT ");
        sql.push(columns).push(", COUNT(*) FROM runs WHERE shelf = ").push_bind(query.shelf.code());
        if query.fold {
            sql.push(" AND is_lead = 1");
        }
        narrow(&mut sql, &query.filters);
        sql.push(" GROUP BY ").push(columns);
        let rows = sql.all(&mut self.database.reader().await?).await?;
        rows.iter()
            .map(|row| {
                let contexts: &str = row.get(7)?;
                Ok(Combination {
                    model: row.get(0)?,
                    hardware: row.get(1)?,
                    accelerators: row.maybe_number(2)?,
                    engine: row.get(3)?,
                    engine_version: row.get(4)?,
                    quantization: row.get(5)?,
                    speculative: row.get(6)?,
                    contexts: contexts.split_whitespace().filter_map(|text| text.parse().ok()).collect(),
                    evidence: row.number(8)?,
                    rows: row.number(9)?,
                })
            })
            .collect()
    }
}

/// Rows with the same value in every facet.
#[derive(Debug)]
struct Combination {
    model: String,
    hardware: String,
    accelerators: Option<u32>,
    engine: String,
    engine_version: String,
    quantization: String,
    speculative: String,
    contexts: Vec<u64>,
    evidence: u8,
    rows: u64,
}

/// A list, facets aside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Wanted {
    shelf: Shelf,
    fold: bool,
    rest: Filters,
}

impl Wanted {
    fn of(query: &RunQuery) -> Wanted {
        let filters = &query.filters;
        let rest = Filters {
            since: filters.since,
            submitter: filters.submitter.clone(),
            text: filters.text.clone(),
            group: filters.group.clone(),
            series: filters.series.clone(),
            ..Filters::default()
        };
        Wanted { shelf: query.shelf, fold: query.fold, rest }
    }
}

/// Combinations of a few lists, as of one generation.
#[derive(Debug, Default)]
pub(super) struct Kept {
    generation: i64,
    lists: std::collections::HashMap<Wanted, Arc<Vec<Combination>>>,
}

impl Kept {
    fn get(&self, wanted: &Wanted, generation: i64) -> Option<Arc<Vec<Combination>>> {
        (self.generation == generation).then(|| self.lists.get(wanted).cloned()).flatten()
    }

    fn put(&mut self, wanted: Wanted, generation: i64, found: Arc<Vec<Combination>>) {
        if self.generation != generation || self.lists.len() >= MOST_KEPT {
            self.lists.clear();
            self.generation = generation;
        }
        self.lists.insert(wanted, found);
    }
}

/// Which facet a test belongs to.
const FACETS: usize = 9;

/// Counts every facet.
fn count(combinations: &[Combination], filters: &Filters) -> Facets {
    let mut counts: [BTreeMap<String, u64>; FACETS] = Default::default();
    let mut levels = [0_u64; 4];
    let mut total = 0;
    for it in combinations {
        let passes = passes(it, filters);
        let failed = passes.iter().filter(|passes| !**passes).count();
        if failed == 0 {
            total += it.rows;
        }
        // A facet's own filter does not narrow its counts.
        let counted = |facet: usize| failed == 0 || (failed == 1 && !passes[facet]);
        let mut add = |facet: usize, value: String| *counts[facet].entry(value).or_default() += it.rows;
        let texts =
            [&it.model, &it.hardware, &it.engine, &it.engine_version, &it.quantization, &it.speculative];
        for (facet, text) in texts.into_iter().enumerate().filter(|(facet, _)| counted(*facet)) {
            add(facet, text.clone());
        }
        if let Some(number) = it.accelerators.filter(|_| counted(6)) {
            add(6, number.to_string());
        }
        for context in it.contexts.iter().filter(|_| counted(7)) {
            add(7, context.to_string());
        }
        if counted(8) {
            for level in levels.iter_mut().take(usize::from(it.evidence) + 1) {
                *level += it.rows;
            }
        }
    }
    let [model, hardware, engine, engine_version, quantization, speculative, accelerators, context, _] =
        counts;
    let strings = |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let contexts: Vec<String> = filters.context.iter().map(ToString::to_string).collect();
    Facets {
        total,
        model: most_first(model, &filters.model),
        hardware: most_first(hardware, &filters.hardware),
        engine: most_first(engine, &filters.engine),
        engine_version: most_first(engine_version, &filters.engine_version),
        quantization: most_first(quantization, &filters.quantization),
        speculative: most_first(speculative, &filters.speculative),
        accelerators: smallest_first(accelerators, &strings(&filters.accelerators)),
        context: smallest_first(context, &contexts),
        evidence: EvidenceLevel::ALL
            .into_iter()
            .rev()
            .map(|level| FacetCount {
                value: level.code().to_owned(),
                count: levels[usize::from(level.number())],
                selected: filters.evidence == Some(level),
            })
            .collect(),
    }
}

/// Which of the filters a combination passes, by facet.
fn passes(it: &Combination, filters: &Filters) -> [bool; FACETS] {
    let in_list = |list: &[String], value: &String| list.is_empty() || list.contains(value);
    [
        in_list(&filters.model, &it.model),
        in_list(&filters.hardware, &it.hardware),
        in_list(&filters.engine, &it.engine),
        in_list(&filters.engine_version, &it.engine_version),
        in_list(&filters.quantization, &it.quantization),
        in_list(&filters.speculative, &it.speculative),
        filters.accelerators.is_empty()
            || it.accelerators.is_some_and(|number| filters.accelerators.contains(&number)),
        filters.context.is_empty() || it.contexts.iter().any(|context| filters.context.contains(context)),
        filters.evidence.is_none_or(|level| it.evidence >= level.number()),
    ]
}

/// What is selected stays in the list when nothing has it any more.
fn listed(mut counts: BTreeMap<String, u64>, selected: &[String]) -> Vec<FacetCount> {
    for value in selected {
        counts.entry(value.clone()).or_default();
    }
    counts
        .into_iter()
        .map(|(value, count)| FacetCount { selected: selected.contains(&value), value, count })
        .collect()
}

fn most_first(counts: BTreeMap<String, u64>, selected: &[String]) -> Vec<FacetCount> {
    let mut list = listed(counts, selected);
    list.sort_by_key(|one| std::cmp::Reverse(one.count));
    list
}

fn smallest_first(counts: BTreeMap<String, u64>, selected: &[String]) -> Vec<FacetCount> {
    let mut list = listed(counts, selected);
    list.sort_by_key(|one| one.value.parse::<u64>().unwrap_or(u64::MAX));
    list
}
