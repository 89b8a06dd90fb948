//! Physical plans: what each layout makes of every workload and of every example in SQL.

use std::fs;
use std::process::Command;

use crate::support::{Folder, Ran, assert_golden};

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

/// One worker in each operator, and two that share operators; chained in all ways.
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
    for workload in WORKLOADS {
        for layout in LAYOUTS {
            let ran = folder.run(&format!("bench {workload} {layout} --explain"));
            assert_eq!(ran.code, 0, "{ran:?}");
            text += &format!("{workload} {layout}\n{}\n", ran.stdout);
        }
    }
    assert_golden("plans_of_workloads.txt", &text);
}

/// Examples name their files from the root of the project.
#[test]
fn of_examples() {
    let root = fs::canonicalize("../..").unwrap();
    let mut examples: Vec<_> =
        fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    examples.retain(|name| name.to_string_lossy().ends_with(".sql"));
    examples.sort();
    let mut text = String::new();
    for example in examples {
        let example = example.to_string_lossy();
        for workers in ["1", "2"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
            let path = format!("examples/{example}");
            command.args(["explain", &path, "--tasks", "--workers", workers]).current_dir(&root);
            let ran = Ran::of("explain", command.output().unwrap());
            assert_eq!(ran.code, 0, "{ran:?}");
            // The logical plans have tests of their own.
            let tasks =
                ran.stdout.split("tasks\n").skip(1).map(|part| part.split("\n\n").next().unwrap_or_default());
            text += &format!("{example}, {workers} workers\n{}\n\n", tasks.collect::<Vec<_>>().join("\n"));
        }
    }
    assert!(!text.is_empty(), "there are examples");
    assert_golden("plans_of_examples.txt", &text);
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
