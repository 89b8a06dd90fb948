//! Tests of conversions between times and text, and of date patterns.

use proptest::prelude::*;

use super::{check, check_in, refused};
use crate::functions::each::bed;
use crate::functions::time::TIME;
use crate::functions::time::pattern::{Pattern, Purpose, Style, default_timestamp};
use crate::functions::time::zone::Zone;

#[test]
fn times_are_formatted() {
    check("DATE_FORMAT('2018-03-14 01:02:03', 'yyyy/MM/dd HH:mm:ss')", "2018/03/14 01:02:03");
    check(
        "DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03.123456', 'yyyy/MM/dd HH:mm:ss.SSSSSS')",
        "2018/03/14 01:02:03.123456",
    );
    check(
        "DATE_FORMAT(TIMESTAMP9 '1970-01-01T00:00:00.123456789', 'yyyy/MM/dd HH:mm:ss.SSSSSSSSS')",
        "1970/01/01 00:00:00.123456789",
    );
    check_in(
        "Asia/Shanghai",
        "DATE_FORMAT('2018-03-14 01:02:03', 'yyyy/MM/dd HH:mm:ss')",
        "2018/03/14 01:02:03",
    );
    check_in(
        "Asia/Shanghai",
        "DATE_FORMAT(LTZ '2018-03-13T17:02:03Z', 'yyyy-MM-dd HH:mm:ss')",
        "2018-03-14 01:02:03",
    );
    check("DATE_FORMAT(DATE '2018-03-14', 'dd.MM.yy')", "14.03.18");
    check("DATE_FORMAT('invalid value', 'yyyy/MM/dd')", "NULL");
    check("DATE_FORMAT(NULL, 'yyyy/MM/dd')", "NULL");
    check("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', NULL)", "NULL");
    let at = "TIMESTAMP '2018-03-04T13:05:09.120000'";
    for (pattern, expected) in [
        ("y-M-d H:m:s", "2018-3-4 13:5:9"),
        ("MMM d, EEE", "Mar 4, Sun"),
        ("MMMM EEEE MMMMM EEEEE", "March Sunday M S"),
        ("hh:mm a K k", "01:05 PM 1 13"),
        ("D DDD S SS", "63 063 1 12"),
        ("yy yyy yyyyy", "18 2018 02018"),
        ("''''yyyy'' ''''T''", "'2018 'T"),
        ("yyyy年", "2018年"),
        ("", ""),
    ] {
        check(&format!("DATE_FORMAT({at}, '{}')", pattern), expected);
    }
    check("DATE_FORMAT(TIMESTAMP3 '0000-01-01T00:00:00', 'yyyy uuuu')", "0001 0000");
    check("DATE_FORMAT(TIMESTAMP3 '2018-01-01T00:00:00', 'hh kk KK HH')", "12 24 00 00");
    // In lenient patterns `u` is the day of the week, and `S` is milliseconds.
    check("DATE_FORMAT('2018-03-04 00:00:00', 'u S SSS Z X XXX z')", "7 0 000 +0000 Z Z UTC");
    refused("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', 'yyyy Q')", "the letter 'Q' is none of");
    refused("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', 'YYYY')", "write 'y'");
    refused("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', 'HHH')", "3 letters 'H' are too many");
    refused("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', 'HH z')", "asks for a zone");
    refused("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', 'HH[:mm]')", "'[' must stand in quotes");
    refused("DATE_FORMAT(TIMESTAMP '2018-03-14T01:02:03', 'HH ''x')", "is not closed");
    refused("DATE_FORMAT(1, 'HH')", "argument 1 is INT");
}

#[test]
fn text_is_read_as_a_timestamp() {
    for (arguments, expected) in [
        ("'abc'", "NULL"),
        ("'2017-09-15 00:00:00'", "2017-09-15T00:00:00"),
        ("'2017-9-5 1:2:3'", "2017-09-05T01:02:03"),
        ("'2017-09-15'", "2017-09-15T00:00:00"),
        ("'1970-01-01 00:00:00.123456789'", "1970-01-01T00:00:00.123"),
        ("'1970-01-01 00:00:00.1'", "1970-01-01T00:00:00.100"),
        ("'1970-01-01 00:00:00.1234567890'", "NULL"),
        ("'2017-02-31 00:00:00'", "2017-02-28T00:00:00"),
        ("'2017-02-32 00:00:00'", "NULL"),
        ("'2017-13-01 00:00:00'", "NULL"),
        ("'2017-12-31 24:00:00'", "2018-01-01T00:00:00"),
        ("'2017-12-31 24:00:01'", "NULL"),
        ("'2017-12-31T00:00:00'", "NULL"),
        ("'20170-12-31 00:00:00'", "NULL"),
        ("' 2017-12-31'", "NULL"),
        ("''", "NULL"),
        ("NULL", "NULL"),
        ("'20170915000000', 'yyyyMMddHHmmss'", "2017-09-15T00:00:00"),
        ("'20170915112233123', 'yyyyMMddHHmmssSSS'", "2017-09-15T11:22:33.123"),
        ("'2017-09-15', 'yyyy-MM-dd'", "2017-09-15T00:00:00"),
        ("'1970-01-01 00:00:00.12345', 'yyyy-MM-dd HH:mm:ss.SSSSS'", "1970-01-01T00:00:00.123"),
        ("'20000202 59:59.1234567', 'yyyyMMdd mm:ss.SSSSSSS'", "2000-02-02T00:59:59.123"),
        ("'1234567', 'SSSSSSS'", "1970-01-01T00:00:00.123"),
        ("'2000020210', 'yyyyMMddHH'", "2000-02-02T10:00:00"),
        ("'invalid value', 'yyyy-MM-dd'", "NULL"),
        ("'2017-09-15 10:11:12', 'MM/dd/yyyy'", "2017-09-15T10:11:12"),
        ("'1999-9-10', 'yyyy-MM-dd'", "1999-09-10T00:00:00"),
        ("'09/15/17 01:02 PM', 'MM/dd/yy hh:mm a'", "2017-09-15T13:02:00"),
        ("'12:30 AM', 'hh:mm a'", "1970-01-01T00:30:00"),
        ("'13:30 AM', 'hh:mm a'", "NULL"),
        ("'15 Sep 2017', 'd MMM yyyy'", "2017-09-15T00:00:00"),
        ("'Fri, 15 September 2017', 'EEE, d MMMM yyyy'", "2017-09-15T00:00:00"),
        ("'Mon, 15 September 2017', 'EEE, d MMMM yyyy'", "NULL"),
        ("'2017 258', 'yyyy D'", "2017-09-15T00:00:00"),
        ("'2017-09-15T10:00:00+02:00', 'yyyy-MM-dd''T''HH:mm:ssXXX'", "2017-09-15T10:00:00"),
        ("'2017-09-15 10', 'yyyy-MM-dd'", "NULL"),
        ("'-0044-03-15', 'uuuu-MM-dd'", "-0044-03-15T00:00:00"),
        ("'２０１７', 'yyyy'", "NULL"),
        ("'2017', NULL", "NULL"),
    ] {
        check(&format!("TO_TIMESTAMP({arguments})"), expected);
    }
    // A TIMESTAMP, which has no time zone, does not depend on the zone of the session.
    check_in("Asia/Tokyo", "TO_TIMESTAMP('2017-09-15 00:00:00')", "2017-09-15T00:00:00");
    refused("TO_TIMESTAMP('2017', 'bad')", "the letter 'b' is none of");
    assert_eq!(bed::result_type(TIME, "TO_TIMESTAMP('x')"), "TIMESTAMP(3)");
}

#[test]
fn text_is_read_as_a_day() {
    for (arguments, expected) in [
        ("'2017-09-15 00:00:00'", "2017-09-15"),
        ("'2017-9-5'", "2017-09-05"),
        ("'2017-09'", "2017-09-01"),
        ("'2017'", "2017-01-01"),
        ("'2017-02-29'", "NULL"),
        ("'2016-02-29'", "2016-02-29"),
        ("'invalid value'", "NULL"),
        ("'99999-01-01'", "NULL"),
        ("''", "NULL"),
        ("NULL", "NULL"),
        ("'15.09.2017', 'dd.MM.yyyy'", "2017-09-15"),
        ("'20170915', 'yyyyMMdd'", "2017-09-15"),
        // Lenient patterns accept numbers out of range, and text after the part that they read.
        ("'2017-13-01 x', 'yyyy-MM-dd'", "2018-01-01"),
        ("'15/09/44', 'dd/MM/yy'", "1944-09-15"),
        ("'15/09/43', 'dd/MM/yy'", "2043-09-15"),
        ("'x', 'yyyy-MM-dd'", "NULL"),
    ] {
        check(&format!("TO_DATE({arguments})"), expected);
    }
}

#[test]
fn instants_are_read_from_numbers_and_text() {
    for (arguments, expected) in [
        ("100, 0", "1970-01-01T00:01:40Z"),
        ("-100, 0", "1969-12-31T23:58:20Z"),
        ("1234, 3", "1970-01-01T00:00:01.234Z"),
        ("1234", "1970-01-01T00:00:01.234Z"),
        ("100.123, 0", "1970-01-01T00:01:40.123Z"),
        ("0.01, 3", "1970-01-01T00:00:00Z"),
        ("DECIMAL '100.9', 0", "1970-01-01T00:01:40Z"),
        ("-2147483648, 0", "1901-12-13T20:45:52Z"),
        ("L-9223372036854775808, 0", "NULL"),
        ("L9223372036854775807, 3", "NULL"),
        ("L-62167219200000, 3", "0000-01-01T00:00:00Z"),
        ("L-62167219200001, 3", "NULL"),
        ("L253402300799999, 3", "9999-12-31T23:59:59.999Z"),
        ("L253402300800000, 3", "NULL"),
        ("NaN, 0", "NULL"),
        ("12, 1", "1970-01-01T00:00:01.200Z"),
        ("L1700000000123456, 6", "2023-11-14T22:13:20.123456Z"),
        ("L-1, 9", "1969-12-31T23:59:59.999999999Z"),
        ("L123456, 4", "1970-01-01T00:00:12.345600Z"),
        ("1.9, 5", "1970-01-01T00:00:00.000010Z"),
        ("-1.9, 5", "1969-12-31T23:59:59.999990Z"),
        ("DECIMAL '-19.9', 6", "1969-12-31T23:59:59.999981Z"),
        ("L9223372036854775807, 7", "NULL"),
        ("L253402300799999999, 6", "9999-12-31T23:59:59.999999Z"),
        ("L253402300800000000, 6", "NULL"),
        ("1.0e308, 0", "NULL"),
        ("-1.0e308, 9", "NULL"),
        ("NULL, 0", "NULL"),
        ("1, NULL", "NULL"),
        ("'2023-01-01 10:00:00'", "2023-01-01T10:00:00Z"),
        ("'2023-01-01T10:00:00', 'yyyy-MM-dd''T''HH:mm:ss'", "2023-01-01T10:00:00Z"),
        ("'2023-01-01 10:00:00', 'yyyy-MM-dd HH:mm:ss', 'Asia/Shanghai'", "2023-01-01T02:00:00Z"),
        ("'2023-01-01 10:00:00', 'yyyy-MM-dd HH:mm:ss', NULL", "NULL"),
        ("'x'", "NULL"),
    ] {
        check(&format!("TO_TIMESTAMP_LTZ({arguments})"), expected);
        check_in("Asia/Shanghai", &format!("TO_TIMESTAMP_LTZ({arguments})"), expected);
    }
    assert_eq!(bed::result_type(TIME, "TO_TIMESTAMP_LTZ(1, 2)"), "TIMESTAMP_LTZ(3)");
    assert_eq!(bed::result_type(TIME, "TO_TIMESTAMP_LTZ(1, 6)"), "TIMESTAMP_LTZ(6)");
    refused("TO_TIMESTAMP_LTZ(12, 3, 'UTC')", "3 arguments do not fit");
    refused("TO_TIMESTAMP_LTZ(12, 10)", "a number cannot have 10 digits of a second");
    refused("TO_TIMESTAMP_LTZ(12, -1)", "a number cannot have -1 digits of a second");
    refused("TO_TIMESTAMP_LTZ('x', 0)", "argument 2 is INT");
    refused("TO_TIMESTAMP_LTZ('x', 'yyyy', 'Nowhere')", "there is no zone 'Nowhere'");
}

#[test]
fn unix_times_go_to_text_and_back() {
    check("FROM_UNIXTIME(44)", "1970-01-01 00:00:44");
    check_in("Asia/Tokyo", "FROM_UNIXTIME(44)", "1970-01-01 09:00:44");
    check_in("Asia/Tokyo", "FROM_UNIXTIME(L44, 'yy-MM-dd HH-mm-ss')", "70-01-01 09-00-44");
    check("FROM_UNIXTIME(3, 'yyyy-MM-dd HH:mm:ss.SSS')", "1970-01-01 00:00:03.000");
    check_in("MET", "FROM_UNIXTIME(1111885200)", "2005-03-27 03:00:00");
    check_in("Asia/Kolkata", "FROM_UNIXTIME(0, 'Z X XX XXX z')", "+0530 +05 +0530 +05:30 IST");
    check("FROM_UNIXTIME(NULL)", "NULL");
    check("FROM_UNIXTIME(1, NULL)", "NULL");
    check("FROM_UNIXTIME(-1)", "1969-12-31 23:59:59");
    check_in(
        "Europe/Berlin",
        "UNIX_TIMESTAMP('1970-01-01 08:00:01.001', 'yyyy-MM-dd HH:mm:ss.SSS')",
        "25201",
    );
    check_in(
        "Europe/Berlin",
        "UNIX_TIMESTAMP('1970-01-01 08:00:01.001 +0800', 'yyyy-MM-dd HH:mm:ss.SSS X')",
        "1",
    );
    check_in(
        "Europe/Berlin",
        "UNIX_TIMESTAMP('1970-01-01 08:00:01.001 +0800', 'yyyy-MM-dd HH:mm:ss.SSS')",
        "25201",
    );
    check_in(
        "Europe/Berlin",
        "UNIX_TIMESTAMP('1970-01-01 08:00:01.001', 'yyyy-MM-dd HH:mm:ss.SSS X')",
        "-9223372036854775808",
    );
    check_in("MET", "UNIX_TIMESTAMP('2005-03-27 03:00:00')", "1111885200");
    check_in("MET", "UNIX_TIMESTAMP('2005-03-27 02:00:00')", "1111885200");
    check_in("Asia/Tokyo", "UNIX_TIMESTAMP('2015-07-24 10:00:00')", "1437699600");
    check_in("Asia/Tokyo", "UNIX_TIMESTAMP('2015/07/24 10:00:00.5', 'yyyy/MM/dd HH:mm:ss.S')", "1437699600");
    check("UNIX_TIMESTAMP(NULL)", "NULL");
    check("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00");
    check("CONVERT_TZ('2018-03-14 11:00:00', 'UTC', 'Asia/Shanghai')", "2018-03-14 19:00:00");
    check("CONVERT_TZ('2018-03-14 11:00:00', 'PST', 'GMT-08:00')", "2018-03-14 10:00:00");
    check("CONVERT_TZ('invalid value', 'UTC', 'Asia/Shanghai')", "NULL");
    check("CONVERT_TZ(NULL, 'UTC', 'Asia/Shanghai')", "NULL");
    refused("CONVERT_TZ('x', 'UTC', 'Nowhere')", "there is no zone 'Nowhere'");
}

proptest! {
    /// A time that is written by a pattern is read back by the same pattern.
    #[test]
    fn what_is_formatted_can_be_read(seconds in -62_135_596_800_i64..253_402_300_800, nanos in 0_i64..1_000_000_000) {
        let text = "yyyy-MM-dd HH:mm:ss.SSSSSSSSS";
        let pattern = Pattern::compile(text, Style::Strict, Purpose::Format).expect("a pattern");
        let moment = crate::functions::time::moments::Moment { seconds, nanos };
        let mut shown = String::new();
        pattern.format(moment, Zone::UTC, seconds, &mut shown);
        prop_assert_eq!(pattern.reading(&shown), Some(moment));
        prop_assert_eq!(default_timestamp(&shown), Some(moment));
        let lenient = Pattern::compile("yyyyMMddHHmmss", Style::Lenient, Purpose::Parse).expect("a pattern");
        let mut shown = String::new();
        lenient.format(moment, Zone::UTC, seconds, &mut shown);
        prop_assert_eq!(lenient.instant(&shown, Zone::UTC, 1944), Some(seconds * 1_000));
    }

    /// No pattern and no text makes reading or writing a time panic.
    #[test]
    fn any_text_is_read_without_a_panic(
        pattern in "[yuMdDHKkhmsSaEzZX' :/-]{0,12}",
        text in "[0-9A-Za-z+:. /é-]{0,24}",
        seconds in any::<i64>(),
    ) {
        for style in [Style::Lenient, Style::Strict] {
            for purpose in [Purpose::Format, Purpose::Parse] {
                let Ok(pattern) = Pattern::compile(&pattern, style, purpose) else { continue };
                let _ = (pattern.reading(&text), pattern.instant(&text, Zone::UTC, 1944));
                let moment = crate::functions::time::moments::Moment { seconds, nanos: 1 };
                pattern.format(moment, Zone::UTC, seconds, &mut String::new());
            }
        }
        let _ = default_timestamp(&text);
    }
}
