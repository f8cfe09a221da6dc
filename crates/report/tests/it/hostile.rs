//! A record from somebody who wants to break the page.

use tokometer_record::{Cell, Run};

use crate::support::everything;

/// Text that tries whatever there is to try.
pub(crate) const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'`{{7*7}} <!-- ]]> &lt; javascript: \u{202e}\u{1b}[31m\u{0}\u{fffe} 🙂👩‍👩‍👧 | * [a](b)";

/// The run with every string of its document that is free text, one with no fixed set of words, replaced by
/// [`EVIL`]; and how many those were.
#[allow(dead_code, reason = "the browser's test does without")]
pub(crate) fn poisoned(run: &Run) -> (Run, usize) {
    let mut document = serde_json::to_value(run).unwrap();
    let mut paths = Vec::new();
    strings(&document, String::new(), &mut paths);
    let mut replaced = 0;
    for path in paths {
        let place = document.pointer_mut(&path).unwrap();
        let before = std::mem::replace(place, EVIL.into());
        if serde_json::from_value::<Run>(document.clone()).is_ok() {
            replaced += 1;
        } else {
            *document.pointer_mut(&path).unwrap() = before;
        }
    }
    (serde_json::from_value(document).unwrap(), replaced)
}

/// Pointers of all strings in a document.
fn strings(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(_) => found.push(path),
        serde_json::Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                strings(item, format!("{path}/{place}"), found);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, item) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                strings(item, format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// A run whose every free text is hostile.
pub(crate) fn hostile() -> Run {
    let evil = format!(
        "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'`{{{{7*7}}}} <!-- \u{202e}\u{1b}[31m\u{0} 🙂 {}",
        "x".repeat(10_000)
    );
    let mut run = everything();
    // Every string of the record that is not one of its fixed words.
    let mut document = serde_json::to_value(&run).unwrap();
    for path in [
        "/id",
        "/created_at",
        "/state_reason",
        "/title",
        "/note",
        "/tool/name",
        "/tool/version",
        "/tool/commit",
        "/method/name",
        "/method/version",
        "/target/url",
        "/target/proxy",
        "/target/headers/0",
        "/model/id",
        "/model/served_name",
        "/model/quantization",
        "/engine/name",
        "/engine/version",
        "/engine/parallelism",
        "/engine/speculative",
        "/hardware/class",
        "/hardware/os",
        "/hardware/accelerators/0/name",
        "/capacity/kv_source",
        "/capacity/concurrent_source",
        "/settings/decode_test",
        "/settings/prefill_mode",
        "/settings/prompt_sizing",
        "/hardware/origin",
        "/hardware/host/hostname",
        "/hardware/host/cpu",
        "/hardware/host/board",
        "/hardware/host/distribution",
        "/hardware/host/kernel",
        "/hardware/host/container/image",
        "/hardware/devices/0/driver",
        "/hardware/devices/0/compute",
        "/calibration/created_at",
        "/calibration/tool/name",
        "/calibration/host/cpu",
        "/calibration/checks/0/name",
        "/calibration/checks/0/found",
        "/telemetry/file",
        "/telemetry/sha256",
        "/evidence/0/source",
        "/remarks/0",
    ] {
        *document.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = evil.clone().into();
    }
    run = serde_json::from_value(document).unwrap();
    run.launch_command = Some(evil.clone());
    run.settings.corpus = Some(evil.clone());
    run.settings.request_json = Some(serde_json::json!({ "evil": evil }));
    run.unknown.insert(evil.clone(), evil.clone());
    run.cells.iter_mut().for_each(|cell| poison(cell, &evil));
    run
}

fn poison(cell: &mut Cell, evil: &str) {
    cell.unknown.insert(evil.to_owned(), evil.to_owned());
    let figures = cell.flags.iter_mut().flat_map(|flag| &mut flag.figures);
    for figure in figures.chain(cell.reason.iter_mut().flat_map(|reason| &mut reason.figures)) {
        evil.clone_into(&mut figure.name);
        evil.clone_into(&mut figure.unit);
    }
    cell.flags.iter_mut().for_each(|flag| evil.clone_into(&mut flag.detail));
    if let Some(telemetry) = &mut cell.telemetry {
        telemetry.energy_source = Some(evil.to_owned());
    }
    if let Some(reason) = &mut cell.reason {
        evil.clone_into(&mut reason.text);
    }
    if let Some(error) = &mut cell.error {
        evil.clone_into(&mut error.message);
        error.body = Some(evil.to_owned());
    }
    for found in &mut cell.loops {
        evil.clone_into(&mut found.excerpt);
        evil.clone_into(&mut found.channel);
    }
}
