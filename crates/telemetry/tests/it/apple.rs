//! Apple machines, on recorded answers of their programs.

use tokometer_telemetry::Inventory;
use tokometer_wire::clock::Clock;

use crate::tree::Tree;

fn tree() -> Tree {
    let tree = Tree::new();
    tree.put(
        "commands/sysctl",
        "hw.memsize: 206158430208\nhw.physicalcpu: 24\nhw.logicalcpu: 24\nhw.packages: 1\nhw.model: Mac14,14\n\
         machdep.cpu.brand_string: Apple M2 Ultra\nkern.osrelease: 24.5.0\nkern.osproductversion: 15.5\n\
         kern.hostname: studio.local\nvm.swapusage: total = 2048.00M  used = 1.50M  free = 2046.50M  (encrypted)\n\
         vm.loadavg: { 1.25 1.50 1.75 }\n",
    );
    tree.put(
        "commands/system_profiler",
        r#"{"SPDisplaysDataType": [{"_name": "Apple M2 Ultra", "sppci_model": "Apple M2 Ultra", "sppci_cores": "76",
            "spdisplays_mtlgpufamilysupport": "spdisplays_metal3", "spdisplays_vendor": "sppci_vendor_Apple",
            "spdisplays_ndrvs": [{"_name": "Display", "_spdisplays_display-serial-number": "77serial77"}]}]}"#,
    );
    tree.put("commands/ioreg", r#"{"In use system memory"=64424509440,"Device Utilization %"=97}"#);
    tree.put("commands/pmset", "Note: No thermal warning level has been recorded\n");
    tree
}

#[test]
fn the_chip_is_a_device_with_the_hosts_memory() {
    let tree = tree();
    let machine = tree.machine();
    let (hardware, unknown) = machine.hardware(&Inventory::default());
    assert_eq!(hardware.class.as_deref(), Some("unified_memory"));
    let device = &hardware.devices[0];
    assert_eq!((device.vendor.as_str(), device.name.as_str()), ("apple", "Apple M2 Ultra (76-core GPU)"));
    assert_eq!((device.memory_gb, device.unified_memory), (Some(192.0), true));
    assert_eq!(device.architecture.as_deref(), Some("Metal 3"));
    assert!(device.unknown.contains_key("power_limit_watts") && !device.unknown.contains_key("memory_gb"));
    assert_eq!((hardware.accelerators.len(), hardware.accelerators[0].memory_gb), (1, Some(192.0)));
    assert!(unknown.contains_key("hardware.devices.used_by_server"), "{unknown:?}");
    let host = hardware.host.unwrap();
    assert_eq!(
        (host.distribution.as_deref(), host.cpu.as_deref()),
        (Some("macOS 15.5"), Some("Apple M2 Ultra"))
    );
    assert_eq!((host.cores, host.threads, host.sockets), (Some(24), Some(24), Some(1)));
    assert_eq!((host.memory_bytes, host.swap_used_bytes), (Some(192 << 30), Some(1_572_864)));
    assert_eq!((host.load_average, host.board.as_deref()), (Some(1.25), Some("Apple Mac14,14")));
    assert_eq!(host.hostname, None);
    let text = serde_json::to_string(&hardware.devices).unwrap();
    assert!(!text.contains("77serial77"), "{text}");
    let asked = Inventory { include_hostname: true, ..Inventory::default() };
    assert_eq!(machine.hardware(&asked).0.host.unwrap().hostname.as_deref(), Some("studio.local"));
}

#[test]
fn it_is_read_as_far_as_anybody_may() {
    let tree = tree();
    let machine = tree.machine();
    let hardware = machine.hardware(&Inventory::default()).0;
    let series = machine.watch(&hardware, "run", Clock::start()).unwrap().stop();
    let row = series.devices[0];
    assert_eq!(
        (row.busy, row.memory_used_bytes, row.slowed),
        (Some(0.97), Some(60.0 * 1_073_741_824.0), Some(false))
    );
    assert_eq!((row.power_watts, row.energy_joules), (None, None));
}
