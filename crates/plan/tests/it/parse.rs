use tokometer_plan::{parse_concurrency, parse_context, parse_contexts, parse_duration};

#[test]
fn contexts_count_in_1024() {
    for (text, tokens) in [("8k", 8192), ("8K", 8192), ("8192", 8192), (" 251k ", 257_024), ("1", 1)] {
        assert_eq!(parse_context(text).unwrap(), tokens, "{text}");
    }
    assert_eq!(parse_contexts("8k, 16K,1000").unwrap(), [8192, 16_384, 1000]);
}

#[test]
fn nonsense_contexts_say_what_is_expected() {
    for text in
        ["", "0", "0k", "0.5k", "-8k", "+8", "8kb", "8 k x", "k", "8m", "99999999999999999999k", "8k,"]
    {
        let message = parse_contexts(text).unwrap_err().to_string();
        assert!(message.contains("8k"), "{text}: {message}");
    }
    assert!(parse_contexts("8k,16k,8192").unwrap_err().to_string().contains("8K stands twice"));
}

#[test]
fn concurrency_is_whole_and_distinct() {
    assert_eq!(parse_concurrency("1,2, 128").unwrap(), [1, 2, 128]);
    for text in ["", "0", "1,,2", "-1", "1.5", "one", "4294967296"] {
        let message = parse_concurrency(text).unwrap_err().to_string();
        assert!(message.contains("1,2,4"), "{text}: {message}");
    }
    assert!(parse_concurrency("1,2,1").unwrap_err().to_string().contains("1 stands twice"));
}

#[test]
fn durations_have_units() {
    for (text, seconds) in [
        ("30s", 30.0),
        ("2m", 120.0),
        ("500ms", 0.5),
        ("30", 30.0),
        ("1.5s", 1.5),
        ("1h", 3600.0),
        (" 10 s", 10.0),
    ] {
        assert!((parse_duration(text).unwrap() - seconds).abs() < 1e-9, "{text}");
    }
    for text in ["", "0", "0s", "-5s", "s", "5 parsecs", "inf", "nan", "infs", "1e400", "25h", "1e30s"] {
        let message = parse_duration(text).unwrap_err().to_string();
        assert!(message.contains("30s"), "{text}: {message}");
    }
}
