//! `thalweg bench mixed`: three workloads at once, each compared with its own reference.

use serde_json::Value;

use crate::support::Folder;

#[track_caller]
fn right(folder: &Folder, options: &str) -> Value {
    let figures = folder.json(&format!("bench mixed --warmup 0 {options}"));
    let told = (&figures["workload"], &figures["ok"], &figures["check"]);
    assert_eq!(told, (&"mixed".into(), &true.into(), &"oracle-equal".into()), "{options}: {figures}");
    let names: Vec<&str> =
        figures["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ysb", "lrb", "nyt"], "{options}: {figures}");
    figures
}

/// Each of the three workloads has 1/3 of the queries, and 12, 3 or 8 of 23 parts of the rate.
#[test]
fn each_workload_has_its_share() {
    let folder = Folder::new("mixed");
    let figures = right(&folder, "--rate 23k --seconds 0.3 --results out");
    let offered = figures["groups"].as_array().unwrap().iter().map(|group| group["offered_per_s"].clone());
    assert_eq!(offered.collect::<Vec<_>>(), [72_000, 18_000, 48_000]);
    assert_eq!((&figures["queries"], &figures["offered_per_s"]), (&6.into(), &138_000.into()));
    for name in ["ysb-1", "ysb-2", "lrb-1", "lrb-2", "nyt-1", "nyt-2"] {
        assert!(folder.text(&format!("out/{name}.csv")).is_some(), "{name}");
    }
}

#[test]
fn every_mode_gives_the_references_results() {
    let folder = Folder::new("mixed_modes");
    for options in [
        "",
        "--queries 3 --workers 2",
        "--queries 9 --workers 2 --isolate --policy klink",
        "--memory queue --policy fcfs",
        "--memory queue-batched --execution threads --workers 2",
        "--rate 20k --rate-steps 50ms:40k --deploy-within 50ms",
        "--rate 20k --arrivals pareto:1.5 --message-records 100 --skew 1",
        "--out-of-order 5ms --seed 7",
    ] {
        let figures = right(&folder, &format!("--seconds 0.1 {options}"));
        assert!(figures["events_in"].as_u64().unwrap() > 0, "{figures}");
    }
}
