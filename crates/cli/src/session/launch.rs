//! A server that is started for a run, and ended with it.

use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokometer_record::{Run, RunFolder};
use tokometer_telemetry::launch::Launched;
use tokometer_wire::{Control, TargetUrl, redact};

use super::Session;
use super::server::Server;
use crate::failure::{self, Hinted};
use crate::out;

/// Time until a server answers, where the user says nothing, seconds.
const TIMEOUT: f64 = 1800.0;
/// Between two looks whether it answers.
const LOOK: Duration = Duration::from_millis(250);
/// Limit of one look.
const LOOK_LIMIT: Duration = Duration::from_secs(5);
/// Time that a server has to end by itself.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ports that engines take when nobody names one.
const PORTS: [(&str, u16); 10] = [
    ("sglang", 30_000),
    ("llama-server", 8080),
    ("llama_cpp.server", 8000),
    ("mlx_lm", 8080),
    ("lmdeploy", 23_333),
    ("ollama", 11_434),
    ("tabby", 5000),
    ("trtllm-serve", 8000),
    ("vllm", 8000),
    ("tokometer", 8000),
];

/// Where a server will answer that is started by `command`.
pub(crate) fn url(command: &str) -> anyhow::Result<String> {
    let words = redact::words(command).unwrap_or_default();
    let mut ports =
        words.iter().zip(words.iter().skip(1).map(Some).chain([None])).filter_map(|(word, next)| {
            let value = match word.split_once('=') {
                Some(("--port", value)) => value,
                None if word == "--port" => next?,
                _ => return None,
            };
            value.parse::<u16>().ok().filter(|port| *port > 0)
        });
    let usual = || PORTS.iter().find(|(name, _)| command.contains(name)).map(|(_, port)| *port);
    match ports.next().or_else(usual) {
        Some(port) => Ok(format!("http://127.0.0.1:{port}")),
        None => Err(Hinted::usage(
            "the port of the launched server is not known",
            "name it in the command (--port 8000), or give the server's address: tokometer run 127.0.0.1:8000 --launch …",
        )
        .into()),
    }
}

/// The server of a run, as long as it lasts.
pub(super) struct Launch {
    /// None only while it is being ended.
    launched: Option<Launched>,
    quiet: bool,
}

impl Launch {
    /// Starts the server and waits until it answers.
    pub(super) async fn start(
        session: &Session,
        command: &str,
        server: &Server,
        url: &str,
        interrupt: &watch::Receiver<bool>,
    ) -> anyhow::Result<Launch> {
        let address = TargetUrl::parse(url)
            .map_err(|error| Hinted::usage(error.to_string(), "an address looks like 127.0.0.1:8000"))?
            .host_and_port();
        if TcpStream::connect(&address).await.is_ok() {
            return Err(Hinted::new(
                format!("something listens at {address} already, and would be measured instead"),
                "end it, or give the launched server another port",
            )
            .into());
        }
        let folder = &session.output.out;
        std::fs::create_dir_all(folder).with_context(|| {
            Hinted::new(format!("cannot make {}", folder.display()), "give another folder with --out")
        })?;
        let log = folder.join(format!("server-{}.log", uuid::Uuid::now_v7()));
        let launched = Launched::start_hiding(command, &log, server.secrets.clone()).with_context(|| {
            Hinted::new("the server could not be started", "look at the command of --launch")
        })?;
        let quiet = session.output.quiet;
        let mut launch = Launch { launched: Some(launched), quiet };
        let limit = session.machine.launch_timeout.unwrap_or(TIMEOUT);
        match launch.ready(&server.control, limit, interrupt).await {
            Ok(()) => Ok(launch),
            Err(error) => {
                launch.stop().await;
                Err(error)
            }
        }
    }

    async fn ready(
        &mut self,
        control: &Control,
        limit_seconds: f64,
        interrupt: &watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let clock = tokometer_wire::clock::Clock::start();
        let mut shown = String::new();
        self.say("starting the server");
        loop {
            if *interrupt.borrow() {
                return Err(Interrupted.into());
            }
            if let Some(status) = self.ended() {
                return Err(self.died(&format!("the launched server ended before it answered ({status})")));
            }
            if answers(control).await {
                self.say("the server answers");
                return Ok(());
            }
            if clock.now_ns() as f64 / 1e9 > limit_seconds {
                return Err(
                    self.died(&format!("the launched server did not answer within {limit_seconds} s"))
                );
            }
            if let Some(line) = self.last_lines().pop().filter(|line| *line != shown) {
                self.say(&format!("  {}", line.chars().take(out::width()).collect::<String>()));
                shown = line;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Puts the log into the run's folder, beside those of earlier segments.
    pub(super) fn keep_log(&mut self, folder: &RunFolder, segment: Option<u32>) -> anyhow::Result<()> {
        let names = (segment.unwrap_or(1)..).map(log_name);
        let mut places = names.map(|name| folder.path.join(name));
        let Some(place) = places.find(|place| !place.exists()) else { return Ok(()) };
        let Some(launched) = &mut self.launched else { return Ok(()) };
        launched.move_log(&place).with_context(|| {
            Hinted::new(
                "the server's log could not be moved into the run's folder",
                "give another folder with --out",
            )
        })
    }

    /// If the server has ended by itself: says so in the record, and shows its last lines.
    pub(super) fn note_end(&mut self, run: &mut Run) {
        let Some(status) = self.ended() else { return };
        let lines = self.last_lines();
        run.remarks.push(format!("the launched server ended by itself ({status}): {}", lines.join(" | ")));
        self.show_last(&format!("the launched server ended by itself ({status})"));
    }

    /// Ends the server and all that it started. Signals are heard meanwhile.
    pub(super) async fn stop(&mut self) {
        let Some(mut launched) = self.launched.take() else { return };
        self.say("ending the server");
        let ending = tokio::task::spawn_blocking(move || {
            launched.stop(PATIENCE);
            launched
        });
        // Where that fails, what was launched is dropped, and so ended.
        self.launched = ending.await.ok();
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.launched.as_mut().and_then(Launched::ended)
    }

    fn last_lines(&self) -> Vec<String> {
        self.launched.as_ref().map(Launched::last_lines).unwrap_or_default()
    }

    fn died(&self, message: &str) -> anyhow::Error {
        self.show_last("the end of its log:");
        let log = self.launched.as_ref().map(|launched| launched.log().display().to_string());
        Hinted::new(message, format!("its whole log is {}", log.unwrap_or_default())).into()
    }

    fn show_last(&self, heading: &str) {
        out::say(heading);
        for line in self.last_lines() {
            out::say(&format!("  | {line}"));
        }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            out::say(text);
        }
    }
}

/// Name of a segment's log in the run's folder.
fn log_name(segment: u32) -> String {
    if segment < 2 { "server.log".to_owned() } else { format!("server.s{segment}.log") }
}

/// True if the server of the run in this folder was started for it.
pub(super) fn was_launched(folder: &RunFolder) -> bool {
    folder.path.join(log_name(1)).is_file()
}

/// True once the API is there, also where it asks for a key, and nothing says that a model is still being loaded.
async fn answers(control: &Control) -> bool {
    let Ok(models) = control.get("/v1/models", LOOK_LIMIT).await else { return false };
    let api = models.is_success() || [401, 403].contains(&models.status);
    let loading = control.get("/health", LOOK_LIMIT).await.is_ok_and(|health| health.status == 503);
    api && !loading
}

/// The user ended the run before there was one.
#[derive(Debug)]
pub(super) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ended by the user before anything was measured")
    }
}

impl std::error::Error for Interrupted {}

/// The exit code of an error that only says that the user ended the run.
pub(crate) fn interrupted(error: &anyhow::Error) -> Option<u8> {
    error.is::<Interrupted>().then_some(failure::INTERRUPTED)
}

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn the_port_is_read_from_the_command_or_known_of_the_engine() {
        for (command, port) in [
            ("vllm serve m --port 9001", 9001),
            ("X=1 vllm serve m --port=9002", 9002),
            ("sh -c 'vllm serve m'", 8000),
            ("python -m sglang.launch_server", 30_000),
            ("llama-server -m q.gguf", 8080),
            ("llama-server --port 0", 8080),
        ] {
            assert_eq!(url(command).unwrap(), format!("http://127.0.0.1:{port}"), "{command}");
        }
        assert!(url("./my-server").is_err());
    }
}
