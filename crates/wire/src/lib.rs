//! HTTP streaming with true arrival stamps, event framing, and the token ledger.
//!
//! **In:** a [`TargetUrl`], headers, a request body. **Out:** an [`Exchange`] for each request, and an
//! [`Event`] for each payload event and each event that changes the token count, pushed to an [`EventSink`].
//!
//! A [`Connector`] opens a [`Connection`]; [`Connection::stream`] sends one request and reads its response to
//! the end. All times come from [`clock::Clock`], the only place in the program that reads time. What is not
//! measured (probes, gauges, drains) goes through [`Control`].
//!
//! ```
//! use tokometer_wire::response::{Progress, ResponseReader};
//! use tokometer_wire::{Dialect, Endpoint, Event, Expect, Outcome, Stamp};
//!
//! let mut reader = ResponseReader::new(Expect { endpoint: Endpoint::Chat, dialect: Dialect::Vllm });
//! let mut events: Vec<Event> = Vec::new();
//! let bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 97\r\n\r\n\
//!     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
//! let progress = reader.feed(bytes, Stamp::default(), &mut events);
//! reader.end_of_read(&mut events);
//! assert_eq!((progress, events.len()), (Progress::Complete, 1));
//! assert_eq!(reader.exchange(0, None, 0).outcome, Outcome::Ended);
//! ```
//!
//! This crate knows nothing of plans, statistics or files, and it must not allocate per event once warm.

pub mod clock;
mod connection;
mod connector;
mod control;
mod delta;
mod dialect;
mod error;
mod exchange;
mod failure;
mod headers;
mod http2;
mod ledger;
pub mod loop_lag;
pub mod metrics;
mod ndjson;
pub mod redact;
mod repetition;
pub mod response;
mod service;
mod socket;
mod source;
pub mod sse;
mod timer;
mod tls;
mod transport;
mod url;

pub use connection::Connection;
pub use connector::{Connector, HttpVersion, PreparedRequest, Timeouts, TlsOptions};
pub use control::{Answer, Control};
pub use dialect::{Dialect, Endpoint, Expect};
pub use error::WireError;
pub use exchange::{
    Channel, Event, EventSink, Exchange, Outcome, Repetition, StampSource, TEXT_SHOWN, TokenSource,
};
pub use failure::{Failure, FailureKind};
pub use headers::{Headers, Secret};
pub use service::ServiceClient;
pub use socket::Stamp;
pub use url::{Scheme, TargetUrl};
