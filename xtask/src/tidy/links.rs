//! The rule that targets of links in Markdown exist: relative links, anchors, and backticked paths into the
//! tree.
//!
//! Prose becomes wrong first, because nothing compiles it. Whole addresses are not followed: a check that needs the
//! network fails for reasons that are not in the change.

use super::Finding;
use super::markdown::{Markdown, Pointer};
use super::tree::Tree;

/// Beginnings of words in backticks that are paths into the tree of files.
const TREE_PREFIXES: [&str; 7] = ["crates/", "docs/", "xtask/", "bench/", "examples/", ".ci/", ".cargo/"];

/// Path of the page whose table rows may name files that are only planned.
const PLAN: &str = "docs/papers.md";

/// Returns a finding for each link and each backticked path whose target does not exist.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        let page = Markdown::new(text);
        for link in &page.links {
            if let Some(message) = broken_link(tree, path, &page, &link.text) {
                findings.push(Finding::new(path, link.line, message));
            }
        }
        for span in &page.code_spans {
            if path == PLAN && is_planned(text, span.line) {
                continue;
            }
            findings.extend(broken_path(tree, span).map(|message| Finding::new(path, span.line, message)));
        }
    }
    findings
}

/// Returns the fault of the link to `target` on the Markdown page at `path`; `None` if it has no fault.
fn broken_link(tree: &Tree, path: &str, page: &Markdown, target: &str) -> Option<String> {
    if has_scheme(target) {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    if file.is_empty() {
        let anchor = anchor.filter(|it| !it.is_empty())?;
        return (!page.anchors.contains(anchor)).then(|| format!("no heading on this page makes #{anchor}"));
    }
    let decoded = percent_decoded(file);
    let Some(linked) = resolved(path, &decoded) else {
        return Some(format!("the link {target} leaves the tree: write the whole address"));
    };
    if !tree.exists(&linked) {
        return Some(format!("the link {target} leads to {linked}, which does not exist"));
    }
    let anchor = anchor.filter(|_| linked.ends_with(".md"))?;
    let anchors = Markdown::new(tree.text(&linked)?).anchors;
    (!anchors.contains(anchor)).then(|| format!("no heading of {linked} makes #{anchor}"))
}

/// Returns whether a link's target is a whole address such as `https://..` or `mailto:..`.
fn has_scheme(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |it| it.0);
    target.starts_with("//")
        || scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Returns the path of the file that the link to `target` on the page at `path` means; `None` if it is
/// outside of the tree.
fn resolved(path: &str, target: &str) -> Option<String> {
    let mut names: Vec<&str> = path.split('/').collect();
    names.pop();
    if target.starts_with('/') {
        names.clear();
    }
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).filter(|_| *first == b'%').and_then(|it| std::str::from_utf8(it).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the fault of the path at the beginning of a code span; `None` if there is no path or no fault. The
/// arguments of a command may follow behind a blank.
fn broken_path(tree: &Tree, span: &Pointer) -> Option<String> {
    let word = span.text.split(' ').next().unwrap_or_default();
    if !TREE_PREFIXES.iter().any(|prefix| word.starts_with(prefix)) {
        return None;
    }
    let (pattern, line) = without_line(word);
    for path in with_braces_expanded(pattern.trim_end_matches('/')) {
        if !any_matches(tree, &path) {
            return Some(format!("`{word}`: {path} does not exist in the tree"));
        }
        let line_count = tree.text(&path).map(|text| text.lines().count());
        if let (Some(line), Some(line_count)) = (line, line_count)
            && line > line_count
        {
            return Some(format!("`{word}`: {path} has {line_count} lines only"));
        }
    }
    None
}

/// Splits `path:12` or `path:12-20` into the path and the last line number.
fn without_line(word: &str) -> (&str, Option<usize>) {
    let Some((path, lines)) = word.rsplit_once(':') else { return (word, None) };
    let last = lines.rsplit('-').next().unwrap_or_default();
    last.parse().map_or((word, None), |line| (path, Some(line)))
}

/// Returns the paths that a pattern with braces means: `a/b.rs` and `a/c.rs` for `a/{b,c}.rs`.
fn with_braces_expanded(pattern: &str) -> Vec<String> {
    let braces = pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (choices, behind))) = braces else { return vec![pattern.to_owned()] };
    choices.split(',').flat_map(|choice| with_braces_expanded(&format!("{before}{choice}{behind}"))).collect()
}

/// Returns whether a file or directory has the path `pattern`. `*` stands for a part of a name, `**` for any number of
/// directories, and `<name>` for any name.
fn any_matches(tree: &Tree, pattern: &str) -> bool {
    if !pattern.contains(['*', '<']) {
        return tree.exists(pattern);
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    tree.paths().chain(tree.directories()).any(|path| {
        let names: Vec<&str> = path.split('/').collect();
        matches_path(&pattern, &names)
    })
}

fn matches_path(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern, names) {
        ([], []) => true,
        (["**", later @ ..], _) => (0..=names.len()).any(|skipped| matches_path(later, &names[skipped..])),
        ([first, later @ ..], [name, names @ ..]) => matches_name(first, name) && matches_path(later, names),
        _ => false,
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    let Some(start) = pattern.find(['*', '<']) else { return pattern == name };
    let end = match pattern[start..].find('>') {
        Some(close) if pattern[start..].starts_with('<') => start + close + 1,
        _ => start + 1,
    };
    let Some(rest) = name.strip_prefix(&pattern[..start]) else { return false };
    let mut cuts = rest.char_indices().map(|(cut, _)| cut).chain([rest.len()]);
    cuts.any(|cut| matches_name(&pattern[end..], &rest[cut..]))
}

/// Returns whether the line with this number is a table row whose column `status` contains `planned`.
fn is_planned(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let is_row = |line: &&&str| line.trim_start().starts_with('|');
    let Some(header) = lines[..line].iter().rev().take_while(is_row).last() else { return false };
    let status = cells(header).iter().position(|cell| cell.eq_ignore_ascii_case("status"));
    status
        .and_then(|column| cells(lines[line - 1]).get(column).copied())
        .is_some_and(|it| it.contains("planned"))
}

/// Returns the cells of a row of a Markdown table. A bar behind a backslash does not end a cell.
fn cells(row: &str) -> Vec<&str> {
    let row = row.trim().trim_start_matches('|');
    let mut cells = Vec::new();
    let mut start = 0;
    for (offset, _) in row.match_indices('|').filter(|(offset, _)| !row[..*offset].ends_with('\\')) {
        cells.push(row[start..offset].trim());
        start = offset + 1;
    }
    cells.push(row[start..].trim());
    cells
}

#[cfg(test)]
mod tests;
