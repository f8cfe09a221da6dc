//! Gate: memory of a stream that is open, counted by the allocator.
//!
//! Streams are run in numbers that differ, and the difference of the bytes is divided by that of the streams, so that
//! what is there once counts for nothing. A block counts as glibc keeps it: a header of 8 bytes, in steps of 16. The
//! resident memory stands beside it.
//!
//! ```text
//! cargo bench -p tokometer-benches --bench memory
//! ```
#![expect(clippy::print_stdout, reason = "it tells its figures")]
#![expect(unsafe_code, reason = "an allocator that counts must implement `GlobalAlloc`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI64, Ordering};

use tokometer_benches::client;

/// Streams of the two runs.
const STREAMS: [u32; 2] = [500, 2500];
/// Events that each stream has had when it is looked at: more than are needed to learn their shape.
const EVENTS: u64 = 6;

/// What is looked at, and how many bytes of it a stream may take.
const GATES: [(&str, Look, i64); 2] =
    [("open, nothing sent", open, 1400), ("in its response", in_response, 3950)];

/// What is held with so many streams.
type Look = fn(u32) -> Result<Held, String>;

fn open(streams: u32) -> Result<Held, String> {
    client::idle(streams, held)
}

fn in_response(streams: u32) -> Result<Held, String> {
    client::in_response(streams, EVENTS, held)
}

/// Memory of this process.
#[derive(Clone, Copy)]
struct Held {
    counted: i64,
    resident: i64,
}

fn main() -> ExitCode {
    let mut all_hold = true;
    for (name, look, limit) in GATES {
        match per_stream(look) {
            Ok(Held { counted, resident }) => {
                let holds = counted <= limit;
                all_hold &= holds;
                let verdict = if holds { "" } else { "  OVER" };
                println!(
                    "{name:<20} {counted:>6} bytes a stream, {resident:>6} resident, limit {limit}{verdict}"
                );
            }
            Err(problem) => {
                all_hold = false;
                println!("{name:<20} not counted: {problem}");
            }
        }
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn per_stream(look: Look) -> Result<Held, String> {
    let [few, many] = STREAMS;
    client::make_room(many)?;
    // Once before, for what is kept for ever.
    look(few)?;
    let (less, more) = (look(few)?, look(many)?);
    let streams = i64::from(many - few);
    Ok(Held {
        counted: (more.counted - less.counted) / streams,
        resident: (more.resident - less.resident) / streams,
    })
}

fn held() -> Held {
    let resident = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok()
    });
    Held { counted: LIVE.load(Ordering::Relaxed), resident: resident.unwrap_or(0) * 1024 }
}

/// Counts the bytes that are held.
struct Counting;

static LIVE: AtomicI64 = AtomicI64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a block of this size takes.
fn block(size: usize) -> i64 {
    ((size + 8).next_multiple_of(16)).max(32) as i64
}

// SAFETY: every call is passed on to the system's allocator; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(block(layout.size()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(block(layout.size()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}
