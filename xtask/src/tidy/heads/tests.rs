//! Tests of the rule for heads: files with a head, without a head, and with a head that comes too late.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn prose_comes_first() {
    check("crates/a/src/lib.rs", "//! What it is for.\n\nuse x;\n", &[]);
    check("crates/a/src/lib.rs", "use x;\n", &["crates/a/src/lib.rs:1: opens without a head"]);
    check("crates/a/src/b.rs", "", &["crates/a/src/b.rs:1: opens without a head"]);
}

#[test]
fn attributes_come_after_the_prose() {
    check("crates/a/tests/loom.rs", "#![cfg(loom)]\n//! Models.\n", &["crates/a/tests/loom.rs:1: head"]);
    check("crates/a/tests/loom.rs", "//! Models.\n#![cfg(loom)]\n", &[]);
}

#[test]
fn empty_comment_is_no_prose() {
    check("crates/a/src/lib.rs", "//!\n//!\nuse x;\n", &["crates/a/src/lib.rs:1: head"]);
}

#[test]
fn shebang_may_stand_before_it() {
    check("xtask/src/tool.rs", "#!/usr/bin/env run\n//! A tool.\n", &[]);
    check("xtask/src/tool.rs", "#!/usr/bin/env run\nfn main() {}\n", &["xtask/src/tool.rs:2: head"]);
}

#[test]
fn build_scripts_and_other_workspaces_are_left_alone() {
    check("crates/a/build.rs", "fn main() {}\n", &[]);
    check("bench/src/main.rs", "fn main() {}\n", &[]);
}
