//! The whole client against a paced server in another process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;
use tokometer_load::{CellSpec, Conductor, Live, LoadEngine, Timing};
use tokometer_record::{AtEnd, Outcome};
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Endpoint, Headers, PreparedRequest, TargetUrl, Timeouts, TlsOptions};

use crate::streams::Shape;

/// The environment's word for the server's port.
pub const PORT: &str = "TOKOMETER_BENCH_PORT";

/// How often the server looks whether the client has read, and how often at most.
const LOOK: Duration = Duration::from_micros(500);
const MAX_LOOKS: u32 = 40_000;
const SHAPE: Shape = Shape::VllmChat;

/// A server that has a thread of its own, and ends once its client is gone.
pub struct Paced {
    /// Where it listens.
    pub port: u16,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Paced {
    fn drop(&mut self) {
        // A client that never came would be waited for in vain.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Starts a server that waits for `streams` requests and answers each with `events` events, all streams in step.
pub fn serve(streams: u32, events: u64) -> Result<Paced, String> {
    serve_and(streams, events, || ())
}

/// The same, and calls `look` once all events have been read, before the end is sent.
fn serve_and(streams: u32, events: u64, look: impl FnOnce() + Send + 'static) -> Result<Paced, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let thread = std::thread::spawn(move || drop(answer(&listener, streams, events, look)));
    Ok(Paced { port, thread: Some(thread) })
}

fn answer(listener: &TcpListener, streams: u32, events: u64, look: impl FnOnce()) -> std::io::Result<()> {
    let mut sockets = Vec::new();
    for _ in 0..streams {
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    for socket in &mut sockets {
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.ends_with(b"}") {
            let length = socket.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            request.extend_from_slice(&piece[..length]);
        }
        socket.write_all(SHAPE.head().as_bytes())?;
    }
    for number in 1..=events {
        let event = SHAPE.event(number);
        for socket in &mut sockets {
            socket.write_all(event.as_bytes())?;
        }
        wait_until_read(listener.local_addr()?.port())?;
    }
    look();
    let end = SHAPE.end(events);
    for socket in &mut sockets {
        socket.write_all(end.as_bytes())?;
    }
    // The client closes first; one whose window had not begun yet asks again, which is not answered: both end here.
    for socket in &mut sockets {
        let _ = socket.read(&mut [0; 64]);
    }
    Ok(())
}

/// Waits until the kernel holds nothing for the clients of this port: each event is to come in a read of its own,
/// however slow the client.
fn wait_until_read(port: u16) -> std::io::Result<()> {
    for _ in 0..MAX_LOOKS {
        std::thread::sleep(LOOK);
        let sockets = std::fs::read_to_string("/proc/net/tcp")?;
        let waits =
            sockets.lines().skip(1).filter_map(waiting_bytes_of).any(|(to, bytes)| to == port && bytes > 0);
        if !waits {
            return Ok(());
        }
    }
    Err(std::io::ErrorKind::TimedOut.into())
}

/// The peer's port of a socket in the kernel's list, and how many bytes wait to be read from it.
fn waiting_bytes_of(line: &str) -> Option<(u16, u64)> {
    let mut fields = line.split_whitespace().skip(2);
    let (_, port) = fields.next()?.rsplit_once(':')?;
    let (_, bytes) = fields.nth(1)?.rsplit_once(':')?;
    Some((u16::from_str_radix(port, 16).ok()?, u64::from_str_radix(bytes, 16).ok()?))
}

/// Runs a cell of `streams` streams against the server at the port in the environment, and counts the reads that
/// carried events; an error if far from every event came in a read of its own, or any did not come.
pub fn run(streams: u32, events: u64) -> Result<u64, String> {
    let port = std::env::var(PORT).map_err(|_| format!("{PORT} is not set"))?;
    run_at(port.parse().map_err(|_| format!("{PORT} is no port"))?, streams, events)
}

/// What `look` sees while `streams` streams are open and have sent nothing.
pub fn idle<T>(streams: u32, look: impl FnOnce() -> T) -> Result<T, String> {
    let server = serve(streams, 1)?;
    let client = Client::start(server.port)?;
    let requests = vec![client.request(); streams as usize];
    let opened = block_on(client.conductor.open_idle(requests, look))?;
    opened.map_err(|failure| failure.message)?.ok_or_else(|| "interrupted".to_owned())
}

/// What `look` sees while `streams` streams have each had `events` events and wait for the next.
pub fn in_response<T: Send + 'static>(
    streams: u32,
    events: u64,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (seen, sees) = std::sync::mpsc::channel();
    let server = serve_and(streams, events, move || drop(seen.send(look())))?;
    run_at(server.port, streams, events)?;
    sees.try_recv().map_err(|_| "the server saw nothing".to_owned())
}

fn run_at(port: u16, streams: u32, events: u64) -> Result<u64, String> {
    let client = Client::start(port)?;
    let spec = CellSpec {
        context_nominal: 0,
        concurrency: streams,
        max_output_tokens: events,
        duration: Duration::from_millis(1),
        adaptive: None,
        repeat: None,
        requests: vec![client.request()],
        scouts: Vec::new(),
        at_end: AtEnd::Finish,
        calibration: None,
    };
    let trace = block_on(client.conductor.run_cell(&spec))?;
    let all = u64::from(streams) * events;
    let reads: u64 = trace.requests.iter().map(|row| u64::from(row.reads)).sum();
    let ended = trace.requests.iter().filter(|row| row.outcome == Outcome::Ended).count();
    let events = trace.events.iter().filter(|event| event.payload).count() as u64;
    // The first events may come while connections are still looked at, and the last one shares a read with the end.
    if ended == streams as usize && events == all && 10 * reads >= 9 * all {
        return Ok(reads);
    }
    let failure = trace.requests.iter().find_map(|row| row.failure.as_ref()).or(trace.meta.failure.as_ref());
    Err(format!(
        "{ended} of {streams} requests ended, with {events} of {all} events in {reads} reads: {failure:?}"
    ))
}

/// One load thread and its conductor.
struct Client {
    conductor: Conductor,
    connector: Connector,
}

/// Lets this process hold both ends of so many streams.
pub fn make_room(streams: u32) -> Result<(), String> {
    LoadEngine::reserve_descriptors(2 * streams).map_err(|error| error.to_string())
}

impl Client {
    fn start(port: u16) -> Result<Client, String> {
        let target =
            TargetUrl::parse(&format!("http://127.0.0.1:{port}")).map_err(|error| error.to_string())?;
        let clock = Clock::start();
        let (tls, timeouts) = (TlsOptions::default(), Timeouts::default());
        let connector = Connector::new(target, &tls, Headers::new(), clock, timeouts);
        let connector = connector.map_err(|error| error.to_string())?;
        let engine = LoadEngine::start(1, &connector, clock).map_err(|error| error.to_string())?;
        let conductor = Conductor {
            run: "bench".to_owned(),
            engine,
            clock,
            gauges: None,
            expect: SHAPE.expect(),
            timing: Timing {
                ready_minimum: Duration::from_millis(1),
                ready_stable: Duration::from_millis(1),
                ..Timing::default()
            },
            allow_busy: true,
            interrupt: watch::Sender::new(false).subscribe(),
            live: Arc::new(Live::default()),
        };
        Ok(Client { conductor, connector })
    }

    fn request(&self) -> PreparedRequest {
        self.connector.prepare(Endpoint::Chat.path(), "{\"stream\":true}".into())
    }
}

/// Waits for the conductor, on this thread.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| error.to_string())?.block_on(work))
}
