//! What answers at a URL: engine, version, model, limits, capacity, each with its source.
//!
//! **In:** a [`Control`](tokometer_wire::Control) for a base URL. **Out:** a [`Target`]: the facts that the
//! server tells about itself ([`probe`]), the body that a request to it takes ([`Target::request`]), the
//! names of its gauges, and a [`Sizer`] that builds prompts of an exact number of tokens for it.
//! [`conformance`](conformance()) sends it a few small requests and reports how it streams.
//!
//! Engines differ in one file each, under `engine/`: how one is recognised, what it tells and where, which
//! request fields it takes. Probes are few, small, and made once before anything is measured. What is not
//! known stays null, with a reason.

mod answers;
mod conformance;
mod description;
mod discover;
mod engine;
mod error;
mod facts;
mod handling;
mod models;
mod probe;
mod request;
mod sizer;
mod target;
mod tokenize;

pub use conformance::{
    CachedTokens, Conformance, ConformanceOptions, ExactLength, Finding, FirstPayload, Framing, LineEnds,
    Quirk, QuirkCode, Reading, RouteConformance, StreamForm, UnknownFields, UsageForm, conformance,
};
pub use discover::{Found, USUAL_PORTS, discover};
pub use engine::{backend_of, local_version};
pub use error::TargetError;
pub use handling::{Abort, CacheReset, CacheSalt, Drain};
pub use probe::{ProbeOptions, probe};
pub use request::RequestSpec;
pub use sizer::{PromptSpec, SizedPrompt, Sizer, SizerOptions, Sizing, Words};
pub use target::{Busy, Target};
pub use tokenize::TokenizeRoute;
