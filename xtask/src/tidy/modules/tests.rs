//! Tests of finding source files: they are found where the compiler looks for them.

use super::*;

/// Checks which files of a package are reached from the root of its library. A star in `expected` marks files
/// that are compiled for tests only.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &str) {
    let files: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let reached: Vec<String> = reached_files(&Tree::of(&files))
        .iter()
        .map(|(path, reach)| {
            let mark = if *reach == Reach::TestOnly { "*" } else { "" };
            format!("{}{mark}", path.trim_start_matches("crates/a/src/"))
        })
        .collect();
    assert_eq!(reached.join(" "), expected);
}

#[test]
fn children_of_a_file_are_in_its_directory() {
    check(
        &[("lib.rs", "mod a;\npub(crate) mod b;"), ("a.rs", "pub mod c;"), ("a/c.rs", ""), ("b.rs", "")],
        "a.rs a/c.rs b.rs lib.rs",
    );
}

#[test]
fn undeclared_and_commented_modules_are_not_reached() {
    check(&[("lib.rs", "// mod a;\nconst S: &str = \"mod b;\";"), ("a.rs", ""), ("b.rs", "")], "lib.rs");
}

#[test]
fn test_modules_pass_their_condition_on() {
    check(
        &[("lib.rs", "#[cfg(test)]\nmod tests;"), ("tests.rs", "mod deep;"), ("tests/deep.rs", "")],
        "lib.rs tests.rs* tests/deep.rs*",
    );
}

#[test]
fn plain_reach_wins_over_test_reach() {
    check(
        &[("lib.rs", "mod a;"), ("main.rs", "#[cfg(test)] mod a;"), ("a.rs", "mod b;"), ("a/b.rs", "")],
        "a.rs a/b.rs lib.rs main.rs",
    );
}

#[test]
fn inline_modules_are_directories() {
    check(&[("lib.rs", "mod a { mod b; }\nmod c;"), ("a/b.rs", ""), ("c.rs", "")], "a/b.rs c.rs lib.rs");
}

#[test]
fn programs_are_roots() {
    check(
        &[("main.rs", "mod a;"), ("a.rs", ""), ("bin/tool.rs", ""), ("bin/big/main.rs", "")],
        "a.rs bin/big/main.rs bin/tool.rs main.rs",
    );
}

#[test]
fn mod_rs_is_followed() {
    check(&[("lib.rs", "mod a;"), ("a/mod.rs", "mod b;"), ("a/b.rs", "")], "a/b.rs a/mod.rs lib.rs");
}
