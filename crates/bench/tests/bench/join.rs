//! Tests of `thalweg bench join` from end to end: its results, the hand-written loop, and the rate that
//! its two streams share.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::Folder;

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert_eq!(figures["late"], 0, "{figures}");
}

#[test]
fn the_join_gives_the_reference_s_results() {
    let folder = Folder::new("join_generated");
    for options in
        ["", "--workers 2 --isolate", "--watermark-step 300ms --out-of-order 300ms", "--block-records 1"]
    {
        let figures = folder.json(&format!("bench join --seconds 0.2 --warmup 0 --seed 5 {options}"));
        assert_right(&figures);
        assert_eq!((&figures["offered_per_s"], &figures["filtered"]), (&Value::Null, &0.into()));
    }
    let figures = folder.json("bench join --api loop-blocks --seconds 0.1 --warmup 0.01 --workers 2");
    assert_right(&figures);
    assert_eq!(figures["api"], "loop-blocks");
}

/// At a rate, every match of the join is written once. There are about as many matches as records of one
/// stream.
#[test]
fn at_a_rate_every_match_is_written() {
    let folder = Folder::new("join_rate");
    let figures = folder
        .json("bench join --rate 100k --queries 2 --seconds 1 --warmup 0.2 --out-of-order 5ms --results out");
    assert_right(&figures);
    assert_eq!(figures["offered_per_s"], 200_000);
    assert!(figures["latency_us"]["count"].as_u64().unwrap() > 0, "{figures}");
    let mut results = 0;
    for query in 1..=2 {
        let rows = folder.text(&format!("out/join-{query}.csv")).unwrap();
        let matches: BTreeSet<&str> = rows.lines().collect();
        assert_eq!(matches.len(), rows.lines().count(), "who meets whom is written once");
        assert!(matches.iter().all(|row| row.split(',').all(|number| number.parse::<u64>().is_ok())));
        results += matches.len();
    }
    assert_eq!(figures["results_out"], results);
    // Half of the records are of the left stream. At the start and the end of the run a record matches
    // only half as many records.
    let per_left = 2.0 * results as f64 / figures["events_in"].as_f64().unwrap();
    assert!((0.2..1.2).contains(&per_left), "{per_left} of each left record: {figures}");
}

#[test]
fn what_a_join_has_not() {
    let folder = Folder::new("join_unfit");
    for (options, told) in [
        ("--window 1s", "--window: the windows of join are part of its rules; leave it away"),
        ("--rate 7", "--rate is 7 records/s, but the 2 streams of join share it; take a multiple of 2"),
        ("--cyclic", "--cyclic is for ysb: leave it away for join"),
        (
            "--api loop-fused",
            "--api loop-fused: join has no other hand-written loop than loop-blocks; take loop-blocks or typed",
        ),
    ] {
        let ran = folder.run(&format!("bench join {options}"));
        assert_eq!((ran.code, ran.stderr), (2, format!("error: {told}\n")), "{options}");
    }
    let ran = folder.run("bench join --input keys.csv");
    assert!(ran.stderr.starts_with("error: --input: join has no recorded input"), "{ran:?}");
}
