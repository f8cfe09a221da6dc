//! The arrows of `ARCHITECTURE.md`, held by the manifests.

use std::collections::BTreeMap;
use std::path::Path;

/// What each crate may use of the others. The binary may use all.
const ALLOWED: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("stats", &[]),
    ("plan", &["record"]),
    ("wire", &[]),
    ("target", &["wire", "record"]),
    ("load", &["wire", "record"]),
    ("analysis", &["record", "stats"]),
    ("telemetry", &["wire", "record"]),
    ("report", &["record", "analysis"]),
    ("sim", &["record"]),
    ("site", &["record", "analysis", "report", "wire"]),
];

/// The workspace crates named under `[dependencies]` of a manifest.
fn uses(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if let Some(name) = line.strip_prefix("tokometer-").filter(|_| inside) {
            found.push(name.split('.').next().unwrap_or(name).to_owned());
        }
    }
    found
}

#[test]
fn crates_use_only_what_the_house_allows() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if name == "cli" {
            continue;
        }
        let may =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("crate {name} is not in ARCHITECTURE.md"));
        for used in uses(&manifest) {
            assert!(may.contains(&used.as_str()), "{name} must not use {used}");
        }
        seen.push(name);
    }
    assert_eq!(seen.len(), ALLOWED.len(), "every crate of the table exists: {seen:?}");
}

#[test]
fn manifests_are_read_as_written() {
    let manifest = "[package]\nname = \"tokometer-x\"\n[dependencies]\ntokometer-record.workspace = true\n\
                    serde.workspace = true\n[dev-dependencies]\ntokometer-sim.workspace = true\n";
    assert_eq!(uses(manifest), ["record"]);
}
