//! A small WebDriver client: chromedriver as a child process, JSON over HTTP/1.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A headless Chromium behind a chromedriver of its own.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// Starts chromedriver on a free port and opens a session with an empty profile in `folder`.
    pub fn start(folder: &Path) -> Browser {
        let profile = folder.join(format!("profile-{}", std::process::id()));
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
        let mut driver = Command::new(&program)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}; install chromium and chromium-driver"));
        let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = said
            .find_map(|line| {
                line.unwrap()
                    .rsplit_once("successfully on port ")
                    .and_then(|(_, port)| port.trim_end_matches('.').parse().ok())
            })
            .expect("chromedriver names its port");
        // Its output is read to the end, so that it never waits for a reader.
        std::thread::spawn(move || said.for_each(drop));
        let mut browser = Browser { driver, port, session: String::new(), profile };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &format!("--user-data-dir={}", browser.profile.display()),
        ];
        let answer = browser.call(
            "POST",
            "/session",
            &json!({ "capabilities": { "alwaysMatch": {
                "browserName": "chrome",
                "goog:chromeOptions": { "args": arguments },
                "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            }}}),
        );
        answer["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        browser
    }

    /// Opens a file.
    pub fn open(&self, file: &Path) {
        self.go(&format!("file://{}", file.display()));
    }

    /// Opens an address.
    pub fn go(&self, address: &str) {
        self.command("url", &json!({ "url": address }));
    }

    /// Runs a function body in the page and returns what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Sends a command of the DevTools protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// The entries of a log since it was last read: `browser` or `performance`.
    pub fn log(&self, kind: &str) -> Vec<Value> {
        self.command("se/log", &json!({ "type": kind })).as_array().unwrap().clone()
    }

    /// Sets the size of the screen.
    pub fn screen(&self, width: u32, height: u32, mobile: bool) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Sets the medium (`""`, `print`) and the colour scheme (`light`, `dark`).
    pub fn medium(&self, medium: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "media": medium, "features": features }));
    }

    /// Presses a key: `ArrowLeft`, `Enter`, `?`.
    pub fn key(&self, key: &str) {
        self.chord(key, false);
    }

    /// Presses a key, with Ctrl held down or not.
    pub fn chord(&self, key: &str, control: bool) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "c" => 67,
            "?" => 191,
            other => panic!("no code for {other}"),
        };
        let text = match key {
            "Enter" => "\r",
            "c" | "?" => key,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                "modifiers": if control { 2 } else { 0 },
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.devtools("Input.dispatchKeyEvent", &event);
        }
    }

    /// The whole page as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let options = json!({ "format": "png", "captureBeyondViewport": true });
        decode(self.devtools("Page.captureScreenshot", &options)["data"].as_str().unwrap())
    }

    /// What is on the screen as PNG.
    pub fn screenful(&self) -> Vec<u8> {
        decode(self.devtools("Page.captureScreenshot", &json!({ "format": "png" }))["data"].as_str().unwrap())
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{path}", self.session), body)
    }

    /// One call; the answer's `value`.
    fn call(&self, verb: &str, path: &str, body: &Value) -> Value {
        let value = self.exchange(verb, path, body).unwrap_or_else(|error| panic!("{verb} {path}: {error}"));
        assert!(value.get("error").is_none_or(Value::is_null), "{verb} {path}: {value}");
        value
    }

    /// One call on a connection of its own.
    fn exchange(&self, verb: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(
            stream,
            "{verb} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().map_err(std::io::Error::other)?;
            }
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text)?;
        Ok(serde_json::from_slice::<Value>(&text)?["value"].take())
    }
}

impl Drop for Browser {
    /// Also after a failed test: ending the session ends the browser, which chromedriver's own end does not.
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.exchange("DELETE", &format!("/session/{}", self.session), &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// Base64 as bytes.
fn decode(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> =
        text.bytes().filter(|letter| !letter.is_ascii_whitespace() && *letter != b'=').collect();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for group in letters.chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, &letter| bits << 6 | u32::from(value(letter)))
            << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
