//! Tests of finding runs of equal lines, and of lines that are no run. In the test files every character
//! stands for a line.

use super::super::assert_findings;
use super::*;

/// Returns a file in which each character of `lines` stands for a line. A letter is a call. The other
/// characters are lines that a run passes over, or punctuation.
fn file(lines: &str) -> String {
    let line = |c: char| match c {
        '}' | ')' => format!("  {c}\n"),
        ' ' => "\n".to_owned(),
        '/' => "// A comment.\n".to_owned(),
        '<' => "pub(crate) use model::{\n".to_owned(),
        '>' => "    Record};\n".to_owned(),
        '#' => "#[cfg(test)] fn only_a_test() {}\n".to_owned(),
        letter => format!("{letter}();\n"),
    };
    lines.chars().map(line).collect()
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let texts: Vec<(&str, String)> = files.iter().map(|(path, lines)| (*path, file(lines))).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let tree = Tree::of(&texts);
    let found: Vec<String> = runs(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

const A: &str = "crates/a/src/lib.rs";
const B: &str = "crates/b/src/lib.rs";
const C: &str = "crates/c/src/lib.rs";

#[test]
fn twelve_lines_are_a_run_and_eleven_are_none() {
    let run = "crates/a/src/lib.rs:2-13  crates/b/src/lib.rs:1-12  12 lines";
    check(&[(A, "xabcdefghijkly"), (B, "abcdefghijkl")], &[run]);
    check(&[(A, "xabcdefghijky"), (B, "abcdefghijk")], &[]);
}

/// A run is one line of the list, not one for each window of twelve lines in it.
#[test]
fn runs_are_maximal_and_the_longest_comes_first() {
    check(
        &[(A, "abcdefghijklmnXABCDEFGHIJKLMNOP"), (B, "ABCDEFGHIJKLMNOPYabcdefghijklmn")],
        &[
            "crates/a/src/lib.rs:16-31  crates/b/src/lib.rs:1-16  16 lines",
            "crates/a/src/lib.rs:1-14  crates/b/src/lib.rs:18-31  14 lines",
        ],
    );
}

#[test]
fn three_places_are_three_pairs() {
    check(
        &[(A, "abcdefghijklXabcdefghijkl"), (B, "abcdefghijklm")],
        &[
            "crates/a/src/lib.rs:1-12  crates/a/src/lib.rs:14-25  12 lines",
            "crates/a/src/lib.rs:1-12  crates/b/src/lib.rs:1-12  12 lines",
            "crates/a/src/lib.rs:14-25  crates/b/src/lib.rs:1-12  12 lines",
        ],
    );
}

/// The two places of a run do not overlap. Rows of one table are equal to the rows below them, but count as a
/// run only if the places are apart.
#[test]
fn the_two_places_do_not_overlap() {
    check(&[(A, "aaaaaaaaaaaaaaaaaaaaaaa")], &[]);
    check(
        &[(A, "aaaaaaaaaaaaaaaaaaaaaaaa")],
        &["crates/a/src/lib.rs:1-12  crates/a/src/lib.rs:13-24  12 lines"],
    );
}

#[test]
fn files_end_runs() {
    check(&[(A, "abcdef"), (B, "ghijkl"), (C, "abcdefghijkl")], &[]);
}

#[test]
fn blanks_comments_imports_and_tests_are_passed_over() {
    let run = "crates/a/src/lib.rs:1-12  crates/b/src/lib.rs:1-17  12 lines";
    check(&[(A, "abcdefghijkl"), (B, "abc def/ghi<>jk#l")], &[run]);
    check(&[(A, "abcdefghijk//"), (B, "abcdefghijk//")], &[]);
    check(&[(A, "abcdefghijk<>#"), (B, "abcdefghijk<>#")], &[]);
}

#[test]
fn punctuation_counts_between_other_lines_only() {
    let run = "crates/a/src/lib.rs:1-12  crates/b/src/lib.rs:1-12  12 lines";
    check(&[(A, "abcdefghi}}l"), (B, "abcdefghi}}l")], &[run]);
    check(&[(A, "abcdefghijk}}"), (B, "abcdefghijk}}")], &[]);
    check(&[(A, "}}abcdefghijk"), (B, "}}abcdefghijk")], &[]);
    check(&[(A, "abcdefghijk}l"), (B, "abcdefghijk)l")], &[]);
}

#[test]
fn lines_are_equal_without_their_comments_and_with_their_texts() {
    let lines = |last: &str| format!("{}    {last}\n", file("abcdefghijk"));
    let count = |first: &str, second: &str| {
        let (first, second) = (lines(first), lines(second));
        runs(&Tree::of(&[(A, &first), (B, &second)])).len()
    };
    assert_eq!(count("l(\"x\"); // One.", "  l(\"x\"); // Two."), 1);
    assert_eq!(count("l(\"// x\");", "l(\"// y\");"), 0);
}

#[test]
fn only_sources_of_rooms_are_read() {
    let lines = "abcdefghijkl";
    for other in ["xtask/src/main.rs", "crates/a/tests/all.rs", "crates/a/benches/speed.rs"] {
        check(&[(A, lines), (other, lines)], &[]);
    }
    let (text, declaring) = (file(lines), format!("{}#[cfg(test)]\nmod tests;\n", file(lines)));
    assert!(runs(&Tree::of(&[(A, &declaring), ("crates/a/src/tests.rs", &text)])).is_empty());
}

#[test]
fn the_list_ends_with_the_count() {
    let text = file("abcdefghijkl");
    let expected = "crates/a/src/lib.rs:1-12  crates/b/src/lib.rs:1-12  12 lines\n\
                    equal runs of 12 lines or more: 1\n";
    assert_eq!(list(&Tree::of(&[(A, &text), (B, &text)])), expected);
}

#[test]
fn the_number_of_runs_may_not_rise_and_slack_is_bounded() {
    let told = |run_count| refusal(run_count, 20).unwrap_or_default();
    assert!(told(21).starts_with("21 equal runs of 12 lines or more, 20 are the most"), "{}", told(21));
    assert_eq!((told(20), told(15)), (String::new(), String::new()));
    assert!(told(14).contains("set RUNS_MAX to 14"), "{}", told(14));
    // If the allowed number is smaller than the slack, no number of runs is too low.
    assert_eq!(refusal(0, 3), None);
}

/// A tree with more equal runs of lines than are allowed is reported at the line that sets `RUNS_MAX`. In this test
/// each pair of equal files counts as one run.
#[test]
fn too_many_runs_are_found_at_the_constant() {
    let text = file("abcdefghijkl");
    let paths: Vec<String> = (0..RUNS_MAX + 2).map(|number| format!("crates/a{number}/src/lib.rs")).collect();
    let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), text.as_str())).collect();
    assert_findings(findings(&Tree::of(&files)), &[]);
    files.push((HERE, "//! Head.\nconst RUNS_MAX: usize = 20;\n"));
    assert_findings(findings(&Tree::of(&files)), &["xtask/src/tidy/clones.rs:2: are the most"]);
}
