//! The site over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that fails here says so")]

mod accounts;
mod attacks;
mod bodies;
mod browser;
mod client;
mod described;
mod faults;
mod gallery;
mod lists;
mod moderation;
mod openapi;
mod opendata;
mod operations;
mod pages;
mod publishing;
mod sample;
mod site;
mod suspicions;
