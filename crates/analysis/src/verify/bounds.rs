//! No rate is above what the memory and the arithmetic of the hardware allow.
//!
//! A step reads the active weights once, whatever it does for how many requests, and each token takes two
//! operations for each active weight. Both are bounds from below of what is needed: caches, experts that differ
//! between requests, attention and communication only add. Figures of accelerators are in
//! `data/accelerators.json`; the size of a model is read off its name (`-8B`, `-30B-A3B`).

use serde::Deserialize;
use tokometer_record::comparison::EffectiveSetting;
use tokometer_record::verification::{Check, NotChecked};
use tokometer_record::{Cell, Phase, Run, Status};

use super::Findings;
use super::facts::not;
use crate::launch;

const DATA: &str = include_str!("../../data/accelerators.json");
/// Share of the weights in a model's name that a step reads at least: embeddings are looked up.
const READ_SHARE: f64 = 0.8;
/// Share of the bound from which it is looked at.
const NEAR: f64 = 0.9;

#[derive(Deserialize)]
struct Data {
    accelerators: Vec<Peak>,
}

/// Peak figures of one accelerator.
#[derive(Deserialize)]
struct Peak {
    words: Vec<String>,
    bandwidth_gb_s: f64,
    tflops_16: f64,
    tflops_8: f64,
    tflops_4: Option<f64>,
}

/// What the hardware can do for the model, in units of the record.
struct Roofline {
    /// Steps a second at most: active weights read once for each.
    steps: f64,
    /// Tokens a second at most by arithmetic.
    tokens: f64,
}

/// Checks every rate; what could not be bounded, and why.
pub(super) fn check(findings: &mut Findings, run: &Run) -> Vec<NotChecked> {
    let roofline = match roofline(run) {
        Ok(roofline) => roofline,
        Err(why) => return vec![not("bounds by the hardware", &why)],
    };
    let per_step = tokens_per_step(run);
    for cell in run.cells.iter().filter(|cell| cell.status == Status::Valid) {
        let (rate, bound, words) = match cell.phase {
            Phase::Prefill => (cell.prefill_rate, Some(roofline.tokens), "prefill rate"),
            Phase::Decode => {
                let rate = cell.throughput.as_ref().map(|rates| rates.total);
                (rate, decode_bound(cell, &roofline, per_step), "total rate")
            }
        };
        let (Some(rate), Some(bound)) = (rate, bound) else { continue };
        let share = rate / bound;
        if share > NEAR {
            let judged = if share > 1.0 { "more than the hardware can do" } else { "hardly possible" };
            let text = format!(
                "{words} {rate:.1} tok/s is {:.0} % of the bound of {bound:.1} tok/s: {judged}",
                share * 100.0
            );
            let finding = findings.warning(Check::Bound, Some(&cell.name()), text);
            (finding.recorded, finding.found) = (Some(rate.into()), Some(bound.into()));
        }
    }
    if per_step.is_some() || run.cells.iter().any(|cell| cell.speculative.is_some()) {
        return Vec::new();
    }
    vec![not("bounds of decode by the hardware", "tokens per step are not known (speculative decoding)")]
}

fn decode_bound(cell: &Cell, roofline: &Roofline, per_step: Option<f64>) -> Option<f64> {
    let acceptance = cell.speculative.as_ref().map(|figures| figures.acceptance_length);
    let per_step = acceptance.or(per_step)?;
    Some((f64::from(cell.concurrency) * per_step * roofline.steps).min(roofline.tokens))
}

fn roofline(run: &Run) -> Result<Roofline, String> {
    if run.simulated {
        return Err("a simulated engine has no hardware".to_owned());
    }
    let [accelerators] = run.hardware.accelerators.as_slice() else {
        return Err("the accelerators are not known, or are not alike".to_owned());
    };
    let peak = peak(&accelerators.name)
        .ok_or_else(|| format!("no peak figures of {:?} are known here", accelerators.name))?;
    let name = run.model.id.as_deref().or(run.model.served_name.as_deref()).unwrap_or_default();
    let weights =
        active_weights(name).ok_or_else(|| format!("the size of {name:?} can't be told by its name"))?;
    let (bytes, tflops) = width(run.model.quantization.as_deref(), &peak);
    let count = f64::from(accelerators.count);
    let read = READ_SHARE * weights;
    Ok(Roofline {
        steps: count * peak.bandwidth_gb_s * 1e9 / (read * bytes),
        tokens: count * tflops * 1e12 / (2.0 * read),
    })
}

/// Tokens that a step gives each request: 1 without speculative decoding.
fn tokens_per_step(run: &Run) -> Option<f64> {
    let settings: Vec<EffectiveSetting> = launch::effective(run);
    let speculative = settings.iter().find(|setting| setting.key == "speculative")?;
    (speculative.value.effective.as_deref() == Some("off")).then_some(1.0)
}

fn peak(name: &str) -> Option<Peak> {
    let data: Data = serde_json::from_str(DATA).ok()?;
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_it = |peak: &Peak| peak.words.iter().all(|word| words.contains(&word.to_lowercase().as_str()));
    data.accelerators.into_iter().find(is_it)
}

/// Weights that each token takes, by the model's name: `-A3B` where there is one, else `-30B`.
fn active_weights(name: &str) -> Option<f64> {
    let name = name.rsplit('/').next()?.to_lowercase();
    let parts: Vec<&str> = name.split(['-', '_', ' ', ':']).collect();
    let billions = |part: &str| part.strip_suffix('b')?.parse::<f64>().ok().filter(|size| *size > 0.0);
    let active = parts.iter().find_map(|part| billions(part.strip_prefix('a')?));
    active.or_else(|| parts.iter().find_map(|part| billions(part))).map(|size| size * 1e9)
}

/// Bytes of a weight, and the arithmetic that such weights may use. Where the precision is not known, the narrowest.
fn width(quantization: Option<&str>, peak: &Peak) -> (f64, f64) {
    let name = quantization.unwrap_or_default().to_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if holds(&["bf16", "bfloat16", "fp16", "float16", "f16"]) {
        (2.0, peak.tflops_16)
    } else if holds(&["fp8", "int8", "q8", "w8"]) {
        (1.0, peak.tflops_8)
    } else {
        // Four bits, and blocks of fewer.
        (0.25, peak.tflops_4.unwrap_or(peak.tflops_8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_off_names() {
        for (name, billions) in [
            ("meta-llama/Llama-3.1-8B-Instruct", Some(8.0)),
            ("Qwen/Qwen3-30B-A3B", Some(3.0)),
            ("Qwen3-0.6B", Some(0.6)),
            ("mistralai/Mixtral-8x7B", None),
            ("Qwen/Qwen3.8-Flash-Next", None),
        ] {
            assert_eq!(active_weights(name).map(|weights| weights / 1e9), billions, "{name}");
        }
    }

    #[test]
    fn the_first_fitting_accelerator_applies() {
        let bandwidth = |name: &str| peak(name).map(|peak| peak.bandwidth_gb_s);
        assert_eq!(bandwidth("NVIDIA H100 PCIe"), Some(2000.0));
        assert_eq!(bandwidth("H100 SXM"), Some(3350.0));
        assert_eq!(bandwidth("RTX PRO 6000 Blackwell Server Edition"), Some(1792.0));
        assert_eq!(bandwidth("Voodoo 2"), None);
    }
}
