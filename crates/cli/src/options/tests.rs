//! Allowed values, and the errors of others.

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
fn rates() {
    assert_eq!(
        (rate("max"), rate("2.5M"), rate("10k")),
        (Ok(Rate::Max), Ok(Rate::PerSecond(2_500_000)), Ok(Rate::PerSecond(10_000)))
    );
    let bound = "must be a whole number from 1 to 1000000000 records/s, or `max`";
    assert_eq!(rate("0"), Err(bound.to_owned()));
    assert_eq!(rate("0.0015k"), Err(format!("0.0015k is 1.5 records/s, but {bound}")));
    assert_eq!(rate("2G"), Err("`G` is no unit of a rate: take k or M, or `max`".to_owned()));
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

/// Doubles represent every limit exactly.
#[test]
fn no_limit_is_too_large_for_a_double() {
    assert!(limits::ALL.iter().all(|limit| limit.max <= 1 << 53));
}

#[test]
fn bad_lines() {
    assert_eq!((on_bad("fail"), on_bad("skip")), (Ok(OnBadOption::Fail), Ok(OnBadOption::Skip)));
    assert_eq!(on_bad("divert:a.csv"), Ok(OnBadOption::Divert("a.csv".into())));
    let where_to = Err("where to? write divert:FILE, such as divert:bad.csv".to_owned());
    assert_eq!((on_bad("divert:"), on_bad("divert")), (where_to.clone(), where_to));
    assert_eq!(on_bad("drop"), Err("`drop` is none of fail, skip, divert:FILE".to_owned()));
    assert_eq!(on_bad("drop:a"), Err("`drop:a` is none of fail, skip, divert:FILE".to_owned()));
}

#[test]
fn repeats_and_seeds() {
    assert_eq!((times("1"), times("1000"), seed("0")), (Ok(1), Ok(1_000), Ok(0)));
    assert_eq!(times("0"), Err("`0` is no whole number from 1 to 1000".to_owned()));
    assert_eq!(seed("-1"), Err("`-1` is no whole number from 0 to 18446744073709551615".to_owned()));
}
