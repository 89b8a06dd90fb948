//! `thalweg bench netmon` from end to end: recorded probes, bad lines, generated probes, and the loops.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::Folder;

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
}

fn sorted(text: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = text.lines().collect();
    rows.sort_unstable();
    rows
}

/// Recorded probes give the mean of each pair. Slice `n` is second `n`, and the two directions of a pair
/// are different pairs.
#[test]
fn recorded_probes_give_their_means() {
    let folder = Folder::new("netmon_recorded");
    let lines = [
        "1,10.0.0.1,10.0.0.2,0.25",
        "1,10.0.0.1,10.0.0.2,0.5",
        "1,10.0.0.2,10.0.0.1,3",
        "2,10.0.0.1,10.0.0.2,1",
    ];
    for header in ["", "slice,src_ip,dst_ip,rtt\n", "slice, src_ip, dst_ip, rtt\r\n"] {
        folder.write("probes.csv", format!("{header}{}\n", lines.join("\n")));
        let figures = folder.json("bench netmon --input probes.csv --results out");
        assert_right(&figures);
        assert_eq!((&figures["events_in"], &figures["bad"]), (&4.into(), &0.into()), "{figures}");
        let rows = folder.text("out/netmon.csv").unwrap();
        let expected =
            ["1000,10.0.0.1,10.0.0.2,0.375", "1000,10.0.0.2,10.0.0.1,3.0", "2000,10.0.0.1,10.0.0.2,1.0"];
        assert_eq!(sorted(&rows), expected);
    }
    assert_right(&folder.json("bench netmon --input probes.csv --window 3s --slide 1s --results out"));
    let rows = folder.text("out/netmon.csv").unwrap();
    assert!(sorted(&rows).contains(&"0,10.0.0.1,10.0.0.2,0.5833333333333334"), "{rows}");
}

/// Engine and reference agree on which lines of recorded probes are bad.
#[test]
fn bad_lines_are_counted() {
    let folder = Folder::new("netmon_bad_lines");
    let good = "1,10.0.0.1,10.0.0.2,0.25";
    let bad = [
        "1,10.0.0.1,10.0.0.2",
        "1,10.0.0.1,10.0.0.2,1,2",
        "-1,10.0.0.1,10.0.0.2,1",
        "1.5,10.0.0.1,10.0.0.2,1",
        "1,10.0.0.256,10.0.0.2,1",
        "1,10.0.0.1,host,1",
        "1,10.0.0.1,10.0.0.2,-1",
        "1,10.0.0.1,10.0.0.2,inf",
        "\"1,10.0.0.1,10.0.0.2,1",
        "",
    ];
    let lines: Vec<&str> = bad.iter().flat_map(|&bad| [good, bad]).chain([good]).collect();
    folder.write("probes.csv", lines.join("\n"));
    let figures = folder.json("bench netmon --input probes.csv --results out");
    assert_right(&figures);
    assert_eq!((&figures["events_in"], &figures["bad"]), (&11.into(), &10.into()), "{figures}");
    let diverted = folder.text("out/netmon.bad.csv").unwrap();
    assert_eq!(diverted.lines().count(), 10);
    let told = "field src_ip: \"\"10.0.0.256\"\" is not an IPv4 address such as 10.0.0.1";
    assert!(diverted.contains(told), "{diverted}");

    let ran = folder.run("bench netmon --input probes.csv --on-bad fail");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("probes.csv, line 2 (byte 25): short: 3 of 4 fields"), "{ran:?}");
}

/// A file of another kind than probes is refused, and the error names the required columns.
#[test]
fn another_kind_of_file_is_refused() {
    let folder = Folder::new("netmon_wrong");
    folder.write(
        "trips.csv",
        "medallion,hack_license,vendor_id,rate_code,pickup_datetime\nA,B,VTS,1,2013-01-01 00:00:00\n",
    );
    let ran = folder.run("bench netmon --input trips.csv");
    let told = "error: --input: trips.csv is not a file of probes: its columns must be `slice,src_ip,dst_ip,rtt`, with or \
                without a header, but its first line is `medallion,hack_license,vendor_id,rate_code,pickup_datetime`; is \
                this the right file?\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", told));

    let four = "a,b,c,d\n".repeat(200);
    folder.write("four.csv", four);
    let ran = folder.run("bench netmon --input four.csv --on-bad skip");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("TOO_MANY_BAD") && ran.stderr.contains("field slice: "), "{ran:?}");

    let ran = folder.run("bench netmon --input missing.csv");
    assert_eq!(ran.stderr, "error: SOURCE_MISSING: missing.csv does not exist; check the path\n");
    let ran = folder.run("bench netmon --api loop-chains");
    let told = "error: --api loop-chains: netmon has no such hand-written loop; take loop-blocks, loop-fused or typed\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (2, told));
}

#[test]
fn generated_probes_give_the_reference_s_results() {
    let folder = Folder::new("netmon_generated");
    for options in [
        "",
        "--workers 2 --isolate",
        "--window 300ms --slide 100ms --watermark-step 70ms",
        "--out-of-order 700ms",
        "--rate 50k --queries 2 --out-of-order 20ms",
    ] {
        let figures = folder.json(&format!("bench netmon --seconds 0.1 --warmup 0 --seed 5 {options}"));
        assert_right(&figures);
        assert_eq!((&figures["late"], &figures["filtered"]), (&0.into(), &0.into()), "{figures}");
    }
    for api in ["loop-blocks", "loop-fused"] {
        let figures =
            folder.json(&format!("bench netmon --seconds 0.05 --warmup 0.01 --workers 2 --api {api}"));
        assert_right(&figures);
        assert_eq!(figures["api"], api);
    }
}

/// Recorded round-trip times give the results of the reference. As another program counted, there are 40
/// slices with almost all of 9,702 pairs, of which all but three occur.
#[test]
fn recorded_latencies_give_the_reference_s_results() {
    let beside = || PathBuf::from("../../../shared/data");
    let data = std::env::var_os("THALWEG_DATA").map_or_else(beside, PathBuf::from);
    let Ok(file) = data.join("netlatency/seattle_rtt_slices_1-40.csv.gz").canonicalize() else {
        assert!(std::env::var_os("CI").is_none(), "{} is missing", data.display());
        return println!(
            "skipped: {} is missing; set THALWEG_DATA to the folder of the data",
            data.display()
        );
    };
    let folder = Folder::new("netmon_latencies");
    std::os::unix::fs::symlink(file, folder.path("probes.csv.gz")).unwrap();
    for (options, rows) in
        [("", 385_747), ("--window 41s --workers 2", 9_699), ("--block-records 1", 385_747)]
    {
        let figures = folder.json(&format!("bench netmon --input probes.csv.gz --results out {options}"));
        assert_right(&figures);
        let counts = ["events_in", "results_out", "bad"].map(|name| figures[name].as_u64().unwrap());
        assert_eq!(counts, [385_747, rows, 0], "{figures}");
    }
}
