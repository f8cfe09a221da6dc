//! A scripted server, and what tests need around it.

use std::future::pending;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokometer_wire::clock::Clock;
use tokometer_wire::{
    Connection, Connector, Dialect, Endpoint, Event, Exchange, Expect, Headers, PreparedRequest, TargetUrl,
    Timeouts, TlsOptions,
};

/// What a scripted server does with one connection.
#[derive(Clone)]
pub(crate) enum Act {
    /// Reads one request, head and body.
    Read,
    /// Writes bytes in one call.
    Write(Vec<u8>),
    /// Writes bytes one by one, with a turn of the event loop between them.
    Drip(Vec<u8>),
    /// Lets time pass.
    Wait(Duration),
    /// Closes with a reset.
    Reset,
    /// Reads until the client closes.
    AwaitClose,
}

/// Plays one script per connection, in order; returns the requests that were read.
pub(crate) async fn scripted(scripts: Vec<Vec<Act>>) -> (u16, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let mut requests = Vec::new();
        for script in scripts {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            play(stream, script, &mut requests).await;
        }
        requests
    });
    (port, server)
}

async fn play(mut stream: TcpStream, script: Vec<Act>, requests: &mut Vec<Vec<u8>>) {
    for act in script {
        match act {
            Act::Reset => {
                let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
                nix::sys::socket::setsockopt(&stream, nix::sys::socket::sockopt::Linger, &linger).unwrap();
                return;
            }
            other => perform(&mut stream, other, requests).await,
        }
    }
}

/// Plays one act on any stream.
pub(crate) async fn perform<T: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut T,
    act: Act,
    requests: &mut Vec<Vec<u8>>,
) {
    match act {
        Act::Read => requests.push(read_request(stream).await),
        // The client may have left already: that is its right.
        Act::Write(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.flush().await;
        }
        Act::Drip(bytes) => {
            for byte in bytes {
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                let _ = stream.flush().await;
                tokio::task::yield_now().await;
            }
        }
        Act::Wait(time) => tokio::time::sleep(time).await,
        Act::AwaitClose => {
            let mut sink = [0; 4096];
            while stream.read(&mut sink).await.is_ok_and(|length| length > 0) {}
        }
        Act::Reset => unreachable!("only a bare socket is reset"),
    }
}

async fn read_request<T: AsyncRead + Unpin>(stream: &mut T) -> Vec<u8> {
    let mut request = Vec::new();
    let mut piece = vec![0; 16 << 10];
    loop {
        let length = stream.read(&mut piece).await.unwrap();
        assert!(length > 0, "the client closed before its request was whole");
        request.extend_from_slice(&piece[..length]);
        let Some(head) = request.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
        let body = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse::<usize>().unwrap());
        if request.len() >= head + 4 + body {
            return request;
        }
    }
}

pub(crate) const CHAT: Expect = Expect { endpoint: Endpoint::Chat, dialect: Dialect::OpenAi };

pub(crate) fn timeouts(idle: Duration) -> Timeouts {
    Timeouts { connect: Duration::from_secs(20), idle }
}

pub(crate) fn connector(port: u16) -> Connector {
    connector_with(port, Headers::new(), timeouts(Duration::from_secs(60)))
}

pub(crate) fn connector_with(port: u16, headers: Headers, timeouts: Timeouts) -> Connector {
    let target = TargetUrl::parse(&format!("http://127.0.0.1:{port}")).unwrap();
    Connector::new(target, &TlsOptions::default(), headers, Clock::start(), timeouts).unwrap()
}

pub(crate) fn request(connector: &Connector) -> PreparedRequest {
    connector.prepare(Endpoint::Chat.path(), r#"{"stream":true}"#.into())
}

/// Sends one request and keeps its events.
pub(crate) async fn stream(
    connection: &mut Connection,
    request: &PreparedRequest,
    expect: Expect,
) -> (Exchange, Vec<Event>) {
    let mut events = Vec::new();
    let exchange = connection.stream(request, expect, &mut events, pending()).await;
    (exchange, events)
}

/// A whole exchange with a server that plays one script.
pub(crate) async fn exchange(script: Vec<Act>, idle: Duration) -> (Exchange, Vec<Event>, bool) {
    let (port, server) = scripted(vec![script]).await;
    let connector = connector_with(port, Headers::new(), timeouts(idle));
    let mut connection = connector.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
    let reusable = connection.is_reusable();
    drop(connection);
    server.await.unwrap();
    (exchange, events, reusable)
}

/// The head of a chunked event stream.
pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// One chunk.
pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// A chat event with content, in a chunk of its own.
pub(crate) fn content(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    chunk(&format!(
        "data: {{\"id\":\"c1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}\n\n"
    ))
}

/// The finish event, the closing marker and the last chunk.
pub(crate) fn finish() -> String {
    chunk("data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n")
        + &chunk("data: [DONE]\n\n")
        + "0\r\n\r\n"
}

/// Returns once the kernel stamps what this process receives, and keeps it so. It turns its stamps on some time
/// after the first socket asks for them, and off after the last one is closed: a test whose connection is the only
/// one would otherwise see reads without a stamp.
#[cfg(target_os = "linux")]
pub(crate) fn with_kernel_stamps() {
    use std::io::{IoSliceMut, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::sync::OnceLock;

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

    static HELD: OnceLock<(TcpStream, TcpStream)> = OnceLock::new();
    HELD.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).unwrap();
        let (mut sender, _) = listener.accept().unwrap();
        let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec);
        loop {
            sender.write_all(b"?").unwrap();
            let mut byte = [0];
            let mut parts = [IoSliceMut::new(&mut byte)];
            let message =
                recvmsg::<()>(receiver.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty()).unwrap();
            if message.cmsgs().unwrap().any(|part| matches!(part, ControlMessageOwned::ScmTimestampns(_))) {
                return (receiver, sender);
            }
            std::thread::yield_now();
        }
    });
}
