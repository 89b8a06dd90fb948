//! Tests of the rule for atomics: every way in which `use` can name an atomic of std is found.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn atomics_of_std_are_found() {
    for text in [
        "\nuse std::sync::atomic::AtomicU64;",
        "\nuse core::sync::atomic::{AtomicU64, Ordering};",
        "\nuse std::sync::{Arc, atomic::AtomicBool};",
        "\nuse std::sync::{\n    Arc,\n    atomic::{AtomicBool, Ordering},\n};",
        "\nuse std::{fmt, sync::atomic};",
        "\nuse std::{fmt, sync::{Arc, atomic}};",
        "\nfn f(x: &std::sync::atomic::AtomicU64) {}",
    ] {
        check("crates/runtime/src/idle.rs", text, &["crates/runtime/src/idle.rs:2: thalweg_memory::sync"]);
    }
}

#[test]
fn other_names_pass() {
    for text in [
        "use thalweg_memory::sync::atomic::AtomicU64;",
        "use std::sync::Arc;\nuse thalweg_memory::sync::{atomic, thread};",
        "//! Not std::sync::atomic.\n",
        "const S: &str = \"std::sync::atomic\";",
        "use std::sync::{Arc, Mutex};\nfn atomic() {}",
    ] {
        check("crates/runtime/src/idle.rs", text, &[]);
    }
}

#[test]
fn seam_and_tests_beside_src_may_name_them() {
    check("crates/memory/src/sync.rs", "pub use std::sync::atomic;", &[]);
    check("crates/memory/tests/all.rs", "use std::sync::atomic::AtomicU64;", &[]);
    check("crates/memory/src/block.rs", "use std::sync::atomic;", &["crates/memory/src/block.rs:1: sync"]);
}
