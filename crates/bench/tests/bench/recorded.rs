//! Tests on recorded trips and traffic, which are not in the repository. They are read from the folder in
//! `THALWEG_DATA`, or from `shared/data` beside the checkout. If they are missing, the tests say so and pass,
//! but on a build server they fail.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::support::Folder;

const MITSIM: &str = "lrb/lrb_mitsim_xway0";
const SLICE: &str = "lrb/lrb_walmartgen_A_dir1_seg68-82";

/// Links the recorded file at `path` into the folder as `name`. Returns false if there is no such file.
pub fn link(folder: &Folder, path: &str, name: &str) -> bool {
    let beside = || PathBuf::from("../../../shared/data");
    let file = std::env::var_os("THALWEG_DATA").map_or_else(beside, PathBuf::from).join(path);
    if let Ok(file) = file.canonicalize() {
        std::os::unix::fs::symlink(file, folder.path(name)).unwrap();
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing", file.display());
    println!("skipped: {} is missing; set THALWEG_DATA to the folder of the data", file.display());
    false
}

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
}

#[test]
fn the_recorded_trips_give_the_reference_s_results() {
    let folder = Folder::new("recorded");
    if !link(&folder, "nyc_taxi/tlc_trip_data_2013_01_part1.csv.gz", "trips.csv.gz") {
        return;
    }
    for options in ["", "--workers 2", "--isolate --workers 2", "--block-records 1", "--watermark-step 30s"] {
        let figures =
            folder.json(&format!("bench nyt --input trips.csv.gz --window 60s --results out {options}"));
        assert_right(&figures);
        // As another program counted, 11,762 of 14,987 trips are kept.
        assert_eq!(
            (&figures["events_in"], &figures["filtered"]),
            (&14_987.into(), &3_225.into()),
            "{figures}"
        );
        let rows = folder.text("out/nyt.csv").unwrap();
        let trips: u64 = rows.lines().map(|row| row.split(',').nth(3).unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!((trips, rows.lines().count()), (11_762, 10_745));
    }
}

#[test]
fn the_recorded_traffic_gives_the_reference_s_short_form() {
    let folder = Folder::new("recorded_lrb");
    if !link(&folder, &format!("{SLICE}_0-2999s.csv.gz"), "cars.csv.gz") {
        return;
    }
    for options in ["", "--workers 2 --isolate", "--block-records 1", "--watermark-step 45s"] {
        let figures = folder.json(&format!("bench lrb --input cars.csv.gz --results out {options}"));
        assert_right(&figures);
        assert_eq!((&figures["events_in"], &figures["late"]), (&353_218.into(), &0.into()), "{figures}");
        // There are 50 minutes of 15 segments, each of which always has cars.
        assert_eq!(folder.text("out/lrb.csv").unwrap().lines().count(), 750);
    }
}

/// Recorded traffic of 50 minutes and 15 segments, with congestion and an accident, gives the rows of the
/// public validator.
#[test]
fn the_recorded_traffic_gives_the_validator_s_answers() {
    let folder = Folder::new("recorded_lrb_full");
    if !link(&folder, &format!("{SLICE}_0-2999s.csv.gz"), "cars.csv.gz") {
        return;
    }
    assert!(link(&folder, &format!("{SLICE}_tolls.csv.gz"), "tolls.csv.gz"));
    for options in ["", "--workers 2 --isolate", "--block-records 7 --watermark-step 45s"] {
        let run = "bench lrb-full --input cars.csv.gz --tolls tolls.csv.gz --results out";
        let figures = folder.json(&format!("{run} {options}"));
        assert_right(&figures);
        assert_eq!(
            (&figures["events_in"], &figures["unanswered"]),
            (&353_218.into(), &0.into()),
            "{figures}"
        );
        assert_eq!(figures["results_out"], 130_377 + 5_205 + 3_643 + 736);
        check_answers(&folder, SLICE, &["type0_toll", "type1_accident", "type3_daily"]);
    }
}

/// The original traffic gives the validator's answers in any order: once sorted, and once as a multithreaded
/// program had received it, up to 6 s out of order.
#[test]
fn the_original_traffic_gives_the_validator_s_answers_in_any_order() {
    let folder = Folder::new("recorded_lrb_original");
    if !link(&folder, &format!("{MITSIM}_0-179s.csv.gz"), "sorted.csv.gz") {
        return;
    }
    assert!(link(&folder, &format!("{MITSIM}_threadlog_order.csv.gz"), "unsorted.csv.gz"));
    for input in [
        "sorted.csv.gz",
        "unsorted.csv.gz --out-of-order 6s",
        "unsorted.csv.gz --out-of-order 6s --workers 2 --isolate",
    ] {
        let figures = folder.json(&format!("bench lrb-full --input {input} --results out"));
        assert_right(&figures);
        let counts =
            ["events_in", "late", "unanswered", "results_out"].map(|name| figures[name].as_u64().unwrap());
        assert_eq!(counts, [7_300, 0, 33, 3_412 + 43], "{figures}");
        check_answers(&folder, &format!("{MITSIM}_0-179s"), &["type0_toll"]);
        for empty in ["type1_accident", "type3_daily"] {
            assert_eq!(folder.text(&format!("out/{empty}.csv")).as_deref(), Some(""));
        }
        let figures = folder.json(&format!("bench lrb --input {input}"));
        assert_right(&figures);
    }
}

/// Checks that the results of these kinds equal the expected rows. A balance may be either of the two allowed
/// values.
#[track_caller]
fn check_answers(folder: &Folder, data: &str, kinds: &[&str]) {
    let expected = |kind: &str| {
        let name = format!("expected_{kind}.csv.gz");
        let _ = std::fs::remove_file(folder.path(&name));
        assert!(link(folder, &format!("{data}_{name}"), &name), "the answers to an input lie beside it");
        let mut text = String::new();
        let packed = std::fs::File::open(folder.path(&name)).unwrap();
        MultiGzDecoder::new(packed).read_to_string(&mut text).unwrap();
        sorted(&text)
    };
    let found = |kind: &str| sorted(&folder.text(&format!("out/{kind}.csv")).unwrap());
    for kind in kinds {
        let (found, expected) = (found(kind), expected(kind));
        let difference = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert_eq!((difference, found.len()), (None, expected.len()), "{kind}: first found row that differs");
    }
    let (found, expected, others) =
        (found("type2_balance"), expected("type2_balance"), expected("type2_balance_alt"));
    assert_eq!(found.len(), expected.len());
    let columns = |row: &str| row.split(',').map(|number| number.parse().unwrap()).collect::<Vec<u64>>();
    let answer = |row: &[u64]| (row[1], row[3], row[4]);
    let allowed: BTreeSet<_> = expected.iter().chain(&others).map(|row| answer(&columns(row))).collect();
    for row in found {
        let found = columns(&row);
        assert!(found[0] == 2 && found[1] == found[2] && allowed.contains(&answer(&found)), "{row}");
    }
}

fn sorted(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    rows.sort();
    rows
}
