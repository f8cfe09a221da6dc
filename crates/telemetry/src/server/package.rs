//! Versions and commits of an engine from its own package metadata, without running it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::root::Root;

/// Packages that decide how fast a server is, as their folders are named.
const PACKAGES: [&str; 14] = [
    "vllm",
    "sglang",
    "tensorrt_llm",
    "lmdeploy",
    "mlx_lm",
    "llama_cpp_python",
    "xllamacpp",
    "tabbyapi",
    "transformers",
    "torch",
    "triton",
    "flashinfer_python",
    "flash_attn",
    "aiter",
];
/// Folders up to a checkout, at most.
const PARENTS: usize = 6;

/// A package as its own metadata tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// `vllm`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Commit that it was installed from.
    pub commit: Option<String>,
    /// Repository that it was installed from.
    pub repository: Option<String>,
}

/// The packages of the Python environment that a process was started in.
pub(super) fn of(root: &Root, pid: u32, arguments: &[String]) -> Vec<Package> {
    let mut found: Vec<Package> = Vec::new();
    for folder in environments(root, pid, arguments) {
        let entries = root.names(&folder);
        for name in PACKAGES {
            let start = format!("{name}-");
            let info =
                entries.iter().find(|entry| entry.starts_with(&start) && entry.ends_with(".dist-info"));
            if let Some(info) = info.filter(|_| !found.iter().any(|package| package.name == name)) {
                let mut package = read(root, pid, name, &format!("{folder}/{info}"));
                if package.commit.is_none() {
                    package.commit = built_from(root, &format!("{folder}/{name}/_version.py"));
                }
                found.push(package);
            }
        }
    }
    found
}

/// The commit of the checkout that the program lies in: `build/bin/llama-server` of a cloned repository.
pub(super) fn checkout(root: &Root, pid: u32, arguments: &[String]) -> Option<String> {
    let program = root.link(&format!("proc/{pid}/exe"));
    let named = arguments.iter().take(2).filter(|argument| argument.starts_with('/')).cloned();
    program
        .into_iter()
        .chain(named)
        .filter(|path| !is_installed(root, pid, path))
        .find_map(|path| commit_above(root, pid, &path))
}

/// True for an interpreter, which may come from a checkout of its own (pyenv), and for programs of a virtual
/// environment, which may lie in the checkout of something else.
fn is_installed(root: &Root, pid: u32, path: &str) -> bool {
    if path.rsplit('/').next().is_some_and(|name| name.starts_with("python")) {
        return true;
    }
    let environment = path.rsplitn(3, '/').nth(2).unwrap_or_default();
    root.text(&format!("proc/{pid}/root{environment}/pyvenv.cfg")).is_some()
}

/// Folders of site-packages that belong to a process, its own view of the file system in front.
fn environments(root: &Root, pid: u32, arguments: &[String]) -> Vec<String> {
    let programs = arguments.iter().take(3).filter(|argument| argument.starts_with('/')).cloned();
    let variable = root.bytes(&format!("proc/{pid}/environ")).unwrap_or_default();
    let variable = String::from_utf8_lossy(&variable).into_owned();
    let named = variable.split('\0').find_map(|pair| pair.strip_prefix("VIRTUAL_ENV=")).map(str::to_owned);
    let executable = root.link(&format!("proc/{pid}/exe"));
    let of_program = |path: String| path.rsplitn(3, '/').nth(2).map(str::to_owned);
    let prefixes = programs.filter_map(of_program).chain(named).chain(executable.and_then(of_program));
    let mut folders = Vec::new();
    for prefix in prefixes {
        let lib = format!("proc/{pid}/root{prefix}/lib");
        let pythons = root.names(&lib).into_iter().filter(|name| name.starts_with("python3"));
        for python in pythons {
            for packages in ["site-packages", "dist-packages"] {
                let folder = format!("{lib}/{python}/{packages}");
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
    }
    folders
}

/// The commit that a wheel's own file of its version names: `__commit_id__ = commit_id = 'g4ba787ec9'`.
fn built_from(root: &Root, file: &str) -> Option<String> {
    let text = root.text(file)?;
    let line =
        text.lines().find(|line| line.starts_with("__commit_id__ =") || line.starts_with("commit_id ="))?;
    let quoted = line.split(['\'', '"']).nth(1)?;
    let commit = quoted.strip_prefix('g').unwrap_or(quoted);
    let is_commit = (7..=40).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit.to_owned())
}

fn read(root: &Root, pid: u32, name: &str, info: &str) -> Package {
    let metadata = root.text(&format!("{info}/METADATA")).unwrap_or_default();
    let version = metadata.lines().find_map(|line| line.strip_prefix("Version:"));
    let mut package = Package {
        name: name.to_owned(),
        version: version.map(|version| version.trim().to_owned()),
        ..Package::default()
    };
    let origin = root.text(&format!("{info}/direct_url.json"));
    let Some(origin) = origin.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return package;
    };
    let url = origin["url"].as_str().unwrap_or_default();
    if let Some(path) = url.strip_prefix("file://") {
        // Editable: the commit is that of the folder.
        package.commit = commit_above(root, pid, &format!("{path}/."));
    } else {
        package.commit = origin["vcs_info"]["commit_id"].as_str().map(str::to_owned);
        let url = tokometer_wire::redact::text(url);
        package.repository = (!url.is_empty()).then_some(url);
    }
    package
}

/// The commit of the repository that a path lies in.
fn commit_above(root: &Root, pid: u32, path: &str) -> Option<String> {
    let mut folder = path;
    for _ in 0..PARENTS {
        folder = folder.rsplit_once('/')?.0;
        // Who is root of nothing is no checkout of an engine.
        if folder.is_empty() {
            return None;
        }
        let git = format!("proc/{pid}/root{folder}/.git");
        if let Some(head) = root.text(&format!("{git}/HEAD")) {
            let Some(name) = head.strip_prefix("ref: ") else { return Some(head) };
            let packed = || {
                let refs = root.text(&format!("{git}/packed-refs"))?;
                refs.lines().find_map(|line| line.strip_suffix(name).map(|commit| commit.trim().to_owned()))
            };
            return root.text(&format!("{git}/{name}")).or_else(packed);
        }
    }
    None
}
