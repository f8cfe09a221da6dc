//! Numbers with units, as users write them.

/// A number with an optional sign, and nothing else.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '+' | '-');
    let number: f64 = (!text.is_empty() && text.chars().all(plain)).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

/// A time in milliseconds: `50ms`, `1s`, `1.5 s`; a plain number is in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Option<f64> {
    with_unit(text, &[("ms", 1.0), ("s", 1000.0)])
}

/// A rate in tokens per second: `50`, `50tok/s`, `1.2K`.
pub(crate) fn rate(text: &str) -> Option<f64> {
    with_unit(text, &[("tok/s", 1.0), ("K", 1000.0), ("k", 1000.0)])
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let found = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (digits, size) = found.unwrap_or((text, 1.0));
    Some(number(digits)? * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units() {
        assert_eq!(milliseconds("1s"), Some(1000.0));
        assert_eq!(milliseconds("-50 ms"), Some(-50.0));
        assert_eq!(milliseconds("20"), Some(20.0));
        assert_eq!(rate("50 tok/s"), Some(50.0));
        assert_eq!(rate("1.2K"), Some(1200.0));
        assert_eq!(rate("+3"), Some(3.0));
        for bad in ["", "x", "1m", "1e3", "inf", "NaN", "--1", "%"] {
            assert_eq!((milliseconds(bad), rate(bad)), (None, None), "{bad}");
        }
    }
}
