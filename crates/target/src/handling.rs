//! How a server is drained, how its requests are aborted, and how its prefix cache is kept out of the way.
//!
//! These are data: a probe executes none of them.

use std::fmt;

use serde::Serialize;
use tokometer_record::Endpoint;

use crate::target::Target;

/// How it is known that a server has no requests left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Drain {
    /// Its gauges of running and waiting requests are both 0.
    Gauges {
        /// Where they are read.
        path: &'static str,
    },
    /// Its list of slots shows none that is processing.
    Slots {
        /// Where it is read.
        path: &'static str,
    },
    /// It shows nothing: only time helps.
    Unseen,
}

/// How a running request is stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Abort {
    /// Closing its connection is enough.
    Disconnect {
        /// What to know about it.
        remark: Option<&'static str>,
    },
    /// Its connection is closed, and a request names it: closing alone may leave it running.
    Request {
        /// The path that is posted to.
        path: &'static str,
        /// The field that names the request, in its own body and in the abort's.
        id_field: &'static str,
    },
}

/// How the prefix cache is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CacheReset {
    /// By an empty POST.
    Post {
        /// The path.
        path: &'static str,
        /// When the route is there, and what its answer says.
        remark: &'static str,
    },
    /// Not over HTTP.
    No {
        /// What to do instead.
        remark: &'static str,
    },
}

/// A field that keeps requests apart in the prefix cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CacheSalt {
    /// Its name; its value is text of 1 to 1024 characters.
    pub field: &'static str,
    /// True if the completions route takes it too.
    pub completions: bool,
}

/// All of it for one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Handling {
    pub(crate) abort: Abort,
    pub(crate) cache_reset: CacheReset,
    pub(crate) cache_salt: Option<CacheSalt>,
}

impl Handling {
    /// Of a server that is not known to do more.
    pub(crate) const PLAIN: Handling = Handling {
        abort: Abort::Disconnect { remark: Some("it is not known whether the server then stops") },
        cache_reset: CacheReset::No { remark: "open each prompt with words of its own" },
        cache_salt: None,
    };

    /// Of an engine that stops when the connection closes.
    pub(crate) const DISCONNECT: Handling =
        Handling { abort: Abort::Disconnect { remark: None }, ..Handling::PLAIN };
}

impl fmt::Display for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Drain::Gauges { path } => write!(f, "gauges of running and waiting requests at {path}"),
            Drain::Slots { path } => write!(f, "slots at {path}"),
            Drain::Unseen => f.write_str("waiting, for it shows no gauges"),
        }
    }
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Abort::Disconnect { remark: None } => f.write_str("closing the connection"),
            Abort::Disconnect { remark: Some(remark) } => write!(f, "closing the connection ({remark})"),
            Abort::Request { path, id_field } => write!(f, "POST {path} with the request's {id_field}"),
        }
    }
}

impl fmt::Display for CacheReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheReset::Post { path, remark } => write!(f, "POST {path} ({remark})"),
            CacheReset::No { remark } => write!(f, "not over HTTP: {remark}"),
        }
    }
}

impl Target {
    /// How it is known that the server has no requests left.
    pub fn drain(&self) -> Drain {
        match self.metrics {
            Some(names) if !names.running.is_empty() => Drain::Gauges { path: self.metrics_path },
            _ => match self.manner.slots_path {
                Some(path) => Drain::Slots { path },
                None => Drain::Unseen,
            },
        }
    }

    /// How a running request is stopped before its end.
    pub fn abort(&self) -> Abort {
        self.manner.handling.abort
    }

    /// How the prefix cache is emptied.
    pub fn cache_reset(&self) -> CacheReset {
        self.manner.handling.cache_reset
    }

    /// The field that keeps a request apart in the prefix cache; none: only the prompt's first words do.
    pub fn cache_salt(&self, endpoint: Endpoint) -> Option<CacheSalt> {
        self.manner.handling.cache_salt.filter(|salt| salt.completions || endpoint == Endpoint::Chat)
    }
}
