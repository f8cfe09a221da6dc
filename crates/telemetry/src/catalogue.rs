//! Display names and marketing memory of accelerators: data, which users can extend.

use std::path::Path;

use serde::Deserialize;

/// The entries that come with the program.
const BUILT_IN: &str = include_str!("../data/accelerators.json");

/// Why a catalogue can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// It can't be read.
    #[error("can't read the catalogue {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is no list of entries.
    #[error(
        "the catalogue {path} can't be used: {why}; it is a JSON list of \
         {{\"vendor\", \"driver_name\" or \"pci\", \"name\", \"memory_gb\", \"unified\"}}"
    )]
    Content {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
}

/// What is known of a kind of accelerator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// `nvidia`, `amd`, `intel`.
    vendor: String,
    /// As the driver names it.
    driver_name: Option<String>,
    /// PCI device id, `0x74a1`.
    pci: Option<String>,
    /// Display name.
    pub(crate) name: String,
    /// Marketing memory, GB.
    pub(crate) memory_gb: Option<f64>,
    /// Shares the host's memory.
    #[serde(default)]
    pub(crate) unified: bool,
}

/// Names of accelerators. The first entry that fits wins.
#[derive(Debug, Clone)]
pub struct Catalogue(Vec<Entry>);

impl Default for Catalogue {
    fn default() -> Catalogue {
        // A test reads it; an empty catalogue is still of use.
        Catalogue(serde_json::from_str(BUILT_IN).unwrap_or_default())
    }
}

impl Catalogue {
    /// Puts the entries of a user's file before the built-in ones.
    pub fn extend(mut self, path: &Path) -> Result<Catalogue, CatalogueError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| CatalogueError::Read { path: name.clone(), source })?;
        let mut entries: Vec<Entry> = serde_json::from_str(&text)
            .map_err(|error| CatalogueError::Content { path: name, why: error.to_string() })?;
        entries.append(&mut self.0);
        Ok(Catalogue(entries))
    }

    /// By the driver's name, else by the PCI device id.
    pub(crate) fn find(&self, vendor: &str, driver_name: Option<&str>, pci: Option<&str>) -> Option<&Entry> {
        let is_named = |entry: &Entry| {
            let name = entry.driver_name.as_deref();
            name.is_some_and(|name| driver_name.is_some_and(|found| found.eq_ignore_ascii_case(name)))
        };
        let is_device = |entry: &Entry| {
            let id = entry.pci.as_deref();
            id.is_some_and(|id| pci.is_some_and(|found| found.eq_ignore_ascii_case(id)))
        };
        let mut own = self.0.iter().filter(|entry| entry.vendor == vendor);
        own.clone().find(|entry| is_named(entry)).or_else(|| own.find(|entry| is_device(entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Catalogue, Entry};

    #[test]
    fn the_built_in_entries_are_sound() {
        let entries: Vec<Entry> = serde_json::from_str(BUILT_IN).unwrap();
        for entry in &entries {
            assert!(entry.driver_name.is_some() || entry.pci.is_some(), "{entry:?}");
            assert!(["nvidia", "amd", "intel"].contains(&entry.vendor.as_str()), "{entry:?}");
            assert!(entry.memory_gb.is_none_or(|memory| memory > 0.0), "{entry:?}");
        }
    }

    #[test]
    fn a_users_entry_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let own = r#"[{"vendor": "nvidia", "driver_name": "NVIDIA H200", "name": "ours", "memory_gb": 1}]"#;
        std::fs::write(&file, own).unwrap();
        let catalogue = Catalogue::default();
        assert_eq!(catalogue.find("nvidia", Some("NVIDIA H200"), None).unwrap().name, "H200 SXM");
        let catalogue = catalogue.extend(&file).unwrap();
        assert_eq!(catalogue.find("nvidia", Some("nvidia h200"), None).unwrap().name, "ours");
        assert_eq!(catalogue.find("amd", None, Some("0x74a1")).unwrap().name, "MI300X");
        std::fs::write(&file, r#"[{"vendor": "nvidia", "nam": 1}]"#).unwrap();
        let error = Catalogue::default().extend(&file).unwrap_err().to_string();
        assert!(error.contains("nam") && error.contains("driver_name"), "{error}");
    }
}
