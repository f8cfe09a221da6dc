//! The device's side of a login (RFC 8628): codes, then asking until the user has answered.

use std::time::Duration;

use anyhow::bail;
use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use tokometer_wire::{Control, FailureKind, Secret};

use crate::failure::Hinted;
use crate::out;

/// Time for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Seconds more between two times where the site asks for that.
const MORE: u64 = 5;
/// What is asked with at the end.
const GRANT: &str = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code";

/// Shows a code, and waits until somebody has answered for it; the token.
pub(super) async fn login(control: &Control, url: &str) -> anyhow::Result<Secret> {
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    let plain: String =
        host.chars().filter(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(*letter)).collect();
    let body = format!("client_id=tokometer&scope=read+publish&host={plain}");
    let (status, asked) = post(control, "/api/v1/device/code", body).await.map_err(|why| away(url, why))?;
    let text = |name: &str| asked[name].as_str().filter(|text| !text.is_empty());
    let (Some(code), Some(user_code), Some(place)) =
        (text("device_code"), text("user_code"), text("verification_uri"))
    else {
        let why = text("error_description").or(text("detail")).unwrap_or("it gave no code");
        return Err(Hinted::new(
            format!("{url} does not take logins ({status}): {why}"),
            "is it the address of a site of tokometer? a token of its operator does as well",
        )
        .into());
    };
    let code = Secret::new(code);
    out::say(&format!("open {place} with any browser, and type {user_code}"));
    let minutes = asked["expires_in"].as_u64().unwrap_or(900) / 60;
    out::say(&format!("waiting for the answer, {minutes} min at most (Ctrl-C ends it)"));
    let mut pause = asked["interval"].as_u64().unwrap_or(5).clamp(1, 60);
    loop {
        tokio::time::sleep(Duration::from_secs(pause)).await;
        let body = format!("grant_type={GRANT}&client_id=tokometer&device_code={}", code.expose());
        let answer = match post(control, "/api/v1/device/token", body).await {
            Ok((429 | 500..=599, _)) => {
                pause = (pause + MORE).min(60);
                continue;
            }
            Ok((_, answer)) => answer,
            // The network may come back before the code runs out; the site then says that it did.
            Err(why) => {
                out::say(&format!("{why}; asking again"));
                pause = (pause + MORE).min(60);
                continue;
            }
        };
        if let Some(token) = answer["access_token"].as_str() {
            return Ok(Secret::new(token));
        }
        match answer["error"].as_str() {
            Some("authorization_pending") => {}
            Some("slow_down") => pause += MORE,
            Some("access_denied") => bail!(Hinted::new("the login was refused", "nothing is kept")),
            Some("expired_token") => {
                bail!(Hinted::new("nobody answered in time", "tokometer login shows another code"))
            }
            _ => bail!(Hinted::new(
                format!("{url} no longer knows this login"),
                "tokometer login begins another"
            )),
        }
    }
}

/// Status and answer; an error is a sentence.
async fn post(control: &Control, path: &str, body: String) -> Result<(u16, Value), String> {
    let headers = [(CONTENT_TYPE, "application/x-www-form-urlencoded".to_owned())];
    match control.send(Method::POST, path, &headers, Bytes::from(body), PATIENCE).await {
        Ok(answer) => Ok((answer.status, answer.json().unwrap_or(Value::Null))),
        Err(failure) if failure.kind == FailureKind::Timeout => Err("the site does not answer".to_owned()),
        Err(failure) => Err(failure.message),
    }
}

fn away(url: &str, why: String) -> anyhow::Error {
    Hinted::new(format!("{url}: {why}"), "is the address right, and is the site running?").into()
}
