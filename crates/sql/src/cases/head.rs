//! What a file of SQL says in its head that comes out of it: a file that `thalweg run` takes, and whose reader can check it.
//!
//! ```sql
//! -- Expected, and on the standard error: 12 rows in, 1 late
//! --   shop,takings
//! --   Station,5.15   and 3 more
//! ```
//!
//! The head is the comment lines that the file begins with; what is said begins at the first one that begins with the word
//! `Expected`.
//!
//! | in the head | says |
//! |---|---|
//! | `--   LINE` | a line that comes out, in any order; without such lines all are fine |
//! | `--   LINE   and N more` | and so many others, of which nothing is said |
//! | `N rows in`, `N out`, `N late`, `N bad` | what the jobs of the file come to together |

use std::collections::BTreeMap;

/// The word that what is said begins with.
const WORD: &str = "Expected";

/// So many lines that differ are told, at most.
const TOLD_MAX: usize = 20;

/// What all jobs of a file come to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// Rows that were read.
    pub rows_in: u64,
    /// Rows that were written or shown.
    pub rows_out: u64,
    /// Rows that came too late.
    pub late: u64,
    /// Records that were bad.
    pub bad: u64,
}

/// What a head says, less what has come out so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// How often each line is still to come; without any, nothing is said of lines.
    lines: BTreeMap<String, u64>,
    others: u64,
    /// Counts by the words behind their numbers, in the order of [`Sums`].
    counts: [(&'static str, Option<u64>); 4],
    wrong: Vec<String>,
}

impl Head {
    /// Reads a file; none if its head says nothing of what comes out.
    ///
    /// # Errors
    /// What is said, if none of it can be compared.
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

    /// Notes the counts in a line of words.
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

    /// Notes a line that has come out.
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

    /// Whether all has come out that is said, and nothing else.
    ///
    /// # Errors
    /// What has not, a line each.
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
