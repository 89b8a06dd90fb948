//! Answers to queries, and the files that hold them.
//!
//! Each file of queries has a file `crates/sql/tests/flink/NAME.answers`. A line that begins with `--- `
//! names a query. The next line holds the digest of the question (the query with its setup, input and
//! settings) and the kind of the answer. Rows follow in the order in which they came, or sorted if no order
//! is promised. A refusal follows in Flink's words. A line end within a row is written `\n`, a backslash
//! `\\`.

use std::fmt::Write as _;

use super::cases::{CaseFile, Expected};
use crate::services::flink::VERSION;

/// The answer of Flink to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The query has a result: the changes of its rows, in order.
    Rows(Vec<Change>),
    /// Flink refused the query, or the query failed: the reason in one line.
    Refused(String),
}

/// One change of a query's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    /// Effect of the change: the row is inserted, changed or deleted.
    pub(crate) kind: Kind,
    /// The row that changes, as text.
    pub(crate) row: String,
}

/// The effect that a change in a query's result has on a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `Insert`: the row is new in the result.
    Insert,
    /// `UpdateBefore`: the row as it was before it changes.
    UpdateBefore,
    /// The row of the preceding `UpdateBefore`, after it has changed.
    UpdateAfter,
    /// `Delete`: the row is removed from the result.
    Delete,
}

/// Returns the rows that remain after all changes, in the order in which they came. A removed row that did not exist
/// remains as `-D,` and the row, so that it equals no expected row.
pub(crate) fn left_over(changes: &[Change]) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for Change { kind, row } in changes {
        if !apply(&mut rows, *kind, row) {
            rows.push(format!("-D,{row}"));
        }
    }
    rows
}

/// Applies a change of a query's result to `rows`, which keep the order in which they came. Returns `false`
/// if the change removes a row that does not exist.
pub(crate) fn apply(rows: &mut Vec<String>, kind: Kind, row: &str) -> bool {
    match kind {
        Kind::Insert | Kind::UpdateAfter => rows.push(row.to_owned()),
        Kind::UpdateBefore | Kind::Delete => match rows.iter().rposition(|known| known == row) {
            Some(place) => drop(rows.remove(place)),
            None => return false,
        },
    }
    true
}

/// Returns the text of the file with the answers to the queries of `file`.
pub(crate) fn written(file: &CaseFile, answers: &[Answer]) -> String {
    let mut text = format!(
        "The answers of Flink {VERSION} to the queries of {}.test.sql, written by `cargo xtask e2e flink`.\n",
        file.name
    );
    for (case, answer) in file.cases.iter().zip(answers) {
        let digest = file.digest(case);
        let _ = write!(text, "\n--- {}\n{digest:016x} ", case.name);
        match answer {
            Answer::Refused(why) => {
                let _ = writeln!(text, "refused: {}", escaped(why));
            }
            Answer::Rows(changes) => {
                let mut rows = left_over(changes);
                let is_ordered = matches!(case.expected, Expected::Rows { is_ordered: true, .. });
                if !is_ordered {
                    rows.sort();
                }
                let _ = writeln!(text, "{}", if is_ordered { "rows ordered" } else { "rows" });
                rows.iter().for_each(|row| {
                    let _ = writeln!(text, "{}", escaped(row));
                });
            }
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<Change> {
        let change = |text: &str| {
            let kind = match &text[..2] {
                "+I" => Kind::Insert,
                "-U" => Kind::UpdateBefore,
                "+U" => Kind::UpdateAfter,
                _ => Kind::Delete,
            };
            Change { kind, row: text[2..].to_owned() }
        };
        text.split(' ').map(change).collect()
    }

    #[test]
    fn changes_leave_rows() {
        assert_eq!(left_over(&changes("+Ia +Ib +Ia -Ua +Uc -Db")), ["a", "c"]);
        assert_eq!(left_over(&changes("+Ia -Db")), ["a", "-D,b"]);
    }

    #[test]
    fn answers_are_written_sorted_unless_their_order_is_promised() {
        let text = "--- query q\nSELECT 1;\n--- rows\n1\n--- query r\nSELECT 2;\n--- rows ordered\n1\n--- query s\nSELECT 3;\n\
                    --- error INVALID\nx\n";
        let file = CaseFile::parse("f", text).unwrap();
        let two = Answer::Rows(changes("+I2\n\\ +I1"));
        let answers = [two.clone(), two, Answer::Refused("no".to_owned())];
        let digests: Vec<String> =
            file.cases.iter().map(|case| format!("{:016x}", file.digest(case))).collect();
        let expected = format!(
            "The answers of Flink 2.3.0 to the queries of f.test.sql, written by `cargo xtask e2e flink`.\n\n\
             --- q\n{} rows\n1\n2\\n\\\\\n\n--- r\n{} rows ordered\n2\\n\\\\\n1\n\n--- s\n{} refused: no\n",
            digests[0], digests[1], digests[2]
        );
        assert_eq!(written(&file, &answers), expected);
    }
}
