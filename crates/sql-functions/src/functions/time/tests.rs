//! Tests of SQL functions of times. Expected results come from Flink's documentation and its
//! `TemporalTypesTest`, `TimeFunctionsITCase` and `ScalarFunctionsTest`, or were computed by hand.

use super::TIME;
use super::calendar::{Civil, add_months, civil, days, iso_week, iso_weekday, month_length};
use super::zone::{Overlap, Zone};
use crate::functions::each::bed;

mod text;

fn check(call: &str, expected: &str) {
    bed::check(TIME, call, expected);
}

fn check_in(zone: &str, call: &str, expected: &str) {
    bed::check_in(zone, TIME, call, expected);
}

fn refused(call: &str, part: &str) {
    let message = bed::refusal(TIME, call);
    assert!(message.contains(part), "{call}: '{message}' does not contain '{part}'");
}

/// The calendar agrees with that of the crate chrono, as far as chrono's range goes.
#[test]
fn the_calendar_agrees_with_another() {
    use chrono::{Datelike, NaiveDate};
    let first = NaiveDate::from_ymd_opt(1970, 1, 1).expect("a day");
    let check = |number: i64| {
        let day = first + chrono::TimeDelta::days(number);
        let ours = civil(number);
        let theirs = Civil { year: day.year().into(), month: day.month().into(), day: day.day().into() };
        assert_eq!(ours, theirs, "{number}");
        assert_eq!(days(ours.year, ours.month, ours.day), number);
        assert_eq!(iso_weekday(number), i64::from(day.weekday().number_from_monday()), "{number}");
        let week = day.iso_week();
        assert_eq!(iso_week(number), (week.year().into(), week.week().into()), "{number}");
    };
    (-800_000..800_000).step_by(13).for_each(check);
    (-1_000..30_000).for_each(check);
    // The days around the turn of years divisible by 100, and the first year.
    (-1..3).for_each(|century| (-3..3).for_each(|near| check(719_468 + century * 36_524 + near)));
    [-719_528, -719_529].into_iter().for_each(check);
    assert_eq!(civil(days(-1, 12, 31)), Civil { year: -1, month: 12, day: 31 });
    for far in [i64::from(i32::MIN), i64::from(i32::MAX), i64::MIN / 86_400_000, i64::MAX / 86_400_000] {
        let Civil { year, month, day } = civil(far);
        assert_eq!(days(year, month, day), far);
    }
    for extreme in [i64::MIN, i64::MAX] {
        let _ = (civil(extreme), days(extreme, extreme, extreme), iso_week(extreme));
        let _ = (add_months(0, extreme), add_months(extreme, extreme));
    }
}

/// Months have their lengths in years of all kinds, and days are moved to the end of a month that is too short.
#[test]
fn months_end() {
    for (year, expected) in
        [(2_023, 28), (2_024, 29), (1_900, 28), (2_000, 29), (0, 29), (-1, 28), (-4, 29), (-100, 28)]
    {
        assert_eq!(month_length(year, 2), expected, "{year}");
        for month in 1..=12 {
            assert_eq!(month_length(year, month), days(year, month + 1, 1) - days(year, month, 1));
        }
    }
    // Months and days outside of their range are counted on.
    assert_eq!(days(2_021, 2, 31), days(2_021, 3, 3));
    assert_eq!(days(2_021, 14, 1), days(2_022, 2, 1));
    assert_eq!(days(2_021, 0, 1), days(2_020, 12, 1));
    let check = |(year, month, day), months, expected: (i64, i64, i64)| {
        let moved = civil(add_months(days(year, month, day), months));
        assert_eq!((moved.year, moved.month, moved.day), expected, "{months}");
    };
    check((2_021, 1, 31), 1, (2_021, 2, 28));
    check((2_020, 2, 29), 12, (2_021, 2, 28));
    check((2_020, 2, 29), -48, (2_016, 2, 29));
    check((2_021, 12, 31), 2, (2_022, 2, 28));
    check((2_021, 1, 31), -1, (2_020, 12, 31));
    check((0, 1, 15), -1, (-1, 12, 15));
    check((9_999, 12, 31), 1, (10_000, 1, 31));
    check((1_970, 1, 1), i64::from(i32::MAX), (178_958_940, 8, 1));
    check((1_970, 1, 1), i64::from(i32::MIN), (-178_955_001, 5, 1));
}

#[test]
fn parts_are_taken_out_of_timestamps() {
    let first = "TIMESTAMP '2000-01-31T11:22:33.123456'";
    let second = "TIMESTAMP '2020-02-29T01:56:59.987654'";
    for (unit, of_first, of_second) in [
        ("NANOSECOND", "123456000", "987654000"),
        ("MICROSECOND", "123456", "987654"),
        ("MILLISECOND", "123", "987"),
        ("SECOND", "33", "59"),
        ("MINUTE", "22", "56"),
        ("HOUR", "11", "1"),
        ("DAY", "31", "29"),
        ("WEEK", "5", "9"),
        ("MONTH", "1", "2"),
        ("QUARTER", "1", "1"),
        ("YEAR", "2000", "2020"),
        ("DECADE", "200", "202"),
        ("CENTURY", "20", "21"),
        ("MILLENNIUM", "2", "3"),
        ("DOW", "2", "7"),
        ("ISODOW", "1", "6"),
        ("DOY", "31", "60"),
        ("ISOYEAR", "2000", "2020"),
        ("EPOCH", "949317753", "1582941419"),
    ] {
        check(&format!("EXTRACT('{unit}', {first})"), of_first);
        check(&format!("EXTRACT('{unit}', {second})"), of_second);
        check(&format!("EXTRACT('{unit}', NULL)"), "NULL");
    }
    check("EXTRACT('NANOSECOND', TIMESTAMP9 '1970-01-01T00:00:00.123456789')", "123456789");
    for (day, year, weekday) in [
        ("1969-12-31", "1970", "3"),
        ("1969-12-29", "1970", "1"),
        ("1969-12-28", "1969", "7"),
        ("2006-01-01", "2005", "7"),
        ("2006-01-02", "2006", "1"),
        ("2005-01-01", "2004", "6"),
        ("2005-01-03", "2005", "1"),
    ] {
        check(&format!("EXTRACT('ISOYEAR', DATE '{day}')"), year);
        check(&format!("EXTRACT('ISODOW', DATE '{day}')"), weekday);
    }
    // For this instant before 1970 Flink returns the year 1970.
    check("YEAR(TIMESTAMP3 '1969-12-31T23:59:59.999')", "1969");
    check("SECOND(TIMESTAMP3 '1969-12-31T23:59:59.999')", "59");
    check("EXTRACT('MILLISECOND', TIMESTAMP3 '1969-12-31T23:59:59.999')", "999");
}

#[test]
fn parts_have_names_of_their_own() {
    for (call, expected) in [
        ("YEAR(DATE '1994-09-27')", "1994"),
        ("QUARTER(DATE '1994-09-27')", "3"),
        ("MONTH(DATE '1994-09-27')", "9"),
        ("WEEK(DATE '1994-09-27')", "39"),
        ("DAYOFYEAR(DATE '1994-09-27')", "270"),
        ("DAYOFMONTH(DATE '1994-09-27')", "27"),
        ("DAYOFWEEK(DATE '1994-09-27')", "3"),
        ("HOUR(TIMESTAMP '1994-09-27T13:14:15')", "13"),
        ("MINUTE(TIMESTAMP '1994-09-27T13:14:15')", "14"),
        ("SECOND(TIME '06:55:44')", "44"),
        ("YEAR(NULL)", "NULL"),
    ] {
        check(call, expected);
    }
    check_in("Asia/Rangoon", "HOUR(LTZ '2018-03-19T23:40:31Z')", "6");
    check_in("Asia/Rangoon", "DAYOFMONTH(LTZ '2018-03-19T23:40:31Z')", "20");
    // EPOCH, the seconds since 1970, does not depend on the time zone.
    check_in("Asia/Tokyo", "EXTRACT('EPOCH', LTZ '1970-01-01T00:00:01Z')", "1");
    check_in("Asia/Tokyo", "HOUR(TIMESTAMP '1994-09-27T13:14:15')", "13");
    assert_eq!(bed::result_type(TIME, "YEAR(DATE '1994-09-27')"), "BIGINT");
}

#[test]
fn parts_are_taken_out_of_intervals() {
    // EXTRACT splits this interval of milliseconds into 16979 days and 07:23:33.
    check("EXTRACT('DAY', DAYS '1467012213000')", "16979");
    check("EXTRACT('HOUR', DAYS '1467012213000')", "7");
    check("EXTRACT('MINUTE', DAYS '1467012213000')", "23");
    check("EXTRACT('SECOND', DAYS '1467012213000')", "33");
    check("HOUR(DAYS '-5400000')", "-1");
    check("MINUTE(DAYS '-5400000')", "-30");
    check("EXTRACT('MONTH', MONTHS '25')", "1");
    check("EXTRACT('QUARTER', MONTHS '25')", "1");
    check("EXTRACT('YEAR', MONTHS '25')", "2");
    refused("EXTRACT('NANOSECOND', DATE '2020-01-01')", "nanosecond can not be taken out of date");
    refused("EXTRACT('YEAR', TIME '00:00:00')", "year can not be taken out of time(0)");
    refused("EXTRACT('MONTH', DAYS '1')", "month can not be taken out of");
    refused("EXTRACT('DAY', MONTHS '1')", "day can not be taken out of");
    refused("EXTRACT('DAY', 'x')", "argument 2 is STRING");
    refused("YEAR('x')", "argument 1 is STRING");
    refused("EXTRACT('FORTNIGHT', DATE '2020-01-01')", "there is no unit 'FORTNIGHT'");
}

#[test]
fn days_and_timestamps_are_rounded() {
    let (day, timestamp) = ("DATE '1990-10-14'", "TIMESTAMP '2020-02-29T01:56:59.987654'");
    for (unit, ceil_day, floor_day, ceil, floor) in [
        ("MILLISECOND", "1990-10-14", "1990-10-14", "2020-02-29T01:56:59.988", "2020-02-29T01:56:59.987"),
        ("SECOND", "1990-10-14", "1990-10-14", "2020-02-29T01:57:00", "2020-02-29T01:56:59"),
        ("MINUTE", "1990-10-14", "1990-10-14", "2020-02-29T01:57:00", "2020-02-29T01:56:00"),
        ("HOUR", "1990-10-14", "1990-10-14", "2020-02-29T02:00:00", "2020-02-29T01:00:00"),
        ("DAY", "1990-10-15", "1990-10-14", "2020-03-01T00:00:00", "2020-02-29T00:00:00"),
        ("WEEK", "1990-10-14", "1990-10-14", "2020-03-01T00:00:00", "2020-02-23T00:00:00"),
        ("MONTH", "1990-11-01", "1990-10-01", "2020-03-01T00:00:00", "2020-02-01T00:00:00"),
        ("QUARTER", "1991-01-01", "1990-10-01", "2020-04-01T00:00:00", "2020-01-01T00:00:00"),
        ("YEAR", "1991-01-01", "1990-01-01", "2021-01-01T00:00:00", "2020-01-01T00:00:00"),
        ("DECADE", "2000-01-01", "1990-01-01", "2030-01-01T00:00:00", "2020-01-01T00:00:00"),
        ("CENTURY", "2001-01-01", "1901-01-01", "2101-01-01T00:00:00", "2001-01-01T00:00:00"),
        ("MILLENNIUM", "2001-01-01", "1001-01-01", "3001-01-01T00:00:00", "2001-01-01T00:00:00"),
    ] {
        check(&format!("CEIL_TO({day}, '{unit}')"), ceil_day);
        check(&format!("FLOOR_TO({day}, '{unit}')"), floor_day);
        check(&format!("CEIL_TO({timestamp}, '{unit}')"), ceil);
        check(&format!("FLOOR_TO({timestamp}, '{unit}')"), floor);
    }
    for (call, expected) in [
        ("FLOOR_TO(DATE '2021-03-01', 'WEEK')", "2021-02-28"),
        ("CEIL_TO(DATE '2021-03-01', 'WEEK')", "2021-03-07"),
        ("CEIL_TO(DATE '2021-02-27', 'WEEK')", "2021-02-28"),
        ("FLOOR_TO(TIMESTAMP '2018-04-01T06:44:31', 'MONTH')", "2018-04-01T00:00:00"),
        ("CEIL_TO(TIMESTAMP '2018-03-01T21:00:01', 'MONTH')", "2018-03-01T00:00:00"),
        ("CEIL_TO(TIMESTAMP '2018-12-02T00:00:00', 'MONTH')", "2019-01-01T00:00:00"),
        ("CEIL_TO(TIMESTAMP '2018-01-01T21:00:01', 'YEAR')", "2018-01-01T00:00:00"),
        ("CEIL_TO(TIMESTAMP '2018-03-01T00:00:00', 'DAY')", "2018-03-01T00:00:00"),
        ("CEIL_TO(TIMESTAMP '1999-01-01T00:00:00', 'CENTURY')", "2001-01-01T00:00:00"),
        ("FLOOR_TO(TIMESTAMP '1969-12-31T23:30:00', 'HOUR')", "1969-12-31T23:00:00"),
        ("FLOOR_TO(TIMESTAMP '1969-12-31T23:30:00', 'MONTH')", "1969-12-01T00:00:00"),
        ("FLOOR_TO(TIME '12:44:31', 'MINUTE')", "12:44:00"),
        ("CEIL_TO(TIME '12:44:31', 'MINUTE')", "12:45:00"),
        ("CEIL_TO(TIME '12:44:31', 'HOUR')", "13:00:00"),
        ("CEIL_TO(TIME '23:44:31', 'HOUR')", "00:00:00"),
        ("FLOOR_TO(NULL, 'HOUR')", "NULL"),
    ] {
        check(call, expected);
    }
    check_in("Asia/Rangoon", "FLOOR_TO(LTZ '2018-03-19T23:40:31Z', 'HOUR')", "2018-03-19T23:30:00Z");
    check_in("Asia/Rangoon", "CEIL_TO(LTZ '2018-03-19T23:40:31Z', 'HOUR')", "2018-03-20T00:30:00Z");
    // 1 March lies before the change of clocks in spring, so the offset of the result differs from that of
    // the argument.
    check_in("Europe/Berlin", "FLOOR_TO(LTZ '2021-03-31T10:00:00Z', 'MONTH')", "2021-02-28T23:00:00Z");
    refused("FLOOR_TO(TIME '12:44:31', 'DAY')", "TIME(0) cannot be rounded to a day");
    refused("FLOOR_TO(DATE '2020-01-01', 'DOW')", "cannot be rounded");
}

#[test]
fn units_are_added() {
    let at = "TIMESTAMP3 '2017-11-29T22:58:58.998'";
    for (unit, results) in [
        ("YEAR", ["2018-11-29", "2020-11-29", "2016-11-29", "1956-11-29", "1017-11-29"]),
        ("QUARTER", ["2018-02-28", "2018-08-29", "2017-08-29", "2002-08-29", "1767-11-29"]),
        ("MONTH", ["2017-12-29", "2018-02-28", "2017-10-29", "2012-10-29", "1934-07-29"]),
        ("WEEK", ["2017-12-06", "2017-12-20", "2017-11-22", "2016-09-28", "1998-09-30"]),
        ("DAY", ["2017-11-30", "2017-12-02", "2017-11-28", "2017-09-29", "2015-03-05"]),
    ] {
        for (count, day) in [1, 3, -1, -61, -1000].iter().zip(results) {
            check(&format!("TIMESTAMPADD('{unit}', {count}, {at})"), &format!("{day}T22:58:58.998"));
            check(&format!("TIMESTAMPADD('SQL_TSI_{unit}', L{count}, {at})"), &format!("{day}T22:58:58.998"));
        }
    }
    for (call, expected) in [
        ("'HOUR', -61, TIMESTAMP3 '2017-11-29T22:58:58.998'", "2017-11-27T09:58:58.998"),
        ("'MINUTE', -1000, TIMESTAMP3 '2017-11-29T22:58:58.998'", "2017-11-29T06:18:58.998"),
        ("'SECOND', 3, TIMESTAMP3 '2017-11-29T22:58:58.998'", "2017-11-29T22:59:01.998"),
        ("'DAY', 1, DATE '2016-06-15'", "2016-06-16"),
        ("'MONTH', 5, DATE '2016-01-31'", "2016-06-30"),
        ("'MONTH', -1, DATE '2016-03-31'", "2016-02-29"),
        ("'WEEK', -1, DATE '2016-03-31'", "2016-03-24"),
        ("'HOUR', -1, DATE '2016-06-15'", "2016-06-14T23:00:00"),
        ("'SECOND', 1, TIME '23:59:59'", "00:00:00"),
        ("'MINUTE', -1, TIME '00:00:59'", "23:59:59"),
        ("'DAY', 15, TIME '23:59:59'", "23:59:59"),
        ("'MONTH', 6, TIME '23:59:59'", "23:59:59"),
        ("'HOUR', NULL, TIMESTAMP '2016-02-24T12:42:25'", "NULL"),
        ("'HOUR', -200, NULL", "NULL"),
        ("'YEAR', L9223372036854775807, TIMESTAMP '2016-02-24T12:42:25'", "NULL"),
        ("'SECOND', L9223372036854775807, TIMESTAMP '2016-02-24T12:42:25'", "NULL"),
        ("'YEAR', 1000000, TIMESTAMP9 '2016-02-24T12:42:25'", "NULL"),
    ] {
        check(&format!("TIMESTAMPADD({call})"), expected);
    }
    check("TIMESTAMPADD('DAY', 2147483647, DATE '2016-06-15')", "NULL");
    check("TIMESTAMPADD('YEAR', L9223372036854775807, DATE '2016-06-15')", "NULL");
    assert_eq!(bed::result_type(TIME, "TIMESTAMPADD('HOUR', 1, DATE '2016-06-15')"), "TIMESTAMP(6)");
    assert_eq!(bed::result_type(TIME, "TIMESTAMPADD('DAY', 1, DATE '2016-06-15')"), "DATE");
    refused("TIMESTAMPADD('EPOCH', 1, DATE '2016-06-15')", "the unit is none of YEAR");
    refused("TIMESTAMPADD('DAY', 1.5, DATE '2016-06-15')", "argument 2 is DOUBLE");
    refused("TIMESTAMPADD('DAY', 1, 'x')", "argument 3 is STRING");
}

#[test]
fn units_between_times_are_counted() {
    let typed = |text: &str| {
        let kind = match text.len() {
            8 => "TIME",
            10 => "DATE",
            _ => "TIMESTAMP",
        };
        format!("{kind} '{text}'")
    };
    for (unit, first, second, expected) in [
        ("DAY", "2018-07-03T11:11:11", "2018-07-05T11:11:11", "2"),
        ("DAY", "2016-06-15", "2016-06-16T11:11:11", "1"),
        ("DAY", "2016-06-15T11:00:00", "2016-06-19", "3"),
        ("HOUR", "2018-07-03T11:11:11", "2018-07-04T12:12:11", "25"),
        ("HOUR", "2016-06-15", "2016-06-12", "-72"),
        ("MINUTE", "2016-06-15T11:00:00", "2016-06-19", "5100"),
        ("SECOND", "2016-06-15", "2016-06-16T11:11:11", "126671"),
        ("WEEK", "2018-05-03T11:11:11", "2018-07-03T11:12:12", "8"),
        ("WEEK", "2016-08-15", "2016-06-18", "-8"),
        ("MONTH", "2018-07-03T11:11:11", "2018-09-05T11:11:11", "2"),
        ("MONTH", "2016-06-15T11:00:00", "2018-05-19", "23"),
        ("MONTH", "2016-06-15", "2018-03-18", "21"),
        ("QUARTER", "2016-06-15T11:00:00", "2018-05-19", "7"),
        ("MONTH", "2019-09-01T00:00:00", "2020-03-01T00:00:00", "6"),
        ("MONTH", "2019-09-01T00:00:00", "2016-08-01T00:00:00", "-37"),
        ("MONTH", "2020-01-04", "2021-02-04T12:00:00", "13"),
        ("MONTH", "2021-01-04T00:00:00", "00:00:00", "-612"),
        ("MONTH", "00:00:00", "2021-02-04T12:00:00", "613"),
        ("YEAR", "2020-02-29", "2021-02-28", "1"),
        ("YEAR", "2020-02-29", "2021-02-27", "0"),
        ("MONTH", "2020-01-31", "2020-02-29", "1"),
        ("MONTH", "2020-01-15T10:00:00", "2020-02-15T09:59:59", "0"),
    ] {
        let arguments = format!("'{unit}', {}, {}", typed(first), typed(second));
        check(&format!("TIMESTAMPDIFF({arguments})"), expected);
    }
    check("TIMESTAMPDIFF('MONTH', LTZ '1970-01-01T00:00:00.123Z', LTZ '1971-01-02T01:02:03.123Z')", "12");
    check("TIMESTAMPDIFF('MINUTE', LTZ '1970-01-01T01:02:03.123Z', LTZ '1970-01-01T00:00:00Z')", "-62");
    check("TIMESTAMPDIFF('SECOND', LTZ '1970-01-01T00:00:00.123Z', LTZ '1970-01-01T00:02:03.234Z')", "123");
    check("TIMESTAMPDIFF('DAY', NULL, TIMESTAMP '2016-02-24T12:42:25')", "NULL");
    assert_eq!(bed::result_type(TIME, "TIMESTAMPDIFF('DAY', DATE '2016-06-15', DATE '2016-06-16')"), "INT");
    refused(
        "TIMESTAMPDIFF('MONTH', LTZ '1970-01-01T00:00:00Z', DATE '1970-01-01')",
        "a TIMESTAMP_LTZ can be compared with another only",
    );
    refused("TIMESTAMPDIFF('SECOND', DATE '1970-01-01', 'x')", "argument 3 is STRING");
}

#[test]
fn spans_overlap() {
    for (arguments, expected) in [
        ("TIME '02:55:00', DAYS '3600000', TIME '03:30:00', DAYS '7200000'", "true"),
        ("TIME '09:00:00', TIME '09:30:00', TIME '09:29:00', TIME '09:31:00'", "true"),
        ("TIME '09:00:00', TIME '10:00:00', TIME '10:15:00', DAYS '10800000'", "false"),
        ("DATE '2011-03-10', DAYS '864000000', DATE '2011-03-19', DAYS '864000000'", "true"),
        ("DATE '2011-03-10', MONTHS '1', DATE '2011-04-11', MONTHS '1'", "false"),
        (
            "TIMESTAMP '2011-03-10T05:02:02', DAYS '0', TIMESTAMP '2011-03-10T05:02:02', TIMESTAMP '2011-03-10T05:02:01'",
            "true",
        ),
        (
            "TIMESTAMP '2011-03-10T02:02:02.001', DAYS '0', TIMESTAMP '2011-03-10T02:02:02.002', TIMESTAMP \
             '2011-03-10T02:02:02.002'",
            "false",
        ),
    ] {
        check(&format!("OVERLAPS({arguments})"), expected);
    }
    refused("OVERLAPS(1, DATE '2011-03-10', DATE '2011-03-10', DATE '2011-03-10')", "argument 1 is INT");
    refused(
        "OVERLAPS(TIME '02:55:00', DAYS '1', DATE '2011-03-10', DAYS '1')",
        "TIME(0) and DATE are different types of time",
    );
}

/// Functions of the current time read the clock of the test, which shows 2024-02-29T12:34:56.789Z.
#[test]
fn the_present_is_told_by_the_clock() {
    check_in("Asia/Tokyo", "CURRENT_DATE()", "2024-02-29");
    check_in("Pacific/Auckland", "CURRENT_DATE()", "2024-03-01");
    check_in("Asia/Tokyo", "CURRENT_TIME()", "21:34:56");
    check_in("Asia/Tokyo", "LOCALTIME()", "21:34:56");
    check_in("Asia/Tokyo", "LOCALTIMESTAMP()", "2024-02-29T21:34:56.789");
    for name in ["CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP", "PROCTIME"] {
        check_in("Asia/Tokyo", &format!("{name}()"), "2024-02-29T12:34:56.789Z");
        assert_eq!(bed::result_type(TIME, &format!("{name}()")), "TIMESTAMP_LTZ(3)");
        assert!(!TIME.iter().any(|function| function.name == name && function.is_deterministic));
    }
    check_in("Asia/Tokyo", "UNIX_TIMESTAMP()", "1709210096");
    assert_eq!(bed::result_type(TIME, "CURRENT_TIME()"), "TIME(0)");
    refused("NOW(1)", "1 arguments");
}

/// Local times that are skipped or occur twice become instants as in Java. Cases follow the rules of the
/// European Union for 2021 and of Samoa for 2011.
#[test]
fn every_reading_is_an_instant() {
    let berlin = Zone::read("Europe/Berlin").expect("a zone");
    let local = |day: i64, hour: i64, minute: i64| days(2021, 3, day) * 86_400 + hour * 3_600 + minute * 60;
    assert_eq!(berlin.instant_of(local(28, 2, 30), Overlap::Earlier), local(28, 1, 30));
    assert_eq!(berlin.instant_of(local(28, 1, 59), Overlap::Earlier), local(28, 0, 59));
    assert_eq!(berlin.instant_of(local(28, 3, 0), Overlap::Earlier), local(28, 1, 0));
    let autumn = days(2021, 10, 31) * 86_400 + 2 * 3_600 + 1_800;
    assert_eq!(berlin.instant_of(autumn, Overlap::Earlier), autumn - 7_200);
    assert_eq!(berlin.instant_of(autumn, Overlap::Later), autumn - 3_600);
    let apia = Zone::read("Pacific/Apia").expect("a zone");
    let skipped = days(2011, 12, 30) * 86_400 + 43_200;
    assert_eq!(apia.instant_of(skipped, Overlap::Earlier), skipped + 10 * 3_600);
    for (name, offset) in [
        ("PST", -28_800),
        ("GMT-08:00", -28_800),
        ("GMT+8", 28_800),
        ("UTC+05:30", 19_800),
        ("+0530", 19_800),
        ("Z", 0),
        ("GMT", 0),
    ] {
        assert_eq!(Zone::read(name).map(|zone| zone.offset_at(0)), Some(offset), "{name}");
    }
    for name in ["", "Nowhere", "GMT+25", "GMT+08:60", "+", "GMT+080", "Ä"] {
        assert_eq!(Zone::read(name), None, "{name}");
    }
    for extreme in [i64::MIN, i64::MAX] {
        let _ = (berlin.local_of(extreme), berlin.instant_of(extreme, Overlap::Earlier));
    }
}
