//! Tests of the rule for dead files: a declared file, a forgotten one, and layouts that are not used here.
//! The tests of `modules` show how files are reached.

use super::super::assert_findings;
use super::*;

#[test]
fn declared_files_pass() {
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod tests;\n"),
        ("crates/a/src/b.rs", ""),
        ("crates/a/src/tests.rs", ""),
        ("crates/a/tests/whole.rs", ""),
    ]);
    assert_findings(findings(&tree), &[]);
}

#[test]
fn forgotten_file_is_found() {
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "// mod b;\nmod c;\n"),
        ("crates/a/src/b.rs", "mod d;\n"),
        ("crates/a/src/b/d.rs", ""),
        ("crates/a/src/c.rs", ""),
        ("xtask/src/old.rs", ""),
    ]);
    assert_findings(
        findings(&tree),
        &[
            "crates/a/src/b.rs:1: no `mod` declaration below crates/a/src",
            "crates/a/src/b/d.rs:1: no `mod` declaration",
            "xtask/src/old.rs:1: no `mod` declaration below xtask/src",
        ],
    );
}

#[test]
fn mod_rs_is_reported_once() {
    let tree = Tree::of(&[("crates/a/src/lib.rs", "mod b;\n"), ("crates/a/src/b/mod.rs", "")]);
    assert_findings(findings(&tree), &["crates/a/src/b/mod.rs:1: move it to crates/a/src/b.rs"]);
}

#[test]
fn path_attribute_is_reported() {
    let tree = Tree::of(&[("crates/a/src/lib.rs", "\n#[path = \"x/y.rs\"]\nmod b;\n")]);
    assert_findings(findings(&tree), &["crates/a/src/lib.rs:2: `#[path]` hides"]);
}
