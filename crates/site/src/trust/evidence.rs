//! The rung of the ladder that a run reaches by itself, and why not the next one.

use tokometer_record::verification::{Check, Level, Reach, Verification};
use tokometer_record::{Cell, FlagCode, Phase, Run, Status, TokenSource};

use super::check::deviation;
use crate::domain::{Evidence, EvidenceLevel};

/// Judges a run that was checked.
pub(super) fn of(run: &Run, verification: &Verification, implausible: Option<&str>) -> Evidence {
    let mut reasons = Vec::new();
    if let Some(why) = why_not_recomputed(run, verification, implausible) {
        reasons.push(why);
        return Evidence { level: EvidenceLevel::Reported, reasons };
    }
    reasons.push(format!("recomputed: {} measured rows follow from their traces", verification.recomputed()));
    let off = verification
        .of_level(Level::Failure)
        .filter_map(deviation)
        .fold((0, 0.0_f64), |(n, most), share| (n + 1, most.max(share)));
    if off.0 > 0 {
        reasons.push(format!(
            "{} figures are off by up to {:.3} % from those computed here",
            off.0,
            off.1 * 100.0
        ));
    }
    let why_not = why_counters_do_not_agree(run, verification);
    let level = if why_not.is_none() { EvidenceLevel::CountersAgree } else { EvidenceLevel::Recomputed };
    reasons.push(why_not.unwrap_or_else(|| {
        "the server's own token counters agree with the client's within 1 % in every valid decode cell"
            .to_owned()
    }));
    Evidence { level, reasons }
}

fn why_not_recomputed(run: &Run, verification: &Verification, implausible: Option<&str>) -> Option<String> {
    if let Some(imported) = &run.imported {
        return Some(format!("reported: imported from {}, without traces", imported.format));
    }
    if let Some(text) = implausible {
        return Some(format!("reported: more than the hardware can do by its data sheet: {text}"));
    }
    let without =
        verification.cells.iter().filter(|cell| matches!(cell.reach, Reach::NoTrace | Reach::BadTrace));
    let without = without.count();
    if without > 0 {
        return Some(format!("reported: {without} measured rows have no trace"));
    }
    if verification.recomputed() == 0 {
        return Some("reported: no row was measured".to_owned());
    }
    let by_events = |cell: &&Cell| cell.tokens.source == Some(TokenSource::Events);
    let count = valid_decode(run).filter(by_events).count();
    (count > 0).then(|| {
        format!("reported: in {count} cells each event was counted as one token, which is an estimate")
    })
}

fn why_counters_do_not_agree(run: &Run, verification: &Verification) -> Option<String> {
    let all = valid_decode(run).count();
    if all == 0 {
        return Some("no valid decode cell could show that the server's counters agree".to_owned());
    }
    let missing =
        valid_decode(run).filter(|cell| cell.tokens.server.is_none() || cell.tokens.client.is_none()).count();
    if missing > 0 {
        return Some(format!(
            "the server's token counters are missing in {missing} of {all} valid decode cells"
        ));
    }
    let off = valid_decode(run)
        .filter(|cell| {
            let named = |finding: &&tokometer_record::verification::Finding| {
                finding.check == Check::Tokens && finding.cell.as_deref() == Some(&cell.name())
            };
            cell.flag(FlagCode::TokenMismatch).is_some() || verification.findings.iter().any(|it| named(&it))
        })
        .count();
    (off > 0)
        .then(|| format!("the server's token counters do not agree in {off} of {all} valid decode cells"))
}

fn valid_decode(run: &Run) -> impl Iterator<Item = &Cell> {
    run.cells.iter().filter(|cell| cell.phase == Phase::Decode && cell.status == Status::Valid)
}
