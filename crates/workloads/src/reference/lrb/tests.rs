//! The reference of Linear Road's short form compared with cases worked out by hand.

use super::*;
use crate::reference::compare;

/// Parses a report of the form `vehicle@seconds/lane:segment=speed`. The position is the first foot of the
/// segment, or `+feet` behind it. `w` before the segment means west, and `?` before the word makes it a
/// request.
fn input(word: &str) -> LrbInput {
    let (kind, word) = word.strip_prefix('?').map_or((0, word), |word| (2, word));
    let (word, speed) = word.split_once('=').unwrap_or((word, "0"));
    let (word, feet) = word.split_once('+').unwrap_or((word, "0"));
    let direction = u8::from(word.contains('w'));
    let plain = word.replace('w', "");
    let numbers: Vec<i64> = plain.split(['@', '/', ':']).map(|number| number.parse().unwrap()).collect();
    LrbInput {
        event_time_us: numbers[1] * 1_000_000,
        kind,
        vehicle: numbers[0] as u32,
        speed: speed.parse().unwrap(),
        xway: 0,
        lane: numbers[2] as u8,
        direction,
        segment: numbers[3] as u8,
        position: numbers[3] as u32 * 5_280 + feet.parse::<u32>().unwrap(),
    }
}

/// Returns result rows as text, `window/segment=cars*speed/toll`, with `!accidents` behind if there are any.
fn shown(input: impl Iterator<Item = LrbInput>) -> String {
    let row = |row: &LrbRow| {
        let west = if row.direction == 1 { "w" } else { "" };
        let accidents = if row.accidents > 0 { format!("!{}", row.accidents) } else { String::new() };
        let LrbRow { window_start_s, segment, cars, average_speed, toll, .. } = row;
        format!("{window_start_s}/{west}{segment}={cars}*{average_speed}/{toll}{accidents}")
    };
    lrb_rows(input).rows.iter().map(row).collect::<Vec<String>>().join(" ")
}

fn check(text: &str, expected: &str) {
    assert_eq!(shown(text.split_whitespace().map(input)), expected, "{text}");
}

#[test]
fn reports_are_counted_per_segment_and_minute() {
    check("", "");
    check("?1@0/1:7", "");
    check("1@0/1:7=30 1@30/4:7=31 2@59/0:7=20 1@60/1:7=5", "0/7=3*27/0 60/7=1*5/0");
    check("1@60/1:7=5 1@-1/1:7=30 1@61/1:w7=1", "-60/7=1*30/0 60/7=1*5/0 60/w7=1*1/0");
    check("1@0/1:8 1@1/1:7=1", "0/7=1*1/0 0/8=1*0/0");
}

#[test]
fn tolls_need_more_than_fifty_reports_slower_than_forty() {
    let reports = |count: u32, speed: u8| {
        (0..count).map(move |vehicle| LrbInput { vehicle, speed, ..input("1@0/1:7") })
    };
    assert_eq!(shown(reports(50, 39)), "0/7=50*39/0");
    assert_eq!(shown(reports(51, 39)), "0/7=51*39/2");
    assert_eq!(shown(reports(51, 40)), "0/7=51*40/0");
    assert_eq!(shown(reports(60, 1)), "0/7=60*1/200");
    // All reports may be of one car, because reports are counted and not cars.
    assert_eq!(shown((0..51).map(|_| input("1@0/1:7=39"))), "0/7=51*39/2");
}

/// Returns the text of four reports of a standing car, one every 30 s from `time_s` on.
fn stop(vehicle: u32, time_s: i64, place: &str) -> String {
    (0..4).map(|n| format!(" {vehicle}@{}/{place}", time_s + n * 30)).collect()
}

#[test]
fn two_cars_with_four_reports_at_a_place_are_an_accident() {
    let accidents = |text: &str| {
        let rows = lrb_rows(text.split_whitespace().map(input)).rows;
        let found = rows.iter().filter(|row| row.accidents > 0);
        let word = |row: &LrbRow| format!("{}/{}!{}", row.window_start_s, row.segment, row.accidents);
        found.map(word).collect::<Vec<String>>().join(" ")
    };
    // The only window that contains all of these reports is [120, 240), which ends in the minute from 180 s
    // on.
    let two = format!("{}{}", stop(1, 120, "2:7"), stop(2, 149, "2:7"));
    assert_eq!(accidents(&two), "180/7!1");
    // Now the window [150, 270) has the accident, too. It ends in the minute from 240 s on.
    let longer = format!("{two} 1@240/2:7 2@269/2:7");
    assert_eq!(accidents(&longer), "180/7!1 240/7!1");
    // Now the windows [120, 240), [150, 270) and [180, 300) have the accident.
    assert_eq!(accidents(&format!("{longer} 1@270/2:7 2@299/2:7")), "180/7!1 240/7!2");
    for none in [
        stop(1, 120, "2:7"),
        format!("{}{}", stop(1, 120, "2:7"), stop(2, 151, "2:7")),
        format!("{}{}", stop(1, 120, "2:7"), stop(2, 120, "2:7+1")),
        format!("{}{}", stop(1, 120, "2:7"), stop(2, 120, "1:7")),
        format!("{}{}", stop(1, 120, "2:7"), stop(2, 120, "2:w7")),
        format!("{}{}", stop(1, 120, "4:7"), stop(2, 120, "4:7")),
        two.replacen("/2:7", "/2:7=1", 1),
    ] {
        assert_eq!(accidents(&none), "", "{none}");
    }
    // There are accidents at two places, with three cars at one of them.
    let three = format!("{two}{}{}{}", stop(3, 120, "2:7"), stop(4, 120, "1:7"), stop(5, 120, "1:7"));
    assert_eq!(accidents(&three), "180/7!2");
    // Eight reports may lie within one window and be much closer than 30 s.
    let crowded: String = (0..4).map(|n| format!("1@{n}/2:7 2@{n}/2:7 ")).collect();
    assert_eq!(accidents(&crowded), "0/7!2 60/7!2");
}

#[test]
fn an_accident_makes_a_segment_free_and_may_stand_alone() {
    let accident = format!("{}{}", stop(1, 0, "2:7"), stop(2, 0, "2:7"));
    let crowd: String = (0..60).map(|n| format!(" {}@90/1:7=20", 100 + n)).collect();
    check(&format!("{accident}{crowd}"), "0/7=4*0/0 60/7=64*18.75/0!1");
    let late = accident.replace("@30", "@1").replace("@60", "@2").replace("@90", "@3");
    check(&late, "0/7=8*0/0!2 60/7=0*0/0!2");
}

#[test]
fn rows_agree_to_the_bit_but_for_doubles() {
    let row = LrbRow {
        window_start_s: 0,
        xway: 0,
        direction: 0,
        segment: 7,
        cars: 60,
        average_speed: 30.0,
        toll: 200,
        accidents: 0,
    };
    assert_eq!(compare(&[row], &[LrbRow { average_speed: 30.000_000_01, ..row }]), Ok(()));
    assert!(compare(&[row], &[LrbRow { average_speed: 30.000_001, ..row }]).is_err());
    assert!(compare(&[row], &[LrbRow { toll: 202, ..row }]).is_err());
    assert!(compare(&[row], &[LrbRow { accidents: 1, ..row }]).is_err());
}

/// In other windows: tolls are counted over 6 s and go to the last of their three windows of 2 s. Accidents are sought
/// over 5 s every 3 s, and each counts in the last window that has its window's last instant.
#[test]
fn other_windows_have_other_rows() {
    let sizes = LrbSizes {
        accidents_us: 5_000_000,
        accidents_slide_us: 3_000_000,
        tolls_us: 6_000_000,
        last_us: 2_000_000,
    };
    let rows = |text: &str| {
        let rows = lrb_rows_in(sizes, text.split_whitespace().map(input)).rows;
        let word = |row: &LrbRow| {
            let LrbRow { window_start_s, segment, cars, accidents, .. } = row;
            format!("{window_start_s}/{segment}={cars}!{accidents}")
        };
        rows.iter().map(word).collect::<Vec<String>>().join(" ")
    };
    assert_eq!(rows("1@0/1:7=30 1@5/1:7=30 1@6/1:7=30"), "4/7=2!0 10/7=1!0");
    assert_eq!(rows("1@-1/1:7=30"), "-2/7=1!0");
    // Two cars stand from 3 to 4 s: the windows [0, 5) and [3, 8) have the accident, and their last instants lie in
    // [4, 6) and [6, 8).
    let stopped: String =
        [1, 2].map(|car| format!("{car}@3/2:7 {car}@3/2:7 {car}@4/2:7 {car}@4/2:7 ")).concat();
    assert_eq!(rows(&stopped), "4/7=8!1 6/7=0!1");
    // Windows of 4 s take tolls over 6 s: their last instants, 5, 11 and 17 s, lie in the windows from 4, 8 and
    // 16 s on.
    let uneven = LrbSizes { last_us: 4_000_000, ..sizes };
    let reports = "1@0/1:7=30 1@6/1:7=30 1@12/1:7=30";
    let found = lrb_rows_in(uneven, reports.split_whitespace().map(input)).rows;
    assert_eq!(found.iter().map(|row| row.window_start_s).collect::<Vec<_>>(), [4, 8, 16]);
}
