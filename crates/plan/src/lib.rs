//! From what a user asks and what a server can hold to the cells of a run, in order.
//!
//! **In:** a [`Request`] (contexts, concurrency, window, …) and the [`Limits`] of the target. **Out:** a
//! [`Plan`]: the steps to run, the rows that will not be run with the reason why, and an estimate of time and
//! bytes. Beside it stand the [`text`] of prompts and the [`seed`]s that it is made from.
//!
//! Everything here is a pure function: no clock, no network, no file.
//!
//! ```
//! use tokometer_plan::{Limits, Request, build};
//!
//! let limits = Limits { max_model_length: Some(262_144), kv_tokens: Some(1_048_576), ..Limits::default() };
//! let plan = build(&Request::default(), &limits).unwrap();
//! assert_eq!(plan.cells().len(), 7 + 48);
//! assert_eq!(plan.not_run.len(), 20);
//! ```

mod error;
mod estimate;
mod fit;
mod matrix;
mod order;
mod parse;
pub mod seed;
pub mod sweep;
pub mod text;

pub use error::PlanError;
pub use estimate::SpeedGuess;
pub use fit::Limits;
pub use matrix::{Plan, Request, Step, WarmUp, again, build};
pub use parse::{parse_concurrency, parse_context, parse_contexts, parse_duration};
