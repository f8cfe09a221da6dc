//! A site with runs of many kinds, for those who look at its pages.

use tokometer_record::{import, published};
use tokometer_site::domain::Role;
use uuid::Uuid;

use crate::sample::{Plan, Sample};
use crate::site::Site;

const MS: u64 = 1_000_000;

/// The runs that the steps through the pages go by.
pub(crate) struct Gallery {
    /// A ranked run that has a replicate by somebody else.
    pub(crate) replicated: String,
    /// Another ranked run, of other hardware.
    pub(crate) other: String,
    /// A simulated one.
    pub(crate) simulated: String,
    /// One that was imported.
    pub(crate) imported: String,
    /// One that will be taken down.
    pub(crate) doomed: String,
    /// How many set-ups are ranked.
    pub(crate) ranked: usize,
}

/// Model, hardware, accelerators, version of the engine, time between tokens in 0.1 ms, whether the server counts.
const RANKED: [(&str, &str, u32, &str, u64, bool); 11] = [
    ("Qwen/Qwen3.8-Flash-Next", "H200 SXM", 4, "0.33.0", 45, true),
    ("Qwen/Qwen3.8-Flash-Next", "H200 SXM", 4, "0.32.1", 52, true),
    ("Qwen/Qwen3.8-Flash-Next", "H200 SXM", 4, "0.9.2", 71, true),
    ("Qwen/Qwen3.8-Flash-Next", "RTX PRO 6000", 4, "0.33.0", 92, true),
    ("Qwen/Qwen3.8-Flash-Next", "B200", 8, "0.33.0", 31, false),
    ("example/Model-8B", "H200 SXM", 1, "0.33.0", 78, true),
    ("example/Model-8B", "RTX 5090", 1, "0.33.0", 110, true),
    ("example/Model-8B", "MI355X", 8, "0.33.0", 38, false),
    ("example/Model-8B-Instruct-with-a-rather-long-name-2026-11", "L40S", 2, "0.33.0", 240, true),
    ("mistral/Devstral-3-24B", "H100 SXM", 2, "0.33.0", 95, true),
    ("mistral/Devstral-3-24B", "RTX PRO 6000", 1, "0.33.0", 190, true),
];

fn plan(place: usize) -> Plan {
    let (model, hardware, accelerators, version, step, counted) = RANKED[place];
    Plan {
        model: model.to_owned(),
        hardware: hardware.to_owned(),
        accelerators,
        engine_version: version.to_owned(),
        step_ns: step * MS / 10,
        counted: counted.then_some(1.0),
        ..Plan::default()
    }
}

/// Publishes them all, by two users.
pub(crate) async fn fill(site: &Site) -> Gallery {
    let one = site.user("ada", Role::Publisher).await;
    let other = site.user("grace", Role::Publisher).await;
    let mut ids = Vec::new();
    for place in 0..RANKED.len() {
        ids.push(publish(site, &one, &plan(place).make()).await);
    }
    // The same set-up by somebody else, and twice by the first.
    publish(site, &other, &Plan { step_ns: 451 * MS / 100, ..plan(0) }.make()).await;
    publish(site, &one, &Plan { step_ns: 449 * MS / 100, ..plan(0) }.make()).await;
    let simulated = publish(site, &one, &Plan { simulated: true, ..plan(5) }.make()).await;
    let doomed =
        publish(site, &other, &Plan { step_ns: 60 * MS / 10, hardware: "B300".to_owned(), ..plan(4) }.make())
            .await;
    let mut imported = import::published(published::RTX_PRO_6000_X4, "rtx-pro-6000-x4.json").unwrap();
    imported.id = Uuid::now_v7().to_string();
    let imported = publish(site, &other, &Sample { run: imported, files: Vec::new() }).await;
    Gallery {
        replicated: ids[0].clone(),
        other: ids[3].clone(),
        simulated,
        imported,
        doomed,
        ranked: RANKED.len() + 1,
    }
}

async fn publish(site: &Site, token: &str, sample: &Sample) -> String {
    site.publish(token, sample).await.is(201);
    sample.id().to_owned()
}
