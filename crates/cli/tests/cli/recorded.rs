//! The recorded trips of January 2013, which are not in the repository: `THALWEG_DATA`, or `shared/data` beside the
//! checkout. Without them the test says so and passes, but not on a build server.

use std::path::{Path, PathBuf};

use crate::support::Folder;

#[test]
fn the_recorded_trips_give_the_reference_s_results() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("THALWEG_DATA").map_or_else(beside, PathBuf::from);
    let file = data.join("nyc_taxi/tlc_trip_data_2013_01_part1.csv.gz");
    if !file.exists() {
        assert!(std::env::var_os("CI").is_none(), "{} is missing", file.display());
        println!("skipped: {} is missing; set THALWEG_DATA to the folder of the data", file.display());
        return;
    }
    let folder = Folder::new("recorded");
    std::os::unix::fs::symlink(file.canonicalize().unwrap(), folder.path("trips.csv.gz")).unwrap();
    for options in ["", "--workers 2", "--isolate --workers 2", "--block-records 1", "--watermark-step 30s"] {
        let figures =
            folder.json(&format!("bench nyt --input trips.csv.gz --window 60s --results out {options}"));
        assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
        // Counted once with another program: 11,762 of 14,987 trips are kept.
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
