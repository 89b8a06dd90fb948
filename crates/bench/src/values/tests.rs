//! Tests of values on the command line of `bench`: allowed ones, and the errors of others.

use super::*;

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
