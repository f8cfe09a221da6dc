//! Two values compared, leaf by leaf.

use serde_json::Value;

/// How far two numbers may be apart, as a share: what writing and reading them can do.
const TOLERANCE: f64 = 1e-9;

/// A leaf that differs.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// Dotted path: `flags[0].value`.
    pub(super) path: String,
    /// One side.
    pub(super) recorded: Value,
    /// The other side.
    pub(super) found: Value,
}

impl Difference {
    /// True if a number is on either side.
    pub(super) fn is_number(&self) -> bool {
        self.recorded.is_number() || self.found.is_number()
    }

    /// True if the record has nothing where something was found.
    pub(super) fn is_gap(&self) -> bool {
        match &self.recorded {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            _ => false,
        }
    }
}

/// Every leaf in which two values differ, and how many leaves were compared.
pub(super) fn differences(recorded: &Value, found: &Value) -> (Vec<Difference>, u64) {
    let mut walk = Walk { differences: Vec::new(), compared: 0 };
    walk.compare(String::new(), recorded, found);
    (walk.differences, walk.compared)
}

struct Walk {
    differences: Vec<Difference>,
    compared: u64,
}

impl Walk {
    fn compare(&mut self, path: String, recorded: &Value, found: &Value) {
        match (recorded, found) {
            (Value::Object(one), Value::Object(other)) => {
                for (name, value) in one {
                    self.compare(under(&path, name), value, other.get(name).unwrap_or(&Value::Null));
                }
                for (name, value) in other.iter().filter(|(name, _)| !one.contains_key(*name)) {
                    self.compare(under(&path, name), &Value::Null, value);
                }
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                for (index, (one, other)) in one.iter().zip(other).enumerate() {
                    self.compare(format!("{path}[{index}]"), one, other);
                }
            }
            _ => {
                self.compared += 1;
                if !same(recorded, found) {
                    let (recorded, found) = (recorded.clone(), found.clone());
                    self.differences.push(Difference { path, recorded, found });
                }
            }
        }
    }
}

fn under(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// True for equal values, and for numbers that are apart by rounding alone.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(a), Some(b)) => {
            let whole = one.is_u64() && other.is_u64();
            one == other || (!whole && (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_are_compared() {
        let (found, compared) = differences(
            &json!({"a": 1, "b": [1.0, {"c": "x"}], "d": null, "e": [1], "g": 5}),
            &json!({"a": 2, "b": [1.000_000_000_01, {"c": "y"}], "d": 3, "e": [], "f": 4}),
        );
        let paths: Vec<&str> = found.iter().map(|difference| difference.path.as_str()).collect();
        assert_eq!(paths, ["a", "b[1].c", "d", "e", "g", "f"]);
        assert_eq!(compared, 7);
        assert!(found[0].is_number() && !found[1].is_number() && found[2].is_gap() && !found[3].is_gap());
        assert!(!same(&json!(1_000_000_000_001_u64), &json!(1_000_000_000_002_u64)), "counts are exact");
        assert!(!same(&json!("1"), &json!(1)) && !same(&json!(null), &json!(0)));
        assert!(same(&json!(3), &json!(3.0)));
    }
}
