//! The site over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that fails here says so")]

mod accounts;
mod attacks;
mod bodies;
mod browser;
mod client;
mod database;
mod faults;
mod gallery;
mod lists;
mod moderation;
mod moving;
mod object_faults;
mod object_store;
mod objects;
mod operations;
mod pages;
mod proxy;
mod publishing;
mod sample;
mod shared;
mod site;
