//! Escapes inside JSON strings.

/// Appends the inside of a JSON string to `out` with its escapes resolved, and stops behind the first
/// `limit` bytes of input, at the end of an escape. Returns how much of the input was taken.
pub(crate) fn unescape_into(text: &[u8], out: &mut Vec<u8>, limit: usize) -> usize {
    let mut at = 0;
    while at < text.len().min(limit) {
        let plain = memchr::memchr(b'\\', &text[at..]).unwrap_or(text.len() - at).min(limit.max(at) - at);
        if plain > 0 {
            out.extend_from_slice(&text[at..at + plain]);
            at += plain;
            continue;
        }
        at += escape(&text[at..], out);
    }
    at
}

/// Resolves the escape at the start of `text`; returns its length.
fn escape(text: &[u8], out: &mut Vec<u8>) -> usize {
    let resolved = match text.get(1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'u') => return unicode(text, out),
        Some(&other) => other,
        None => return 1,
    };
    out.push(resolved);
    2
}

/// Resolves `\uXXXX`, or a pair of them.
fn unicode(text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(first) = code_unit(text) else {
        return text.len().min(2);
    };
    let (character, length) = match first {
        0xd800..0xdc00 => match code_unit(&text[6..]) {
            Some(second @ 0xdc00..0xe000) => {
                (char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)), 12)
            }
            _ => (None, 6),
        },
        _ => (char::from_u32(first), 6),
    };
    let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    length
}

fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::unescape_into;

    fn unescape(text: &str) -> String {
        let mut out = Vec::new();
        assert_eq!(unescape_into(text.as_bytes(), &mut out, usize::MAX), text.len());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_escape() {
        assert_eq!(unescape(r#"a\n\t\r\b\f\"\\\/\u00e9\ud83d\ude00z"#), "a\n\t\r\u{8}\u{c}\"\\/é😀z");
        assert_eq!(unescape(r"\ud83dx"), "\u{fffd}x");
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text: String, limit in 1usize..40) {
            let json = serde_json::to_string(&text).unwrap();
            let mut inside = &json.as_bytes()[1..json.len() - 1];
            let mut out = Vec::new();
            while !inside.is_empty() {
                let taken = unescape_into(inside, &mut out, limit);
                prop_assert!(taken > 0);
                inside = &inside[taken..];
            }
            prop_assert_eq!(out, text.into_bytes());
        }
    }
}
