//! Conflicts between the jobs of one run: reading the standard input twice, writing one file twice, or replacing files that
//! are read.
//!
//! The check takes place before anything runs or is opened. [`super::bind_source`] and [`super::bind_sink`]
//! check again for paths which lead to the same file only on disk.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::files::{Purpose, absolute};
use super::{StandardStream, World, check_sink, check_source};
use crate::error::{Code, Place, SqlError};
use crate::table::Table;

/// The check for conflicts among the tables of a run, which are added one after the other.
pub struct Together<'a> {
    world: &'a World,
    stdin: Stdin,
    /// For each written file, the table that writes it, and whether it writes rows or bad records.
    files: BTreeMap<PathBuf, (String, Purpose)>,
    /// Directories whose files INSERTs write, each with its table and whether the INSERT replaces what is there.
    directories: Vec<(PathBuf, String, bool)>,
    /// Directories whose files are read, and those whose files INSERT OVERWRITE replaces.
    touched: Vec<Touched>,
}

/// A part of a job: an INSERT or a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobPart {
    /// Number of the job in its run.
    pub job: usize,
    /// Number of the part in its job.
    pub part: usize,
}

/// A directory whose files a part of a job reads or replaces.
struct Touched {
    directory: PathBuf,
    table: String,
    by: JobPart,
    is_replaced: bool,
}

/// The reader of the standard input in this run, if there is one.
enum Stdin {
    Free,
    /// The SQL text itself comes from the standard input.
    Sql,
    /// A table of a job reads the standard input.
    Read {
        job: usize,
        table: String,
    },
}

impl<'a> Together<'a> {
    /// Creates a check without tables. If `is_sql_from_stdin`, the SQL text comes from the standard input
    /// and no table may read it.
    pub fn new(world: &'a World, is_sql_from_stdin: bool) -> Self {
        let stdin = if is_sql_from_stdin { Stdin::Sql } else { Stdin::Free };
        Together { world, stdin, files: BTreeMap::new(), directories: Vec::new(), touched: Vec::new() }
    }

    /// Adds a table that a part of a job reads. Repeated calls with the same table are allowed, because a job reads
    /// each of its tables once.
    ///
    /// # Errors
    /// [`Code::Invalid`] if the standard input already has another reader, bad records are diverted to a
    /// file that is written for another purpose, or another part replaces the files of the table.
    pub fn reads(&mut self, by: JobPart, table: &Table) -> Result<(), SqlError> {
        let JobPart { job, .. } = by;
        self.touches(by, table, false)?;
        if let Some(option) = table.options.get("thalweg.on-bad")
            && let Some(file) = option.value.strip_prefix("divert:")
        {
            self.takes(file.trim(), table, option.place, Purpose::BadRecords)?;
        }
        let reads_stdin =
            check_source(table).is_ok_and(|abilities| abilities.stream == Some(StandardStream::Input));
        if !reads_stdin {
            return Ok(());
        }
        let place = table.options.get("connector").map(|connector| connector.place);
        let refused = |why: String, help: &str| {
            let message = format!("the standard input is not `{}`'s to read: {why}", table.name);
            Err(SqlError::new(Code::Invalid, message).at(place).help(help))
        };
        match &self.stdin {
            Stdin::Free => {
                self.stdin = Stdin::Read { job, table: table.name.clone() };
                Ok(())
            }
            Stdin::Sql => refused(
                "the SQL itself comes from there".to_owned(),
                "put the SQL into a file, or write it behind -e",
            ),
            Stdin::Read { job: other, table: by } if *other == job && *by == table.name => Ok(()),
            Stdin::Read { job: other, table: by } => {
                let of = if *other == job { "" } else { " of another query" };
                refused(
                    format!("`{by}`{of} reads it already"),
                    "one table of one query can read it: put what comes into a file to read it twice, or put the INSERTs into \
                     one EXECUTE STATEMENT SET",
                )
            }
        }
    }

    /// Adds a table to which a part of a job writes.
    ///
    /// # Errors
    /// [`Code::Invalid`] if this table and another one write to the same file, or to one directory whose files one of them
    /// replaces; and if this one replaces files that another part reads.
    pub fn writes(&mut self, by: JobPart, table: &Table) -> Result<(), SqlError> {
        if table.is_replaced {
            self.touches(by, table, true)?;
        }
        if let Some(path) = table.options.get("path")
            && check_sink(table).is_ok_and(|abilities| abilities.replaces)
        {
            self.takes_directory(&path.value, table, path.place)?;
        }
        match table.options.get("path") {
            Some(path) if check_sink(table).is_ok_and(|abilities| abilities.writes_one_file) => {
                self.takes(&path.value, table, path.place, Purpose::Rows)
            }
            _ => Ok(()),
        }
    }

    /// Notes that a part reads or replaces the files of a table, which another part does not replace or read: its reader
    /// may find that a file is gone. A part that replaces what it reads does so when it has read all.
    fn touches(&mut self, by: JobPart, table: &Table, is_replaced: bool) -> Result<(), SqlError> {
        let Some(path) = table.options.get("path") else { return Ok(()) };
        if !check_sink(table).is_ok_and(|abilities| abilities.replaces) {
            return Ok(());
        }
        let directory = absolute(&self.world.path(&path.value));
        let conflicts = |other: &&Touched| {
            (other.is_replaced != is_replaced && other.by != by)
                && (other.directory.starts_with(&directory) || directory.starts_with(&other.directory))
        };
        if let Some(other) = self.touched.iter().find(conflicts) {
            let [reader, writer] = match is_replaced {
                true => [&other.table, &table.name],
                false => [&table.name, &other.table],
            };
            let message = format!(
                "INSERT OVERWRITE into `{writer}` replaces the files of {}, which another statement reads as `{reader}` at the \
                 same time",
                directory.display()
            );
            let error = SqlError::new(Code::Invalid, message).at(path.place);
            return Err(error.help("write them into two files of SQL, and run one after the other"));
        }
        self.touched.push(Touched { directory, table: table.name.clone(), by, is_replaced });
        Ok(())
    }

    fn takes_directory(&mut self, written: &str, table: &Table, place: Place) -> Result<(), SqlError> {
        let directory = absolute(&self.world.path(written));
        let is_together = |(other, _, replaces): &&(PathBuf, String, bool)| {
            (*replaces || table.is_replaced)
                && (other.starts_with(&directory) || directory.starts_with(other))
        };
        if let Some((_, by, _)) = self.directories.iter().find(is_together) {
            let message = format!(
                "{} is written by two INSERTs, into `{by}` and into `{}`, and INSERT OVERWRITE replaces what is there",
                directory.display(),
                table.name
            );
            let error = SqlError::new(Code::Invalid, message).at(place);
            return Err(error.help("write both with one INSERT, by UNION ALL, or in two runs"));
        }
        self.directories.push((directory, table.name.clone(), table.is_replaced));
        Ok(())
    }

    /// Records that a table writes a file, its rows or its bad records. Fails if the file is already written,
    /// unless it holds only bad records in both cases.
    fn takes(
        &mut self,
        written: &str,
        table: &Table,
        place: Place,
        purpose: Purpose,
    ) -> Result<(), SqlError> {
        let file = absolute(&self.world.path(written));
        let (by, known) = match self.files.get(&file) {
            Some((by, known)) if !purpose.goes_with(*known) => (by, *known),
            _ => {
                self.files.insert(file, (table.name.clone(), purpose));
                return Ok(());
            }
        };
        let (file, name) = (file.display(), &table.name);
        let (message, help) = match (purpose, known) {
            (Purpose::Rows, Purpose::Rows) => (
                format!(
                    "{file} is written by two INSERTs, into `{by}` and into `{name}`, and 'thalweg.single-file' holds the rows of one"
                ),
                "write both with one INSERT, by UNION ALL, or to two files",
            ),
            (Purpose::Rows, Purpose::BadRecords) => (
                format!(
                    "{file} is to hold the rows of `{name}`, and the bad records of `{by}` are diverted to it"
                ),
                "write to two files",
            ),
            (Purpose::BadRecords, _) => (
                format!(
                    "the bad records of `{name}` cannot be diverted to {file}: it is to hold the rows of `{by}`"
                ),
                "write to two files",
            ),
        };
        Err(SqlError::new(Code::Invalid, message).at(place).help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::bed::table;

    /// Checks tables given as direction (`>>` replaces what is there), job and options, and compares the first refusal with `expected`;
    /// an empty text means no refusal.
    fn check(tables: &[(&str, usize, &str)], is_sql_from_stdin: bool, expected: &str) {
        let world = World::default();
        let mut together = Together::new(&world, is_sql_from_stdin);
        let mut told = String::new();
        for (way, job, options) in tables {
            let of = table(&format!("CREATE TABLE t (a INT) WITH ({options})"));
            let by = JobPart { job: *job, part: 0 };
            let of = Table { is_replaced: *way == ">>", ..of };
            let outcome = if *way == "<" { together.reads(by, &of) } else { together.writes(by, &of) };
            told = outcome.map_or_else(|error| error.to_string(), |()| told);
        }
        let is_right = if expected.is_empty() { told.is_empty() } else { told.contains(expected) };
        assert!(is_right, "{tables:?}: {told}");
    }

    #[test]
    fn the_standard_input_is_read_by_one_table() {
        const STDIN: &str = "'connector' = 'stdin', 'format' = 'csv'";
        const OTHER: &str = "'connector' = 'datagen'";
        check(&[("<", 0, STDIN), ("<", 0, OTHER), ("<", 1, OTHER)], false, "");
        // A job reads a table once, however often its queries name the table.
        check(&[("<", 0, STDIN), ("<", 0, STDIN)], false, "");
        check(&[("<", 0, STDIN), ("<", 1, STDIN)], false, "`t` of another query reads it already");
        check(&[("<", 0, STDIN)], true, "the SQL itself comes from there");
        check(&[("<", 0, OTHER)], true, "");
    }

    #[test]
    fn one_file_is_written_once() {
        let single = |path: &str, is: &str| {
            format!(
                "'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'thalweg.single-file' = '{is}'"
            )
        };
        let pair = |left: &str, right: &str, is: &str, expected: &str| {
            check(&[(">", 0, &single(left, is)), (">", 0, &single(right, is))], false, expected);
        };
        pair("out/a.csv", "out/b.csv", "true", "");
        pair("out/a.csv", "out/a.csv", "true", "out/a.csv is written by two INSERTs");
        pair("out/a.csv", "./out//./a.csv", "true", "out/a.csv is written by two INSERTs");
        pair("/out/a.csv", "file:///out/a.csv", "TRUE", "/out/a.csv is written by two INSERTs");
        pair("out", "out", "false", "");
    }

    /// Files that one part reads are not replaced by another part, in whichever order the two stand.
    #[test]
    fn files_that_are_read_are_not_replaced() {
        let files = |path: &str| format!("'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'");
        let pair = |left: (&str, usize, &str), right: (&str, usize, &str), expected: &str| {
            let (read, written) = (files(left.2), files(right.2));
            check(&[(left.0, left.1, &read), (right.0, right.1, &written)], false, expected);
        };
        let refused = "replaces the files of ";
        pair(("<", 0, "a"), (">>", 1, "a"), refused);
        pair((">>", 0, "a"), ("<", 1, "a"), refused);
        pair(("<", 0, "./a/b"), (">>", 1, "a"), refused);
        pair(("<", 0, "a"), (">>", 1, "a/b=1"), refused);
        pair(("<", 0, "a"), (">>", 0, "a"), "");
        pair(("<", 0, "a"), (">>", 1, "ab"), "");
        pair(("<", 0, "a"), (">", 1, "a"), "");
        pair(("<", 0, "a"), ("<", 1, "a"), "");
    }

    /// Bad records and rows cannot share a file, because the file that is published last would replace the
    /// other.
    #[test]
    fn bad_records_have_a_file_of_their_own() {
        let divert = |file: &str| {
            format!("'connector' = 'stdin', 'format' = 'csv', 'thalweg.on-bad' = 'divert: {file}'")
        };
        const ROWS: &str =
            "'connector' = 'filesystem', 'path' = 'a.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'";
        let both = [("<", 0, &*divert("a.csv")), (">", 0, ROWS)];
        check(
            &both,
            false,
            "a.csv is to hold the rows of `t`, and the bad records of `t` are diverted to it",
        );
        let both = [(">", 0, ROWS), ("<", 0, &*divert("./a.csv"))];
        check(&both, false, "cannot be diverted to ");
        check(&[("<", 0, &divert("b.csv")), (">", 0, ROWS), ("<", 0, &divert("b.csv"))], false, "");
    }
}
