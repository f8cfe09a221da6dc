//! Names of flags, variables, fields and headers whose values are secret.

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: the value is judged by its look.
    Plain,
    /// Nothing, and a long random value is no secret: a commit, a digest.
    Digest,
    /// A secret.
    Secret,
    /// Most likely a secret; a small number or a switch is none.
    Likely,
    /// Where a secret lies: the folder is nobody's business.
    File,
    /// A JSON document, whose parts are judged one by one; anything else is secret.
    Document,
    /// A header: its name is shown, its value is secret.
    Header,
}

/// Flags and variables whose value is secret, in lower case with `-`.
const SECRET: [&str; 37] = [
    "api-key",
    "apikey",
    "admin-api-key",
    "hf-token",
    "hft",
    "token",
    "auth-token",
    "master-key",
    "password",
    "passwd",
    "passphrase",
    "ssl-keyfile-password",
    "ssl-key-password",
    "s3-access-key-id",
    "s3-secret-access-key",
    "watermark-config",
    "watermark-key",
    "middleware",
    "database-url",
    "redis-url",
    "docker-auth-config",
    "sentry-dsn",
    "ssh-auth-sock",
    "access-token",
    "refresh-token",
    "bearer",
    "authorization",
    "cookie",
    "set-cookie",
    "secret",
    "client-secret",
    "proxy-user",
    "user-password",
    "x-api-key",
    "hf-hub-token",
    "sas",
    "connection-string",
];
/// Beginnings of names of variables whose value is secret.
const SECRET_STARTS: [&str; 4] = ["azure-", "slack-", "runpod-", "vast-"];
/// Names of files and folders that hold secrets, or configuration that may.
const FILES: [&str; 14] = [
    "api-key-file",
    "ssl-keyfile",
    "ssl-key-file",
    "ssl-certfile",
    "ssl-cert-file",
    "ssl-ca-certs",
    "encryption-keyfile",
    "config",
    "env-file",
    "kubeconfig",
    "google-application-credentials",
    "netrc-file",
    "cert",
    "key-file",
];
/// Documents with places for secrets.
const DOCUMENTS: [&str; 4] =
    ["model-loader-extra-config", "kv-transfer-config", "lora-modules", "lora-module"];
/// Headers as flags.
const HEADERS: [&str; 3] = ["header", "otlp-headers", "headers"];
/// Names whose values look random and are none.
const DIGESTS: [&str; 9] = [
    "revision",
    "code-revision",
    "tokenizer-revision",
    "commit",
    "digest",
    "sha",
    "sha256",
    "image",
    "model-digest",
];
/// Words that make a name secret wherever they stand in it.
const STRONG: [&str; 15] = [
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "pwd",
    "credential",
    "credentials",
    "dsn",
    "webhook",
    "apikey",
    "apikeys",
    "bearer",
    "cookie",
];
/// The same, but a small number or a switch is none.
const WEAK: [&str; 7] = ["auth", "session", "private", "salt", "signature", "authorization", "cookies"];
/// Words around `key` that make it an ordinary word.
const BEFORE_KEY: [&str; 9] =
    ["routing", "skip", "sort", "primary", "cache", "partition", "group", "dict", "missing"];
const AFTER_KEY: [&str; 11] =
    ["value", "values", "cache", "head", "heads", "dim", "norm", "rope", "bits", "length", "padding"];
/// Words before `token` that make it an ordinary word.
const BEFORE_TOKEN: [&str; 26] = [
    "eos",
    "bos",
    "pad",
    "mask",
    "unk",
    "sep",
    "cls",
    "special",
    "image",
    "video",
    "audio",
    "start",
    "end",
    "stop",
    "think",
    "per",
    "max",
    "min",
    "num",
    "reserved",
    "first",
    "next",
    "draft",
    "placeholder",
    "each",
    "a",
];
/// Last words that make a name that of a file.
const FILE_WORDS: [&str; 8] = ["file", "path", "dir", "folder", "keyfile", "certfile", "certs", "cert"];

/// What the name of a flag, a variable or a field says.
pub(super) fn kind(name: &str) -> Kind {
    let words = words(name);
    let joined = words.join("-");
    let is = |list: &[&str]| list.contains(&joined.as_str());
    if is(&FILES) {
        return Kind::File;
    }
    if is(&SECRET) || SECRET_STARTS.iter().any(|start| joined.starts_with(start)) {
        return Kind::Secret;
    }
    if is(&DOCUMENTS) {
        return Kind::Document;
    }
    if is(&HEADERS) {
        return Kind::Header;
    }
    if is(&DIGESTS) {
        return Kind::Digest;
    }
    let of_words = by_words(&words);
    let names_file = words.last().is_some_and(|last| FILE_WORDS.contains(&last.as_str()));
    if names_file && (of_words != Kind::Plain || by_words(&words[..words.len() - 1]) != Kind::Plain) {
        return Kind::File;
    }
    of_words
}

fn by_words(words: &[String]) -> Kind {
    let near = |index: Option<usize>| index.and_then(|index| words.get(index)).map_or("", String::as_str);
    let mut found = Kind::Plain;
    for (index, word) in words.iter().enumerate() {
        let (before, after) = (near(index.checked_sub(1)), near(Some(index + 1)));
        let word = word.as_str();
        if STRONG.contains(&word) || word.starts_with("passw") {
            return Kind::Secret;
        }
        let key =
            matches!(word, "key" | "keys") && !BEFORE_KEY.contains(&before) && !AFTER_KEY.contains(&after);
        let token = word == "token"
            && !BEFORE_TOKEN.contains(&before)
            && (after.is_empty() || FILE_WORDS.contains(&after));
        let glued = ["apikey", "authtoken", "accesskey", "secretkey", "accesstoken"];
        if key || token || WEAK.contains(&word) || glued.iter().any(|part| word.ends_with(part)) {
            found = Kind::Likely;
        }
    }
    // `session-len`, `session-length`: a size.
    let sized =
        words.iter().any(|word| word == "session") && words.iter().any(|word| word.starts_with("len"));
    if sized { Kind::Plain } else { found }
}

/// The words of a name in lower case: `--hf-token`, `HF_TOKEN` and `hfToken` are `hf`, `token`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            words.push(String::new());
            last_lower = false;
            continue;
        }
        if c.is_ascii_uppercase() && last_lower {
            words.push(String::new());
        }
        last_lower = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// True for headers that carry credentials.
pub(crate) fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "authentication-info", "cookie", "set-cookie", "set-cookie2", "www-authenticate"]
        .contains(&name.as_str())
        || name.starts_with("proxy-")
        || name.ends_with("key")
        // Broader than elsewhere: no header of use has one of these words.
        || ["-key-", "token", "session"].iter().any(|part| name.contains(part))
        || matches!(kind(&name), Kind::Secret | Kind::Likely)
}

#[cfg(test)]
mod tests {
    use super::{Kind, is_secret_header, kind};

    #[test]
    fn header_names_that_carry_secrets() {
        for name in
            ["Authorization", "set-cookie", "Proxy-Authenticate", "X-Api-Key", "api-key", "X-Auth-Token"]
        {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["content-type", "retry-after", "x-request-id", "server"] {
            assert!(!is_secret_header(name), "{name}");
        }
    }

    #[test]
    fn names_of_ordinary_things_are_plain() {
        for name in [
            "max-num-batched-tokens",
            "tokenizer-mode",
            "tokenizer",
            "max_tokens",
            "kv-cache-dtype",
            "key-value",
            "routing-key",
            "skip-keys",
            "monkey",
            "keep-alive",
            "max-model-len",
            "session-len",
            "eos-token",
            "token-usage-threshold",
            "num-key-value-heads",
            "return-tokens-as-token-ids",
            "author-mode",
            "OMP_NUM_THREADS",
            "TOKENIZERS_PARALLELISM",
            "VLLM_ATTENTION_BACKEND",
            "max-lora-rank",
            "decode-token-ids",
        ] {
            assert_eq!(kind(name), Kind::Plain, "{name}");
        }
    }

    #[test]
    fn names_of_secrets_are_found_in_every_spelling() {
        for name in [
            "api_key",
            "apiKey",
            "API-KEY",
            "hfToken",
            "VLLM_API_KEY",
            "NEPTUNE_API_TOKEN",
            "dbPassword",
            "my_pwd",
            "private-key",
            "AWS_SESSION_TOKEN",
            "LITELLM_SALT_KEY",
            "x-signature",
            "SLACK_URL",
            "AZURE_TENANT",
            "webhook-url",
            "TABBY_ADMIN_KEY",
        ] {
            assert!(matches!(kind(name), Kind::Secret | Kind::Likely), "{name}");
        }
        for name in ["HF_TOKEN_PATH", "VLLM_API_KEY_FILE", "ssl-keyfile", "password-file", "KUBECONFIG"] {
            assert_eq!(kind(name), Kind::File, "{name}");
        }
    }
}
