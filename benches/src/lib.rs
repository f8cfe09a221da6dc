//! What the benchmarks are made of: streams of engines, made up to any length, texts, and a client with its server.

pub mod client;
pub mod streams;
pub mod text;
