//! Reader of the links, code spans and headings of a Markdown page.
//!
//! The reader knows the parts of GitHub-flavoured Markdown that our pages use: fenced code, code spans, inline and
//! reference links, and both kinds of heading. It reads indented code and HTML as prose.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_text::line_of;

/// The parts of a Markdown page that the rules need.
pub(super) struct Markdown {
    /// Targets of the links, in the order of the page. Reference definitions come last.
    pub(super) links: Vec<Pointer>,
    /// Contents of the page's code spans outside of fenced code.
    pub(super) code_spans: Vec<Pointer>,
    /// Anchors of the page that a link may name.
    pub(super) anchors: BTreeSet<String>,
}

/// A link or a code span of a Markdown page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    /// Number of the line of the link or code span, counted from 1.
    pub(super) line: usize,
    /// Target of the link, or contents of the code span, as text.
    pub(super) text: String,
}

impl Markdown {
    pub(super) fn new(text: &str) -> Self {
        let prose = without_fences(text);
        let (code_spans, without_spans) = cut_code_spans(&prose);
        let mut links = inline_links(&without_spans);
        links.extend(reference_definitions(&without_spans));
        Self { links, code_spans, anchors: anchors(&prose) }
    }
}

/// Returns `text` with fenced code replaced by blanks, of the same length.
fn without_fences(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut prose = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_code = match fence {
            None => {
                fence = fence_of(content);
                fence.is_some()
            }
            Some(opening) => {
                let closes = fence_of(content).is_some_and(|it| it == content && it.starts_with(opening));
                fence = fence.filter(|_| !closes);
                true
            }
        };
        if is_code {
            push_blank(&mut prose, line);
        } else {
            prose.push_str(line);
        }
    }
    prose
}

/// Returns the run of backticks or tildes that opens or closes fenced code, if a line has one.
fn fence_of(content: &str) -> Option<&str> {
    let mark = content.chars().next().filter(|c| "`~".contains(*c))?;
    let run = &content[..content.len() - content.trim_start_matches(mark).len()];
    // A backtick behind the run means that it is code within a line: ```like this```.
    let is_fence = run.len() >= 3 && !(mark == '`' && content[run.len()..].contains('`'));
    is_fence.then_some(run)
}

/// Returns the code spans of `prose`, and `prose` with the spans replaced by blanks, of the same length. A
/// run of backticks is closed by the next run of the same length in the same paragraph. Without such a run,
/// the backticks are text.
fn cut_code_spans(prose: &str) -> (Vec<Pointer>, String) {
    let mut spans = Vec::new();
    let mut rest_of_page = String::with_capacity(prose.len());
    let mut offset = 0;
    while let Some(next) = prose[offset..].chars().next() {
        let rest = &prose[offset..];
        let run_length = rest.len() - rest.trim_start_matches('`').len();
        let span = (run_length > 0).then(|| span_contents(rest, run_length)).flatten();
        let taken = match (next, span) {
            (_, Some(contents)) => {
                spans.push(Pointer { line: line_of(prose, offset), text: one_line(contents) });
                let taken = &rest[..run_length + contents.len() + run_length];
                push_blank(&mut rest_of_page, taken);
                offset += taken.len();
                continue;
            }
            ('\\', None) => next.len_utf8() + rest[1..].chars().next().map_or(0, char::len_utf8),
            (_, None) => run_length.max(next.len_utf8()),
        };
        rest_of_page.push_str(&rest[..taken]);
        offset += taken;
    }
    (spans, rest_of_page)
}

/// Returns the contents between the run of `run_length` backticks with which `rest` begins and the run that
/// closes it.
fn span_contents(rest: &str, run_length: usize) -> Option<&str> {
    let paragraph = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
    let mut offset = run_length;
    loop {
        offset += paragraph[offset..].find('`')?;
        let run = &paragraph[offset..];
        let length = run.len() - run.trim_start_matches('`').len();
        if length == run_length {
            return Some(&rest[run_length..offset]);
        }
        offset += length;
    }
}

/// Returns the targets of inline links: `[text](target)` and `![text](target "title")`.
fn inline_links(prose: &str) -> Vec<Pointer> {
    let mut links = Vec::new();
    for (offset, _) in prose.match_indices("](") {
        let rest = &prose[offset + 2..];
        let Some(end) = closing_parenthesis(rest) else { continue };
        links.push(Pointer { line: line_of(prose, offset), text: target_of(&rest[..end]) });
    }
    links
}

/// Returns the targets of reference definitions: `[name]: target`.
fn reference_definitions(prose: &str) -> Vec<Pointer> {
    let mut links = Vec::new();
    for (index, line) in prose.lines().enumerate() {
        let Some((name, target)) = line.trim_start().strip_prefix('[').and_then(|it| it.split_once("]:"))
        else {
            continue;
        };
        if !name.contains(']') && !name.starts_with('^') {
            links.push(Pointer { line: index + 1, text: target_of(target) });
        }
    }
    links
}

/// Returns the offset in `rest` of the parenthesis that closes one opened before `rest`.
fn closing_parenthesis(rest: &str) -> Option<usize> {
    let mut depth = 1usize;
    for (offset, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(offset);
        }
    }
    None
}

/// Returns the target of a link without its title and angle brackets.
fn target_of(inner: &str) -> String {
    let inner = inner.trim();
    match inner.strip_prefix('<').and_then(|it| it.split_once('>')) {
        Some((target, _)) => target.to_owned(),
        None => inner.split_whitespace().next().unwrap_or_default().to_owned(),
    }
}

/// Returns the anchors of the headings, in GitHub's form, and the anchors of `<a id="..">`.
fn anchors(prose: &str) -> BTreeSet<String> {
    let mut slug_counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    let mut line_above = "";
    for line in prose.lines() {
        let heading = atx_heading(line).or_else(|| is_underline(line, line_above).then_some(line_above));
        if let Some(heading) = heading {
            let slug = slug(heading);
            let count = slug_counts.entry(slug.clone()).or_default();
            anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
        for mark in [" id=\"", " name=\""] {
            let named = line.split(mark).skip(1).filter_map(|rest| rest.split_once('"'));
            anchors.extend(named.map(|(name, _)| name.to_owned()));
        }
        line_above = line;
    }
    anchors
}

/// Returns the text of a heading that begins with number signs, such as `## Words`; `None` for other lines.
fn atx_heading(line: &str) -> Option<&str> {
    let content = line.trim();
    let text = content.trim_start_matches('#');
    let level = content.len() - text.len();
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_heading.then(|| text.trim().trim_end_matches('#').trim_end())
}

/// Returns whether `line` is an underline that makes the line above it a heading.
fn is_underline(line: &str, line_above: &str) -> bool {
    let line = line.trim_end();
    let is_rule = !line.is_empty() && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'));
    let above = line_above.trim();
    is_rule && !above.is_empty() && atx_heading(above).is_none() && !above.starts_with(['|', '-', '*', '>'])
}

/// Returns the anchor that GitHub gives to a heading: lower case, hyphens for spaces, no punctuation.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    // For the anchor of a heading, GitHub keeps the text of a link and drops its target.
    while let Some((before, behind)) = rest.split_once("](") {
        text.push_str(before);
        rest = closing_parenthesis(behind).map_or("", |end| &behind[end + 1..]);
    }
    text.push_str(rest);
    text.chars()
        .flat_map(char::to_lowercase)
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ => c.is_alphanumeric().then_some(c),
        })
        .collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Appends a blank for each byte of `text`, but keeps line ends.
fn push_blank(page: &mut String, text: &str) {
    page.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests;
