//! AMD devices, on a tree that looks like amdgpu's.

use tokometer_record::DeviceSample;
use tokometer_telemetry::Inventory;
use tokometer_wire::clock::Clock;

use crate::tree::Tree;

/// Two MI300X; the process 77 has memory on the second one.
fn tree() -> Tree {
    let tree = Tree::new();
    for (card, address, location, node) in [(1, "0000:05:00.0", 1280, 1), (2, "0000:26:00.0", 9728, 2)] {
        let device = format!("sys/class/drm/card{card}/device");
        let put = |name: &str, text: &str| {
            tree.put(&format!("{device}/{name}"), format!("{text}\n"));
        };
        put("vendor", "0x1002");
        put("device", "0x74a1");
        put("uevent", &format!("DRIVER=amdgpu\nPCI_SLOT_NAME={address}"));
        put("mem_info_vram_total", "206141652992");
        put("mem_info_vram_used", if card == 2 { "150000000000" } else { "300000000" });
        put("gpu_busy_percent", "97");
        put("mem_busy_percent", "40");
        put("pp_dpm_sclk", "0: 132Mhz\n1: 2100Mhz *");
        put("pp_dpm_mclk", "0: 900Mhz *\n1: 1300Mhz");
        put("current_link_speed", "32.0 GT/s PCIe");
        put("max_link_speed", "32.0 GT/s PCIe");
        put("current_link_width", "16");
        put("max_link_width", "16");
        put("numa_node", "0");
        put("vbios_version", "113-M3000100-102");
        put("unique_id", "0123456789abcdef");
        put("hwmon/hwmon3/power1_average", "512000000");
        put("hwmon/hwmon3/power1_cap", "750000000");
        put("hwmon/hwmon3/temp2_label", "junction");
        put("hwmon/hwmon3/temp2_input", "71000");
        put("hwmon/hwmon3/temp3_label", "mem");
        put("hwmon/hwmon3/temp3_input", "62000");
        let node = format!("sys/class/kfd/kfd/topology/nodes/{node}");
        tree.put(
            &format!("{node}/properties"),
            format!("gfx_target_version 90402\nlocation_id {location}\ndomain 0\n"),
        );
        let other = if card == 1 { 2 } else { 1 };
        for (link, kind) in [(0, 11), (1, 11), (2, 2)] {
            tree.put(
                &format!("{node}/io_links/{link}/properties"),
                format!("type {kind}\nnode_to {other}\n"),
            );
        }
        tree.put(&format!("{node}/gpu_id"), format!("{}\n", 1000 + card));
    }
    // A connector of a card is no card.
    tree.put("sys/class/drm/card1-DP-1/status", "connected");
    tree.put("sys/class/kfd/kfd/proc/77/vram_1002", "140000000000\n");
    tree.put("sys/class/kfd/kfd/proc/77/vram_1001", "0\n");
    tree.put("sys/module/amdgpu/version", "6.14.14\n").put("opt/rocm/.info/version", "7.1.0\n");
    tree
}

#[test]
fn devices_are_named_and_the_one_in_use_is_counted() {
    let tree = tree();
    let machine = tree.machine();
    let hardware = machine.hardware(&Inventory { processes: Some(&[77]), ..Inventory::default() }).0;
    assert_eq!(hardware.devices.len(), 2);
    let device = &hardware.devices[1];
    assert_eq!((device.name.as_str(), device.memory_gb), ("MI300X", Some(192.0)));
    assert_eq!((device.driver.as_deref(), device.compute.as_deref()), (Some("6.14.14"), Some("ROCm 7.1.0")));
    assert_eq!(device.architecture.as_deref(), Some("gfx942"));
    assert_eq!((device.power_limit_watts, device.core_clock_max_mhz), (Some(750.0), Some(2100)));
    assert_eq!(
        (device.pcie_generation_max, device.pcie_width_max, device.numa_node),
        (Some(5), Some(16), Some(0))
    );
    assert_eq!(device.uuid_hash.as_ref().unwrap().len(), 16);
    assert_ne!(device.uuid_hash.as_deref(), Some("0123456789abcdef"));
    let used: Vec<Option<bool>> = hardware.devices.iter().map(|device| device.used_by_server).collect();
    assert_eq!(used, [Some(false), Some(true)]);
    assert_eq!(hardware.accelerators[0].count, 1);
    let link = &hardware.links[0];
    assert_eq!((link.a, link.b, link.path.as_str(), link.direct_links), (0, 1, "numa_node", Some(2)));
}

#[test]
fn open_files_tell_who_holds_memory() {
    let tree = tree();
    let of = |kib: u64| {
        format!("pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:05:00.0\ndrm-memory-vram:\t{kib} KiB\n")
    };
    // 88 has opened the device, 99 has memory on it.
    tree.put("proc/88/fdinfo/5", of(512)).put("proc/99/fdinfo/5", of(90_000_000));
    let machine = tree.machine();
    let used = |pid: u32| {
        let asked = Inventory { processes: Some(&[pid]), ..Inventory::default() };
        machine.hardware(&asked).0.devices.iter().map(|device| device.used_by_server).collect::<Vec<_>>()
    };
    assert_eq!(used(99), [Some(true), Some(false)]);
    assert!(!used(88).contains(&Some(true)));
}

/// One full reading of the second device.
fn reading(tree: &Tree) -> DeviceSample {
    let machine = tree.machine();
    let hardware = machine.hardware(&Inventory::default()).0;
    let series = machine.watch(&hardware, "run", Clock::start()).unwrap().stop();
    *series.devices.iter().rev().find(|row| row.device == 1 && row.full).unwrap()
}

#[test]
fn readings_are_in_their_units() {
    let tree = tree();
    let row = reading(&tree);
    assert_eq!((row.power_watts, row.energy_joules), (Some(512.0), None));
    assert_eq!((row.core_clock_mhz, row.memory_clock_mhz), (Some(2100.0), Some(900.0)));
    assert_eq!((row.temperature_c, row.memory_temperature_c), (Some(71.0), Some(62.0)));
    assert_eq!((row.busy, row.memory_busy), (Some(0.97), Some(0.4)));
    assert_eq!(row.memory_used_bytes, Some(150e9));
    assert_eq!((row.pcie_generation, row.pcie_width), (Some(5.0), Some(16.0)));
    // No table of metrics: nothing is known of throttling, and nothing is claimed.
    assert_eq!((row.reasons, row.slowed, row.power_capped), (None, None, None));
}

#[test]
fn the_table_of_metrics_tells_why_clocks_are_held_down() {
    let tree = tree();
    let table = |form: [u8; 2], bits: u64| {
        let mut bytes = vec![0_u8; 120];
        bytes[0] = 120;
        bytes[2..4].copy_from_slice(&form);
        bytes[112..].copy_from_slice(&bits.to_le_bytes());
        bytes
    };
    for (bytes, slowed, capped) in [
        (table([1, 3], 1 << 36), Some(true), Some(false)),
        (table([1, 3], 1), Some(false), Some(true)),
        (table([1, 3], 0), Some(false), Some(false)),
        (table([1, 3], 3 << 60 | 1), Some(false), Some(true)),
        (table([1, 3], u64::MAX), None, None),
        (table([1, 6], 1 << 36), None, None),
        (vec![1, 2, 1], None, None),
    ] {
        tree.put("sys/class/drm/card2/device/gpu_metrics", &bytes);
        let row = reading(&tree);
        assert_eq!((row.slowed, row.power_capped), (slowed, capped), "{bytes:?}");
        // Bits that nobody knows are kept, too.
        let bits = row.reasons.map(u64::to_le_bytes);
        assert!(bits.is_none_or(|bits| bits == bytes[112..]), "{bits:?}");
    }
}
