//! The machine under the numbers: which process serves, what it runs on, and what that does meanwhile.
//!
//! [`server::find`] goes from a port to the process that was launched. [`Machine::look`] opens what the machine
//! offers (NVML, the sysfs of amdgpu, xe and i915, `/proc`), [`Machine::hardware`] takes the inventory, and
//! [`Machine::watch`] reads it on a thread of its own until the [`Watch`] is stopped. [`launch`] starts a server
//! and ends it with all its children.
//!
//! [`agent`] does the same on another host: a server there hands out what is found and read, and a client joins it to
//! a run's time line.
//!
//! Absence is a value: what a system doesn't tell is null and has a reason. Nothing here touches the threads
//! that carry load.

pub mod agent;
mod amd;
mod apple;
mod catalogue;
mod drm;
mod host;
mod intel;
pub mod launch;
mod machine;
mod nvidia;
mod root;
mod sampler;
pub mod server;
mod source;

pub use catalogue::{Catalogue, CatalogueError};
pub use machine::{Inventory, Machine, Options};
pub use root::Root;
pub use sampler::{Cursor, Watch};
