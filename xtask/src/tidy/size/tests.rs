//! Tests of the rule for the size of files, with files on both sides of the bound.

use super::super::assert_findings;
use super::*;

/// Returns a file with `head`, `line_count` lines with the head, and 100 lines of tests behind them.
fn file(head: &str, line_count: usize) -> String {
    let body = "fn f() {}\n".repeat(line_count - head.lines().count());
    format!("{head}{body}#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn t() {}\n".repeat(100))
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn bound_counts_lines_without_tests() {
    check("crates/a/src/lib.rs", &file("//! Head.\n", 800), &[]);
    check("crates/a/src/lib.rs", &file("//! Head.\n", 801), &["crates/a/src/lib.rs:1: has 801 lines"]);
}

#[test]
fn head_may_give_the_reason() {
    check("crates/a/src/lib.rs", &file("//! The block: one state\n//! machine.\n", 900), &[]);
    check(
        "crates/a/src/lib.rs",
        &file("//! Head.\n// one state machine\n", 900),
        &["crates/a/src/lib.rs:1: 900"],
    );
}

#[test]
fn test_files_have_no_bound() {
    check("crates/a/tests/all.rs", &file("//! Head.\n", 900), &[]);
    let tests = file("//! Head.\n", 900);
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests;\n"),
        ("crates/a/src/tests.rs", tests.as_str()),
    ]);
    assert_findings(findings(&tree), &[]);
}
