//! Tests that engine and reference accept the same lines of traffic as rows, and read the same from
//! them.

use super::*;

const REPORT: &str = "0,1020,673,41,0,2,1,74,394255,-1,-1,-1,-1,-1,-1";
const BALANCE: &str = "2,1020,673,-1,-1,-1,-1,-1,-1,7,-1,-1,-1,-1,-1";
const DAILY: &str = "3,1020,673,-1,0,-1,-1,-1,-1,7,-1,-1,-1,-1,69";
const TRAVEL_TIME: &str = "4,1020,673,-1,-1,-1,-1,-1,-1,7,0,0,0,0,-1";

/// Returns the row that engine and reference both read from a line, or `None` if both refuse the
/// line.
#[track_caller]
fn row(line: &str) -> Option<LrbColumns> {
    let fields: Vec<&str> = line.split(',').collect();
    let record = csv::record_of(|index| fields.get(index).copied()).ok();
    let ours = record.map(|record| csv::columns_of(&record));
    let plain = columns_of_line(Some(line.to_owned()));
    assert_eq!(ours, plain, "{line}");
    plain
}

fn with(line: &str, column: usize, text: &str) -> String {
    let mut fields: Vec<&str> = line.split(',').collect();
    fields[column] = text;
    fields.join(",")
}

#[test]
fn lines_of_all_types_are_rows() {
    assert_eq!(row(REPORT), Some([0, 1020, 673, 41, 0, 2, 1, 74, 394_255, -1, -1, -1, -1, -1, -1]));
    assert_eq!(row(BALANCE), Some([2, 1020, 673, -1, -1, -1, -1, -1, -1, 7, -1, -1, -1, -1, -1]));
    assert_eq!(row(DAILY), Some([3, 1020, 673, -1, 0, -1, -1, -1, -1, 7, -1, -1, -1, -1, 69]));
    assert_eq!(row(TRAVEL_TIME), Some([4, 1020, 673, -1, -1, -1, -1, -1, -1, 7, -1, -1, -1, -1, -1]));
    assert_eq!(columns_of_line(None), None, "a line that breaks a rule of the dialect");
}

/// Engine and reference read the same from every column of every type of row, with every kind of
/// text.
#[test]
fn both_agree_on_every_column() {
    let texts = [
        "",
        " ",
        " 1",
        "1 ",
        "0",
        "00",
        "+0",
        "-0",
        "1",
        "01",
        "+1",
        "-1",
        "2",
        "3",
        "4",
        "5",
        "74",
        "99",
        "100",
        "255",
        "256",
        "65535",
        "65536",
        "394255",
        "527999",
        "528000",
        "2147483647",
        "2147483648",
        "4294967296",
        "1.0",
        "1e3",
        "x",
        "+",
        "-",
        "\u{661}",
    ];
    let (mut good, mut bad) = (0, 0);
    for line in [REPORT, BALANCE, DAILY, TRAVEL_TIME] {
        for column in 0..15 {
            for text in texts {
                *if row(&with(line, column, text)).is_some() { &mut good } else { &mut bad } += 1;
            }
        }
    }
    assert!(good > 400 && bad > 400, "{good} good, {bad} bad");
}

#[test]
fn lines_of_another_length_are_no_rows() {
    for line in [REPORT, BALANCE, DAILY, TRAVEL_TIME] {
        assert_eq!((row(&format!("{line},")), row(line.rsplit_once(',').unwrap().0)), (None, None));
    }
    assert_eq!((row(""), row("0"), row(",,,,,,,,,,,,,,")), (None, None, None));
}

#[test]
fn a_segment_that_is_not_that_of_the_position_is_no_row() {
    assert!(row(&with(REPORT, 8, "395999")).is_some());
    assert_eq!(row(&with(REPORT, 7, "75")), None);
    assert_eq!(row(&with(REPORT, 8, "396000")), None);
}
