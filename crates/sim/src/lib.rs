//! A simulated engine that answers like a server and keeps time like a measured one.
//!
//! A [`Profile`] comes from a run record: how fast the recorded server prefilled, how long its first token
//! took and how long a decoding step took at each (context, concurrency). The [`engine`] replays that in
//! virtual time: continuous batching in steps, a prefix cache, a KV capacity with a queue. A [`Server`]
//! drives it in real time and speaks the HTTP interface of vLLM, or of
//! another engine: a [`Dialect`]. On demand it fails in the ways that servers do: a [`Fault`].
//!
//! Nothing here is shared with the client side, so that a fault in one cannot hide itself in the other.
//!
//! ```no_run
//! use tokometer_sim::{Profile, Server, ServerOptions};
//!
//! let profile = Profile::builtin("h200-x4")?;
//! let running = Server::start(profile, ServerOptions::default())?;
//! println!("simulated engine at http://{}", running.addr());
//! running.stop();
//! # Ok::<(), tokometer_sim::SimError>(())
//! ```

mod clock;
pub mod engine;
mod error;
mod profile;
mod random;
mod server;
pub mod text;
pub mod tokenizer;

pub use engine::Speculation;
pub use error::SimError;
pub use profile::{Overrides, Profile};
pub use server::{Dialect, Fault, FaultKind, Running, Server, ServerOptions, TruthTo};
