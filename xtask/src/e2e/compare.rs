//! Comparison of Flink's answers with the expected ones, and the list of known differences.

use super::answers::{Answer, Kind, apply, left_over};
use super::cases::{Case, CaseFile, Expected};

/// Code of errors for queries that we refuse and Flink may run. `docs/sql/parity.md` lists the missing features. Flink's
/// answers to these are written down and not compared.
const OURS_ALONE: &str = "UNSUPPORTED";

/// End of the name of a case whose answer differs from Flink's. The head of the file gives the reason.
const NOT_AS_FLINK: &str = "(not as Flink)";

/// Largest number of rows that are shown of each side of a difference.
const SHOWN_MAX: usize = 20;

/// The list of known differences to Flink, from the file `differences.txt`. It has a line `FILE: CASE |
/// REASON` for each case, and `#` begins a comment.
#[derive(Debug)]
pub(crate) struct Differences {
    listed: Vec<(String, String, String)>,
}

/// The verdict on Flink's answer to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// `Agrees`: Flink's answer is the expected one.
    Agrees,
    /// We refuse the query, and Flink may run it. The text gives our reason.
    OursAlone(String),
    /// Flink's answer differs from ours, and this is known: the list or the name of the case gives the
    /// reason.
    Listed(String),
    /// Flink's answer differs from the expected one. The text shows the difference.
    Differs(String),
    /// The case is listed as different, but Flink's answer is the expected one.
    ListedInVain,
}

impl Verdict {
    /// Returns the word by which the report counts verdicts of this kind.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Verdict::Agrees => "agree",
            Verdict::OursAlone(_) => "are refused by us alone",
            Verdict::Listed(_) => "are listed as different",
            Verdict::Differs(_) => "differ",
            Verdict::ListedInVain => "are listed in vain",
        }
    }
}

impl Differences {
    /// Reads the list of known differences.
    ///
    /// # Errors
    ///
    /// A line without a file, a case or a reason, or a case that is listed twice.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut listed: Vec<(String, String, String)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let parts = line.split_once(" | ").and_then(|(place, reason)| {
                let (file, case) = place.split_once(": ")?;
                Some((file.to_owned(), case.to_owned(), reason.trim().to_owned()))
            });
            let Some(parts) = parts.filter(|(_, _, reason)| !reason.is_empty()) else {
                return Err(format!("line {number}: a line is FILE: CASE | REASON"));
            };
            if listed.iter().any(|(file, case, _)| *file == parts.0 && *case == parts.1) {
                return Err(format!("line {number}: {}: {} is listed twice", parts.0, parts.1));
            }
            listed.push(parts);
        }
        Ok(Self { listed })
    }

    /// Compares Flink's answer with the answer that the case expects.
    pub(crate) fn judge(&self, file: &CaseFile, case: &Case, answer: &Answer) -> Verdict {
        let reason = self
            .listed
            .iter()
            .find(|(of, name, _)| *of == file.name && *name == case.name)
            .map(|(_, _, reason)| reason.clone());
        let difference = difference(&case.expected, answer);
        match (difference, reason) {
            (None, Some(_)) => Verdict::ListedInVain,
            (None, None) => Verdict::Agrees,
            (Some(_), Some(reason)) => Verdict::Listed(reason),
            (Some(_), None) if case.name.ends_with(NOT_AS_FLINK) => {
                Verdict::Listed("its name says that it is not as Flink".to_owned())
            }
            (Some(how), None) => match &case.expected {
                Expected::Error { code } if code == OURS_ALONE => {
                    Verdict::OursAlone(format!("{code} is ours alone"))
                }
                _ => Verdict::Differs(how),
            },
        }
    }

    /// Returns those cases in the list of known differences that are not among `files`.
    pub(crate) fn unknown(&self, files: &[CaseFile]) -> Vec<(String, String)> {
        let is_known = |of: &str, name: &str| {
            files.iter().any(|file| file.name == of && file.cases.iter().any(|case| case.name == name))
        };
        let unknown = self.listed.iter().filter(|(file, case, _)| !is_known(file, case));
        unknown.map(|(file, case, _)| (file.clone(), case.clone())).collect()
    }
}

/// Returns the difference between an answer and the expected one; `None` if they are equal.
fn difference(expected: &Expected, answer: &Answer) -> Option<String> {
    let (rows, is_ordered) = match expected {
        Expected::Rows { rows, is_ordered } => (rows.clone(), *is_ordered),
        Expected::Changelog(changes) => match rows_left(changes) {
            Ok(rows) => (rows, false),
            Err(why) => return Some(format!("  the file: {why}")),
        },
        Expected::Error { code } => {
            return match answer {
                Answer::Refused(_) => None,
                Answer::Rows(changes) => {
                    Some(format!("  here {code}, flink:\n{}", shown(&left_over(changes))))
                }
            };
        }
    };
    let mut expected = rows;
    let mut found = match answer {
        Answer::Refused(why) => {
            return Some(format!("  here:\n{}  flink refuses: {why}\n", shown(&expected)));
        }
        Answer::Rows(changes) => left_over(changes),
    };
    if !is_ordered {
        expected.sort();
        found.sort();
    }
    (expected != found).then(|| {
        let only = |rows: &[String], others: &[String]| match is_ordered {
            true => rows.to_vec(),
            false => minus(rows, others),
        };
        let (ours, theirs) = (only(&expected, &found), only(&found, &expected));
        format!("  here alone:\n{}  flink alone:\n{}", shown(&ours), shown(&theirs))
    })
}

/// Returns the rows that remain after the changes that a file expects.
fn rows_left(changes: &[String]) -> Result<Vec<String>, String> {
    let mut rows: Vec<String> = Vec::new();
    for change in changes {
        let (kind, row) = match change.split_once(',') {
            Some(("+I", row)) => (Kind::Insert, row),
            Some(("+U", row)) => (Kind::UpdateAfter, row),
            Some(("-U", row)) => (Kind::UpdateBefore, row),
            Some(("-D", row)) => (Kind::Delete, row),
            _ => return Err(format!("`{change}` is no change")),
        };
        if !apply(&mut rows, kind, row) {
            return Err(format!("`{change}` takes a row away that is not there"));
        }
    }
    Ok(rows)
}

/// Returns the rows that one multiset of rows has and the other one lacks.
fn minus(rows: &[String], others: &[String]) -> Vec<String> {
    let mut others = others.to_vec();
    let mut left = rows.to_vec();
    left.retain(|row| match others.iter().position(|other| other == row) {
        Some(place) => {
            others.swap_remove(place);
            false
        }
        None => true,
    });
    left
}

fn shown(rows: &[String]) -> String {
    let mut text: String = rows.iter().take(SHOWN_MAX).map(|row| format!("    {row}\n")).collect();
    if rows.len() > SHOWN_MAX {
        text += &format!("    and {} more\n", rows.len() - SHOWN_MAX);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::answers::{Change, Kind};
    use super::*;

    fn judged(section: &str, answer: &Answer, list: &str) -> Verdict {
        let text = format!("--- query q\nSELECT 1;\n--- {section}\n");
        let file = CaseFile::parse("f", &text).unwrap();
        Differences::parse(list).unwrap().judge(&file, &file.cases[0], answer)
    }

    fn rows(rows: &[&str]) -> Answer {
        Answer::Rows(rows.iter().map(|row| Change { kind: Kind::Insert, row: (*row).to_owned() }).collect())
    }

    #[test]
    fn rows_are_compared_in_order_if_it_is_promised() {
        assert_eq!(judged("rows\n1\n2", &rows(&["2", "1"]), ""), Verdict::Agrees);
        let differs = |verdict: Verdict| assert!(matches!(verdict, Verdict::Differs(_)), "{verdict:?}");
        differs(judged("rows ordered\n1\n2", &rows(&["2", "1"]), ""));
        differs(judged("rows\n1\n2", &rows(&["1"]), ""));
        differs(judged("rows\n1", &rows(&["1", "1"]), ""));
        differs(judged("rows\n1", &Answer::Refused("no".to_owned()), ""));
        assert_eq!(judged("changelog\n+I,1\n-U,1\n+U,2", &rows(&["2"]), ""), Verdict::Agrees);
        differs(judged("changelog\n+I,1", &rows(&["2"]), ""));
    }

    #[test]
    fn errors_are_refusals_whatever_their_words() {
        let no = || Answer::Refused("no".to_owned());
        assert_eq!(judged("error INVALID\nx", &no(), ""), Verdict::Agrees);
        assert!(matches!(judged("error INVALID\nx", &rows(&[]), ""), Verdict::Differs(_)));
        assert!(matches!(judged("error UNSUPPORTED\nx", &rows(&[]), ""), Verdict::OursAlone(_)));
        assert_eq!(judged("error UNSUPPORTED\nx", &no(), ""), Verdict::Agrees);
    }

    #[test]
    fn the_list_excuses_and_must_be_right() {
        let list = "# why\n\nf: q | it is so\n";
        assert_eq!(judged("rows\n1", &rows(&["2"]), list), Verdict::Listed("it is so".to_owned()));
        assert_eq!(judged("rows\n1", &rows(&["1"]), list), Verdict::ListedInVain);
        let known = Differences::parse("f: q | x\ng: r | y").unwrap();
        let file = CaseFile::parse("f", "--- query q\nSELECT 1;\n--- rows\n1\n").unwrap();
        assert_eq!(known.unknown(&[file]), [("g".to_owned(), "r".to_owned())]);
        for text in ["f: q", "f q | x", "f: q | ", "f: q | x\nf: q | y"] {
            assert!(Differences::parse(text).is_err(), "{text}");
        }
    }
}
