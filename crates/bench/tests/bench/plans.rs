//! Tests of physical plans: the tasks and edges that each layout makes of every workload.

use crate::support::{Folder, assert_golden};

const WORKLOADS: [&str; 14] = [
    "ysb",
    "nyt",
    "lrb",
    "lrb-full",
    "grep",
    "wordcount",
    "distinct",
    "tweets",
    "netmon",
    "join",
    "ipq1",
    "ipq2",
    "ipq3",
    "ipq4",
];

/// Workloads whose operators are for one worker at a time.
const SERIAL: [&str; 2] = ["etl", "stats"];

/// The layouts that are tested: one worker in each operator, or two workers that share operators,
/// with every way of chaining.
const LAYOUTS: [&str; 6] = [
    "--chain none --parallel serial",
    "--chain default --parallel serial",
    "--chain all --parallel serial",
    "--chain none --parallel epochs --workers 2",
    "--chain default --parallel epochs --workers 2",
    "--chain all --parallel epochs --workers 2",
];

#[test]
fn of_workloads() {
    let folder = Folder::new("plans");
    let mut text = String::new();
    for workload in WORKLOADS.into_iter().chain(SERIAL) {
        let is_possible = |layout: &&str| !(SERIAL.contains(&workload) && layout.contains("epochs"));
        for layout in LAYOUTS.into_iter().filter(is_possible) {
            let ran = folder.run(&format!("bench {workload} {layout} --explain"));
            assert_eq!(ran.code, 0, "{ran:?}");
            text += &format!("{workload} {layout}\n{}\n", ran.stdout);
        }
    }
    assert_golden("plans_of_workloads.txt", &text);
}

#[test]
fn what_cannot_be_explained() {
    let folder = Folder::new("plans_wrong");
    for (line, told) in [
        ("bench mixed --explain", "this workload has several"),
        ("bench enjima-fig5b --out x --explain", "--out"),
        ("bench ysb --api loop-blocks --explain", "a loop has none"),
    ] {
        let ran = folder.run(line);
        assert!(ran.code == 2 && ran.stderr.contains(told), "{ran:?}");
    }
}
