//! Tests of the rule for panics: each kind of panic without a reason, and panics that are allowed.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn mute_calls_are_refused() {
    let text = "fn f() { g().unwrap(); }\nfn h() { g()\n    .unwrap_err(); }\n";
    check(
        "crates/sql/src/lib.rs",
        text,
        &["crates/sql/src/lib.rs:1: `unwrap()`", "crates/sql/src/lib.rs:3: `unwrap_err()`"],
    );
    check("crates/sql/src/lib.rs", "fn f() { g().unwrap_or(1); unwrap(); }\n// x.unwrap()\n", &[]);
    check("crates/sql/src/lib.rs", "const S: &str = \".unwrap()\";\n", &[]);
}

#[test]
fn reasons_have_some_words() {
    let check = |text: &str, expected: &[&str]| check("crates/cli/src/main.rs", text, expected);
    check("fn f() { g().expect(\"it holds\"); }\n", &["crates/cli/src/main.rs:1: `expect` has 2 words"]);
    check("fn f() { g().expect_err(\"\"); }\n", &["crates/cli/src/main.rs:1: `expect_err` has 0 words"]);
    check("fn f() { unreachable!() }\n", &["crates/cli/src/main.rs:1: `unreachable` has 0 words"]);
    check("\nfn f() { panic!(r#\"no {x}\"#) }\n", &["crates/cli/src/main.rs:2: `panic` has 2 words"]);
    check("fn f() { g().expect(\n    \"a page has a closing mark\",\n) }\n", &[]);
    check("fn f() { panic!(\"the page asks for {name}\") }\n", &[]);
}

/// The rule leaves other functions alone, such as a parser's function `expect`, and messages that are made
/// elsewhere.
#[test]
fn other_functions_and_made_messages_are_left_alone() {
    check(
        "crates/sql/src/lib.rs",
        "fn f() { scan.expect(b'{', \"'{'\"); expect(\"x\"); g().expect(WHY); }\n",
        &[],
    );
    check("crates/sql/src/lib.rs", "fn f() { g().expect(&format!(\"x\")); }\n", &[]);
}

#[test]
fn every_package_is_looked_at_and_tests_are_left_alone() {
    check("crates/sql/src/lib.rs", "#[cfg(test)]\nmod tests { fn f() { g().unwrap(); } }\n", &[]);
    check("crates/sql/tests/all.rs", "fn f() { g().unwrap(); }\n", &[]);
    check(
        "crates/other/src/lib.rs",
        "fn f() { g().unwrap(); }\n",
        &["crates/other/src/lib.rs:1: `unwrap()`"],
    );
    check("xtask/src/main.rs", "fn f() { g().unwrap(); }\n", &["xtask/src/main.rs:1: `unwrap()`"]);
    let tree = Tree::of(&[
        ("crates/sql/src/lib.rs", "#[cfg(test)]\nmod bed;\n"),
        ("crates/sql/src/bed.rs", "fn f() { g().unwrap(); }\n"),
    ]);
    assert_findings(findings(&tree), &[]);
}
