//! The site over real sockets.

mod accounts;
mod attacks;
mod bodies;
mod browser;
mod client;
mod faults;
mod gallery;
mod lists;
mod moderation;
mod operations;
mod publishing;
mod sample;
mod site;
