//! The site over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that fails here says so")]

mod access;
mod accounts;
mod attacks;
mod bodies;
mod browser;
mod client;
mod described;
mod device;
mod faults;
mod gallery;
mod lists;
mod moderation;
mod old_tables;
mod openapi;
mod opendata;
mod operations;
mod pages;
mod provider;
mod publishing;
mod sample;
mod sign_in;
mod site;
mod suspicions;
