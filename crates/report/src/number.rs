//! Numbers as text. Units stand in headers or are added by the caller; `K` is 1000 in rates.
//!
//! [`exact`] keeps every digit, for tables that are compared or copied. The others round to what a reader
//! can use, and never show more digits than the record has.

/// What stands where there is no number.
pub const NONE: &str = "–";

/// The shortest text that reads back as the same number: `1145.1`, `28100`.
pub fn exact(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { NONE.to_owned() }
}

/// Digits after the point that `value` has, `most` at the most.
pub fn decimals(value: f64, most: usize) -> usize {
    let text = exact(value);
    text.split_once('.').map_or(0, |(_, digits)| digits.len().min(most))
}

/// Digits after the point for three significant digits, with one at least: 1 from 10 on, 2 from 1 on, …
pub fn useful_decimals(value: f64) -> usize {
    match value.abs() {
        size if size >= 10.0 || size == 0.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.1 => 3,
        _ => 4,
    }
}

/// A token rate: `224.2`, `1,145`, and 3 digits below 10.
pub fn rate(value: f64) -> String {
    let most = if value.abs() >= 1000.0 { 0 } else { useful_decimals(value) };
    fixed(value, most.min(decimals(value, most).max(usize::from(most > 0))))
}

/// A large token rate in `K` of 1000: `28.1K`; below 10,000 as [`rate`].
pub fn rate_compact(value: f64) -> String {
    match value.abs() {
        size if size >= 999_950.0 => format!("{:.2}M", value / 1_000_000.0),
        size if size >= 10_000.0 => format!("{:.1}K", value / 1000.0),
        _ => rate(value),
    }
}

/// A value at a mark of an axis, without digits that say nothing: `0`, `250`, `30K`.
pub fn tick(value: f64) -> String {
    if value.abs() >= 10_000.0 { format!("{}K", plain(value / 1000.0)) } else { plain(value) }
}

/// A latency in ms: `1,806`, `95`, `16.7`, `4.41`.
pub fn ms(value: f64) -> String {
    fixed(value, decimals(value, ms_decimals(value)))
}

/// A time between tokens in ms, which keeps one decimal: `5.0`.
pub fn gap_ms(value: f64) -> String {
    let most = ms_decimals(value);
    fixed(value, decimals(value, most).max(most.min(1)))
}

/// Half of an interval's width, as precise as the estimate that it stands beside.
pub fn plus_minus(half_width: f64, estimate: f64) -> String {
    let like_the_estimate = if estimate.abs() >= 1000.0 { 0 } else { useful_decimals(estimate) };
    // Never rounded to nothing.
    let needed = (0..4).find(|&digits| half_width * 10_f64.powi(digits) >= 1.0).unwrap_or(4) as usize;
    fixed(half_width, like_the_estimate.max(needed))
}

/// An energy per token, J: three digits, `0.351`, `12.3`.
pub fn joules(value: f64) -> String {
    if value >= 1000.0 { fixed(value, 0) } else { fixed(value, useful_decimals(value)) }
}

/// A power, W, in whole ones.
pub fn watts(value: f64) -> String {
    fixed(value, 0)
}

/// Seconds: `30`, `29.9`.
pub fn seconds(value: f64) -> String {
    fixed(value, decimals(value, 1))
}

/// A plain number with up to two decimals.
pub fn plain(value: f64) -> String {
    fixed(value, decimals(value, 2))
}

/// A length of time in words: `31 s`, `4 min 10 s`, `1 h 02 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A count with commas: `3,145,728`.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// `decimals` digits after the point, commas before it.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", group(whole)),
        None => group(&text),
    }
}

/// A difference with its sign: `+0.12`, `-3.00`, `0.00`.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let nothing = text.chars().all(|letter| !matches!(letter, '1'..='9'));
    match (nothing, value > 0.0) {
        (true, _) => text.trim_start_matches('-').to_owned(),
        (false, true) => format!("+{text}"),
        (false, false) => text,
    }
}

fn ms_decimals(value: f64) -> usize {
    match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    }
}

fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    text.push_str(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_reads_back() {
        for value in [1145.1, 57525.0, 29.9, 28100.0, 0.1 + 0.2, 1e-9] {
            assert_eq!(exact(value).parse::<f64>().unwrap(), value);
        }
        assert_eq!(exact(28100.0), "28100");
        assert_eq!(exact(f64::NAN), NONE);
    }

    #[test]
    fn rates() {
        let cases = [(224.2, "224.2"), (1145.1, "1,145"), (60.0, "60.0"), (7.0, "7.0"), (0.8312, "0.831")];
        for (value, text) in cases {
            assert_eq!(rate(value), text);
        }
        assert_eq!(rate_compact(28100.0), "28.1K");
        assert_eq!(rate_compact(1_234_567.0), "1.23M");
        assert_eq!(rate_compact(999_960.0), "1.00M");
        assert_eq!(rate_compact(9500.0), "9,500");
    }

    #[test]
    fn latencies() {
        for (value, text) in [(292.0, "292"), (1806.4, "1,806"), (95.0, "95"), (85.32, "85.3"), (3.2, "3.2")]
        {
            assert_eq!(ms(value), text);
        }
        for (value, text) in
            [(5.0, "5.0"), (16.7, "16.7"), (4.412, "4.41"), (123.4, "123"), (0.25, "0.25"), (9.6041, "9.60")]
        {
            assert_eq!(gap_ms(value), text);
        }
    }

    #[test]
    fn intervals_and_counts() {
        assert_eq!(plus_minus(9.3, 1145.1), "9");
        assert_eq!(plus_minus(0.34, 1145.1), "0.3");
        assert_eq!(plus_minus(0.034, 224.2), "0.03");
        assert_eq!(plus_minus(2.2, 224.2), "2.2");
        assert_eq!(plus_minus(12.34, 224.2), "12.3");
        assert_eq!(count(3_145_728), "3,145,728");
        assert_eq!(count(12), "12");
        assert_eq!(fixed(-1234.5, 1), "-1,234.5");
        assert_eq!([0.123, -0.001, -2.0].map(|value| signed(value, 2)), ["+0.12", "0.00", "-2.00"]);
        assert_eq!([0.0, 250.0, 2500.0, 30_000.0, 12_500.0].map(tick), ["0", "250", "2,500", "30K", "12.5K"]);
        assert_eq!(duration(250.0), "4 min 10 s");
        assert_eq!(duration(3725.0), "1 h 02 min");
        assert_eq!(decimals(28100.0, 3), 0);
        assert_eq!(decimals(4.41, 3), 2);
    }
}
