//! What a shipped binary must hold, asked of the ordinary one by the same readers: versions that it needs, and a driver's
//! library that it loads at run time. `scripts/dist-check.sh` asks the shipped one.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::driver;
use crate::support::{Ended, load, only_run, tokometer};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// What the reader of version needs says of a file.
fn needs(file: &Path, most: &str) -> Ended {
    let mut reader = Command::new("python3");
    Ended::from(reader.arg(scripts().join("elf-needs.py")).args(["--most", most]).arg(file).output().unwrap())
}

/// The C library that is installed here: nothing that was linked here needs a newer one.
fn here() -> String {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    told.trim().strip_prefix("glibc ").unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[test]
fn versions_that_a_binary_needs_are_read_and_held() {
    let binary = Path::new(env!("CARGO_BIN_EXE_tokometer"));
    let told = needs(binary, &here());
    assert_eq!(told.code, Some(0), "{told:?}");
    let highest = told.stdout.lines().find_map(|line| line.strip_prefix("GLIBC ")).unwrap();
    let (version, library) = highest.split_once(' ').unwrap();
    assert!(version.starts_with("2.") && library.contains(".so.6"), "{told:?}");
    // The strings of the binary hold that version too.
    let bytes = std::fs::read(binary).unwrap();
    let symbol = format!("GLIBC_{version}\0");
    assert!(bytes.windows(symbol.len()).any(|window| window == symbol.as_bytes()), "{told:?}");

    let told = needs(binary, "2.2");
    assert!(told.code == Some(1) && told.stderr.contains("2.2 at most"), "{told:?}");
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("a.c"), folder.path().join("a"));
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    let built = Command::new("cc").arg("-static").arg("-o").arg(&program).arg(&source).status().unwrap();
    assert!(built.success());
    let told = needs(&program, "2.28");
    assert!(told.code == Some(1) && told.stderr.contains("statically"), "{told:?}");
    let told = needs(&source, "2.28");
    assert!(told.code == Some(1) && told.stderr.contains("no 64-bit"), "{told:?}");
}

#[test]
fn a_drivers_library_is_loaded_at_run_time() {
    let folder = tempfile::tempdir().unwrap();
    driver(folder.path(), 1, &[]);
    let devices = |path: Option<&Path>, out: &str| {
        let out = folder.path().join(out);
        let mut command = tokometer();
        command.args(["demo", "--dry-run", "--quiet", "--out"]).arg(&out);
        command.env_remove("LD_LIBRARY_PATH");
        if let Some(path) = path {
            command.env("LD_LIBRARY_PATH", path);
        }
        let ended = Ended::from(command.output().unwrap());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let names =
            load(&only_run(&out)).hardware.devices.into_iter().filter_map(|device| device.driver_name);
        names.filter(|name| name == "NVIDIA H200").count()
    };
    assert_eq!(devices(Some(folder.path()), "with"), 4);
    if !has_driver() {
        assert_eq!(devices(None, "without"), 0);
    }
}

fn has_driver() -> bool {
    let listed = Command::new("ldconfig").arg("-p").output();
    listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).contains("libnvidia-ml.so"))
}
