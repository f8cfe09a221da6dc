//! Secrets by their look, in text of any kind: log lines, messages, values of unknown flags.

use super::REDACTED;
use super::names::{Kind, kind};

/// Beginnings of keys of well-known services.
const PREFIXES: [&str; 25] = [
    "sk-",
    "sk_",
    "pk-",
    "rk_",
    "hf_",
    "nvapi-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "ASIA",
    "AIza",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "gsk_",
    "r8_",
    "dckr_pat_",
    "pypi-",
];
/// Characters behind such a beginning, at least.
const LEAST_KEY: usize = 8;
/// Letters and digits in a row, at least, that look random.
const LEAST_RANDOM: usize = 32;
/// Digits of a number that is no secret, at most.
const SMALL_NUMBER: usize = 7;
/// Names in the query of an address that carry credentials, beside those that are secret anywhere.
const QUERY_SECRETS: [&str; 6] = ["sig", "signature", "token", "key", "code", "sv"];

/// `text` without what looks like a secret.
pub fn text(text: &str) -> String {
    keys(&schemes(&assignments(&urls(&pem(text)))))
}

/// True for a run of letters and digits that nobody thought up: a key without a known beginning.
pub(super) fn looks_random(value: &str) -> bool {
    // Hubs keep files under their digests.
    let hub = |part: &str| ["snapshots", "blobs", "refs", "sha256"].iter().any(|word| part.ends_with(word));
    let mut before = "";
    for part in value.split(['/', '@', ':']) {
        let random = |run: &str| {
            run.len() >= LEAST_RANDOM
                && run.bytes().any(|byte| byte.is_ascii_digit())
                && run.bytes().any(|byte| byte.is_ascii_alphabetic())
        };
        if !hub(before) && part.split(|c: char| !c.is_ascii_alphanumeric()).any(random) {
            return true;
        }
        before = part;
    }
    false
}

/// True for a small number, a switch, or nothing.
pub(super) fn is_harmless(value: &str) -> bool {
    let number = value.len() <= SMALL_NUMBER && value.parse::<f64>().is_ok();
    number
        || ["", "true", "false", "none", "null", "yes", "no", "on", "off", "auto"]
            .contains(&value.to_ascii_lowercase().as_str())
}

/// Whole blocks of keys and certificates.
fn pem(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("-----BEGIN ") {
        out.push_str(&rest[..start]);
        out.push_str(REDACTED);
        let block = &rest[start..];
        rest = match block.find("-----END ").and_then(|end| Some(end + block[end..].find('\n')?)) {
            Some(end) => &block[end..],
            None => "",
        };
    }
    out + rest
}

/// User and password of addresses, and what their queries carry.
fn urls(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "\"'`\\".contains(c)).unwrap_or(after.len());
        let (address, tail) = after.split_at(end);
        out.push_str(&query(&user(address)));
        rest = tail;
    }
    out + rest
}

fn user(address: &str) -> String {
    let authority = address.find(['/', '?', '#']).unwrap_or(address.len());
    // A password may hold a `/` or an `@` that should have been escaped.
    let port = |text: &str| text.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok());
    let at = match address[..authority].rfind('@') {
        Some(at) => Some(at),
        None if !port(&address[..authority]) => address.rfind('@'),
        None => None,
    };
    match at {
        Some(at) => format!("{REDACTED}{}", &address[at..]),
        None => address.to_owned(),
    }
}

fn query(address: &str) -> String {
    let Some((path, query)) = address.split_once('?') else { return address.to_owned() };
    let parts = query.split('&').map(|part| match part.split_once('=') {
        Some((name, value)) => {
            let lower = name.to_ascii_lowercase();
            let secret = QUERY_SECRETS.contains(&lower.as_str())
                || lower.starts_with("x-amz-")
                || lower.starts_with("x-goog-")
                || !matches!(kind(name), Kind::Plain | Kind::Digest)
                || looks_random(value);
            format!("{name}={}", if secret { REDACTED } else { value })
        }
        None => part.to_owned(),
    });
    format!("{path}?{}", parts.collect::<Vec<_>>().join("&"))
}

/// `name=value`, `"name": "value"`, `--name value` where the name is secret.
fn assignments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (gap, from) = rest.split_at(start);
        out.push_str(gap);
        let name_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let end = from.find(|c: char| !name_char(c)).unwrap_or(from.len());
        let (name, after) = from.split_at(end);
        out.push_str(name);
        rest = after;
        let name_kind = kind(name.trim_end_matches('-'));
        if matches!(name_kind, Kind::Plain | Kind::Digest | Kind::File | Kind::Document | Kind::Header) {
            continue;
        }
        let is_flag = gap.ends_with("--") || (gap.ends_with('-') && name == "hft");
        let Some(sign) = sign_length(after, is_flag) else { continue };
        let (sign, tail) = after.split_at(sign);
        let (value, tail) = tail.split_at(value_length(tail));
        let bare = value.trim_matches(['"', '\'']);
        out.push_str(sign);
        // A scheme is no secret, what follows is; it has a rule of its own.
        if bare.starts_with('<') || (name_kind == Kind::Likely && is_harmless(bare)) {
            out.push_str(value);
        } else {
            out.push_str(REDACTED);
        }
        rest = tail;
    }
    out + rest
}

/// Length of what stands between a name and its value; none if no value follows.
fn sign_length(after: &str, is_flag: bool) -> Option<usize> {
    let quote = after.len() - after.trim_start_matches(['"', '\'']).len();
    let spaces = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let behind = &after[quote..];
    let space = spaces(behind);
    let sign = behind[space..].chars().next()?;
    if sign == '=' || sign == ':' {
        let at = quote + space + 1;
        return (!after[at..].starts_with("//")).then(|| at + spaces(&after[at..]));
    }
    (is_flag && space > 0 && !behind[space..].starts_with("--")).then_some(quote + space)
}

/// Length of a value: to its closing quote or bracket, else to the next space or mark; a scheme takes the next
/// word with it.
fn value_length(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let closing = match first {
        '"' | '\'' => Some(first),
        '[' => Some(']'),
        '(' => Some(')'),
        _ => None,
    };
    if let Some(closing) = closing {
        let inner = &text[first.len_utf8()..];
        let mut escaped = false;
        for (at, c) in inner.char_indices() {
            if c == closing && !escaped {
                return first.len_utf8() + at + c.len_utf8();
            }
            escaped = c == '\\' && !escaped;
        }
        return text.len();
    }
    let word =
        |text: &str| text.find(|c: char| c.is_whitespace() || ",;\"'}])&".contains(c)).unwrap_or(text.len());
    let end = word(text);
    let scheme =
        ["bearer", "basic", "token", "apikey", "digest"].contains(&text[..end].to_ascii_lowercase().as_str());
    if scheme && text[end..].starts_with(' ') { end + 1 + word(&text[end + 1..]) } else { end }
}

/// `Bearer …` and `Basic …` that no header's name stands before.
fn schemes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    loop {
        let lower = rest.to_ascii_lowercase();
        let found =
            ["bearer ", "basic "].iter().filter_map(|word| Some((lower.find(word)?, word.len()))).min();
        let Some((at, length)) = found else { return out + rest };
        let (before, after) = rest.split_at(at + length);
        let end = after.find(|c: char| c.is_whitespace() || "\"',;)]}".contains(c)).unwrap_or(after.len());
        let value = &after[..end];
        let coded =
            value.len() >= LEAST_KEY && value.bytes().any(|byte| byte.is_ascii_digit() || byte == b'=');
        out.push_str(before);
        out.push_str(if coded { REDACTED } else { value });
        rest = &after[end..];
    }
}

/// Keys by their beginnings, and signed tokens.
fn keys(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let of_key = |c: char| c.is_ascii_alphanumeric() || "_-.~+/=".contains(c);
    while let Some(start) = rest.find(of_key) {
        let (gap, from) = rest.split_at(start);
        out.push_str(gap);
        let end = from.find(|c: char| !of_key(c)).unwrap_or(from.len());
        let (word, tail) = from.split_at(end);
        out.push_str(&without_key(word));
        rest = tail;
    }
    out + rest
}

fn without_key(word: &str) -> String {
    let bytes = word.as_bytes();
    for at in 0..word.len() {
        // In the middle of a word no key begins.
        if at > 0 && bytes[at - 1].is_ascii_alphanumeric() || !word.is_char_boundary(at) {
            continue;
        }
        let from = &word[at..];
        let signed = from.starts_with("eyJ") && from.bytes().filter(|byte| *byte == b'.').count() >= 2;
        let known = PREFIXES.iter().any(|prefix| {
            let key = from.strip_prefix(prefix).unwrap_or_default();
            key.bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-')
                .count()
                >= LEAST_KEY
        });
        if signed || known {
            let end = from.find(['/', '=']).filter(|_| !signed).unwrap_or(from.len());
            return format!("{}{REDACTED}{}", &word[..at], without_key(&from[end..]));
        }
    }
    word.to_owned()
}
