//! Recorded and generated traffic with the answers of Linear Road's public validator: the reference must give
//! every row of them. One input is a slice of the original traffic simulation (MITSIM), the other 50 minutes of
//! 15 segments with congestion and an accident.

mod recorded;

use recorded::recorded;
use thalweg_workloads::lrb::csv;
use thalweg_workloads::reference::lrb_full::{
    LrbBalance, LrbColumns, LrbDaily, LrbFullAnswer, LrbNotice, LrbToll, lrb_full,
};

const MITSIM: &str = "lrb/lrb_mitsim_xway0_0-179s";
const SLICE: &str = "lrb/lrb_walmartgen_A_dir1_seg68-82";

/// Parses the rows of a file whose fields are integers.
fn rows<const COLUMNS: usize>(text: &str) -> Vec<[i32; COLUMNS]> {
    let row = |line: &str| {
        let numbers: Vec<i32> = line.split(',').map(|number| number.parse().expect("an integer")).collect();
        numbers.try_into().expect("as many columns as there should be")
    };
    text.lines().map(row).collect()
}

fn expected<const COLUMNS: usize>(input: &str, name: &str) -> Option<Vec<[i32; COLUMNS]>> {
    Some(rows(&recorded(&format!("{input}_expected_{name}.csv.gz"))?))
}

fn toll(row: &LrbToll) -> [i32; 5] {
    [0, row.vehicle, row.time_s, row.lav as i32, row.toll as i32]
}

fn notice(row: &LrbNotice) -> [i32; 6] {
    [1, row.time_s, row.xway, row.accident_segment, row.direction, row.vehicle]
}

fn balance(row: &LrbBalance) -> [i32; 5] {
    [2, row.time_s, row.time_s, row.query, row.balance as i32]
}

/// Returns the other balance that the rules allow as an answer, written as the validator writes it.
fn alternative(row: &LrbBalance) -> [i32; 5] {
    let balance = row.before_last_charge.expect("the reference knows both") as i32;
    [5, row.time_s, if balance > 0 { row.time_s - 30 } else { 0 }, row.query, balance]
}

fn daily(row: &LrbDaily) -> [i32; 4] {
    [3, row.time_s, row.query, row.toll as i32]
}

/// Checks that the rows found are the expected ones, each the same number of times, in any order.
fn check<R, const COLUMNS: usize>(
    found: &[R],
    columns: impl Fn(&R) -> [i32; COLUMNS],
    mut expected: Vec<[i32; COLUMNS]>,
) {
    let mut found: Vec<[i32; COLUMNS]> = found.iter().map(columns).collect();
    found.sort_unstable();
    expected.sort_unstable();
    let difference = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert_eq!(difference, None, "the first found row that differs, and the expected one");
    assert_eq!(found.len(), expected.len());
}

#[test]
fn the_slice_has_the_answers_of_the_validator() {
    let Some(input) = recorded(&format!("{SLICE}_0-2999s.csv.gz")) else { return };
    let Some(tolls) = recorded(&format!("{SLICE}_tolls.csv.gz")) else { return };
    let answer = lrb_full(rows::<15>(&input), &rows(&tolls));
    check(&answer.tolls, toll, expected(SLICE, "type0_toll").unwrap());
    check(&answer.notices, notice, expected(SLICE, "type1_accident").unwrap());
    check(&answer.balances, balance, expected(SLICE, "type2_balance").unwrap());
    check(&answer.balances, alternative, expected(SLICE, "type2_balance_alt").unwrap());
    check(&answer.dailies, daily, expected(SLICE, "type3_daily").unwrap());

    // These numbers are given in the description of the file, or are counts which show that nothing was lost.
    assert_eq!((answer.tolls.len(), answer.notices.len()), (130_377, 5_205));
    assert_eq!(answer.tolls.iter().filter(|row| row.toll > 0).count(), 1_417);
    assert_eq!(answer.tolls.iter().map(|row| row.toll).max(), Some(85_698));
    assert_eq!((answer.balances.len(), answer.dailies.len(), answer.unanswered), (3_643, 736, 0));
    assert_eq!((answer.read, answer.reports, answer.ignored), (353_218, 348_826, 13));
    assert_eq!(answer.accidents, 1);
}

/// The original traffic has the answers of the validator in any order: once sorted, and once in the order in
/// which a multi-threaded program had read it.
#[test]
fn the_original_traffic_has_the_answers_of_the_validator_in_any_order() {
    let Some(sorted) = recorded(&format!("{MITSIM}.csv.gz")) else { return };
    let Some(unsorted) = recorded("lrb/lrb_mitsim_xway0_threadlog_order.csv.gz") else { return };
    let unsorted: Vec<LrbColumns> = rows(&unsorted);
    assert!(!unsorted.is_sorted_by_key(|row| row[1]));
    for input in [rows(&sorted), unsorted] {
        let LrbFullAnswer { tolls, notices, balances, dailies, unanswered, accidents, .. } =
            lrb_full(input, &[]);
        check(&tolls, toll, expected(MITSIM, "type0_toll").unwrap());
        check(&balances, balance, expected(MITSIM, "type2_balance").unwrap());
        check(&balances, alternative, expected(MITSIM, "type2_balance_alt").unwrap());
        // The accident happens in the last minute, so no notice follows.
        assert_eq!((notices.len(), dailies.len(), accidents), (0, 0, 1));
        assert_eq!((tolls.len(), balances.len(), unanswered), (3_412, 43, 33));
    }
}

/// No field that the queries read is lost when recorded rows are converted to records of this package.
#[test]
fn our_records_hold_what_recorded_rows_say() {
    for name in [
        "lrb_mitsim_xway0_0-179s.csv.gz",
        "lrb_walmartgen_A_full_0-599s.csv.gz",
        "lrb_walmartgen_A_dir1_seg68-82_0-2999s.csv.gz",
    ] {
        let Some(text) = recorded(&format!("lrb/{name}")) else { return };
        for (line, row) in text.lines().zip(rows::<15>(&text)) {
            let fields: Vec<&str> = line.split(',').collect();
            let record = csv::record_of(|index| fields.get(index).copied());
            let record = record.unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
            let columns = if row[0] == 0 { 0..9 } else { 0..3 };
            let found = csv::columns_of(&record);
            assert_eq!(found[columns.clone()], row[columns], "{line}");
            assert_eq!(found[9], if row[0] == 0 { -1 } else { row[9] }, "{line}");
            assert_eq!((found[14], row[0] != 3 || found[4] == row[4]), (row[14], true), "{line}");
        }
    }
    let Some(tolls) = recorded(&format!("{SLICE}_tolls.csv.gz")) else { return };
    for (line, row) in tolls.lines().zip(rows::<4>(&tolls)) {
        let fields: Vec<&str> = line.split(',').collect();
        let toll = csv::historical_toll_of(|index| fields.get(index).copied()).unwrap();
        let found = [toll.vehicle as i32, i32::from(toll.day), i32::from(toll.xway), toll.toll as i32];
        assert_eq!(found, row);
    }
}
