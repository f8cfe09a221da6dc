//! Where a calibration is kept between runs, and the last one of this host.

use std::path::PathBuf;

use tokometer_record::Calibration;

use super::host;

/// Names the file where the calibration is kept, instead of the user's state folder.
pub(crate) const VARIABLE: &str = "TOKOMETER_CALIBRATION";

/// The file: as the environment names it, else in the user's state folder; none where there is no such folder.
pub(crate) fn path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder(VARIABLE).or_else(|| {
        let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
        Some(state.join("tokometer").join("calibration.json"))
    })
}

/// The last calibration of this host, or why there is none.
pub(crate) fn last() -> Result<Calibration, String> {
    let never = || "the client was never calibrated on this host: tokometer calibrate does it".to_owned();
    let path = path().filter(|path| path.exists()).ok_or_else(never)?;
    let calibration = Calibration::load(&path).map_err(|error| error.to_string())?;
    let here = host::this();
    let there = &calibration.host;
    if (&there.id, &there.os, &there.cpu) == (&here.id, &here.os, &here.cpu) {
        Ok(calibration)
    } else {
        Err("the last calibration was of another host: tokometer calibrate does it for this one".to_owned())
    }
}
