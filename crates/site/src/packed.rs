//! Documents as they lie in the database: zstd.

use std::io::Read;

/// The longest document that is taken out again.
const MOST: u64 = 256 << 20;
/// Small enough to be fast, and a run's rows are much alike.
const LEVEL: i32 = 3;

/// Compresses.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    // Memory is all that it needs.
    zstd::bulk::compress(bytes, LEVEL).unwrap_or_default()
}

/// What [`pack`] made, again.
pub(crate) fn unpack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    zstd::stream::read::Decoder::new(bytes)?.take(MOST).read_to_end(&mut out)?;
    Ok(out)
}
