//! Two published speed test matrices, in the simple format that [`crate::import::published`] reads.
//!
//! They were measured by others with llm-inference-bench 0.6.2; tokometer shows them, compares with them,
//! and its simulated engine replays them.

/// Qwen3.8-Flash-Next on 4 × H200 SXM.
pub const H200_X4: &str = include_str!("../published/h200-x4.json");

/// Qwen3.8-Flash-Next on 4 × RTX PRO 6000.
pub const RTX_PRO_6000_X4: &str = include_str!("../published/rtx-pro-6000-x4.json");
