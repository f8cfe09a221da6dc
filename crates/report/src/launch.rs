//! A launch command taken apart, with what its flags do.

mod known;

use known::KNOWN;

/// A flag of a launch command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flag {
    /// As written: `--tensor-parallel-size`.
    pub(crate) name: String,
    /// Its value; empty for a switch.
    pub(crate) value: String,
    /// What it does; none for flags that are not known here.
    pub(crate) meaning: Option<&'static str>,
}

/// Most flags that are listed.
const MOST: usize = 200;

/// The flags of a command, in order. What stands before the first flag is the program and its positional arguments.
pub(crate) fn flags(command: &str) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    for word in words(command) {
        if is_flag(&word) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (word, String::new()),
            };
            let meaning = meaning(&name);
            flags.push(Flag { name, value, meaning });
        } else if let Some(flag) = flags.last_mut() {
            if !flag.value.is_empty() {
                flag.value.push(' ');
            }
            flag.value.push_str(&word);
        }
    }
    flags.truncate(MOST);
    flags
}

/// How the command spreads the model, in the short words of the field: `TP 4 EP`.
pub(crate) fn parallelism(flags: &[Flag]) -> Option<String> {
    const SHORT: [(&str, &str); 4] = [
        ("--tensor-parallel-size", "TP"),
        ("--pipeline-parallel-size", "PP"),
        ("--data-parallel-size", "DP"),
        ("--enable-expert-parallel", "EP"),
    ];
    let parts: Vec<String> = SHORT
        .iter()
        .filter_map(|(name, short)| {
            let flag = flags.iter().find(|flag| flag.meaning.is_some() && flag.meaning == meaning(name))?;
            match flag.value.as_str() {
                _ if flag.name.starts_with("--no-") => None,
                "" => Some((*short).to_owned()),
                value if value.parse::<u32>().is_ok_and(|size| size > 1) => Some(format!("{short} {value}")),
                _ => None,
            }
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// What the command says of drafting ahead: `speculative decoding mtp`.
pub(crate) fn speculative(flags: &[Flag]) -> Option<String> {
    let drafting = meaning("--speculative-config");
    let flag = flags.iter().find(|flag| flag.meaning.is_some() && flag.meaning == drafting)?;
    let config: Option<serde_json::Value> = serde_json::from_str(&flag.value).ok();
    let method = match &config {
        Some(config) => config.get("method").and_then(serde_json::Value::as_str).unwrap_or("").to_owned(),
        None => flag.value.clone(),
    };
    let tokens = config.as_ref().and_then(|config| config.get("num_speculative_tokens")?.as_u64());
    let tokens =
        tokens.map(|tokens| format!(", {}", crate::words::counted(tokens, "token"))).unwrap_or_default();
    Some(format!("speculative decoding {method}{tokens}").trim().to_owned())
}

/// `--name`, `-n`; not a negative number.
fn is_flag(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    name.len() < word.len() && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

fn meaning(name: &str) -> Option<&'static str> {
    // Engines take underscores for hyphens.
    let plain = name.replace('_', "-");
    let on = plain.strip_prefix("--no-").map(|rest| format!("--{rest}"));
    let find =
        |wanted: &str| KNOWN.iter().find(|(names, _)| names.contains(&wanted)).map(|(_, meaning)| *meaning);
    find(&plain).or_else(|| find(&on?))
}

/// Words of a shell command: quotes hold them together, a backslash takes the next letter as it is, and one at a
/// line's end joins it with the next.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None | Some('"'), '\\') => match letters.next() {
                None | Some('\n') => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_values() {
        let command = "VLLM_X=1 vllm serve Qwen/Qwen3 \\\n  --tensor-parallel-size 4 --max_model_len=262144 \\\n --speculative-config '{\"method\": \"mtp\"}' --no-enable-prefix-caching --offset -1 -tp 2 --own thing";
        let found = flags(command);
        let plain: Vec<(&str, &str, bool)> =
            found.iter().map(|flag| (&*flag.name, &*flag.value, flag.meaning.is_some())).collect();
        assert_eq!(
            plain,
            [
                ("--tensor-parallel-size", "4", true),
                ("--max_model_len", "262144", true),
                ("--speculative-config", "{\"method\": \"mtp\"}", true),
                ("--no-enable-prefix-caching", "", true),
                ("--offset", "-1", false),
                ("-tp", "2", true),
                ("--own", "thing", false),
            ]
        );
    }

    #[test]
    fn any_text_is_taken_apart() {
        for text in ["", "'", "\\", "\"a\\", "--", "- -", "--=", "-é 1"] {
            flags(text);
        }
        assert_eq!(words("a\\ b 'c \"d' \"e'f\" ''"), ["a b", "c \"d", "e'f", ""]);
    }

    #[test]
    fn every_flag_is_explained_once() {
        let names: Vec<&str> = KNOWN.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        assert!(KNOWN.iter().all(|(_, meaning)| meaning.ends_with('.')));
    }
}
