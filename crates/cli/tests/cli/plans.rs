//! Tests of the physical plans of every example in SQL.

use std::fs;
use std::process::Command;

use crate::support::{Ran, assert_golden};

/// The physical plans of all examples are compared with a file. Examples name their files from the
/// root of the project, so the program runs there.
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
            let mut command = Command::new(crate::PROGRAM);
            let path = format!("examples/{example}");
            command.args(["explain", &path, "--tasks", "--workers", workers]).current_dir(&root);
            let ran = Ran::of("explain", command.output().unwrap());
            assert_eq!(ran.code, 0, "{ran:?}");
            // Only the physical plans are compared here; the logical plans have tests of their own.
            let tasks =
                ran.stdout.split("tasks\n").skip(1).map(|part| part.split("\n\n").next().unwrap_or_default());
            text += &format!("{example}, {workers} workers\n{}\n\n", tasks.collect::<Vec<_>>().join("\n"));
        }
    }
    assert!(!text.is_empty(), "there are examples");
    assert_golden("plans_of_examples.txt", &text);
}
