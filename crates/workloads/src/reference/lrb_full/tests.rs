//! Tests of the full rules of Linear Road, case by case, above all the cases that do not occur in the
//! recorded inputs.

use super::*;

/// Parses an input row from a word: `vehicle@time/lane:segment` is a report, with `+feet` after the segment
/// and `=speed` at the end if they are not 0 and 30; `w` before the segment means west. `?query:vehicle@time`
/// asks for a balance.
fn row(word: &str) -> LrbColumns {
    let mut row = [-1; 15];
    if let Some(request) = word.strip_prefix('?') {
        let numbers: Vec<i32> = request.split([':', '@']).map(|number| number.parse().unwrap()).collect();
        [row[0], row[9], row[2], row[1]] = [2, numbers[0], numbers[1], numbers[2]];
        return row;
    }
    let (word, speed) = word.split_once('=').unwrap_or((word, "30"));
    let (word, feet) = word.split_once('+').unwrap_or((word, "0"));
    let is_west = word.contains('w');
    let plain = word.replace('w', "");
    let numbers: Vec<i32> = plain.split(['@', '/', ':']).map(|number| number.parse().unwrap()).collect();
    let (speed, feet) = (speed.parse().unwrap(), feet.parse::<i32>().unwrap());
    let (vehicle, time_s, lane, segment) = (numbers[0], numbers[1], numbers[2], numbers[3]);
    let position = segment * 5_280 + feet;
    row[..9].copy_from_slice(&[0, time_s, vehicle, speed, 0, lane, i32::from(is_west), segment, position]);
    row
}

fn rows(text: &str) -> Vec<LrbColumns> {
    text.split_whitespace().map(row).collect()
}

/// Returns one report for each of `cars` cars, numbered from 1,000 on, from this segment in this minute at
/// this speed.
fn crowd(cars: i32, segment: i32, minute: i32, speed: i32) -> Vec<LrbColumns> {
    let report = |n| row(&format!("{}@{}/1:{segment}+{n}={speed}", 1_000 + n, minute * 60));
    (0..cars).map(report).collect()
}

/// Returns as text the results of cars below number 1,000: `vehicle@time=lav/toll`, `vehicle@time!accident`,
/// `?query=balance`, and a following `/balance` if the one before the last charge differs.
fn answers(rows: Vec<LrbColumns>) -> String {
    let answer = lrb_full(rows, &[]);
    let mut told = Vec::new();
    for toll in answer.tolls.iter().filter(|toll| toll.vehicle < 1_000) {
        let notice = answer.notices.iter().find(|notice| notice.key() == toll.key());
        let accident = notice.map_or(String::new(), |notice| format!("!{}", notice.accident_segment));
        told.push(format!("{}@{}={}/{}{accident}", toll.vehicle, toll.time_s, toll.lav, toll.toll));
    }
    for LrbBalance { query, balance, before_last_charge, .. } in answer.balances {
        let before = before_last_charge.filter(|&before| before != balance);
        told.push(format!("?{query}={balance}{}", before.map_or(String::new(), |b| format!("/{b}"))));
    }
    told.join(" ")
}

fn check(text: &str, expected: &str) {
    assert_eq!(answers(rows(text)), expected, "{text}");
}

fn check_in(crowds: &[Vec<LrbColumns>], text: &str, expected: &str) {
    assert_eq!(answers([crowds.concat(), rows(text)].concat()), expected, "{text}");
}

#[test]
fn a_row_for_every_segment_entered() {
    check("", "");
    check("1@0/0:10 1@30/1:10 1@60/1:11 1@90/1:10", "1@0=0/0 1@60=0/0 1@90=30/0");
    check("1@0/0:10 1@30/1:w10", "1@0=0/0 1@30=0/0");
    check("1@30/1:10 1@0/1:10", "1@0=0/0");
}

#[test]
fn lav_is_one_mean_of_the_reports_of_five_minutes() {
    // The mean speeds are 10.5, then 37, then 90, and then there is no report.
    let reports = "9@0/1:10=10 9@30/1:10=11 8@60/1:10=90";
    check(&format!("{reports} 1@59/1:10"), "9@0=0/0 1@59=0/0 8@60=17/0");
    check(reports, "9@0=0/0 8@60=11/0");
    check(&format!("{reports} 1@120/1:10"), "9@0=0/0 8@60=11/0 1@120=37/0");
    check(&format!("{reports} 1@300/1:10"), "9@0=0/0 8@60=11/0 1@300=37/0");
    check(&format!("{reports} 1@360/1:10"), "9@0=0/0 8@60=11/0 1@360=90/0");
    check(&format!("{reports} 1@420/1:10"), "9@0=0/0 8@60=11/0 1@420=0/0");
    // A report from the exit lane counts for the average speed, but a first report from there is noise and
    // does not.
    check("9@0/1:9=30 9@30/4:10=50 8@30/4:10=70 1@60/1:10", "9@0=0/0 1@60=50/0");
}

#[test]
fn tolls_need_more_than_fifty_cars_slower_than_forty() {
    check_in(&[crowd(50, 10, 0, 20)], "1@60/1:10", "1@60=20/0");
    check_in(&[crowd(51, 10, 0, 20)], "1@60/1:10", "1@60=20/2");
    check_in(&[crowd(61, 10, 0, 39)], "1@60/1:10", "1@60=39/242");
    check_in(&[crowd(61, 10, 0, 40)], "1@60/1:10", "1@60=40/0");
    // There are 51 reports but only 50 cars, and then 61 cars but not in the minute before, so no toll is
    // due.
    check_in(&[crowd(50, 10, 0, 20)], "1000@30/1:10=20 1@60/1:10", "1@60=20/0");
    check_in(&[crowd(61, 10, 0, 20)], "1@120/1:10", "1@120=20/0");
    // An average speed of 39.5 rounds to 40, at which no toll is due; 39.49 rounds to 39.
    let (slow, fast) = (crowd(51, 10, 0, 39), crowd(51, 10, 1, 40));
    check_in(&[slow.clone(), fast.clone()], "1@120/1:10", "1@120=40/0");
    check_in(&[slow, fast], "9@60/1:10=39 1@120/1:10", "9@60=39/2 1@120=39/8");
}

#[test]
fn a_toll_is_charged_on_entering_the_next_segment() {
    let dear = &[crowd(61, 10, 0, 20)];
    check_in(dear, "1@60/1:10 ?1:1@60 1@90/1:10 ?2:1@90", "1@60=20/242 ?1=0 ?2=0");
    check_in(dear, "1@60/1:10 1@90/1:11 ?1:1@90", "1@60=20/242 1@90=0/0 ?1=242/0");
    check_in(dear, "1@60/1:10 1@90/4:11 ?1:1@90", "1@60=20/242 ?1=242/0");
    check_in(dear, "1@60/1:10 1@90/4:10 ?1:1@90", "1@60=20/242 ?1=0");
    // A charge of zero adds no alternative balance, neither before nor after it.
    check_in(dear, "1@60/1:10 1@90/1:11 1@150/1:12 ?1:1@150", "1@60=20/242 1@90=0/0 1@150=0/0 ?1=242/0");
    // A request that comes before the reports of its second is answered after them.
    check_in(dear, "1@60/1:10 ?1:1@90 1@90/1:11", "1@60=20/242 1@90=0/0 ?1=242/0");
    let dearer = &[crowd(61, 10, 0, 20), crowd(62, 11, 0, 20)];
    check_in(
        dearer,
        "1@60/1:10 1@90/1:11 1@120/1:12 ?1:1@120",
        "1@60=20/242 1@90=20/288 1@120=0/0 ?1=530/242",
    );
    check("?1:7@5", "?1=0");
}

#[test]
fn a_journey_ends_in_lane_4_or_is_begun_anew_in_lane_0() {
    let dear = &[crowd(61, 10, 0, 20)];
    // The car is in segment 10 again after it left the road: the toll announced before is forgotten, the
    // charged toll is not.
    let back = "1@60/1:10 1@90/4:10 1@119/0:10 1@149/0:11 ?1:1@149";
    check_in(dear, back, "1@60=20/242 1@119=20/242 1@149=0/0 ?1=242/0");
    // Reports of a car that is off the road are ignored until one comes from lane 0.
    check_in(dear, "1@60/1:10 1@90/4:11 1@95/2:12 1@99/4:12 1@100/0:12", "1@60=20/242 1@100=0/0");
    // A car that comes by lane 0 more than 60 s after its last report begins a new journey.
    check("1@0/1:10 1@60/0:10", "1@0=0/0");
    check("1@0/1:10 1@61/0:10", "1@0=0/0 1@61=30/0");
    check("1@0/1:10 1@61/1:10", "1@0=0/0");
    check_in(dear, "1@60/1:10 1@121/0:11 1@151/0:12 ?1:1@151", "1@60=20/242 1@121=0/0 1@151=0/0 ?1=0");
    // A first report from lane 4 is noise and is ignored.
    check("1@0/4:10 1@30/4:10 1@60/1:10 1@90/1:11", "1@60=0/0 1@90=0/0");
}

/// Returns the text of four reports of a car from one place, one every 30 s from `time_s` on.
fn stop(vehicle: i32, time_s: i32, segment: &str) -> String {
    (0..4).map(|n| format!("{vehicle}@{}/2:{segment}=0 ", time_s + n * 30)).collect()
}

/// Checks the results of cars below number 100 for the reports `text`, while the cars 101 and 102 are stopped
/// in this segment. They are stopped from second 91 on, which is in minute 1.
fn check_beside_accident(segment: &str, text: &str, expected: &str) {
    let told = answers(rows(&format!("{} {} {text}", stop(101, 0, segment), stop(102, 1, segment))));
    let notice = |word: &str| {
        let (report, told) = word.split_once('=')?;
        let accident = told.split_once('!').map_or(String::new(), |(_, accident)| format!("!{accident}"));
        Some(format!("{report}{accident}")).filter(|_| report.find('@') == Some(1))
    };
    let found: Vec<String> = told.split(' ').filter_map(notice).collect();
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn an_accident_is_known_from_the_minute_after_it_began() {
    check_beside_accident("50", "2@119/1:50", "2@119");
    check_beside_accident("50", "2@120/1:50", "2@120!50");
    check_beside_accident("50", "2@120/1:46", "2@120!50");
    check_beside_accident("50", "2@120/1:45 3@120/1:51 4@120/1:w50", "2@120 3@120 4@120");
    check_beside_accident("w50", "2@120/1:w54", "2@120!50");
    check_beside_accident("w50", "2@120/1:w55 3@120/1:w49 4@120/1:50", "2@120 3@120 4@120");
    check_beside_accident("50", "2@120/1:49 2@121/4:50", "2@120!50");
    // If there are two accidents ahead, the notice names the nearer one.
    let nearer = format!("{} {}", stop(103, 0, "48"), stop(104, 0, "48"));
    check_beside_accident("50", &format!("{nearer} 2@180/1:47"), "2@180!48");
}

#[test]
fn a_segment_near_an_accident_is_free() {
    let accident = rows(&format!("{} {}", stop(101, 0, "50"), stop(102, 1, "50")));
    let jammed = crowd(61, 46, 1, 20);
    check_in(std::slice::from_ref(&jammed), "1@120/1:46", "1@120=20/242");
    let told = answers([accident, jammed, rows("1@120/1:46")].concat());
    assert!(told.ends_with(" 1@120=20/0!50"), "{told}");
}

#[test]
fn an_accident_ends_with_the_minute_in_which_one_of_its_cars_moves() {
    let passing = "2@200/1:50 3@239/1:50 4@240/1:50";
    let until_minute_3 = "2@200!50 3@239!50 4@240";
    for moves in ["101@210/2:50+1", "102@210/1:50", "101@210/4:50", "101@211/0:50", "102@210/2:51"] {
        check_beside_accident("50", &format!("{passing} {moves}"), until_minute_3);
    }
    // A third car at the place changes nothing about the accident, neither when it stops nor when it leaves.
    let third = stop(103, 60, "50");
    check_beside_accident(
        "50",
        &format!("{third} {passing} 103@210/2:51"),
        &until_minute_3.replace("240", "240!50"),
    );
    check_beside_accident("50", &format!("{third} {passing} 101@210/2:51"), until_minute_3);
    // An accident that begins and ends in one minute counts as if it did not exist.
    check_beside_accident("50", "101@119/2:51 2@120/1:50", "2@120");
}

#[test]
fn the_next_accident_at_the_place_is_another() {
    // Car 103 stops beside 101 and 102. Car 101 leaves in minute 3. Car 104 stops in minute 5, when 102 has
    // stood there longest.
    let cars = format!("{} 101@210/2:51 {}", stop(103, 60, "50"), stop(104, 211, "50"));
    let passing = "2@240/1:50 3@300/1:50 4@360/1:50 5@420/1:50";
    check_beside_accident("50", &format!("{cars} {passing}"), "2@240 3@300 4@360!50 5@420!50");
    check_beside_accident("50", &format!("{cars} 103@360/2:51 4@420/1:50"), "4@420!50");
    check_beside_accident("50", &format!("{cars} 102@360/2:51 4@420/1:50"), "4@420");
    check_beside_accident("50", &format!("{cars} 104@360/2:51 4@420/1:50"), "4@420");
}

#[test]
fn three_reports_or_reports_with_another_between_are_no_stop() {
    let stopped = stop(1, 0, "50");
    check(&format!("{stopped} 2@0/2:50 2@30/2:50 2@60/2:50 3@120/0:50"), "1@0=0/0 2@0=0/0 3@120=13/0");
    let interrupted = "2@0/2:50 2@30/2:50 2@31/2:50+1 2@60/2:50 2@90/2:50 2@119/2:50";
    assert_eq!(lrb_full(rows(&format!("{stopped} {interrupted}")), &[]).accidents, 0);
    assert_eq!(lrb_full(rows(&format!("{stopped} {interrupted} 2@130/2:50")), &[]).accidents, 1);
}

#[test]
fn daily_expenditures_are_looked_up() {
    let ask = |vehicle: i32, xway: i32, day: i32| {
        let mut row = [-1; 15];
        [row[0], row[1], row[2], row[4], row[9], row[14]] = [3, 5, vehicle, xway, 7, day];
        row
    };
    let travel_time = [4; 15];
    let asked = [ask(1, 0, 10), ask(1, 0, 11), ask(1, 1, 10), ask(1, 0, 10), travel_time];
    let answer = lrb_full(asked, &[[1, 10, 0, 55], [2, 11, 0, 66]]);
    assert_eq!(answer.dailies, [LrbDaily { time_s: 5, query: 7, toll: 55 }; 2]);
    assert_eq!((answer.read, answer.unanswered), (5, 3));
}

#[test]
fn either_allowed_balance_agrees() {
    let expected = LrbBalance { time_s: 1, query: 2, balance: 30, before_last_charge: Some(10) };
    let found = |balance| LrbBalance { balance, before_last_charge: None, ..expected };
    assert!(expected.agrees(&found(30)) && expected.agrees(&found(10)));
    assert!(!expected.agrees(&found(0)) && !expected.agrees(&LrbBalance { query: 3, ..found(30) }));
}
