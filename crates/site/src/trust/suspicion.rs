//! What is odd about a run beside others: for moderators to look at, and never enough to hide anything.
//!
//! Three things are looked for. *Near duplicates*: rows whose figures are those of another run to the last digit, though
//! their events are not (the same events are refused). *Outliers*: rates far from those of replicates, on a log scale
//! against the median and its median deviation; or many times those of any engine on the same hardware. *Bounds*: a
//! power for each accelerator that none has.

use std::collections::BTreeMap;

use tokometer_analysis::{Outlier, outlier};

use crate::domain::{CellRow, Kin, NewSuspicion, RunRow, SuspicionKind};

/// Rows with the same figures, at least.
const IDENTICAL: usize = 3;
/// Share of the rows that both have which must have the same figures.
const SHARE: f64 = 0.5;
/// Distance from replicates in robust standard deviations, at least.
const FAR: f64 = 6.0;
/// Spread of replicates on different machines of one kind that is taken for granted.
const SPREAD: f64 = 0.03;
/// As many times the median of another plan or engine on the same hardware is odd.
const TIMES: f64 = 3.0;
/// Power of one accelerator under load that is odd outside, W.
const POWER: std::ops::RangeInclusive<f64> = 5.0..=2500.0;
/// Rows that a text names.
const NAMED: usize = 4;

/// Rows whose figures are those of `other`'s, if there are too many for chance.
///
/// Total rates are counts of tokens over a window, so replicates can have the same; medians of times in nanoseconds can
/// not, so a row counts where its TTFT and at least one other figure are the same, and none differs.
pub(crate) fn near_duplicate(mine: &[CellRow], other: &str, theirs: &[CellRow]) -> Option<NewSuspicion> {
    let theirs: BTreeMap<&str, &CellRow> = theirs.iter().map(|cell| (cell.name.as_str(), cell)).collect();
    let mut shared = 0_usize;
    let mut same = Vec::new();
    for cell in mine {
        let Some(other) = theirs.get(cell.name.as_str()) else { continue };
        if cell.ttft_p50.is_none() || other.ttft_p50.is_none() {
            continue;
        }
        shared += 1;
        if is_same(cell, other) {
            same.push(cell.name.as_str());
        }
    }
    if same.len() < IDENTICAL || (same.len() as f64) < SHARE * shared as f64 {
        return None;
    }
    let text = format!(
        "{} of {shared} rows have the same rates and times as in run {other}, to the last digit ({}); the events of \
         their traces differ",
        same.len(),
        some_of(&same)
    );
    Some(NewSuspicion { kind: SuspicionKind::NearDuplicate, other_id: Some(other.to_owned()), text })
}

fn is_same(one: &CellRow, other: &CellRow) -> bool {
    let total = |cell: &CellRow| cell.total.map(|total| total.value);
    let pairs = [
        (one.ttft_p50, other.ttft_p50),
        (total(one), total(other)),
        (one.prefill_rate, other.prefill_rate),
        (one.per_request_p50, other.per_request_p50),
    ];
    let both = || pairs.iter().filter_map(|(one, other)| one.zip(*other));
    both().count() >= 2 && both().all(|(one, other)| one.to_bits() == other.to_bits())
}

/// Rates far from those of others.
pub(crate) fn outliers(mine: &[CellRow], kin: &[Kin]) -> Option<NewSuspicion> {
    let valid = mine.iter().filter(|cell| cell.status == "valid");
    let mut odd: Vec<(f64, String, String)> = Vec::new();
    for cell in valid {
        let Some(rate) = cell.total.map(|total| total.value).or(cell.prefill_rate) else { continue };
        let of = |replicates: bool| -> Vec<&Kin> {
            kin.iter().filter(|one| one.cell == cell.name && (one.is_replicate || !replicates)).collect()
        };
        let against =
            |others: &[&Kin]| outlier(rate, &others.iter().map(|one| one.rate).collect::<Vec<_>>(), SPREAD);
        let (replicates, all) = (of(true), of(false));
        let (found, others, who) = match against(&replicates).filter(|found| found.z.abs() >= FAR) {
            Some(found) => (found, replicates, "other runs of the same set-up"),
            None => match against(&all).filter(|found| found.ratio >= TIMES) {
                Some(found) => (found, all, "other runs of the model on this hardware"),
                None => continue,
            },
        };
        // The one in the middle is the one to compare with.
        let nearest = others.iter().min_by(|one, other| {
            (one.rate - found.median).abs().total_cmp(&(other.rate - found.median).abs())
        });
        odd.push((
            found.ratio.ln().abs(),
            describe(&cell.name, rate, &found, who),
            nearest.map(|one| one.run_id.clone()).unwrap_or_default(),
        ));
    }
    odd.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (_, text, other) = odd.first()?.clone();
    let more = match odd.len() {
        1 => String::new(),
        count => format!("; so are {} more rows", count - 1),
    };
    Some(NewSuspicion {
        kind: SuspicionKind::Outlier,
        other_id: Some(other).filter(|id| !id.is_empty()),
        text: format!("{text}{more}"),
    })
}

fn describe(name: &str, rate: f64, found: &Outlier, who: &str) -> String {
    let Outlier { n, median, z, ratio } = found;
    format!(
        "{name}: {rate:.1} tok/s is {ratio:.2} times the median of {n} {who}, {median:.1} tok/s (robust z {z:.1})"
    )
}

/// A power for each accelerator that none has.
pub(crate) fn power(row: &RunRow, cells: &[CellRow]) -> Option<NewSuspicion> {
    let count = f64::from(row.accelerators.filter(|count| *count > 0)?);
    let odd: Vec<(&str, f64)> = cells
        .iter()
        .filter(|cell| cell.status == "valid")
        .filter_map(|cell| {
            let watts = cell.total?.value * cell.joules_per_token? / count;
            (!POWER.contains(&watts)).then_some((cell.name.as_str(), watts))
        })
        .collect();
    let (name, watts) = odd.first()?;
    let text = format!(
        "{name}: energy per token times rate is {watts:.0} W for each accelerator; {} rows are outside {:.0} to {:.0} W",
        odd.len(),
        POWER.start(),
        POWER.end()
    );
    Some(NewSuspicion { kind: SuspicionKind::Bound, other_id: None, text })
}

fn some_of(names: &[&str]) -> String {
    let more = if names.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

#[cfg(test)]
mod tests {
    use tokometer_record::{import, published};

    use super::*;
    use crate::domain::Headline;
    use crate::facts;

    fn cell(name: &str, total: f64, ttft: f64) -> CellRow {
        CellRow {
            name: name.to_owned(),
            phase: "decode",
            context: 8192,
            concurrency: 1,
            status: "valid",
            total: Some(Headline { value: total, low: None, high: None }),
            prefill_rate: None,
            ttft_p50: Some(ttft),
            per_request_p50: Some(total / 2.0),
            joules_per_token: None,
            acceptance_length: None,
        }
    }

    fn run(step: f64) -> Vec<CellRow> {
        let row = |index: u32| {
            let index = f64::from(index);
            cell(&format!("decode-8192-{index}"), 100.0 * (index + 1.0), 50.0 + index + step)
        };
        (0..6).map(row).collect()
    }

    fn kin(rates: &[f64], is_replicate: bool) -> Vec<Kin> {
        let one = |(index, rate): (usize, &f64)| Kin {
            run_id: format!("run-{index}"),
            is_replicate,
            cell: "decode-8192-0".to_owned(),
            rate: *rate,
        };
        rates.iter().enumerate().map(one).collect()
    }

    #[test]
    fn figures_of_another_run_are_seen() {
        let found = near_duplicate(&run(0.0), "other", &run(0.0)).unwrap();
        assert_eq!((found.kind, found.other_id.as_deref()), (SuspicionKind::NearDuplicate, Some("other")));
        assert!(found.text.starts_with("6 of 6 rows"), "{}", found.text);
        // Half of them taken over is enough, two rows are not.
        let mut half = run(1e-6);
        half[..3].clone_from_slice(&run(0.0)[..3]);
        assert!(near_duplicate(&half, "other", &run(0.0)).is_some());
        half[..3].clone_from_slice(&run(1e-6)[..3]);
        half[..2].clone_from_slice(&run(0.0)[..2]);
        assert!(near_duplicate(&half, "other", &run(0.0)).is_none());
    }

    #[test]
    fn replicates_of_one_machine_are_no_duplicates() {
        // The same counts of tokens in the same window, and every time a microsecond apart.
        assert_eq!(near_duplicate(&run(1e-3), "other", &run(0.0)), None);
    }

    #[test]
    fn the_two_published_pages_are_not_odd() {
        let read = |text, name| facts::cells(&import::published(text, name).unwrap());
        let one = read(published::H200_X4, "h200-x4.json");
        let two = read(published::RTX_PRO_6000_X4, "rtx.json");
        assert_eq!(near_duplicate(&one, "other", &two), None);
        assert_eq!(near_duplicate(&two, "other", &one), None);
        assert!(near_duplicate(&one, "other", &one).is_some(), "and one of them twice would be");
    }

    #[test]
    fn rates_far_from_replicates_are_seen() {
        let close = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        let look = |rate: f64, others: &[Kin]| outliers(&[cell("decode-8192-0", rate, 50.0)], others);
        let found = look(180.0, &kin(&close, true)).unwrap();
        assert!(
            found.text.contains("1.80 times the median of 6 other runs of the same set-up"),
            "{}",
            found.text
        );
        assert!(found.other_id.is_some());
        assert!(look(55.0, &kin(&close, true)).is_some(), "too slow is odd too");
        for fine in [97.0, 100.0, 104.0, 110.0] {
            assert_eq!(look(fine, &kin(&close, true)), None, "{fine}");
        }
        assert_eq!(look(900.0, &kin(&close[..4], true)), None, "four others say too little");
        // Another engine may be twice as fast, but hardly four times.
        assert_eq!(look(200.0, &kin(&close, false)), None);
        assert!(look(400.0, &kin(&close, false)).is_some());
    }

    #[test]
    fn a_power_that_no_accelerator_has_is_seen() {
        let run = import::published(published::H200_X4, "h200-x4.json").unwrap();
        let evidence =
            crate::domain::Evidence { level: crate::domain::EvidenceLevel::Reported, reasons: Vec::new() };
        let row = facts::row(&run, "somebody", evidence, 0);
        let with = |joules: f64| {
            let mut cell = cell("decode-8192-0", 1000.0, 50.0);
            cell.joules_per_token = Some(joules);
            power(&row, &[cell])
        };
        assert!(with(2.0).is_none(), "500 W each");
        assert!(with(40.0).unwrap().text.contains("10000 W"));
        assert!(with(0.001).is_some());
    }
}
