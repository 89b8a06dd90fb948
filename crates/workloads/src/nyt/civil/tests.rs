//! Dates compared with a slow count of days, and texts that are not dates.

use proptest::prelude::*;

use super::*;

fn check(text: &str, expected_secs: Option<i64>) {
    assert_eq!(parse_date_time(text), expected_secs.map(EventTime::from_secs), "{text:?}");
}

#[test]
fn instants_that_there_were() {
    check("1970-01-01 00:00:00", Some(0));
    check("1969-12-31 23:59:59", Some(-1));
    check("1970-03-01 00:00:00", Some(59 * 86_400));
    check("2000-02-29 12:00:00", Some(951_825_600));
    check("2013-01-01 02:38:00", Some(1_357_007_880));
    check("2038-01-19 03:14:08", Some(1 << 31));
    check("0000-01-01 00:00:00", Some(-62_167_219_200));
    check("9999-12-31 23:59:59", Some(253_402_300_799));
}

#[test]
fn what_is_no_instant() {
    let days =
        ["2013-02-29", "1900-02-29", "2012-02-30", "2013-04-31", "2013-01-32", "2013-01-00", "2013-00-01"];
    days.iter().for_each(|day| check(&format!("{day} 00:00:00"), None));
    check("2013-13-01 00:00:00", None);
    ["24:00:00", "23:60:00", "23:59:60"].iter().for_each(|time| check(&format!("2013-01-01 {time}"), None));
    check("", None);
    check("2013-01-01", None);
    check("2013-01-01T00:00:00", None);
    check("2013-01-01 00:00:00 ", None);
    check("2013-01-01 00:00:0x", None);
    check("+013-01-01 00:00:00", None);
    check("2013-01-01 00:00:-1", None);
    check("13-01-01 00:00:0000", None);
    check("2013-01-01 00:00:é", None);
}

/// Counts the days since 1970-01-01 one year and one month at a time.
fn counted_days(year: i64, month: usize, day: i64) -> i64 {
    let is_leap = |year: i64| (year % 4 == 0) != (year % 100 == 0) || year % 400 == 0;
    let years: i64 = (0..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let february = if is_leap(year) { 29 } else { 28 };
    let months: i64 = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30][..month - 1].iter().sum();
    // The last number is the days from 0000-01-01 to 1970-01-01.
    years + months + day - 1 - 719_528
}

proptest! {
    #[test]
    fn every_day_has_its_number(
        year in 0i64..10_000,
        month in 1usize..13,
        day in 1i64..29,
        second in 0i64..86_400,
    ) {
        let (hour, minute, rest) = (second / 3_600, second / 60 % 60, second % 60);
        let text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{rest:02}");
        let expected = counted_days(year, month, day) * 86_400 + second;
        prop_assert_eq!(parse_date_time(&text), Some(EventTime::from_secs(expected)));
    }

    /// No text causes a panic of the date parser, and an accepted text has the one allowed form.
    #[test]
    fn other_text_is_refused(text in "[0-9 :-]{19}|\\PC{0,25}") {
        if parse_date_time(&text).is_some() {
            prop_assert_eq!(text.len(), 19);
        }
    }
}

/// Consecutive days have consecutive numbers through four centuries, leap years included.
#[test]
fn days_follow_each_other() {
    let mut expected = days_from_civil(1800, 1, 1);
    for year in 1800..2200 {
        for month in 1..=12 {
            for day in 1..=days_in_month(year, month) {
                assert_eq!(days_from_civil(year, month, day), expected, "{year}-{month}-{day}");
                expected += 1;
            }
        }
    }
    assert_eq!(expected - days_from_civil(1800, 1, 1), 146_097);
}
