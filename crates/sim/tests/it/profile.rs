//! Profiles from run records.

use tokometer_record::{Phase, Status, import, published};
use tokometer_sim::{Overrides, Profile, SimError};

use crate::runs::{decode, fast, prefill, run, without_figures};

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn measured_cells_are_met_exactly() {
    let profile = Profile::builtin("h200-x4").unwrap();
    assert!(close(profile.total_rate(8192, 128), 7950.5));
    assert!(close(profile.total_rate(65_536, 32), 3185.4));
    assert!(close(profile.total_rate(257_024, 1), 225.2));
    assert!(close(profile.step_seconds(8192, 8), 8.0 / 1145.1));
    assert!(close(profile.ttft_seconds(131_072, 16), 2.005));
    assert!(close(profile.prefill_rate(262_144), 31_800.0));
    assert_eq!(profile.model_id(), "Qwen/Qwen3.8-Flash-Next");
    assert_eq!(profile.served_name(), "qwen");
    assert_eq!(profile.name(), "h200-x4");
    let limits = (profile.max_model_length(), profile.kv_tokens(), profile.max_concurrent_requests());
    assert_eq!(limits, (262_144, 3_145_728, 256));
}

#[test]
fn kv_capacity_lies_in_the_bracket_of_the_published_cells() {
    for (name, matrix) in [("h200-x4", published::H200_X4), ("rtx-pro-6000-x4", published::RTX_PRO_6000_X4)] {
        let kv_tokens = Profile::builtin(name).unwrap().kv_tokens();
        let run = import::published(matrix, name).unwrap();
        for cell in run.cells.iter().filter(|cell| cell.phase == Phase::Decode) {
            let need = u64::from(cell.concurrency) * (cell.context_nominal + 4096);
            assert_eq!(need > kv_tokens, cell.status == Status::OverCapacity, "{name} {}", cell.name());
        }
    }
}

#[test]
fn every_builtin_profile_loads_by_name() {
    let names: Vec<&str> = Profile::builtin_names().collect();
    assert_eq!(names, ["h200-x4", "rtx-pro-6000-x4"]);
    for name in names {
        assert_eq!(Profile::load(name).unwrap().name(), name);
    }
    assert_eq!(Profile::builtin("rtx-pro-6000-x4").unwrap().kv_tokens(), 1_048_576);
    let error = Profile::load("no-such-thing").unwrap_err();
    assert!(error.to_string().contains("h200-x4, rtx-pro-6000-x4"), "{error}");
}

#[test]
fn between_cells_logarithms_are_interpolated() {
    let profile = profile(vec![
        prefill(1024, 100.0),
        prefill(4096, 400.0),
        decode(1024, 1, 100.0, 10.0),
        decode(1024, 4, 200.0, 40.0),
        decode(4096, 1, 25.0, 160.0),
        decode(4096, 4, 50.0, 640.0),
    ]);
    assert!(close(profile.prefill_rate(2048), 200.0));
    // Halfway in both directions: the geometric mean of all four.
    assert!(close(profile.step_seconds(2048, 2), (0.01_f64 * 0.02 * 0.04 * 0.08).powf(0.25)));
    assert!(close(profile.ttft_seconds(2048, 1), 0.04));
    assert!(close(profile.ttft_seconds(4096, 2), 0.32));
}

#[test]
fn beyond_the_edges_the_edge_holds() {
    let profile =
        profile(vec![prefill(1024, 100.0), decode(1024, 2, 100.0, 10.0), decode(4096, 8, 100.0, 40.0)]);
    assert!(close(profile.prefill_rate(16), 100.0));
    assert!(close(profile.prefill_rate(1_000_000), 100.0));
    assert_eq!(profile.step_seconds(16, 1), profile.step_seconds(1024, 2));
    assert_eq!(profile.step_seconds(1 << 20, 64), profile.step_seconds(4096, 8));
}

#[test]
fn a_missing_cell_takes_the_nearest_context_at_its_concurrency() {
    let profile = profile(vec![
        prefill(1024, 100.0),
        decode(1024, 1, 10.0, 1.0),
        decode(1024, 4, 20.0, 2.0),
        decode(8192, 1, 5.0, 3.0),
        decode(8192, 4, 8.0, 4.0),
        decode(16_384, 1, 4.0, 5.0),
        without_figures(16_384, 4, Status::OverCapacity),
    ]);
    assert!(close(profile.total_rate(16_384, 4), 8.0));
    assert!(close(profile.ttft_seconds(16_384, 4), 0.004));
}

#[test]
fn text_loops_from_the_looped_concurrency_up() {
    let profile = Profile::builtin("h200-x4").unwrap();
    assert!(!profile.loops(32_768, 63));
    assert!(profile.loops(32_768, 64));
    assert!(profile.loops(32_900, 128));
    assert!(!profile.loops(16_384, 64));
    assert!(!profile.loops(65_536, 64));
    let measured_above = self::profile(vec![
        prefill(1024, 100.0),
        decode(1024, 1, 10.0, 1.0),
        without_figures(1024, 2, Status::Looped),
        decode(1024, 4, 20.0, 2.0),
    ]);
    assert!(measured_above.loops(1024, 3));
    assert!(!measured_above.loops(1024, 4));
}

#[test]
fn a_record_without_prefill_and_capacity_still_replays() {
    let profile = profile(vec![decode(1024, 1, 10.0, 2.0), decode(2048, 4, 10.0, 8.0)]);
    assert!(close(profile.prefill_rate(1024), 1024.0 / 0.002));
    assert_eq!(profile.kv_tokens(), 4 * (2048 + 4096));
    assert_eq!(profile.max_model_length(), 262_144);
}

#[test]
fn a_record_without_valid_cells_is_refused() {
    let empty = run(vec![prefill(1024, 10.0), without_figures(1024, 1, Status::Error)]);
    let error = Profile::from_run(&empty, &Overrides::default()).unwrap_err();
    assert!(matches!(error, SimError::Incomplete { .. }), "{error}");
    assert!(error.to_string().contains("`model` cannot be replayed"), "{error}");
}

#[test]
fn overrides_hold() {
    let profile = fast();
    let limits = (profile.name(), profile.max_model_length(), profile.kv_tokens());
    assert_eq!(limits, ("fast", 16_384, 65_536));
}

fn profile(cells: Vec<tokometer_record::Cell>) -> Profile {
    Profile::from_run(&run(cells), &Overrides::default()).unwrap()
}
