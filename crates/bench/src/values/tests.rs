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
    assert_eq!((inputs("1"), inputs("64")), (Ok(1), Ok(64)));
    assert_eq!(inputs("65"), Err("`65` is no whole number from 1 to 64".to_owned()));
    assert_eq!(seed("-1"), Err("`-1` is no whole number from 0 to 18446744073709551615".to_owned()));
}

#[test]
fn windows_of_linear_road() {
    let [accidents, accidents_slide, tolls, last] = [5, 3, 6, 2].map(Span::from_secs);
    assert_eq!(lrb_windows("5s/3s,6s,2s"), Ok(LrbWindows { accidents, accidents_slide, tolls, last }));
    assert_eq!(lrb_windows("120s/30s,1m,60s"), Ok(LrbWindows::default()));
    for (text, error) in [
        ("5s", "`5s` is not SIZE/SLIDE,TOLLS,LAST; write 5s/3s,6s,2s, for example"),
        ("5s/3s,6s", "`5s/3s,6s` is not SIZE/SLIDE,TOLLS,LAST; write 5s/3s,6s,2s, for example"),
        ("5s/3s,6,2s", "`6` has no unit: write 6s, 6ms or 6us"),
        ("5s/3s,6s,1500ms", "1500ms is no whole number of seconds from 1s on"),
        ("5s/0s,6s,2s", "0s is no whole number of seconds from 1s on"),
        ("5s/6s,6s,2s", "the slide 6s must be at most the windows' size, 5s, or reports fall between them"),
        (
            "5s/3s,2s,6s",
            "the last window of 6s must be at most as long as that of tolls, 2s, or it has several tolls of a segment",
        ),
    ] {
        assert_eq!(lrb_windows(text), Err(error.to_owned()));
    }
    assert!(lrb_windows("10h/1s,6s,2s").is_err(), "a report would be in 36,000 windows");
}
