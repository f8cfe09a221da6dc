//! What a parameter can be.

/// The value of a parameter; none is NULL.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::store) enum Value {
    /// Counts, times, flags (0 or 1).
    Integer(Option<i64>),
    /// Figures.
    Real(Option<f64>),
    /// Text, UTF-8.
    Text(Option<String>),
    /// Hashes and packed documents.
    Bytes(Option<Vec<u8>>),
}

macro_rules! value {
    ($($from:ty => $kind:ident $convert:expr;)+) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Value {
                Value::$kind(Some($convert(value)))
            }
        }

        impl From<Option<$from>> for Value {
            fn from(value: Option<$from>) -> Value {
                Value::$kind(value.map($convert))
            }
        }
    )+};
}

value! {
    i64 => Integer i64::from;
    u32 => Integer i64::from;
    u8 => Integer i64::from;
    bool => Integer i64::from;
    // No count of bytes or tokens comes near the end of 63 bits.
    u64 => Integer |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    f64 => Real f64::from;
    &str => Text kept;
    &String => Text |value: &String| kept(value);
    String => Text |value: String| kept(&value);
    &[u8] => Bytes <[u8]>::to_vec;
    Vec<u8> => Bytes Vec::from;
}

/// PostgreSQL keeps no text with a zero character, so none is kept anywhere.
fn kept(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
