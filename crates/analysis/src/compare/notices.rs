//! What has to be read before the ratios.

use tokometer_record::Run;
use tokometer_record::comparison::{
    Metric, Notice, NoticeCode, PairedBy, RunRatios, SettingDifference, SettingGroup, Verdict,
};

use super::settings;

/// The sentences, most important first.
pub(super) fn notices(runs: &[Run], differences: &[SettingDifference], against: &[RunRatios]) -> Vec<Notice> {
    let mut notices = Vec::new();
    let simulated = numbers(runs, |run| run.simulated);
    if !simulated.is_empty() {
        let text = format!("SIMULATED: {} of a simulated engine, so ratios show its model", are(&simulated));
        notices.push(notice(NoticeCode::Simulated, text, Vec::new()));
    }
    what_it_shows(&mut notices, differences);
    notices.extend(not_known(runs));
    how_it_was_paired(&mut notices, runs, against);
    notices
}

fn notice(code: NoticeCode, text: String, paths: Vec<String>) -> Notice {
    Notice { code, text, paths }
}

/// What the ratios can be said to show, by the settings that differ.
fn what_it_shows(notices: &mut Vec<Notice>, differences: &[SettingDifference]) {
    let deciding = |group: SettingGroup| -> Vec<&SettingDifference> {
        differences
            .iter()
            .filter(|difference| difference.group == group && difference.severity.decides())
            .collect()
    };
    let model = deciding(SettingGroup::Model);
    if !model.is_empty() {
        let text = format!("not a comparison of one model: {}", differ(&model));
        notices.push(notice(NoticeCode::NotTheSameModel, text, paths(&model)));
    }
    let measurement = deciding(SettingGroup::Measurement);
    if !measurement.is_empty() {
        let text = format!("not the same measurement: {}", differ(&measurement));
        notices.push(notice(NoticeCode::NotTheSameMeasurement, text, paths(&measurement)));
    }
    let hardware = deciding(SettingGroup::Hardware);
    let mut engine = deciding(SettingGroup::Engine);
    engine.extend(deciding(SettingGroup::Launch));
    let like_for_like = model.is_empty() && measurement.is_empty();
    match (hardware.is_empty(), engine.is_empty()) {
        (false, false) => {
            let text = format!("not a hardware comparison: {} too", differ(&engine));
            notices.push(notice(NoticeCode::NotAHardwareComparison, text, paths(&engine)));
        }
        (false, true) if like_for_like => {
            let text = "a hardware comparison: nothing else that is known to change speed differs".to_owned();
            notices.push(notice(NoticeCode::HardwareComparison, text, paths(&hardware)));
        }
        (true, false) => {
            let text = format!("a comparison of settings: {}", differ(&engine));
            notices.push(notice(NoticeCode::SettingsComparison, text, paths(&engine)));
        }
        (true, true) if like_for_like => {
            let text = "nothing that is known to change speed differs: ratios show what one setup varies by";
            notices.push(notice(NoticeCode::SameSetup, text.to_owned(), Vec::new()));
        }
        _ => {}
    }
}

fn not_known(runs: &[Run]) -> Vec<Notice> {
    let mut by_runs: Vec<(Vec<usize>, Vec<&'static str>)> = Vec::new();
    for (name, silent) in settings::not_told(runs) {
        match by_runs.iter_mut().find(|(runs, _)| *runs == silent) {
            Some((_, names)) => names.push(name),
            None => by_runs.push((silent, vec![name])),
        }
    }
    by_runs
        .into_iter()
        .map(|(silent, names)| {
            let silent: Vec<usize> = silent.into_iter().map(|index| index + 1).collect();
            let verb = if silent.len() == 1 { "does" } else { "do" };
            let text = format!(
                "{} {verb} not tell {}: a difference there would not be seen",
                named(&silent),
                list(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
            );
            notice(NoticeCode::NotKnown, text, Vec::new())
        })
        .collect()
}

fn how_it_was_paired(notices: &mut Vec<Notice>, runs: &[Run], against: &[RunRatios]) {
    let pairs = || against.iter().flat_map(|ratios| &ratios.pairs);
    let all = pairs().count();
    let by_label = pairs().filter(|pair| pair.paired_by == PairedBy::Label).count();
    if by_label > 0 {
        let text = format!(
            "{by_label} of {all} cells are paired by label: the number of prompt tokens that the server counted is \
             not known for both"
        );
        notices.push(notice(NoticeCode::PairedByLabel, text, Vec::new()));
    }
    let untested =
        pairs().filter(|pair| pair.headline().is_some_and(|ratio| ratio.verdict == Verdict::NotTested));
    let untested = untested.count();
    if untested > 0 {
        let imported = numbers(runs, |run| run.imported.is_some());
        let why = if imported.is_empty() {
            "a record has one sample for them".to_owned()
        } else {
            format!("{} imported without a trace", are(&imported).replace(" of", ""))
        };
        let text = format!("{untested} of {all} ratios have no interval and were not tested: {why}");
        notices.push(notice(NoticeCode::NoIntervals, text, Vec::new()));
    }
    let by_decoding = pairs().filter(|pair| pair.headline == Metric::DecodingRate).count();
    if by_decoding > 0 {
        let text = format!(
            "{by_decoding} of {all} cells are compared by decoding rate: their windows differ in length, and with \
             them the share of restarts"
        );
        notices.push(notice(NoticeCode::ByDecodingRate, text, Vec::new()));
    }
}

/// Numbers of the runs, from 1 on.
fn numbers(runs: &[Run], holds: impl Fn(&Run) -> bool) -> Vec<usize> {
    runs.iter().enumerate().filter(|(_, run)| holds(run)).map(|(index, _)| index + 1).collect()
}

/// `run 1 is of`, `runs 1 and 2 are of`.
fn are(numbers: &[usize]) -> String {
    let verb = if numbers.len() == 1 { "is" } else { "are" };
    format!("{} {verb} of", named(numbers))
}

fn named(numbers: &[usize]) -> String {
    let noun = if numbers.len() == 1 { "run" } else { "runs" };
    format!("{noun} {}", list(&numbers.iter().map(usize::to_string).collect::<Vec<_>>()))
}

/// `a differs`, `a and b differ`.
fn differ(differences: &[&SettingDifference]) -> String {
    let names: Vec<String> = differences.iter().map(|difference| difference.name.clone()).collect();
    format!("{} {}", list(&names), if names.len() == 1 { "differs" } else { "differ" })
}

fn paths(differences: &[&SettingDifference]) -> Vec<String> {
    differences.iter().map(|difference| difference.path.clone()).collect()
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
