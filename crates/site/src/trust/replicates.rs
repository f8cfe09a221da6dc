//! Whether runs of one set-up bear each other out.

use std::collections::BTreeMap;

use crate::domain::{Evidence, EvidenceLevel, Goal, GroupFacts, Headline, RunRow, Spread};

/// How far two rates may be apart beyond their intervals and still agree, as a share.
const TOLERANCE: f64 = 0.05;
/// Share of the cells that both have which must agree.
const AGREEING: f64 = 0.9;
/// Share of a run's valid decode cells that the other must have.
const SHARED: f64 = 0.5;
/// What a reason of this kind begins with.
const WORD: &str = "replicated: ";

/// Why `mine` counts as replicated, if it does: another submitter's run, as well proved by itself, has the same rates.
pub(crate) fn replicated(mine: &GroupFacts, all: &[GroupFacts]) -> Option<String> {
    let proved = |facts: &GroupFacts| facts.own >= EvidenceLevel::CountersAgree;
    if !proved(mine) {
        return None;
    }
    let mut others = all.iter().filter(|other| other.user_id != mine.user_id && proved(other));
    others.find_map(|other| agreement(mine, other))
}

fn agreement(mine: &GroupFacts, other: &GroupFacts) -> Option<String> {
    let theirs: BTreeMap<&str, Headline> =
        other.rates.iter().map(|(name, rate)| (name.as_str(), *rate)).collect();
    let pairs: Vec<bool> = mine
        .rates
        .iter()
        .filter_map(|(name, rate)| theirs.get(name.as_str()).map(|other| agree(*rate, *other)))
        .collect();
    let agreeing = pairs.iter().filter(|agree| **agree).count();
    let enough = !pairs.is_empty()
        && pairs.len() as f64 >= SHARED * mine.rates.len() as f64
        && agreeing as f64 >= AGREEING * pairs.len() as f64;
    enough.then(|| {
        format!(
            "{WORD}the rates of {agreeing} of {} cells agree within {:.0} % with run {} of another submitter",
            pairs.len(),
            TOLERANCE * 100.0,
            other.id
        )
    })
}

/// True if the intervals, widened by the tolerance, overlap; without intervals the estimates.
fn agree(one: Headline, other: Headline) -> bool {
    let low = |rate: Headline| rate.low.unwrap_or(rate.value) * (1.0 - TOLERANCE / 2.0);
    let high = |rate: Headline| rate.high.unwrap_or(rate.value) * (1.0 + TOLERANCE / 2.0);
    low(one) <= high(other) && low(other) <= high(one)
}

/// Sets the level that follows from a run's own evidence and its replicates.
pub(crate) fn judge(evidence: &mut Evidence, own: EvidenceLevel, replicated: Option<&str>) {
    evidence.reasons.retain(|reason| !reason.starts_with(WORD));
    evidence.level = own;
    if let Some(reason) = replicated {
        evidence.level = EvidenceLevel::Replicated;
        evidence.reasons.push(reason.to_owned());
    }
}

/// What runs say together, for each goal that at least two have a figure of.
pub(crate) fn spread<'a>(rows: &(impl Iterator<Item = &'a RunRow> + Clone)) -> BTreeMap<Goal, Spread> {
    let goals = Goal::ALL.into_iter().filter(|goal| *goal != Goal::Newest);
    goals
        .filter_map(|goal| {
            let mut figures: Vec<f64> = rows.clone().filter_map(|row| row.figure(goal)).collect();
            figures.sort_by(f64::total_cmp);
            let (first, last) = (*figures.first()?, *figures.last()?);
            let middle = figures.len() / 2;
            let median = if figures.len().is_multiple_of(2) {
                f64::midpoint(figures[middle - 1], figures[middle])
            } else {
                figures[middle]
            };
            (figures.len() > 1)
                .then_some((goal, Spread { n: figures.len() as u32, low: first, median, high: last }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(id: &str, user: &str, own: EvidenceLevel, rates: &[f64]) -> GroupFacts {
        let rates = rates.iter().enumerate().map(|(index, value)| {
            let rate = Headline { value: *value, low: Some(value * 0.99), high: Some(value * 1.01) };
            (format!("decode-8192-{index}"), rate)
        });
        GroupFacts { id: id.to_owned(), user_id: user.to_owned(), own, rates: rates.collect() }
    }

    #[test]
    fn somebody_else_must_have_the_same_rates() {
        let proved = EvidenceLevel::CountersAgree;
        let mine = facts("1", "a", proved, &[100.0, 200.0]);
        let check = |other: GroupFacts| replicated(&mine, &[mine.clone(), other]).is_some();
        assert!(check(facts("2", "b", proved, &[102.0, 203.0])));
        assert!(!check(facts("2", "a", proved, &[100.0, 200.0])), "oneself is nobody else");
        assert!(!check(facts("2", "b", EvidenceLevel::Recomputed, &[100.0, 200.0])), "not as well proved");
        assert!(!check(facts("2", "b", proved, &[100.0, 220.0])), "one of two cells is off");
        assert!(!check(facts("2", "b", proved, &[])), "nothing in common");
        let unproved = facts("1", "a", EvidenceLevel::Recomputed, &[100.0]);
        assert!(replicated(&unproved, &[facts("2", "b", proved, &[100.0])]).is_none());
    }

    #[test]
    fn a_level_is_found_anew() {
        let mut evidence = Evidence { level: EvidenceLevel::Replicated, reasons: vec!["own".to_owned()] };
        judge(&mut evidence, EvidenceLevel::CountersAgree, Some("replicated: x"));
        judge(&mut evidence, EvidenceLevel::CountersAgree, Some("replicated: y"));
        assert_eq!((evidence.level, evidence.reasons.len()), (EvidenceLevel::Replicated, 2));
        judge(&mut evidence, EvidenceLevel::CountersAgree, None);
        assert_eq!((evidence.level, evidence.reasons.len()), (EvidenceLevel::CountersAgree, 1));
    }
}
