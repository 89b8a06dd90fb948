//! Tests of the rule for unsafe code: crate roots that forbid unsafe code and that do not, and unsafe code
//! with comments in the right and in the wrong place.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn roots_forbid_unsafe_code() {
    check("crates/model/src/lib.rs", "//! Head.\n\n#![forbid(unsafe_code)]\n", &[]);
    check("crates/model/src/lib.rs", "// #![forbid(unsafe_code)]\n", &["crates/model/src/lib.rs:1: forbid"]);
    check("xtask/src/main.rs", "#![deny(unsafe_code)]\n", &["xtask/src/main.rs:1: forbid(unsafe_code)"]);
    check("crates/cli/src/bin/tool.rs", "", &["crates/cli/src/bin/tool.rs:1: forbid(unsafe_code)"]);
    check("crates/model/src/time.rs", "", &[]);
}

#[test]
fn memory_denies_careless_unsafe_code() {
    let both = "#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]\n";
    check("crates/memory/src/lib.rs", both, &[]);
    check(
        "crates/memory/src/lib.rs",
        "#![deny(unsafe_op_in_unsafe_fn)]\n#![warn(clippy::undocumented_unsafe_blocks)]\n",
        &["crates/memory/src/lib.rs:1: denies `clippy::undocumented_unsafe_blocks`"],
    );
}

/// Checks a file of the room memory, in which the unsafe code on line `finding` lacks its `SAFETY` comment.
#[track_caller]
fn check_memory(text: &str, finding: Option<usize>) {
    let expected: Vec<String> =
        finding.iter().map(|line| format!("crates/memory/src/block.rs:{line}: `SAFETY:`")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check("crates/memory/src/block.rs", text, &expected);
}

#[test]
fn comment_stands_directly_above() {
    check_memory("// SAFETY: by B1.\nunsafe { f() };\n", None);
    check_memory("// SAFETY: by B1 we\n// are alone.\nunsafe impl Send for Block {}\n", None);
    check_memory("/* SAFETY: by B1. */\nunsafe { f() };\n", None);
    check_memory("unsafe { f() };\n", Some(1));
    check_memory("// This is fine.\nunsafe impl Send for Block {}\n", Some(2));
    check_memory("// SAFETY: by B1.\n\nunsafe { f() };\n", Some(3));
    check_memory("// SAFETY: by B1.\ng();\nunsafe { f() };\n", Some(3));
}

#[test]
fn comment_may_stand_above_the_whole_statement() {
    check_memory("// SAFETY: by B1.\nlet record: Record =\n    unsafe { f() };\n", None);
    check_memory("// SAFETY: by B1.\n#[allow(x)]\nunsafe { f() };\n", None);
}

#[test]
fn one_argument_is_for_one_use() {
    check_memory("// SAFETY: by B1.\nunsafe { f() };\nunsafe { g() };\n", Some(3));
}

#[test]
fn unsafe_functions_argue_in_their_documentation() {
    check_memory("unsafe fn f() {}\n", None);
    check_memory("// unsafe { f() }\nconst S: &str = \"unsafe { f() }\";\n", None);
}

/// Steer has unsafe code in one file, and its root refuses it elsewhere.
#[test]
fn steer_has_unsafe_code_in_one_file() {
    check("crates/steer/src/lib.rs", "#![deny(unsafe_code)]\n", &[]);
    check("crates/steer/src/lib.rs", "\n", &["crates/steer/src/lib.rs:1: deny(unsafe_code)"]);
    check("crates/steer/src/system.rs", "// SAFETY: by the manual.\nunsafe { f() };\n", &[]);
    check("crates/steer/src/system.rs", "unsafe { f() };\n", &["crates/steer/src/system.rs:1: `SAFETY:`"]);
    let elsewhere = "// SAFETY: by the manual.\nunsafe { f() };\n";
    check("crates/steer/src/apply.rs", elsewhere, &["crates/steer/src/apply.rs:2: belongs to"]);
}
