//! No allocation per event once warm; and what other tests need to know of memory.
#![expect(unsafe_code, reason = "an allocator that counts must implement `GlobalAlloc`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::pending;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use tokometer_wire::response::{Progress, ResponseReader};
use tokometer_wire::{Dialect, Endpoint, Event, EventSink, Expect, Outcome, Stamp, TokenSource};

use crate::support::{CHAT, HEAD, chunk, connector, finish, request};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes taken and not given back, and the most of them.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The most bytes that `work` held at a time, and what it returns.
pub(crate) fn peak_bytes<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (usize::try_from(PEAK.get() - before).unwrap(), result)
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        hold(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        hold(new_size as isize - layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

fn count() {
    // A thread that is being taken down has no counter any more.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

fn hold(bytes: isize) {
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

/// Notes how many allocations there were at each event, in room that it took beforehand.
struct Watching {
    allocations: Vec<u64>,
}

impl EventSink for Watching {
    fn event(&mut self, _event: &Event) {
        self.allocations.push(ALLOCATIONS.get());
    }
}

impl Watching {
    fn new(events: usize) -> Watching {
        Watching { allocations: Vec::with_capacity(events) }
    }

    /// Allocations between an early event and the last.
    fn between(&self, from: usize) -> u64 {
        self.allocations[self.allocations.len() - 1] - self.allocations[from]
    }
}

const EVENTS: u32 = 3000;

/// The events of an engine, each as one chunk.
fn chunks(dialect: Dialect) -> Vec<String> {
    (1..=EVENTS)
        .map(|number| {
            let text = if number % 7 == 0 { "a \\\"line\\\"\\n\\u00e9" } else { "word " };
            let event = match dialect {
                Dialect::Vllm => format!(
                    "data: {{\"id\":\"c\",\"created\":17,\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}{number}\"}},\
                     \"finish_reason\":null}}],\"usage\":{{\"prompt_tokens\":9,\"total_tokens\":{},\"completion_tokens\":{number}}}}}\n\n",
                    number + 9
                ),
                Dialect::LlamaCpp => format!(
                    "data: {{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"content\":\"{text}{number}\"}}}}],\
                     \"created\":{},\"timings\":{{\"prompt_n\":9,\"predicted_n\":{number},\"predicted_ms\":{}.5}}}}\n\n",
                    17 + number, 20 * number
                ),
                _ => format!(
                    "data: {{\"id\": \"c\", \"choices\": [{{\"index\": 0, \"delta\": {{\"content\": \"{text}{number}\"}}, \
                     \"finish_reason\": null}}], \"usage\": null, \"obfuscation\": \"x{number}\"}}\n\n"
                ),
            };
            chunk(&event)
        })
        .collect()
}

#[test]
fn in_memory() {
    for (dialect, source) in [
        (Dialect::Vllm, TokenSource::Usage),
        (Dialect::LlamaCpp, TokenSource::EngineEvents),
        (Dialect::OpenAi, TokenSource::Events),
    ] {
        let chunks = chunks(dialect);
        let expect = Expect { endpoint: Endpoint::Chat, dialect };
        let mut reader = ResponseReader::new(expect);
        for (round, cut) in [(0, 40), (1, 40), (2, 100_000)] {
            let mut sink = Watching::new(chunks.len());
            reader.begin(expect);
            reader.feed(HEAD.as_bytes(), Stamp::default(), &mut sink);
            for chunk in &chunks {
                // Once cut in two, once whole.
                let (front, back) = chunk.as_bytes().split_at(cut.min(chunk.len()));
                for piece in [front, back] {
                    assert_eq!(reader.feed(piece, Stamp::default(), &mut sink), Progress::More);
                    reader.end_of_read(&mut sink);
                }
            }
            assert_eq!(reader.feed(finish().as_bytes(), Stamp::default(), &mut sink), Progress::Complete);
            let exchange = reader.exchange(0, None, 0);
            assert_eq!((exchange.outcome, exchange.token_source), (Outcome::Ended, source), "{exchange:?}");
            assert_eq!(sink.allocations.len(), chunks.len());
            if round > 0 {
                assert_eq!(sink.between(2), 0, "{dialect:?}, pieces of {cut}");
            }
        }
    }
}

#[test]
fn over_a_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let chunks = chunks(Dialect::Vllm);
        for _ in 0..2 {
            let mut seen = Vec::new();
            let mut byte = [0];
            while !seen.ends_with(b"{\"stream\":true}") {
                stream.read_exact(&mut byte).unwrap();
                seen.push(byte[0]);
            }
            stream.write_all(HEAD.as_bytes()).unwrap();
            for chunk in &chunks {
                stream.write_all(chunk.as_bytes()).unwrap();
            }
            stream.write_all(finish().as_bytes()).unwrap();
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connector = connector(port);
        let prepared = request(&connector);
        let mut connection = connector.connect().await.unwrap();
        for round in 0..2 {
            let mut sink = Watching::new(EVENTS as usize);
            let exchange = connection.stream(&prepared, CHAT, &mut sink, pending()).await;
            assert_eq!((exchange.outcome, exchange.payload_events), (Outcome::Ended, EVENTS), "{exchange:?}");
            if round > 0 {
                // How a socket cuts the stream is its own affair: a buffer for cut lines may still grow once
                // or twice, but nothing is taken per event.
                assert!(sink.between(2) <= 8, "{} allocations", sink.between(2));
            }
        }
    });
    server.join().unwrap();
}
