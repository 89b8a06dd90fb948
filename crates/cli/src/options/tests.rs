//! Tests of values on the command line: allowed ones, and the errors of others.

use thalweg_runtime::limits;

use super::*;

#[test]
fn spans() {
    for (text, micros) in
        [("60s", 60_000_000), ("1.5ms", 1_500), ("20us", 20), ("2m", 120_000_000), ("0s", 0)]
    {
        assert_eq!(span(text), Ok(Span::from_micros(micros)), "{text}");
    }
    for (text, error) in [
        ("60", "`60` has no unit: write 60s, 60ms or 60us"),
        ("5days", "`days` is no unit of time: take us, ms, s, m or h"),
        ("fast", "`fast` does not start with a number"),
        ("-5s", "-5s is below zero"),
        ("0.5us", "0.5us is 0.5 us, but times are whole microseconds"),
        ("277778h", "277778h is too long: at most 277777h"),
    ] {
        assert_eq!(span(text), Err(error.to_owned()), "{text}");
    }
}

#[test]
fn seconds_with_and_without_unit() {
    assert_eq!((seconds("5"), seconds("500ms"), seconds("0")), (Ok(5.0), Ok(0.5), Ok(0.0)));
    for text in ["-1", "inf", "NaN", "86401", "1e400"] {
        assert_eq!(seconds(text), Err("must be from 0 to 86400 seconds".to_owned()), "{text}");
    }
    assert_eq!(measured_seconds("1ms"), Ok(0.001));
    for text in ["0", "0s", "0.0001"] {
        assert_eq!(measured_seconds(text), Err("must be from 0.001 to 86400 seconds".to_owned()), "{text}");
    }
}

#[test]
fn settings_of_the_engine_keep_its_bounds() {
    let block_records = within(&limits::BLOCK_RECORDS);
    assert_eq!((block_records("1"), block_records("1048576")), (Ok(1), Ok(1 << 20)));
    for text in ["0", "-1", "1048577", "5000000000"] {
        assert_eq!(block_records(text), Err("must be from 1 to 1048576 records".to_owned()), "{text}");
    }
    assert_eq!(block_records("x"), Err("`x` is not a whole number".to_owned()));
    assert_eq!(block_records("1.5"), Err("1.5 is not a whole number".to_owned()));

    let budget = bytes_within(&limits::MEMORY_BUDGET_BYTES);
    assert_eq!((budget("256MiB"), budget("70000")), (Ok(256 << 20), Ok(70_000)));
    assert_eq!(budget("1TB"), Err("`TB` is no unit of memory: take KiB, MiB or GiB".to_owned()));
    assert_eq!(budget("0.3"), Err("0.3 is 0.3 bytes, but must be a whole number".to_owned()));
    assert_eq!(
        budget("1KiB"),
        Err("1KiB is 1024 bytes, but must be from 65536 to 4398046511104 bytes".to_owned())
    );
}

/// Every bound of a setting is at most 2^53, so that a double represents it exactly.
#[test]
fn no_limit_is_too_large_for_a_double() {
    assert!(limits::ALL.iter().all(|limit| limit.max <= 1 << 53));
}
