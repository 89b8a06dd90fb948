//! Tests of reading Markdown: links, spans and headings, and texts that only resemble them.

use super::*;

fn texts(pointers: &[Pointer]) -> Vec<String> {
    pointers.iter().map(|it| format!("{}@{}", it.text, it.line)).collect()
}

#[track_caller]
fn check_links(text: &str, expected: &[&str]) {
    assert_eq!(texts(&Markdown::new(text).links), expected, "{text}");
}

#[track_caller]
fn check_spans(text: &str, expected: &[&str]) {
    assert_eq!(texts(&Markdown::new(text).code_spans), expected, "{text}");
}

#[track_caller]
fn check_anchors(text: &str, expected: &[&str]) {
    let anchors = Markdown::new(text).anchors;
    assert_eq!(anchors.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn links_of_every_form_are_read() {
    check_links("a [b](c.md) and\n![d](e.png \"a title\")", &["c.md@1", "e.png@2"]);
    check_links("[two\nlines](a.md) [b](<with space.md>)", &["a.md@2", "with space.md@2"]);
    check_links("[a](b_(c).md)", &["b_(c).md@1"]);
    check_links("see [a][b]\n\n[b]: c.md#d\n[^1]: a note", &["c.md#d@3"]);
}

#[test]
fn code_is_no_link() {
    check_links("`[a](b)` and ``[c](d) ` ``", &[]);
    check_links("```text\n[a](b)\n```\n[c](d)", &["d@4"]);
    check_links("~~~\n```\n[a](b)\n~~~\n[c](d)", &["d@5"]);
    check_links("```` \n```\n[a](b)\n````\n[c](d)", &["d@5"]);
}

#[test]
fn spans_are_read_outside_of_fences() {
    check_spans("a `b` and ``c ` d``\n\n```\n`e`\n```\n`f`", &["b@1", "c ` d@1", "f@6"]);
    check_spans("`two\nlines`", &["two lines@1"]);
    check_spans("é `b`", &["b@1"]);
}

#[test]
fn lone_backtick_does_not_reach_into_the_next_paragraph() {
    check_spans("a ` b\n\nc `d`", &["d@3"]);
    check_spans("a \\` b `c`", &["c@1"]);
}

#[test]
fn anchors_follow_the_rules_of_github() {
    check_anchors("# 3.1 Memory & `edges`", &["31-memory--edges"]);
    check_anchors("## A_b – c!", &["a_b--c"]);
    check_anchors("# Über [uns](x.md) ##", &["über-uns"]);
    check_anchors("# Same\n\n# Same\n\n# Same", &["same", "same-1", "same-2"]);
    check_anchors("Title\n=====\n\n<a id=\"here\"></a>", &["here", "title"]);
}

#[test]
fn other_lines_are_no_headings() {
    check_anchors("```sh\n# comment\n```\n#tag\n\n---\n| a |\n|---|", &[]);
}
