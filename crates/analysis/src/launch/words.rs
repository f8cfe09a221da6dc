//! A command line as words, and words as flags.

use serde_json::Value;

/// A flag or an environment variable of a launch command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// `--tensor-parallel-size`, `-tp`, or `env NCCL_ALGO`.
    pub(crate) name: String,
    /// Its values; none for a switch.
    pub(crate) values: Vec<String>,
}

impl Given {
    /// Its values as one text, JSON in one form whatever its spacing and order.
    pub(crate) fn value(&self) -> Option<String> {
        (!self.values.is_empty())
            .then(|| self.values.iter().map(|value| canonical(value)).collect::<Vec<_>>().join(" "))
    }

    /// As it stands in the command: `--dtype bfloat16`.
    pub(crate) fn literal(&self) -> String {
        match self.name.strip_prefix("env ") {
            Some(name) => format!("{name}={}", self.values.join(" ")),
            None => std::iter::once(&self.name).chain(&self.values).cloned().collect::<Vec<_>>().join(" "),
        }
    }
}

/// Splits a command line as a POSIX shell does: quotes, backslashes, lines that go on. Variables stay as they
/// are. What an outer shell is told to run (`bash -c '…'`) is split in its place.
pub(crate) fn split(command: &str) -> Vec<String> {
    let words = split_once(command);
    let script = words.windows(2).position(|pair| {
        let runs_script = |word: &str| word == "-c" || word == "-lc";
        runs_script(&pair[1]) && is_shell(&pair[0])
    });
    match script.and_then(|at| words.get(at + 2)) {
        Some(script) => split_once(script),
        None => words,
    }
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "dash"))
}

fn split_once(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), close) if open == close => quote = None,
            (Some('"'), '\\') if letters.peek().is_some_and(|next| "\"\\$`\n".contains(*next)) => {
                word.get_or_insert_default().extend(letters.next().filter(|next| *next != '\n'));
            }
            (None, '\\') => {
                if let Some(next) = letters.next().filter(|next| *next != '\n' && *next != '\r') {
                    word.get_or_insert_default().push(next);
                }
            }
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Environment variables that change speed; the values of others are nobody's business.
const SPEED_VARIABLES: &[&str] = &[
    "CUDA_",
    "FLASHINFER_",
    "GGML_",
    "HIP_",
    "LLAMA_ARG_",
    "NCCL_",
    "OMP_NUM_THREADS",
    "PYTORCH_",
    "SGLANG_",
    "TLLM_",
    "TORCH",
    "TRITON_",
    "VLLM_",
];

/// The flags of a command's words, and the environment variables set in front of it.
///
/// `is_switch` says which flags take no value, so that a word behind them is not taken for one.
pub(crate) fn flags(words: &[String], is_switch: impl Fn(&str) -> bool) -> Vec<Given> {
    let mut given: Vec<Given> = Vec::new();
    let mut started = false;
    // The values that follow belong to the flag before them.
    let mut open = false;
    for word in words {
        if let Some((name, value)) = variable(word).filter(|_| !started) {
            if SPEED_VARIABLES.iter().any(|start| name.starts_with(start)) {
                given.push(Given { name: format!("env {name}"), values: vec![value.to_owned()] });
            }
            continue;
        }
        if is_flag(word) {
            started = true;
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            open = value.is_none();
            given.push(Given { name: normal(name), values: value.into_iter().collect() });
            continue;
        }
        match given.last_mut().filter(|_| open && started) {
            Some(last) if is_switch(&last.name) => {
                if last.values.is_empty() && is_setting(word) {
                    last.values.push(word.clone());
                }
                open = false;
            }
            Some(last) => last.values.push(word.clone()),
            None => started |= !matches!(word.as_str(), "env" | "exec" | "nohup" | "sudo"),
        }
    }
    given
}

/// `NAME=value`.
fn variable(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let plain = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some((name, value))
}

/// A word that starts with a dash and is no negative number.
fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '-') && rest != "-"
    })
}

/// `--max_model_len` is `--max-model-len`.
fn normal(name: &str) -> String {
    if name.starts_with("--") { name.replace('_', "-") } else { name.to_owned() }
}

/// A word that a switch may be followed by.
fn is_setting(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "on" | "off" | "true" | "false" | "auto" | "0" | "1")
}

/// JSON without spaces and with its fields in order; other text as it is.
pub(crate) fn canonical(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => sorted(value).to_string(),
        _ => text.to_owned(),
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// True for flags whose values no report may show.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts: Vec<&str> = name.split(['-', '_', ' ']).collect();
    let holds = |word: &str| parts.contains(&word);
    ["key", "keyfile", "token", "secret", "password", "credential", "credentials", "auth", "salt"]
        .into_iter()
        .any(holds)
        || name == "-hft"
        || name.contains("otlp-headers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Vec<(String, String)> {
        flags(&split(command), |name| name == "--enforce-eager" || name == "-fa")
            .into_iter()
            .map(|given| (given.name.clone(), given.value().unwrap_or_default()))
            .collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            split(
                r#"a 'b c' "d \"e\" $F" g\ h '' \
            i"#
            ),
            ["a", "b c", "d \"e\" $F", "g h", "", "i"]
        );
        assert_eq!(split("bash -lc 'vllm serve m --dtype half'"), ["vllm", "serve", "m", "--dtype", "half"]);
        assert_eq!(split("x 'not closed"), ["x", "not closed"]);
        assert!(split("  ").is_empty());
    }

    #[test]
    fn flags_and_their_values() {
        let given = read(
            "VLLM_USE_V1=1 HF_TOKEN=hf_x vllm serve m --tensor_parallel_size=4 --served-model-name a b -c -1 \
             --enforce-eager positional -fa on --speculative-config '{\"b\": 1, \"a\": [2, 3]}'",
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            given,
            [
                pair("env VLLM_USE_V1", "1"),
                pair("--tensor-parallel-size", "4"),
                pair("--served-model-name", "a b"),
                pair("-c", "-1"),
                pair("--enforce-eager", ""),
                pair("-fa", "on"),
                pair("--speculative-config", r#"{"a":[2,3],"b":1}"#),
            ]
        );
    }

    #[test]
    fn secrets_are_told_by_the_name() {
        for name in
            ["--api-key", "--hf-token", "-hft", "--ssl-keyfile", "--admin-api-key", "env VLLM_API_KEY"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["--max-num-batched-tokens", "--tokenizer", "--kv-cache-dtype", "--keep"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
