//! The URL of a target, as users write it.

use std::fmt;
use std::net::Ipv6Addr;

use crate::error::WireError;

/// Plain or encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// 80 or 443.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Where a target answers. Holds no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUrl {
    /// Plain or encrypted.
    pub scheme: Scheme,
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path in front of `/v1`: empty, or `/prefix`.
    pub base_path: String,
}

impl TargetUrl {
    /// Reads `host`, `host:port` or `http(s)://…`, with or without `/v1`.
    pub fn parse(text: &str) -> Result<TargetUrl, WireError> {
        parse(text.trim()).map_err(|problem| WireError::Url { url: without_userinfo(text.trim()), problem })
    }

    /// The URL as it is shown and recorded, without `/v1`.
    pub fn display(&self) -> String {
        format!("{}://{}{}", self.scheme.name(), self.authority(), self.base_path)
    }

    /// `host:port`, without the port where it is the scheme's own; IPv6 in brackets.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() { self.bracketed_host() } else { self.host_and_port() }
    }

    /// `host:port`, always with the port; IPv6 in brackets.
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", self.bracketed_host(), self.port)
    }

    fn bracketed_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display())
    }
}

fn parse(text: &str) -> Result<TargetUrl, String> {
    let (stated_scheme, rest) = split_scheme(text)?;
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if authority.contains('@') {
        return Err(
            "it holds a user name or password; send them with --header, or a key with --api-key-file".into(),
        );
    }
    if path.contains(['?', '#']) {
        return Err("it has a query or a fragment; give only scheme, host, port and path".into());
    }
    let (host, stated_port) = split_authority(authority)?;
    let scheme = stated_scheme.unwrap_or(if stated_port == Some(443) { Scheme::Https } else { Scheme::Http });
    let port = stated_port.unwrap_or(scheme.default_port());
    Ok(TargetUrl { scheme, host, port, base_path: base_path(path)? })
}

fn split_scheme(text: &str) -> Result<(Option<Scheme>, &str), String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Ok((None, text));
    };
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err("it must begin with http:// or https://".into()),
    };
    Ok((Some(scheme), rest))
}

fn split_authority(authority: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("the bracket of its IPv6 address is not closed")?;
        host.parse::<Ipv6Addr>().map_err(|_| "it holds no IPv6 address in its brackets")?;
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err("after an IPv6 address only :PORT may follow".into()),
        }
    } else if authority.matches(':').count() > 1 {
        return Err("write an IPv6 address in brackets: [::1]:8000".into());
    } else {
        match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err("it names no host; write for example 127.0.0.1:8000".into());
    }
    let is_host_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._:%".contains(&byte) || !byte.is_ascii();
    if !host.bytes().all(is_host_byte) {
        return Err(format!("{host:?} is no host name"));
    }
    let port = match port {
        None | Some("") => None,
        Some(port) => match port.parse::<u16>() {
            Ok(number) if number > 0 => Some(number),
            _ => return Err(format!("{port:?} is no port; ports are numbers from 1 to 65535")),
        },
    };
    Ok((host.to_ascii_lowercase(), port))
}

/// The path in front of `/v1`. A route below it, as people copy it from a manual, is dropped too.
fn base_path(path: &str) -> Result<String, String> {
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("its path holds a space or a special character; percent-encode it".into());
    }
    let mut path = path.trim_end_matches('/');
    for route in ["/chat/completions", "/completions", "/models"] {
        if let Some(front) = path.strip_suffix(route)
            && front.ends_with("/v1")
        {
            path = front;
        }
    }
    let path = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/');
    Ok(path.to_owned())
}

fn without_userinfo(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((front, rest)) => {
            let scheme =
                front.split_once("://").map(|(scheme, _)| format!("{scheme}://")).unwrap_or_default();
            format!("{scheme}…@{rest}")
        }
        None => text.to_owned(),
    }
}
