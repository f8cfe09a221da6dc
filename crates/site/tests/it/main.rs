//! The site over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that fails here says so")]

mod access;
mod accounts;
mod attacks;
mod bodies;
mod browser;
mod client;
mod database;
mod described;
mod device;
mod faults;
mod gallery;
mod lists;
mod moderation;
mod moving;
mod object_faults;
mod object_store;
mod objects;
mod old_tables;
mod openapi;
mod opendata;
mod operations;
mod pages;
mod provider;
mod proxy;
mod publishing;
mod sample;
mod shared;
mod sign_in;
mod site;
mod suspicions;
