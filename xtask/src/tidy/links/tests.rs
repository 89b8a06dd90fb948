//! Tests of the rule for links: links and paths with a target, and similar ones without.

use super::super::assert_findings;
use super::*;

/// Checks a page `docs/page.md` of one line in a small tree of files.
#[track_caller]
fn check(page: &str, expected: &[&str]) {
    let tree = Tree::of(&[
        ("README.md", "# Thalweg\n\n## How to run\n"),
        ("docs/page.md", page),
        ("docs/my figure.svg", "<svg/>"),
        ("crates/memory/src/lib.rs", "//! One.\n//! Two.\n"),
        ("crates/memory/src/block.rs", ""),
        ("crates/memory/src/block/state.rs", ""),
        ("crates/model/src/lib.rs", ""),
    ]);
    let expected: Vec<String> = expected.iter().map(|words| format!("docs/page.md:1: {words}")).collect();
    assert_findings(findings(&tree), &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn links_lead_to_files_and_directories() {
    check("[a](../README.md) [b](page.md) [c](/README.md) [d](../crates/memory/) [e](my%20figure.svg)", &[]);
    check("[a](../crates/memory/src/lib.rs#L2) [b](https://example.org/x) [c](mailto:a@example.org)", &[]);
    check("[a](README.md)", &["the link README.md leads to docs/README.md, which does not exist"]);
    check("[a](../crates/memory/src/lib.md)", &["does not exist"]);
    check("[a](../../shared/x.md)", &["leaves the tree"]);
    check("[a][b]\n\n[b]: ../README.md", &[]);
}

#[test]
fn anchors_are_headings() {
    check("# Here and there\n[a](#here-and-there) [b](../README.md#how-to-run)", &[]);
    check("[a](#nowhere)", &["no heading on this page makes #nowhere"]);
    check("[a](../README.md#how-to-walk)", &["no heading of README.md makes #how-to-walk"]);
}

#[test]
fn backticked_paths_exist() {
    check("`crates/memory/src/block.rs` `crates/memory/` `docs/page.md` `DIR/block.rs` `src/none.rs`", &[]);
    check(
        "`crates/memory/src/chunk.rs`",
        &["`crates/memory/src/chunk.rs`: crates/memory/src/chunk.rs does not"],
    );
    check("`bench/run.sh --all`", &["bench/run.sh does not exist"]);
    check("`.cargo/config.toml`", &["does not exist"]);
}

#[test]
fn backticked_lines_exist() {
    check("`crates/memory/src/lib.rs:2` `crates/memory/src/lib.rs:1-2`", &[]);
    check("`crates/memory/src/lib.rs:3`", &["has 2 lines only"]);
    check("`crates/memory/src/none.rs:3`", &["does not exist"]);
}

#[test]
fn patterns_match_something() {
    check("`crates/*/src/lib.rs` `crates/memory/src/b*.rs` `crates/**/state.rs` `crates/<room>/src`", &[]);
    check("`crates/*/state.rs`", &["crates/*/state.rs does not exist"]);
    check("`crates/*/tests`", &["does not exist"]);
    check("`crates/x<room>/src`", &["does not exist"]);
}

#[test]
fn every_choice_in_braces_exists() {
    check("`crates/{memory,model}/src/lib.rs` `crates/memory/src/{lib,block}.rs`", &[]);
    check("`crates/{memory,model}/src/block.rs`", &["crates/model/src/block.rs does not exist"]);
}

#[test]
fn code_in_fences_is_left_alone() {
    check("```text\n[a](none.md) `docs/none.md`\n```", &[]);
}

#[test]
fn plan_may_name_files_to_come() {
    let table = "| what | where | status |\n\
                 |---|---|---|\n\
                 | a | `crates/a/x.rs` | planned |\n\
                 | b | `crates/b/x.rs` | done |\n";
    let missing = |path: &str| findings(&Tree::of(&[(path, table)]));
    assert_findings(missing("docs/papers.md"), &["docs/papers.md:4: crates/b/x.rs"]);
    assert_findings(
        missing("docs/other.md"),
        &["docs/other.md:3: crates/a/x.rs", "docs/other.md:4: crates/b/x.rs"],
    );
}

#[test]
fn cells_may_hold_a_bar() {
    assert_eq!(cells(r"| a \| b | c |"), [r"a \| b", "c", ""]);
}
