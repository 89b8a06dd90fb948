//! Tests of the rule for refused words, with each word in places where it is refused, and in places where it
//! is allowed.

use super::super::assert_findings;
use super::*;

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_findings(findings(&Tree::of(&[(path, text)])), expected);
}

#[test]
fn marks_carry_an_issue_number() {
    check("crates/a/src/lib.rs", "// TODO(#12): later.\n", &[]);
    check("crates/a/src/lib.rs", "// TODO: later.\n", &["crates/a/src/lib.rs:1: `TODO(#12)`"]);
    check("crates/a/tests/all.rs", "\n/* TODO(soon) */\n", &["crates/a/tests/all.rs:2: `TODO(#12)`"]);
    check("xtask/src/main.rs", "// TODO(#): later.\n", &["xtask/src/main.rs:1: `TODO(#12)`"]);
    check(".ci/run", "# TODO\n", &[".ci/run:1: `TODO(#12)`"]);
    check(
        "crates/a/src/lib.rs",
        "// FIXME(#12)\n",
        &["crates/a/src/lib.rs:1: `FIXME` is for your own branch"],
    );
}

#[test]
fn marks_may_be_spoken_about() {
    check("CONTRIBUTING.md", "A `TODO` carries an issue number; `FIXME` does not merge.\n", &[]);
    check("crates/a/src/lib.rs", "const S: &str = \"TODO\"; // TODOS\n", &[]);
}

#[test]
fn desk_macros_stay_on_the_desk() {
    check("crates/a/src/lib.rs", "fn f() { dbg!(1); }\n", &["crates/a/src/lib.rs:1: `dbg!`"]);
    check("crates/a/src/lib.rs", "\nfn f() { todo!() }\n", &["crates/a/src/lib.rs:2: `todo!`"]);
    check(
        "crates/cli/src/main.rs",
        "#[cfg(test)] mod tests { fn f() { unimplemented!() } }\n",
        &["crates/cli/src/main.rs:1: `unimplemented!`"],
    );
    check("crates/a/src/lib.rs", "//! todo!()\nfn f(todo: u8) -> bool { todo!= 1 }\n", &[]);
}

#[test]
fn libraries_do_not_print() {
    check(
        "crates/a/src/lib.rs",
        "fn f() { println!(); }\n",
        &["crates/a/src/lib.rs:1: `println!` in a library"],
    );
    check(
        "crates/a/src/lib.rs",
        "fn f() { eprint!(); }\n",
        &["crates/a/src/lib.rs:1: `eprint!` in a library"],
    );
    check("crates/cli/src/main.rs", "fn f() { println!(); }\n", &[]);
    check("crates/testkit/src/lib.rs", "fn f() { println!(); }\n", &[]);
    check("crates/a/examples/hello.rs", "fn f() { println!(); }\n", &[]);
    check("crates/a/src/lib.rs", "/// println!()\nfn f() {}\n", &[]);
}

#[test]
fn libraries_do_not_exit() {
    let exit = "fn f() { std::process::exit(1) }\n";
    check("crates/a/src/lib.rs", exit, &["crates/a/src/lib.rs:1: `process::exit` in a library"]);
    check("crates/testkit/src/lib.rs", exit, &["crates/testkit/src/lib.rs:1: `process::exit`"]);
    check("crates/cli/src/main.rs", exit, &[]);
}

#[test]
fn tests_may_print() {
    check("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests { fn f() { println!(); } }\n", &[]);
    let tree = Tree::of(&[
        ("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests;\n"),
        ("crates/a/src/tests.rs", "fn f() { println!(); }\n"),
    ]);
    assert_findings(findings(&tree), &[]);
}

#[test]
fn paths_of_one_machine_are_found() {
    for directory in MACHINE_PATHS {
        let place = "docs/guide.md:2: exists on one machine only";
        check("docs/guide.md", &format!("\ncd {directory}x\n"), &[place]);
        check("docs/guide.md", &format!("\nPATH=bin:{directory}\n"), &[place]);
        check("docs/guide.md", &format!("\n`docs{directory}x` and ~{directory}\n"), &[]);
        check(
            "crates/a/tests/all.rs",
            &format!("const S: &str = \"{directory}\";"),
            &["crates/a/tests/all.rs:1: one machine"],
        );
    }
}
