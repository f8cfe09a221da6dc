//! Where arrival stamps come from, and what they say.

use std::future::pending;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use tokometer_wire::clock::Clock;
use tokometer_wire::{Event, EventSink, Headers, Outcome, TargetUrl, TlsOptions, loop_lag};

use crate::support::{CHAT, HEAD, content, finish, request, timeouts};

#[test]
fn the_clock_runs_forward_from_its_start() {
    let clock = Clock::start();
    let (a, b) = (clock.now_ns(), clock.now_ns());
    assert!(a <= b);
    let offset = clock.realtime_offset_ns();
    let start = clock.wall_start().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i128;
    // Both say what the wall clock showed at the start; between them lies no more than a few reads.
    assert!((offset - start).abs() < 1_000_000_000, "{offset} {start}");
}

/// A server on a thread of its own: sends an event, and notes when, each time it is told to.
struct Sender {
    port: u16,
    handle: thread::JoinHandle<Vec<(u64, u64)>>,
}

impl Sender {
    fn start(clock: Clock, events: usize, gap: Duration) -> Sender {
        Sender::start_in_bursts(clock, events, gap, 1)
    }

    /// Sends so many events in one write.
    fn start_in_bursts(clock: Clock, events: usize, gap: Duration, burst: usize) -> Sender {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let handle = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            read_head(&mut stream);
            stream.write_all(HEAD.as_bytes()).unwrap();
            let mut sent = Vec::new();
            for number in 0..events {
                thread::sleep(gap);
                let event = content(&format!("{number} ")).repeat(burst);
                let before = clock.now_ns();
                stream.write_all(event.as_bytes()).unwrap();
                sent.push((before, clock.now_ns()));
            }
            stream.write_all(finish().as_bytes()).unwrap();
            sent
        });
        Sender { port, handle }
    }
}

fn read_head(stream: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"{\"stream\":true}") {
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
}

/// Holds its thread up at each event, as an overloaded client is.
struct Slow {
    events: Vec<Event>,
    delay: Duration,
}

impl EventSink for Slow {
    fn event(&mut self, event: &Event) {
        self.events.push(*event);
        thread::sleep(self.delay);
    }
}

/// How the client is made.
#[derive(Clone, Copy)]
struct Client {
    /// It sleeps so long at each event.
    per_event: Duration,
    /// Its event loop notes its rounds.
    instrumented: bool,
    /// The loop sleeps so long at each wake-up.
    per_wakeup: Option<Duration>,
    kernel_stamps: bool,
}

const CLIENT: Client =
    Client { per_event: Duration::ZERO, instrumented: false, per_wakeup: None, kernel_stamps: true };

fn run(clock: Clock, port: u16, client: Client) -> (Vec<Event>, tokometer_wire::StampSource) {
    let target = TargetUrl::parse(&format!("127.0.0.1:{port}")).unwrap();
    let limits = timeouts(Duration::from_secs(60));
    let connector =
        tokometer_wire::Connector::new(target, &TlsOptions::default(), Headers::new(), clock, limits)
            .unwrap();
    let connector = if client.kernel_stamps { connector } else { connector.without_kernel_stamps() };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    if client.instrumented {
        loop_lag::instrument(&mut builder, clock, client.per_wakeup);
    }
    builder.build().unwrap().block_on(async {
        let mut connection = connector.connect().await.unwrap();
        let mut sink = Slow { events: Vec::new(), delay: client.per_event };
        let exchange = connection.stream(&request(&connector), CHAT, &mut sink, pending()).await;
        assert_eq!(exchange.outcome, Outcome::Ended, "{exchange:?}");
        (sink.events, connection.stamp_source())
    })
}

#[cfg(target_os = "linux")]
#[test]
fn kernel_stamps_lie_between_send_and_handling() {
    crate::support::with_kernel_stamps();
    let clock = Clock::start();
    let sender = Sender::start(clock, 40, Duration::from_millis(2));
    let (events, source) = run(clock, sender.port, CLIENT);
    let sent = sender.handle.join().unwrap();
    assert_eq!((source, events.len()), (tokometer_wire::StampSource::Kernel, sent.len()));
    for (event, (before, _)) in events.iter().zip(&sent) {
        assert!(event.arrival_ns <= event.handled_ns, "{event:?}");
        assert_eq!(event.lag_ns, event.handled_ns - event.arrival_ns);
        // The mapping of the wall clock is good to far less than this.
        assert!(event.arrival_ns + 1_000_000 >= *before, "{event:?} sent at {before}");
    }
    assert!(events.windows(2).all(|pair| pair[0].arrival_ns <= pair[1].arrival_ns));
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_is_held_up_still_stamps_arrivals_true() {
    crate::support::with_kernel_stamps();
    let clock = Clock::start();
    // The client sleeps after each event for longer than the gap between two.
    let sender = Sender::start(clock, 30, Duration::from_millis(4));
    let (events, _) = run(clock, sender.port, Client { per_event: Duration::from_millis(6), ..CLIENT });
    let sent = sender.handle.join().unwrap();
    assert_eq!(events.len(), sent.len());
    let mut waited = 0;
    for (event, (before, after)) in events.iter().zip(&sent).filter(|(event, _)| event.last_of_read) {
        // The stamp is near the send, however late the client came. A stamp of the read would be late by
        // milliseconds for most events; the scheduler may still hold up a few on a busy machine.
        assert!(event.arrival_ns + 1_000_000 >= *before);
        let late = event.arrival_ns.saturating_sub(*after);
        waited += u32::from(event.lag_ns > 1_000_000 && late < 1_000_000);
    }
    assert!(waited > 0, "no event waited for the client: {events:?}");
}

#[test]
fn an_instrumented_loop_changes_no_outcome() {
    let clock = Clock::start();
    let sender = Sender::start(clock, 10, Duration::from_millis(1));
    let (events, _) = run(clock, sender.port, Client { instrumented: true, ..CLIENT });
    assert_eq!(events.len(), sender.handle.join().unwrap().len());
    assert!(loop_lag::waiting_since_ns().is_some_and(|since| since <= clock.now_ns()));
}

/// A loop that sleeps for 5 ms at each wake-up, with or without kernel stamps.
fn held_up(kernel_stamps: bool) -> (Vec<Event>, Vec<(u64, u64)>, tokometer_wire::StampSource) {
    let clock = Clock::start();
    let sender = Sender::start(clock, 20, Duration::from_millis(12));
    let per_wakeup = Some(Duration::from_millis(5));
    let (events, source) =
        run(clock, sender.port, Client { instrumented: true, per_wakeup, kernel_stamps, ..CLIENT });
    let sent = sender.handle.join().unwrap();
    assert_eq!(events.len(), sent.len());
    (events, sent, source)
}

#[test]
fn a_loop_that_is_held_up_says_so() {
    let (events, sent, source) = held_up(false);
    assert_eq!(source, tokometer_wire::StampSource::Read);
    let mut late = 0;
    for (event, (before, _)) in events.iter().zip(&sent) {
        // The clock was read behind the sleep, and the lag tells of it.
        assert!(event.arrival_ns == event.handled_ns && event.lag_ns >= 5_000_000, "{event:?}");
        late += usize::from(event.arrival_ns >= before + 5_000_000);
    }
    // On a busy machine an event may come while the loop sleeps for the one before.
    assert!(late > sent.len() / 2, "{events:?} {sent:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_loop_that_is_held_up_still_stamps_arrivals_true() {
    crate::support::with_kernel_stamps();
    let (events, sent, source) = held_up(true);
    assert_eq!(source, tokometer_wire::StampSource::Kernel);
    let near = |(event, (_, after)): &(&Event, &(u64, u64))| event.arrival_ns < after + 2_000_000;
    let handled_late = events.iter().zip(&sent).filter(near).filter(|(event, _)| event.lag_ns > 2_000_000);
    // The scheduler may hold up a few on a busy machine; the sleep alone would hold up all.
    assert!(handled_late.count() > sent.len() / 2, "{events:?} {sent:?}");
}

#[test]
fn events_that_piled_up_before_a_loop_that_was_held_up_are_late() {
    let clock = Clock::start();
    // Ten events come while the loop sleeps once. The last of them has just come when it is read; the first has not.
    let sender = Sender::start(clock, 60, Duration::from_millis(2));
    let per_wakeup = Some(Duration::from_millis(20));
    let (events, _) = run(clock, sender.port, Client { instrumented: true, per_wakeup, ..CLIENT });
    sender.handle.join().unwrap();
    let piled: Vec<&Event> = events.iter().filter(|event| !event.last_of_read).collect();
    assert!(!piled.is_empty());
    let late = piled.iter().filter(|event| event.lag_ns >= 20_000_000).count();
    assert!(late > piled.len() / 2, "{late} of {}: {events:?}", piled.len());
}

#[test]
fn events_that_the_server_sent_together_did_not_wait() {
    let clock = Clock::start();
    let sender = Sender::start_in_bursts(clock, 20, Duration::from_millis(20), 4);
    let (events, _) = run(clock, sender.port, Client { instrumented: true, ..CLIENT });
    sender.handle.join().unwrap();
    let together: Vec<&Event> = events.iter().filter(|event| !event.last_of_read).collect();
    assert!(!together.is_empty());
    // Most: a busy machine may hold the loop up.
    let prompt = together.iter().filter(|event| event.lag_ns < 10_000_000).count();
    assert!(prompt > together.len() / 2, "{prompt} of {}: {events:?}", together.len());
}
