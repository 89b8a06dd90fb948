//! Tests of the rule for openings of comments: each refused opening, and openings that are allowed.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn openings_without_a_subject_are_refused() {
    let path = "crates/model/src/lib.rs";
    for opening in REFUSED {
        let expected = format!("{path}:2: opens with `{opening}`");
        let text = format!("//! Head.\n/// {opening} comes.\nfn f() {{}}\n");
        let found = findings(&Tree::of(&[(path, &text)]));
        assert_findings(found.into_iter().take(1).collect(), &[&expected]);
    }
    check(path, "//! What it is.\n", &["crates/model/src/lib.rs:1: opens with `What`"]);
}

#[test]
fn other_openings_stand() {
    let path = "crates/model/src/lib.rs";
    check(
        path,
        "//! Whatever comes.\n/// Offers a block.\n/// What stands on a second line.\nfn f() {}\n",
        &[],
    );
    check(path, "//! Head.\n//!\n//! Of two equal rows the first counts.\n", &[]);
    check(path, "//! Head.\nfn f() {\n    // Of each.\n    let s = \"/// What\";\n}\n", &[]);
    check("crates/sql/src/bind/query.rs", "//! What is pending.\n", &[]);
}

#[test]
fn whoever_is_refused_everywhere() {
    let path = "crates/model/src/lib.rs";
    check(path, "//! Head.\n// A block for whoever reads.\n", &["crates/model/src/lib.rs:2: `whoever`"]);
    check(path, "//! Head.\nfn whoever() { let _ = \"whoever\"; }\n", &[]);
}
