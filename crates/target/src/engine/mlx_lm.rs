//! mlx-lm's server. It names itself only in its answers: `<mlx-lm>-<mlx>-<platform>-<accelerator>`.

use tokometer_wire::Dialect;

use super::{Confidence, Engine, Manner, Probe, Sign};
use crate::answers::{Answers, SHORT_CHAT};
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;

/// mlx-lm.
pub(super) struct MlxLm;

impl Engine for MlxLm {
    fn name(&self) -> Option<&'static str> {
        Some("mlx-lm")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::ShortChat]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let fingerprint = super::fingerprint(answers)?;
        versions(&fingerprint)?;
        Some(Sign::new(Confidence::Likely, format!("system_fingerprint {fingerprint}"), SHORT_CHAT))
    }

    fn read(&self, _model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        if let Some(fingerprint) = super::fingerprint(answers)
            && let Some((own, mlx, platform)) = versions(&fingerprint)
        {
            let source = format!("system_fingerprint {fingerprint}");
            facts.text(Field::EngineVersion, own, &source);
            facts.text(Field::EngineBuild, &format!("mlx {mlx}"), &source);
            facts.text(
                Field::EngineBackend,
                if platform.starts_with("macOS") { "metal" } else { "mlx" },
                &source,
            );
        }
        facts.missing(Field::CapacityKvTokens, "mlx-lm has no pool: its memory grows");
        facts.missing(Field::CapacityConcurrentRequests, "mlx-lm tells it only in its launch command");
        facts.missing(Field::ModelMaxLength, "mlx-lm does not tell it over HTTP");
    }

    fn manner(&self) -> Manner {
        Manner { dialect: Dialect::MlxLm, handling: Handling::DISCONNECT, ..Manner::PLAIN }
    }
}

/// The two versions and the platform that its fingerprint is made of.
fn versions(fingerprint: &str) -> Option<(&str, &str, &str)> {
    let mut parts = fingerprint.splitn(3, '-');
    let is_version =
        |part: &&str| part.contains('.') && part.starts_with(|first: char| first.is_ascii_digit());
    let own = parts.next().filter(is_version)?;
    let mlx = parts.next().filter(is_version)?;
    let platform = parts.next()?;
    (platform.starts_with("macOS") || platform.starts_with("Linux")).then_some((own, mlx, platform))
}
