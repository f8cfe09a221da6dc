//! Intel devices, on trees that look like xe's and i915's.

use tokometer_telemetry::Inventory;
use tokometer_wire::clock::Clock;

use crate::tree::Tree;

fn card(tree: &Tree, files: &[(&str, &str)]) {
    for (name, text) in [("vendor", "0x8086"), ("device", "0xe20b"), ("uevent", "PCI_SLOT_NAME=0000:03:00.0")]
        .iter()
        .chain(files)
    {
        tree.put(&format!("sys/class/drm/card0/device/{name}"), format!("{text}\n"));
    }
}

#[test]
fn both_drivers_are_read() {
    let xe = Tree::new();
    card(
        &xe,
        &[
            ("tile0/gt0/freq0/act_freq", "2850"),
            ("tile0/gt0/freq0/rp0_freq", "2850"),
            ("tile0/gt0/freq0/throttle/status", "1"),
            ("tile0/gt0/freq0/throttle/reason_pl1", "1"),
            ("tile0/gt0/freq0/throttle/reason_thermal", "0"),
            ("tile0/gt0/freq0/throttle/reason_of_tomorrow", "1"),
            ("hwmon/hwmon2/energy1_input", "5000000"),
        ],
    );
    let old = Tree::new();
    card(&old, &[("hwmon/hwmon2/energy1_input", "7000000")]);
    old.put("sys/class/drm/card0/gt/gt0/rps_act_freq_mhz", "2100\n");
    old.put("sys/class/drm/card0/gt/gt0/throttle_reason_status", "1\n");
    old.put("sys/class/drm/card0/gt/gt0/throttle_reason_thermal", "1\n");
    for (tree, clock, energy, slowed, capped) in
        [(xe, 2850.0, 5.0, false, true), (old, 2100.0, 7.0, true, false)]
    {
        let machine = tree.machine();
        let hardware = machine.hardware(&Inventory::default()).0;
        assert_eq!(
            (hardware.devices[0].name.as_str(), hardware.devices[0].memory_gb),
            ("Arc B580", Some(12.0))
        );
        let series = machine.watch(&hardware, "run", Clock::start()).unwrap().stop();
        let row = series.devices[0];
        assert_eq!((row.core_clock_mhz, row.energy_joules), (Some(clock), Some(energy)));
        assert_eq!((row.slowed, row.power_capped), (Some(slowed), Some(capped)));
        // A word that nobody knows has a bit of its own.
        let known = &series.meta.devices[0].reasons;
        let left = known.iter().fold(row.reasons.unwrap(), |bits, known| bits & !known.bit);
        assert_eq!(left, if capped { 1 << 63 } else { 0 });
    }
}
