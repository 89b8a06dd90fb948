//! Lines that cannot be parsed: what each `--on-bad` mode does with them, and that engine and reference agree
//! on which lines they are.

use crate::figures::{HEADER, trip};
use crate::support::Folder;

const LINE_BYTES_MAX: usize = 1 << 20;

/// Writes a file of trips that has a bad line of each kind, and a good line between every two of them.
fn write_trips(folder: &Folder) {
    let good = trip("00:01:00");
    let bad: [Vec<u8>; 6] = [
        good.replacen("A,", "\"A,", 1).into(),
        b"A,B,VTS".to_vec(),
        format!("{good},more").into(),
        [b"\xff".as_slice(), good.as_bytes()].concat(),
        [vec![b'x'; LINE_BYTES_MAX], good.clone().into_bytes()].concat(),
        good.replace("3.00", "far").into(),
    ];
    let mut file = format!("{HEADER}\n").into_bytes();
    for line in bad {
        file.extend([line.as_slice(), b"\n", good.as_bytes(), b"\n"].concat());
    }
    folder.write("trips.csv", file);
}

const RUN: &str = "bench nyt --input trips.csv --window 60s --results out";

#[track_caller]
fn check_counts(folder: &Folder, options: &str) {
    let figures = folder.json(&format!("{RUN} {options}"));
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert_eq!((&figures["events_in"], &figures["bad"]), (&6.into(), &6.into()), "{figures}");
    assert_eq!(folder.text("out/nyt.csv").as_deref(), Some("1356998460,311,325,6,3.0\n"));
}

#[track_caller]
fn check_diverted(diverted: &str) {
    let lines: Vec<&str> = diverted.lines().collect();
    let starts = [
        "2,malformed: a quote is left open at the line end,\"\"\"A,B,VTS,",
        "4,short: 3 of 14 fields,\"A,B,VTS\"",
        "6,long: more than 14 fields,\"A,B,VTS,",
        "8,not UTF-8 after 0 bytes,\"\u{fffd}A,B,VTS,",
        "10,over-long: cut after 1048576 bytes,xxx",
        "12,\"field trip_distance: ",
    ];
    assert_eq!(lines.len(), starts.len());
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{:.200}", line);
    }
}

#[test]
fn by_default_they_go_beside_the_results() {
    let folder = Folder::new("bad_default");
    write_trips(&folder);
    check_counts(&folder, "");
    check_diverted(&folder.text("out/nyt.bad.csv").unwrap());
    let ran = folder.run(RUN);
    assert!(
        ran.stdout.contains("6 bad\n  bad lines   in out/nyt.bad.csv\n"),
        "people are told where: {ran:?}"
    );

    folder.json("bench nyt --input trips.csv --window 60s");
    check_diverted(&folder.text("nyt.bad.csv").unwrap());
}

#[test]
fn diverted_to_a_file() {
    let folder = Folder::new("bad_divert");
    write_trips(&folder);
    check_counts(&folder, "--on-bad divert:elsewhere.csv");
    check_diverted(&folder.text("elsewhere.csv").unwrap());
    assert_eq!(folder.text("out/nyt.bad.csv"), None);
}

#[test]
fn skipped() {
    let folder = Folder::new("bad_skip");
    write_trips(&folder);
    check_counts(&folder, "--on-bad skip");
    assert_eq!((folder.text("out/nyt.bad.csv"), folder.text("nyt.bad.csv")), (None, None));
}

#[test]
fn failed() {
    let folder = Folder::new("bad_fail");
    write_trips(&folder);
    let ran = folder.run(&format!("{RUN} --on-bad fail"));
    let told = "error: BAD_LINE: `source-map-filter` failed: trips.csv, line 2 (byte 211): malformed: a quote is left \
                open at the line end; mend the line, or have bad lines skipped or diverted\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", told));
    assert_eq!(folder.text("out/nyt.csv"), None, "a run that failed publishes nothing");
}

/// If more than 1 % of 10,000 lines are bad, the run fails, because the file is not the right one. The bad
/// lines are kept, because they show the cause.
#[test]
fn too_many() {
    let folder = Folder::new("bad_too_many");
    let lines = (0..10_000).map(|n| if n % 50 == 0 { "bad".to_owned() } else { trip("00:01:00") });
    folder.write("trips.csv", [HEADER.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"));
    let ran = folder.run(RUN);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{ran:?}");
    let start = "error: TOO_MANY_BAD: `source-map-filter` failed: trips.csv, line 5002 (byte ";
    let end = "consecutive lines are bad; is this the right file and schema? the bad lines are in out/nyt.bad.csv\n";
    assert!(ran.stderr.starts_with(start) && ran.stderr.ends_with(end), "{ran:?}");
    let diverted = folder.text("out/nyt.bad.csv").unwrap();
    assert_eq!(
        (diverted.lines().count(), diverted.lines().last()),
        (101, Some("5002,short: 1 of 14 fields,bad"))
    );
    assert_eq!(folder.text("out/nyt.csv"), None);
    let ran = folder.run(&format!("{RUN} --on-bad skip"));
    assert_eq!((ran.code, ran.stderr.contains("TOO_MANY_BAD")), (1, true), "{ran:?}");
}
