//! Expected output in the head of a SQL file for `thalweg run`, so that a reader can check the output.
//!
//! ```sql
//! -- Expected, and on the standard error: 12 rows in, 1 late
//! --   shop,takings
//! --   Station,5.15   and 3 more
//! ```
//!
//! The head is the run of comment lines at the start of the file. Expectations begin at the first line that
//! begins with the word `Expected`.
//!
//! | in the head | meaning |
//! |---|---|
//! | `--   LINE` | a line of the output, in any order; without such lines any output is accepted |
//! | `--   LINE   and N more` | a line of the output as above, and N further lines with any content |
//! | `N rows in`, `N out`, `N late`, `N bad` | sums over all jobs of the file |

use std::collections::BTreeMap;

/// Word at the start of a comment line at which the expectations of a SQL file begin.
const WORD: &str = "Expected";

/// Greatest number of differing lines that are reported.
const TOLD_MAX: usize = 20;

/// Row counts of a run, summed over all jobs of a SQL file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// Number of rows that all jobs have read.
    pub rows_in: u64,
    /// Number of rows that all jobs have written to tables or shown as results of queries.
    pub rows_out: u64,
    /// Number of late rows that the operators of all jobs have dropped.
    pub late: u64,
    /// Number of records that all jobs could not parse.
    pub bad: u64,
}

/// Expectations in the head of a SQL file, which is the run of comment lines at its start. Each line of
/// output that has arrived is removed from the expected lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// For each expected line of output, how many more times it must appear. If the head lists no lines, the
    /// output is not compared.
    lines: BTreeMap<String, u64>,
    others: u64,
    /// Words such as `rows in`, each with the count that the head expects before it, in the order of
    /// [`Sums`].
    counts: [(&'static str, Option<u64>); 4],
    wrong: Vec<String>,
}

impl Head {
    /// Parses the head of a SQL file; returns `None` if the head states no expectations.
    ///
    /// # Errors
    /// The expectations contain nothing that can be compared.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let said = || {
            text.lines()
                .take_while(|line| line.starts_with("--"))
                .skip_while(|line| !line.strip_prefix("-- ").is_some_and(|line| line.starts_with(WORD)))
        };
        said().next()?;
        let counts = ["rows in", "out", "late", "bad"].map(|words| (words, None));
        let mut head = Head { lines: BTreeMap::new(), others: 0, counts, wrong: Vec::new() };
        for line in said() {
            match line.strip_prefix("--   ") {
                Some(line) => head.expect(line),
                None => head.count(line),
            }
        }
        let is_empty = head.lines.is_empty() && head.counts.iter().all(|(_, count)| count.is_none());
        Some(if is_empty {
            Err(format!(
                "its head has the word {WORD}, but neither lines behind `--   ` nor `N rows in` or `N out`"
            ))
        } else {
            Ok(head)
        })
    }

    fn expect(&mut self, line: &str) {
        let more = line
            .split_once("   and ")
            .and_then(|(line, rest)| Some((line, rest.strip_suffix(" more")?.parse::<u64>().ok()?)));
        let (line, others) = more.unwrap_or((line, 0));
        self.others += others;
        *self.lines.entry(line.to_owned()).or_default() += 1;
    }

    /// Reads the counts that a comment line states, such as `12 rows in, 1 late`.
    fn count(&mut self, line: &str) {
        for (words, count) in &mut self.counts {
            for (place, _) in line.match_indices(&format!(" {words}")) {
                let is_whole =
                    !line[place + 1 + words.len()..].starts_with(|next: char| next.is_alphanumeric());
                let number = line[..place].rsplit(|before: char| !before.is_ascii_digit()).next();
                if let (true, Some(Ok(number))) = (is_whole, number.map(str::parse)) {
                    *count = Some(number);
                }
            }
        }
    }

    /// Compares a line of output with the expected lines that have not appeared yet.
    pub fn line(&mut self, line: &str) {
        if self.lines.is_empty() {
            return;
        }
        match self.lines.get_mut(line) {
            Some(count) if 0 < *count => *count -= 1,
            _ if 0 < self.others => self.others -= 1,
            _ if self.wrong.len() < TOLD_MAX => self.wrong.push(format!("not expected: {line}")),
            _ => {}
        }
    }

    /// Checks at the end of a run that all expected lines of output have appeared, and no others.
    ///
    /// # Errors
    /// The differences, one a line.
    pub fn end(mut self, sums: Sums) -> Result<(), String> {
        let missing = self.lines.iter().filter(|(_, count)| 0 < **count);
        let missing = missing.map(|(line, count)| format!("did not come, {count} times: {line}"));
        self.wrong.extend(missing.take(TOLD_MAX));
        if 0 < self.others {
            self.wrong.push(format!("{} others did not come", self.others));
        }
        let came = [sums.rows_in, sums.rows_out, sums.late, sums.bad];
        for ((words, expected), came) in self.counts.into_iter().zip(came) {
            if expected.is_some_and(|expected| expected != came) {
                self.wrong
                    .push(format!("{came} {words}, and {} were expected", expected.unwrap_or_default()));
            }
        }
        if self.wrong.is_empty() { Ok(()) } else { Err(self.wrong.join("\n  ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, came: &[&str], sums: Sums, expected: Result<(), &str>) {
        let mut head = Head::parse(head).unwrap().unwrap();
        came.iter().for_each(|line| head.line(line));
        assert_eq!(head.end(sums), expected.map_err(str::to_owned));
    }

    #[test]
    fn lines_come_in_any_order_and_as_often_as_they_are_said() {
        let head = "-- About.\n-- Expected:\n--   a\n--   b\n--   a\nSELECT 1;\n--   c";
        check(head, &["b", "a", "a"], Sums::default(), Ok(()));
        let expected = "not expected: b\n  did not come, 2 times: a";
        check(head, &["b", "b"], Sums::default(), Err(expected));
    }

    #[test]
    fn others_are_counted() {
        let head = "-- Expected by kind:\n--   a   and 2 more\n--   b and 3 more\n";
        check(head, &["x", "a", "b and 3 more", "y"], Sums::default(), Ok(()));
        check(head, &["x", "a", "b and 3 more"], Sums::default(), Err("1 others did not come"));
        let expected = "not expected: z";
        check(head, &["x", "a", "b and 3 more", "y", "z"], Sums::default(), Err(expected));
    }

    #[test]
    fn counts_stand_anywhere_behind_the_word() {
        let head = "-- 7 late, Expected or not: 3 out\n-- Expected: 51 rows, three for each of 17 minutes; 920 rows in, 51 out\n-- and 0 late outlines";
        let sums = Sums { rows_in: 920, rows_out: 51, late: 0, bad: 9 };
        check(head, &["whatever"], sums, Ok(()));
        let expected = "919 rows in, and 920 were expected\n  1 late, and 0 were expected";
        check(head, &[], Sums { rows_in: 919, late: 1, ..sums }, Err(expected));
    }

    #[test]
    fn a_head_that_says_nothing_is_wrong() {
        assert!(Head::parse("SELECT 1; -- Expected:\n--   1").is_none());
        assert!(Head::parse("").is_none());
        assert!(Head::parse("-- Expected: wonders\n-- 3 rows into").unwrap().is_err());
    }
}
