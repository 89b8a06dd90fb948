//! Tests of the program xtask as a user calls it: exit codes, usage, and tidy on a small tree on the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};

const CLEAN_TREE: [(&str, &str); 7] = [
    ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\", \"xtask\"]\n"),
    (".gitignore", "/target\n/ignored.md\n"),
    ("README.md", "# Small\n\nSee [the model](crates/model/src/lib.rs).\n"),
    ("crates/model/Cargo.toml", "[package]\nname = \"thalweg-model\"\nedition = \"2024\"\n"),
    ("crates/model/src/lib.rs", "//! Nothing yet.\n\n#![forbid(unsafe_code)]\n"),
    ("xtask/Cargo.toml", "[package]\nname = \"xtask\"\nedition = \"2024\"\n"),
    ("xtask/src/main.rs", "//! Nothing either.\n\n#![forbid(unsafe_code)]\n\nfn main() {}\n"),
];

/// A small git repository on the disk, removed when the test ends.
struct SmallTree {
    root: PathBuf,
}

impl SmallTree {
    /// Writes `files` into a new repository. Its name contains the number of the process, because two runs
    /// may share a target directory.
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", process::id()));
        let tree = Self { root };
        for (path, text) in files {
            tree.write(path, text);
        }
        let mut git = Command::new("git");
        git.args(["init", "--quiet"])
            .current_dir(&tree.root)
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE");
        assert!(git.status().unwrap().success());
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs `xtask tidy` as if xtask belonged to this repository.
    fn tidy(&self) -> Output {
        self.tidy_with(&[])
    }

    fn tidy_with(&self, options: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .arg("tidy")
            .args(options)
            .env("CARGO_MANIFEST_DIR", self.root.join("xtask"))
            .current_dir(&self.root);
        command.output().unwrap()
    }
}

impl Drop for SmallTree {
    fn drop(&mut self) {
        // An error is ignored: a directory that cannot be removed only takes up space in the target
        // directory.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap()
}

/// Checks the exit code of the program and its text on both streams.
#[track_caller]
fn check(output: &Output, code: i32, stdout: &str, stderr: &str) {
    let read = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(read(&output.stdout), stdout);
    assert_eq!(read(&output.stderr), stderr);
    assert_eq!(output.status.code(), Some(code));
}

#[test]
fn help_succeeds_and_lists_every_command() {
    let output = xtask(&["help"]);
    let usage = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for command in ["check", "tidy", "deep", "figures", "packages", "services", "e2e", "peers", "help"] {
        assert!(usage.contains(&format!("\n  {command} ")), "{usage}");
    }
}

#[test]
fn wrong_usage_exits_with_two() {
    for arguments in [
        &["chekc"][..],
        &[],
        &["check", "twice"],
        &["tidy", "--clone"],
        &["tidy", "--clones", "twice"],
        &["deep", "moon"],
        &["figures", "moon"],
        &["figures", "--rounds"],
        &["services", "start"],
        &["services", "up", "moon"],
        &["e2e", "moon"],
        &["peers"],
        &["peers", "moon"],
    ] {
        let output = xtask(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(message.contains("usage: cargo xtask "), "{message}");
    }
}

#[test]
fn tidy_tree_passes() {
    let small = SmallTree::new("tidy_tree", &CLEAN_TREE);
    check(&small.tidy(), 0, "", "no findings in 7 files\n");
}

#[test]
fn ignored_files_are_not_read() {
    let small = SmallTree::new("ignored_files", &CLEAN_TREE);
    small.write("ignored.md", "[nothing](nowhere.md)\n");
    check(&small.tidy(), 0, "", "no findings in 7 files\n");
}

/// `tidy --clones` lists equal runs of lines. They are no findings, so the exit code is 0.
#[test]
fn equal_runs_are_listed() {
    let calls: String = ('a'..='l').map(|name| format!("    {name}();\n")).collect();
    let text = format!("//! Equal calls.\n\nfn first() {{\n{calls}}}\n\nfn second() {{\n{calls}}}\n");
    let small = SmallTree::new("equal_runs", &CLEAN_TREE);
    small.write("crates/model/src/calls.rs", &text);
    let expected = "crates/model/src/calls.rs:4-15  crates/model/src/calls.rs:19-30  12 lines\n\
                    equal runs of 12 lines or more: 1\n";
    check(&small.tidy_with(&["--clones"]), 0, expected, "");
}

/// An untidy tree has one finding per kind of input here: a manifest, a Rust file and a page.
#[test]
fn untidy_tree_fails_with_every_finding_and_their_count() {
    let mut files = CLEAN_TREE.to_vec();
    files.extend([
        (
            "crates/operators/Cargo.toml",
            "[package]\nname = \"thalweg-operators\"\nedition = \"2024\"\n\n\
             [dependencies]\nthalweg-memory = { path = \"../memory\" }\n",
        ),
        ("crates/operators/src/lib.rs", "#![forbid(unsafe_code)]\n"),
        ("crates/memory/Cargo.toml", "[package]\nname = \"thalweg-memory\"\nedition = \"2024\"\n"),
        (
            "crates/memory/src/lib.rs",
            "//! Nothing.\n\n#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]\n",
        ),
        ("docs/guide.md", "# Guide\n\n`crates/none/src/lib.rs`\n"),
    ]);
    let small = SmallTree::new("untidy_tree", &files);
    check(
        &small.tidy(),
        1,
        "crates/operators/Cargo.toml:6: thalweg-operators -> thalweg-memory is not an arrow of the table: it \
         may import thalweg-model; move the code to where it can see what it needs, or agree on a new arrow \
         first\n\
         crates/operators/src/lib.rs:1: opens without a head: begin with `//!` and what the file is for, what \
         it promises and what it leaves to others\n\
         docs/guide.md:3: `crates/none/src/lib.rs`: crates/none/src/lib.rs does not exist in the tree\n",
        "xtask: 3 findings; after mending them: cargo xtask tidy\n",
    );
}

#[test]
fn broken_manifest_is_an_error_and_no_pass() {
    let small = SmallTree::new("broken_manifest", &CLEAN_TREE);
    small.write("Cargo.toml", "[workspace\n");
    let output = small.tidy();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("xtask: cargo metadata failed"));
}
