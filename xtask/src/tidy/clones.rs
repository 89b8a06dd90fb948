//! Equal runs of lines: the same code in two places of the rooms. `cargo xtask tidy --clones` lists them.
//!
//! Blank lines, comments, `use` declarations and code for tests are passed over: they make no run longer, and a run goes on
//! behind them. All other lines count. Two lines are equal if their text is, without comments and without blanks at both
//! ends. Lines of punctuation alone, such as `}` or `);`, count between other lines only: a run neither begins nor ends
//! with one.
//!
//! A run is a sequence of at least [`LINES_MIN`] lines that count, equal in two places, each within one file. Runs are
//! maximal: neither the lines before the two places are equal nor those behind. Equal lines in three places are three
//! runs, one for each pair. The two places of a run do not overlap; where they would, the run ends.
//!
//! Only files below `crates/*/src` are read, so xtask itself is not. Tests state one case beside the other, and equal
//! lines are welcome there.
//!
//! The number of runs may not exceed [`RUNS_MAX`]. The constant is lowered in two ways. A change that removes runs may
//! lower it at once. It must be lowered when more than [`RUNS_SLACK`] runs are missing. To demand the exact number was
//! rejected because of merges. Two branches which remove one run each would write the same number, git would merge the two
//! changes as one, and the merged tree would fail although both branches passed. Branches which remove different numbers
//! would conflict in this line. With the slack, a merge fails only if more than [`RUNS_SLACK`] runs have gone, and the
//! message says the number to write. The price is that up to [`RUNS_SLACK`] new runs may take the place of removed ones.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

use super::Finding;
use super::modules::{Reach, reached_files};
use super::rust_text::RustText;
use super::tree::{Place, Tree};

/// Number of lines of the shortest run that counts. Shorter runs are mostly signatures, and matches over one
/// enum.
const LINES_MIN: usize = 12;

/// Largest number of runs that the tree may have. It is only ever lowered.
const RUNS_MAX: usize = 7;

/// Number of runs that may be missing from [`RUNS_MAX`] before that constant must be lowered. Branches in
/// work remove one or two runs each, so five leaves room for two or three merges.
const RUNS_SLACK: usize = 5;

/// Path of this file, where findings are reported.
const HERE: &str = "xtask/src/tidy/clones.rs";

/// A run of equal lines in two places.
struct Run<'a> {
    /// Number of lines of the run, not counting those that are passed over.
    line_count: usize,
    /// The two places of the run, in the order of paths and lines.
    places: [Stretch<'a>; 2],
}

/// One of the two places of a run: a file, and lines of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stretch<'a> {
    path: &'a str,
    first_line: usize,
    last_line: usize,
}

/// A line that counts, or a separator between two files.
struct Line<'a> {
    path: &'a str,
    /// The number of this line in its file, counted from 1.
    number: usize,
    /// True if the line has neither a letter nor a digit.
    is_punctuation: bool,
}

const SEPARATOR: Line<'_> = Line { path: "", number: 0, is_punctuation: true };

/// Returns a finding if the tree has too many runs, or so few that [`RUNS_MAX`] must be lowered. A tree without this file,
/// such as a test's, has no constant to compare with.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let lines = tree.text(HERE).unwrap_or_default().lines();
    let constants = lines.zip(1..).filter(|(line, _)| line.starts_with("const RUNS_MAX:"));
    let refused = refusal(runs(tree).len(), RUNS_MAX);
    constants.filter_map(|(_, number)| Some(Finding::new(HERE, number, refused.as_ref()?))).collect()
}

fn refusal(run_count: usize, runs_max: usize) -> Option<String> {
    if runs_max < run_count {
        Some(format!(
            "{run_count} equal runs of {LINES_MIN} lines or more, {runs_max} are the most: `cargo xtask tidy \
             --clones` lists them; move the lines of a new one to one place, and do not raise RUNS_MAX"
        ))
    } else if run_count + RUNS_SLACK < runs_max {
        Some(format!(
            "{run_count} equal runs of {LINES_MIN} lines or more, where {runs_max} may be: set RUNS_MAX to \
             {run_count}, so that the number cannot rise again"
        ))
    } else {
        None
    }
}

/// Returns a line of text for each run of equal lines, longest first, and then their number.
pub(super) fn list(tree: &Tree) -> String {
    let runs = runs(tree);
    let lines = runs.iter().map(|run| format!("{run}\n"));
    lines.chain([format!("equal runs of {LINES_MIN} lines or more: {}\n", runs.len())]).collect()
}

/// Returns every run of equal lines, longest first, then in the order of paths and lines.
fn runs(tree: &Tree) -> Vec<Run<'_>> {
    let (lines, kinds) = read_lines(tree);
    let mut runs = Vec::new();
    // For each window of `LINES_MIN` lines that the loop has passed: the indexes at which the window
    // begins.
    let mut begins: HashMap<&[usize], Vec<usize>> = HashMap::new();
    for (second, window) in kinds.windows(LINES_MIN).enumerate() {
        let earlier = begins.entry(window).or_default();
        for &first in &*earlier {
            // A window is part of a run that was found already if the lines before its two places are equal.
            // There is a line before each place, because equal windows contain no separator.
            let is_found_already = kinds[first - 1] == kinds[second - 1];
            if !is_found_already {
                let is_equal = |offset: &usize| kinds[first + offset] == kinds[second + offset];
                let length = (0..second - first).take_while(is_equal).count();
                runs.extend(run_of(&lines[first..first + length], &lines[second..second + length]));
            }
        }
        earlier.push(second);
    }
    runs.sort_by_key(|run| (Reverse(run.line_count), run.places));
    runs
}

/// Returns the run that these equal lines make, without punctuation at its ends; `None` if it is too short.
fn run_of<'a>(first: &[Line<'a>], second: &[Line<'a>]) -> Option<Run<'a>> {
    let begin = first.iter().position(|line| !line.is_punctuation)?;
    let end = 1 + first.iter().rposition(|line| !line.is_punctuation)?;
    let stretch = |lines: &[Line<'a>]| Stretch {
        path: lines[begin].path,
        first_line: lines[begin].number,
        last_line: lines[end - 1].number,
    };
    let line_count = end - begin;
    (LINES_MIN <= line_count).then(|| Run { line_count, places: [stretch(first), stretch(second)] })
}

/// Returns the lines that count of all files, one file behind the other, and a number for each line. Equal lines have
/// equal numbers. A separator with a number of its own stands before each file and behind the last.
fn read_lines(tree: &Tree) -> (Vec<Line<'_>>, Vec<usize>) {
    let reached = reached_files(tree);
    let is_read = |path: &str, place: Place<'_>| {
        place.is_in_room() && place.part == "src" && reached.get(path) != Some(&Reach::TestOnly)
    };
    let (mut lines, mut kinds) = (Vec::new(), Vec::new());
    // For each text of a line, the index of the first line with this text, which is the number of all such
    // lines.
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    for (path, _, rust) in tree.rust_files().filter(|(path, place, _)| is_read(path, *place)) {
        kinds.push(lines.len());
        lines.push(SEPARATOR);
        for (number, text) in counting_lines(rust) {
            kinds.push(*first_lines.entry(text).or_insert(lines.len()));
            lines.push(Line { path, number, is_punctuation: !text.contains(char::is_alphanumeric) });
        }
    }
    kinds.push(lines.len());
    lines.push(SEPARATOR);
    (lines, kinds)
}

/// Returns every line of a file that counts, with its number.
fn counting_lines(rust: &RustText) -> Vec<(usize, &str)> {
    let mut counting = Vec::new();
    let (mut offset, mut is_import) = (0, false);
    let lines = rust.text.split_inclusive('\n').zip(rust.code.lines()).zip(rust.comments.lines());
    for (number, ((line, code), comments)) in (1..).zip(lines) {
        let comment_begin = comments.find(|c: char| !c.is_whitespace()).unwrap_or(line.len());
        let text = line[..comment_begin].trim();
        let is_test = rust.is_test(offset + line.len() - line.trim_start().len());
        is_import |= opens_import(code.trim_start());
        if !text.is_empty() && !is_test && !is_import {
            counting.push((number, text));
        }
        is_import &= !code.contains(';');
        offset += line.len();
    }
    counting
}

/// Returns whether `code` begins with a `use` declaration, with or without a visibility.
fn opens_import(code: &str) -> bool {
    code.starts_with("use ") || code.starts_with("pub") && code.contains(" use ")
}

impl fmt::Display for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line_count, places: [first, second] } = self;
        write!(f, "{first}  {second}  {line_count} lines")
    }
}

impl fmt::Display for Stretch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, first_line, last_line } = self;
        write!(f, "{path}:{first_line}-{last_line}")
    }
}

#[cfg(test)]
mod tests;
