//! Every example prints the text of the file beside it, and has the form of a story: what there is to learn, the
//! command, and at most a page of code. `UPDATE_GOLDEN=1` writes the files anew.
//!
//! The programs are those that `cargo test` has built; if only this test is run, cargo builds no examples.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Largest number of lines of an example, not counting the comment at its head.
const CODE_LINES_MAX: usize = 79;

fn folder() -> PathBuf {
    PathBuf::from("examples")
}

/// Returns the names, without extension, of the example files that have this extension.
fn names(extension: &str) -> BTreeSet<String> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let found = paths.filter(|path| path.extension().is_some_and(|it| it == extension));
    found.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Returns the path of the built program of an example: cargo puts it beside the folder of this test.
fn program(name: &str) -> PathBuf {
    let this_test = env::current_exe().unwrap();
    let deps = this_test.parent().unwrap();
    deps.with_file_name("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

#[test]
fn examples_print_what_stands_beside_them() {
    for name in names("rs") {
        let program = program(&name);
        let output = Command::new(&program).output().unwrap_or_else(|error| {
            panic!("{} cannot be started: {error}; cargo test -p thalweg builds it", program.display())
        });
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        let golden = folder().join(format!("{name}.txt"));
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &printed).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(printed, expected, "{name}: if it should print this, run with UPDATE_GOLDEN=1");
    }
}

#[test]
fn examples_are_told_as_stories() {
    assert_eq!(names("rs"), names("txt"), "each example has its output beside it");
    for name in names("rs") {
        let text = fs::read_to_string(folder().join(format!("{name}.rs"))).unwrap();
        let (head, code): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("//!"));
        let command = format!("//! cargo run -p thalweg --example {name}");
        assert!(head.contains(&command.as_str()), "{name} does not say how it is run");
        assert!(head.iter().any(|line| line.contains("You will learn: ")), "{name} teaches nothing");
        assert!(code.len() <= CODE_LINES_MAX, "{name} has {} lines behind its head", code.len());
    }
}
