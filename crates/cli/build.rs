//! Tells the program which commit it was built from, for `--version` and for records.

use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "TOKOMETER_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    // A package that is built without its repository may be told.
    let stated = std::env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    match stated.or_else(checked_out) {
        Some(commit) => {
            println!("cargo::rustc-env={VARIABLE}={commit}");
            println!("cargo::rustc-env=TOKOMETER_VERSION={version} ({commit})");
        }
        None => println!("cargo::rustc-env=TOKOMETER_VERSION={version}"),
    }
}

/// The commit that is checked out, if this is a checkout of this project at all.
fn checked_out() -> Option<String> {
    // As it is now: this script may have been built for another copy of the sources that shares the target folder.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let root = Path::new(&package).ancestors().nth(2)?;
    if !root.join(".git").exists() {
        return None;
    }
    // The log of HEAD grows with each commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(root, &["rev-parse", "--git-path", file])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(root, &["rev-parse", "--short=12", "HEAD"])
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
