//! Finds the ends of strings and numbers, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Length of a string's inside up to its closing quote, and whether there are escapes in it. None if it has no end,
/// or holds a byte that JSON wants escaped.
#[inline]
pub(super) fn string_length(text: &[u8]) -> Option<(usize, bool)> {
    // The common case: a short text without escapes.
    if let Some(word) = word(text, 0) {
        let special = special(word);
        let at = (special.trailing_zeros() / 8) as usize;
        if special != 0 && text[at] == b'"' {
            return Some((at, false));
        }
    }
    any_string_length(text)
}

fn any_string_length(text: &[u8]) -> Option<(usize, bool)> {
    let mut at = 0;
    let mut escaped = false;
    loop {
        at += plain_length(&text[at..]);
        match text.get(at)? {
            b'"' => return Some((at, escaped)),
            b'\\' if at + 2 <= text.len() && text[at + 1] >= 0x20 => {
                escaped = true;
                at += 2;
            }
            _ => return None,
        }
    }
}

/// Bytes in front of the first quote, backslash or control character.
fn plain_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = word(text, at) {
        let special = special(word);
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + text[at..].iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}

/// Length of the number at the start; 0 if there is none.
#[inline]
pub(super) fn number_length(text: &[u8]) -> usize {
    let mut at = 0;
    // The common case: digits, with a point among them.
    while let Some(word) = word(text, at) {
        let others = non_digits(word) & !points(word);
        if others == 0 {
            at += 8;
            continue;
        }
        at += (others.trailing_zeros() / 8) as usize;
        return if goes_on(text[at]) { any_number_length(text, at) } else { at };
    }
    any_number_length(text, at)
}

/// The same from `at` on, byte by byte.
fn any_number_length(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|&&byte| byte.is_ascii_digit() || goes_on(byte)).count()
}

/// The whole number at the start, and its length; none for `1.5`, `1e3` and the like.
#[inline]
pub(super) fn whole_number(text: &[u8]) -> Option<(u64, usize)> {
    if let Some(word) = word(text, 0) {
        let others = non_digits(word);
        let length = (others.trailing_zeros() / 8) as usize;
        if others != 0 && length > 0 && !goes_on(text[length]) {
            return Some((of_digits(word << (64 - 8 * length)), length));
        }
    }
    any_whole_number(text)
}

fn any_whole_number(text: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0u64;
    let mut length = 0;
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    let goes_on = text.get(length).is_some_and(|&byte| goes_on(byte));
    (length > 0 && length <= 18 && !goes_on).then_some((number, length))
}

/// The number that eight digits make; bytes of zero in front count as zeros.
#[inline]
fn of_digits(word: u64) -> u64 {
    let word = word & (ONES * 0x0f);
    let pairs = (word.wrapping_mul(10) + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// True if a number that holds this byte is no whole one.
#[inline]
fn goes_on(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Counts a list of whole numbers up to its closing bracket; none if it holds anything else, or nothing.
#[inline]
pub(super) fn count_numbers(list: &[u8]) -> Option<(u32, usize)> {
    let mut count = 0;
    let mut at = 0;
    loop {
        at += blanks(&list[at..]);
        let digits = list[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        count += 1;
        at += digits;
        at += blanks(&list[at..]);
        match list.get(at)? {
            b',' => at += 1,
            b']' => return Some((count, at)),
            _ => return None,
        }
    }
}

/// Spaces at the start. Other white space does not occur in a list on one line.
#[inline]
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| byte == b' ').count()
}

#[inline]
fn word(text: &[u8], at: usize) -> Option<u64> {
    text.get(at..)?.first_chunk().map(|&bytes| u64::from_le_bytes(bytes))
}

/// The top bit of each quote, backslash and control character; only the lowest one that is set is sure.
#[inline]
fn special(word: u64) -> u64 {
    zeros(word ^ (ONES * 0x22)) | zeros(word ^ (ONES * 0x5c)) | below_space(word)
}

/// The top bit of each byte that is no digit.
#[inline]
fn non_digits(word: u64) -> u64 {
    let value = word ^ (ONES * 0x30);
    (((value & !TOPS) + ONES * 0x76) | value) & TOPS
}

/// The top bit of each byte that is a point.
#[inline]
fn points(word: u64) -> u64 {
    let value = word ^ (ONES * 0x2e);
    !(((value & !TOPS) + (ONES * 0x7f)) | value) & TOPS
}

/// The top bit of each byte that is zero.
#[inline]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & TOPS
}

/// The top bit of each byte below a space.
#[inline]
fn below_space(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & TOPS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{count_numbers, number_length, string_length, whole_number};

    #[test]
    fn ends_of_strings() {
        assert_eq!(string_length(b"abc\",1"), Some((3, false)));
        assert_eq!(string_length(b"\",1"), Some((0, false)));
        assert_eq!(string_length(br#"long enough \" text\\",1"#), Some((21, true)));
        for none in [&b"abc"[..], b"", b"a\\", b"a\\\"", b"a\nb\"", b"abcdefg\rh\"", b"a\\\n\""] {
            assert_eq!(string_length(none), None, "{none:?}");
        }
    }

    #[test]
    fn ends_of_numbers() {
        assert_eq!(number_length(b"176.5063983761363,"), 17);
        assert_eq!(number_length(b"-1.5e+10}"), 8);
        assert_eq!(number_length(b"null"), 0);
        for text in [
            "8192}",
            "0,",
            "7",
            "90,\"total\":1",
            "1234567,x",
            "12345678,",
            "123456789012,\n",
            "10}}\n\n\r\n",
        ] {
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            assert_eq!(
                whole_number(text.as_bytes()),
                Some((digits.parse().unwrap(), digits.len())),
                "{text}"
            );
        }
        for none in [&b"1.5"[..], b"1.5,\"long\"", b"1e3", b"-1", b"", b"1234567890123456789"] {
            assert_eq!(whole_number(none), None, "{none:?}");
        }
        assert_eq!(count_numbers(b"1, 22,333]"), Some((3, 9)));
        for none in [&b"]"[..], b"1,]", b"1,x]", b"1 2]", b"1.5]", b"12"] {
            assert_eq!(count_numbers(none), None, "{none:?}");
        }
    }

    proptest! {
        #[test]
        fn agree_with_a_walk_by_bytes(text in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(b'\n'), Just(b'.'), b'0'..=b'9', any::<u8>()], 0..40,
        )) {
            let mut at = 0;
            let end = loop {
                match text.get(at) {
                    Some(b'"') => break Some(at),
                    Some(b'\\') if text.get(at + 1).is_some_and(|&next| next >= 0x20) => at += 2,
                    Some(&byte) if byte >= 0x20 && byte != b'\\' => at += 1,
                    _ => break None,
                }
            };
            prop_assert_eq!(string_length(&text).map(|(length, _)| length), end);
            let number = text.iter().take_while(|byte| b"0123456789+-.eE".contains(byte)).count();
            prop_assert_eq!(number_length(&text), number);
        }
    }
}
