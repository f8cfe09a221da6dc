//! Which host this is.

use tokometer_record::calibration::Host;
use tokometer_record::store::sha256;

/// Makes the id of a machine one that only tokometer uses.
const SALT: &str = "tokometer host\n";

/// Digits of the id.
const DIGITS: usize = 16;

/// This host.
pub(crate) fn this() -> Host {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let cpu = read("/proc/cpuinfo").and_then(|text| {
        let model = text.lines().find_map(|line| line.strip_prefix("model name"))?;
        Some(model.trim_start_matches([' ', '\t', ':']).to_owned())
    });
    Host {
        id: read("/etc/machine-id").filter(|id| !id.trim().is_empty()).map(|id| {
            let mut digits = sha256(format!("{SALT}{}", id.trim()).as_bytes());
            digits.truncate(DIGITS);
            digits
        }),
        os: std::env::consts::OS.to_owned(),
        kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        cpu,
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::this;

    #[test]
    fn a_host_is_the_same_each_time_and_its_machine_id_is_not_told() {
        let host = this();
        assert_eq!(host, this());
        if let (Some(id), Ok(machine)) = (&host.id, std::fs::read_to_string("/etc/machine-id")) {
            assert!(!machine.contains(id.as_str()));
        }
    }
}
