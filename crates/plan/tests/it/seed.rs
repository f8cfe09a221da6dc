use std::collections::HashSet;

use tokometer_plan::seed::{Purpose, TextSeed, mix, of_run};

#[test]
fn every_place_in_a_run_has_its_own_seed() {
    let mut seeds = HashSet::new();
    let mut count = 0;
    for seed in 0..3 {
        for purpose in [Purpose::Prefill, Purpose::Decode, Purpose::WarmUp, Purpose::Sizing] {
            for context in [8192, 16_384, 262_144] {
                for stream in 0..128 {
                    for repeat in 0..3 {
                        let place = TextSeed { stream, repeat, ..TextSeed::new(seed, purpose, context) };
                        seeds.insert(place.value());
                        count += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seeds.len(), count);
}

#[test]
fn the_mix_is_fixed() {
    // First output of SplitMix64 from state 0.
    assert_eq!(mix(0, 0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(of_run("a"), mix(1, u64::from(b'a')));
    assert_ne!(of_run("0198-aa"), of_run("0198-ab"));
}
