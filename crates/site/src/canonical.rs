//! JSON in its canonical form (RFC 8785): one text for one value, so that its hash means something.

use serde_json::{Number, Value};

/// The canonical text of a value.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            for (index, name) in names.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(&map[name], out);
            }
            out.push('}');
        }
        Value::Number(number) => out.push_str(&self::number(number)),
        // Strings are escaped as the standard says: as little as can be.
        other => out.push_str(&other.to_string()),
    }
}

/// A number as ECMAScript writes it. Whole numbers beyond 2^53 keep all of their digits.
fn number(number: &Number) -> String {
    if number.is_u64() || number.is_i64() {
        return number.to_string();
    }
    let value = number.as_f64().unwrap_or_default();
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that read back as the same number: `-1.25e-7`.
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let digits = digits.replace('.', "");
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    let count = digits.len() as i32;
    let body = if count <= point && point <= 21 {
        format!("{digits}{}", "0".repeat((point - count) as usize))
    } else if 0 < point && point <= 21 {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let rest = if count > 1 { format!(".{}", &digits[1..]) } else { String::new() };
        format!("{}{rest}e{:+}", &digits[..1], point - 1)
    };
    format!("{sign}{body}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_does() {
        for (value, text) in [
            (333_333_333.333_333_3, "333333333.3333333"),
            (1e30, "1e+30"),
            (4.5, "4.5"),
            (2e-3, "0.002"),
            (1e-27, "1e-27"),
            (1e21, "1e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (-0.0, "0"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (5.0, "5"),
        ] {
            assert_eq!(json(&json!(value)), text);
        }
    }

    #[test]
    fn names_are_in_order() {
        let value = json!({"b": 1, "a": [true, null, "é\n\u{1f}\""], "\u{1f600}": 0, "\u{fb33}": 0});
        let text = "{\"a\":[true,null,\"é\\n\\u001f\\\"\"],\"b\":1,\"\u{1f600}\":0,\"\u{fb33}\":0}";
        assert_eq!(json(&value), text);
    }
}
