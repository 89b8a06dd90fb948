//! Cases: queries with input and expected rows in files, run in virtual time.
//!
//! A file `*.test.sql` declares tables without WITH, gives their rows, and lists queries with their expected
//! rows. The whole file is SQL, or a section below a line that begins with `--- `, which SQL reads as a
//! comment.
//!
//! ```sql
//! CREATE TABLE Bid (bidtime TIMESTAMP(3), price DECIMAL(10, 2), WATERMARK FOR bidtime AS bidtime);
//!
//! --- input Bid
//! 2020-04-15 08:05:00.000,4.00
//!
//! --- query the sum of all prices of ten minutes
//! SELECT window_start, SUM(price) FROM TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
//! GROUP BY window_start, window_end;
//!
//! --- rows
//! 2020-04-15 08:00:00.000,4.00
//! ```
//!
//! | section | content |
//! |---|---|
//! | `--- input NAME` | rows of a table, one a line, as CSV; the word NULL is NULL, in quotes it is text. Rows of a table of `'format' = 'debezium-json'` have `+I`, `-U`, `+U` or `-D` in front |
//! | `--- set 'key' = 'value'` | a setting, for the rest of the file |
//! | `--- query NAME` | a query, followed by one of the sections below |
//! | `--- rows`, `--- rows ordered` | its rows, in any order or in this one |
//! | `--- changelog` | its changes, each with `+I`, `-U`, `+U` or `-D` in front: the rows left at the end are compared |
//! | `--- error CODE` | the code of its error, and words that its message contains |
//!
//! One source reads the rows in the order of the file. Values of results are written as a cast to STRING
//! writes them.

mod codes;
pub mod head;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow::record_batch::RecordBatch;
use thalweg::scheduling::policy::by_name;
use thalweg::{
    Chaining, Engine, Entropy, Layout, Parallel, Query, QueryState, SeededEntropy, Step, Stepped,
    VirtualClock,
};
use thalweg_model::ProcessingTime;
use thalweg_sql_exec::exec::run::{Assembly, Ending};
use thalweg_sql_exec::plan::changes::{Changes, changes};
use thalweg_sql_formats::{BadRecord, Decoder, Format, FormatColumn, RowKind};
use thalweg_sql_functions::functions::cast::Writer;
use thalweg_sql_functions::user::Functions;
use thalweg_sql_tables::connect::memory::{Collect, Collected};
use thalweg_sql_tables::connect::{World, gives_changes};
use thalweg_sql_tables::deliver::{TableSink, Tally};
use thalweg_sql_tables::error::SqlError;
use thalweg_sql_tables::spill::SPILL_BYTES_DEFAULT;
use thalweg_sql_tables::table::{Table, TableColumnKind};

use crate::catalog::Entry;
use crate::job::write_row;
use crate::session::{Action, Job, Session};
use codes::CODES;

/// Processing time at which every run of a test case begins. The clock stands still, so that no result
/// depends on it.
const BEGIN: ProcessingTime = ProcessingTime::from_nanos(1_700_000_000_000_000_000);

/// A test query counts as stuck after this many consecutive scheduler steps without work.
const IDLE_STEPS_MAX: usize = 10_000;

/// One query of a file of test cases, with its expected result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Name of the query, from the line `--- query NAME` of the test file.
    pub name: String,
    /// Line of the test file on which the query begins.
    pub line: usize,
    /// SET statements of the test file that are in force for this query.
    settings: Vec<String>,
    query: String,
    expected: Expected,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Expected {
    Rows { rows: Vec<String>, is_ordered: bool },
    Changelog(Vec<String>),
    Error { code: String, words: String },
}

/// A parsed file of test cases: its tables, their input rows, and its queries.
#[derive(Clone, Debug)]
pub struct Cases {
    setup: String,
    inputs: BTreeMap<String, (usize, Vec<String>)>,
    /// User functions that the queries may call.
    functions: Functions,
    /// Queries of the test file with their expected results, in the order of the file.
    pub cases: Vec<Case>,
}

/// Outcome of one test case: whether its query gave the expected result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The query of the test case gave the expected result.
    Passed,
    /// The result differs from the expected one; the text says how.
    Failed(String),
}

/// Answer to a query over the tables of a test file: its rows, or the error of planning or running it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Planning refused the query with an error.
    Refused {
        /// Code of the error with which planning refused the query, for example `UNKNOWN_COLUMN`.
        code: String,
        /// Message of the error with which planning refused the query.
        message: String,
    },
    /// The query passed planning and failed while it ran.
    Failed {
        /// Code of the error with which the running query failed.
        code: String,
        /// Message of the error with which the running query failed.
        message: String,
    },
    /// The query ran to its end without an error.
    Rows {
        /// Kind of change and values of each row of the result, in the order of arrival.
        rows: Vec<(RowKind, String)>,
        /// Kinds of changes that the plan of the query may emit.
        planned: Changes,
        /// Number of rows that operators of the query counted as late.
        late: u64,
    },
}

/// Settings under which a test case runs: workers, batch size, seed and policy. The rows of the result do not
/// depend on any of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Number of workers that run copies of a shareable operator; with 1, operators run one after the other.
    pub workers: usize,
    /// Greatest number of rows that a source of the test reads at a time.
    pub batch_rows: usize,
    /// Seed of the pseudo-random order in which the tasks of the test run.
    pub seed: u64,
    /// Name of the scheduling policy that picks the next task; `None` for the engine's default.
    pub policy: Option<&'static str>,
    /// Whether state that may go to disk does so as soon as an operator has the rows of one batch in memory.
    pub spills: bool,
    /// Whether operators are replaced now and then by others that load their state.
    pub renews: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Manner { workers: 1, batch_rows: 4_096, seed: 0, policy: None, spills: false, renews: false }
    }
}

impl Cases {
    /// Parses a file of test cases.
    ///
    /// # Errors
    /// A fault of the file with its line. A file that would test nothing, or less than it says, is refused.
    pub fn parse(text: &str) -> Result<Cases, String> {
        let mut cases = Cases {
            setup: String::new(),
            inputs: BTreeMap::new(),
            functions: Functions::default(),
            cases: Vec::new(),
        };
        let mut settings: Vec<String> = Vec::new();
        let mut open: Option<(String, usize, Vec<String>)> = None;
        let mut query: Option<(String, usize, String)> = None;
        let mut sections = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(head) = line.strip_prefix("--- ") {
                sections.extend(open.take());
                open = Some((head.trim().to_owned(), number, Vec::new()));
            } else if let Some((_, _, lines)) = &mut open {
                lines.push(line.to_owned());
            } else {
                cases.setup += line;
                cases.setup.push('\n');
            }
        }
        sections.extend(open);
        for (head, line, lines) in sections {
            let (kind, rest) = head.split_once(' ').unwrap_or((&head, ""));
            let rest = rest.trim();
            let rows = || rows_of(&lines, line);
            let ends_query = matches!(kind, "rows" | "changelog" | "error");
            if let Some((name, line, _)) = query.as_ref().filter(|_| !ends_query) {
                return Err(unanswered(*line, name));
            }
            let mut finish = |expected: Expected| match query.take() {
                Some((name, line, query)) => {
                    cases.cases.push(Case { name, line, settings: settings.clone(), query, expected });
                    Ok(())
                }
                None => Err(format!("line {line}: there is no query before this")),
            };
            match kind {
                "input" => {
                    if cases.inputs.insert(rest.to_owned(), (line, rows()?)).is_some() {
                        return Err(format!("line {line}: there is an input `{rest}` already"));
                    }
                }
                "set" => settings.push(format!("SET {rest};")),
                "query" => query = Some((rest.to_owned(), line, lines.join("\n"))),
                "rows" if !matches!(rest, "" | "ordered") => {
                    return Err(format!("line {line}: rows are `ordered` or in any order, and not `{rest}`"));
                }
                "rows" => finish(Expected::Rows { rows: rows()?, is_ordered: rest == "ordered" })?,
                "changelog" => finish(Expected::Changelog(rows()?))?,
                "error" => {
                    if !CODES.contains(&rest) {
                        return Err(format!("line {line}: there is no error `{rest}`"));
                    }
                    let mut words = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
                    let (Some(words), None) = (words.next(), words.next()) else {
                        return Err(format!(
                            "line {line}: an error has one line of words that its message has"
                        ));
                    };
                    finish(Expected::Error { code: rest.to_owned(), words: words.to_owned() })?;
                }
                other => return Err(format!("line {line}: there is no section `{other}`")),
            }
        }
        if let Some((name, line, _)) = query {
            return Err(unanswered(line, &name));
        }
        if cases.cases.is_empty() {
            return Err("line 1: there is no `--- query` in this file, so it tests nothing".to_owned());
        }
        Ok(cases)
    }

    /// Returns these cases with queries that may call the user functions of a session.
    #[must_use]
    pub fn with_functions_of(self, session: &Session) -> Cases {
        Cases { functions: session.catalog().functions().clone(), ..self }
    }

    /// Runs a test case and compares its result with the expected one.
    pub fn run(&self, case: &Case, manner: Manner) -> Verdict {
        self.run_counted(case, manner).0
    }

    /// Runs a test case, and returns its outcome and the number of rows that its operators counted as late.
    pub fn run_counted(&self, case: &Case, manner: Manner) -> (Verdict, u64) {
        let results = match self.results(case, manner) {
            Ok(results) => results,
            Err(why) => return (Verdict::Failed(why), 0),
        };
        let late = results.as_ref().map_or(0, |found| found.late);
        let verdict = match (results, &case.expected) {
            (Ok(found), Expected::Rows { rows, is_ordered }) => compare(found.appended(), rows, *is_ordered),
            (Ok(found), Expected::Changelog(changes)) => {
                match (left_over(&found.changes()), left_over(changes)) {
                    (Ok(found), Ok(expected)) => compare(Ok(found), &expected, false),
                    (Err(error), _) => Verdict::Failed(format!("the changes make no sense: {error}")),
                    (_, Err(error)) => {
                        Verdict::Failed(format!("the expected changes make no sense: {error}"))
                    }
                }
            }
            (Err((found, message)), Expected::Error { code, words }) => {
                if found == *code && message.to_lowercase().contains(&words.to_lowercase()) {
                    Verdict::Passed
                } else {
                    Verdict::Failed(format!("expected {code} with `{words}`, found {found}: {message}"))
                }
            }
            (Ok(found), Expected::Error { code, .. }) => {
                Verdict::Failed(format!("expected {code}, found {} rows", found.rows.len()))
            }
            (Err((code, message)), _) => Verdict::Failed(format!("{code}: {message}")),
        };
        (verdict, late)
    }

    /// Runs a test case and returns its result without comparing it: the rows left after all changes are
    /// applied, or the code and the message of the error.
    ///
    /// # Errors
    /// A fault of the test file, or a retraction of a row that is not present.
    pub fn outcome(
        &self,
        case: &Case,
        manner: Manner,
    ) -> Result<Result<Vec<String>, (String, String)>, String> {
        match self.results(case, manner)? {
            Ok(found) => left_over(&found.changes()).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Returns everything on which the answer to a test case depends, as text: the declarations of its tables
    /// without comments, the input rows, the settings and the query. Recorded answers keep a digest of this
    /// text, so an answer is never compared with the answer to another query or input.
    pub fn question(&self, case: &Case) -> String {
        let setup = self.setup.lines().map(str::trim_end);
        let setup = setup.filter(|line| !line.is_empty() && !line.starts_with("--"));
        let mut question = setup.collect::<Vec<_>>().join("\n") + "\n";
        for (table, (_, rows)) in &self.inputs {
            question += &format!("--- input {table}\n{}\n", rows.join("\n"));
        }
        case.settings.iter().for_each(|setting| question += &format!("{setting}\n"));
        question + case.query.trim()
    }

    /// Runs the query of a test case and returns its rows, or the code and the message of its error.
    ///
    /// # Errors
    /// A fault of the table declarations, the settings or the input rows. No case can expect such a fault.
    fn results(&self, case: &Case, manner: Manner) -> Result<Outcome, String> {
        Ok(match self.answer(&case.settings, &case.query, manner)? {
            Answer::Refused { code, message } | Answer::Failed { code, message } => Err((code, message)),
            Answer::Rows { rows, late, .. } => Ok(Found { rows, late }),
        })
    }

    /// Returns a session that has declared the tables of this test file, under `settings`.
    fn session(&self, settings: &[String], clock: &Arc<VirtualClock>) -> Result<Session, String> {
        let mut session = Session::new(Arc::clone(clock) as _);
        session.take_functions(&self.functions);
        declare(&mut session, &self.setup, "the setup")?;
        for setting in settings {
            declare(&mut session, setting, setting)?;
        }
        session.context().map_err(|error| format!("the settings: {error}"))?;
        Ok(session)
    }

    /// Plans the query of a test case without running it.
    ///
    /// # Errors
    /// A fault of the setup or the settings. The inner error is the one with which planning refused the query.
    pub fn plan(&self, case: &Case) -> Result<Result<Job, SqlError>, String> {
        let clock = Arc::new(VirtualClock::starting_at(BEGIN));
        let actions = match self.session(&case.settings, &clock)?.read(&case.query) {
            Ok(actions) => actions,
            Err(error) => return Ok(Err(error)),
        };
        match <[Action; 1]>::try_from(actions) {
            Ok([Action::Run(job)]) => Ok(Ok(job)),
            _ => Err("a case has one query".to_owned()),
        }
    }

    /// Returns notes on what Flink refuses of the setup and of the query of a test case, which is planned without running.
    ///
    /// # Errors
    /// A fault of the setup, the settings or the query.
    pub fn notes(&self, case: &Case) -> Result<Vec<SqlError>, String> {
        let clock = Arc::new(VirtualClock::starting_at(BEGIN));
        let mut session = self.session(&case.settings, &clock)?;
        session.read(&case.query).map_err(|error| error.to_string())?;
        Ok(session.notes(&format!("{}\n;{}", self.setup, case.query)))
    }

    /// Runs a query over the tables and the rows of this test file, under `settings`.
    ///
    /// # Errors
    /// A fault of the setup, the settings or the input.
    pub fn answer(&self, settings: &[String], query: &str, manner: Manner) -> Result<Answer, String> {
        let clock = Arc::new(VirtualClock::starting_at(BEGIN));
        let mut session = self.session(settings, &clock)?;
        let (given, given_kinds) = self.given(&session, manner)?;
        let state_share_bytes = manner.spills.then_some(1);
        let world = World { given, given_kinds, state_share_bytes, ..World::default() };
        let directory = std::env::temp_dir();
        let spilling = manner.spills.then(|| world.spilling(&directory, SPILL_BYTES_DEFAULT, 1));
        let draws: Arc<Mutex<dyn Entropy>> = Arc::new(Mutex::new(SeededEntropy::new(manner.seed)));
        let renewals = manner.renews.then_some(draws);
        let world = World { seed: manner.seed, hash_seed: manner.seed, spilling, renewals, ..world };
        let actions = match session.read(query) {
            Ok(actions) => actions,
            Err(error) => {
                let (code, message) = told(&error);
                return Ok(Answer::Refused { code, message });
            }
        };
        let [Action::Run(job)] = &actions[..] else { return Err("a case has one query".to_owned()) };
        let planned = job.parts.last().map_or(Changes::NONE, |part| changes(&part.plan));
        Ok(match run_job(job, &session, &world, manner, &clock)? {
            Err((code, message)) => Answer::Failed { code, message },
            Ok(Found { rows, late }) => Answer::Rows { rows, planned, late },
        })
    }

    fn given(&self, session: &Session, manner: Manner) -> Result<(GivenRows, GivenKinds), String> {
        let is_table = |name: &str| matches!(session.catalog().get(name), Ok(Entry::Table(_)));
        if let Some((name, (line, _))) = self.inputs.iter().find(|(name, _)| !is_table(name)) {
            return Err(format!("line {line}: input {name}: there is no such table"));
        }
        let (mut given, mut given_kinds) = (BTreeMap::new(), BTreeMap::new());
        for (name, entry) in session.catalog().entries() {
            let Entry::Table(table) = entry else { continue };
            let none = (0, Vec::new());
            let (line, rows) = self.inputs.get(name).unwrap_or(&none);
            let within = |error: String| format!("input {name}, behind line {line}: {error}");
            let mut rows = rows.clone();
            if gives_changes(table) {
                let changes = rows.iter().map(|row| kind_of(row)).collect::<Result<Vec<_>, _>>();
                let (kinds, of_table): (Vec<RowKind>, Vec<String>) =
                    changes.map_err(within)?.into_iter().unzip();
                rows = of_table;
                given_kinds.insert(name.to_owned(), Arc::new(kinds));
            }
            let batches = read_rows(table, &rows, manner.batch_rows).map_err(within)?;
            given.insert(name.to_owned(), Arc::new(batches));
        }
        Ok((given, given_kinds))
    }
}

type GivenRows = BTreeMap<String, Arc<Vec<RecordBatch>>>;
type GivenKinds = BTreeMap<String, Arc<Vec<RowKind>>>;

/// Splits a line of a test file into the kind of change at its start and the values of the row.
fn kind_of(row: &str) -> Result<(RowKind, String), String> {
    let kinds = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];
    let (first, rest) = row.split_once(',').unwrap_or((row, ""));
    match kinds.into_iter().find(|kind| kind.to_string() == first) {
        Some(kind) => Ok((kind, rest.to_owned())),
        None => Err(format!("`{row}` begins with no kind of change: +I, -U, +U or -D")),
    }
}

/// Reads statements that only declare tables and set settings; refuses text that also contains queries.
fn declare(session: &mut Session, text: &str, what: &str) -> Result<(), String> {
    let actions = session.read(text).map_err(|error| {
        let (code, message) = told(&error);
        format!("{what}: {code}: {message}")
    })?;
    match actions.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{what} declares and sets, and its queries are not run: give rows by `--- input NAME`"
        )),
    }
}

/// Result of one test query: its rows, or the code and the message of its error.
type Outcome = Result<Found, (String, String)>;

fn told(error: &SqlError) -> (String, String) {
    (error.code.name().to_owned(), error.to_string())
}

/// Returns the message for a query of a test file that has no expected result.
fn unanswered(line: usize, name: &str) -> String {
    format!("line {line}: the query `{name}` has no `--- rows`, `--- changelog` or `--- error` behind it")
}

/// Returns the rows of the section of a test file that begins after line `head`, the line with `--- `; lines
/// are counted from 1. A row is one line, unless a quote is open at its end. A blank line ends the rows. Text
/// after the blank line is refused, because it would be ignored.
fn rows_of(lines: &[String], head: usize) -> Result<Vec<String>, String> {
    let mut rows: Vec<String> = Vec::new();
    let (mut is_open, mut is_over) = (false, false);
    for (number, line) in (head + 1..).zip(lines) {
        let is_blank = line.trim().is_empty();
        if is_over && !is_blank {
            return Err(format!("line {number}: a row behind a blank line, which ends the rows above"));
        }
        if is_open {
            if let Some(row) = rows.last_mut() {
                row.push('\n');
                row.push_str(line);
            }
        } else if is_blank {
            is_over = true;
        } else {
            rows.push(line.clone());
        }
        is_open ^= line.matches('"').count() % 2 == 1;
    }
    if is_open {
        return Err(format!("line {head}: a quote of the rows below is never closed"));
    }
    Ok(rows)
}

/// Replaces each unquoted NULL of a CSV row by [`NULL_MARK`], so that it differs from the text 'NULL'.
fn with_nulls(row: &str) -> String {
    let mut marked = String::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut flush = |field: &mut String| {
        marked += if field == "NULL" { NULL_MARK } else { field };
        field.clear();
    };
    for character in row.chars() {
        is_quoted ^= character == '"';
        if character == ',' && !is_quoted {
            flush(&mut field);
            field.push(',');
            flush(&mut field);
        } else {
            field.push(character);
        }
    }
    flush(&mut field);
    marked
}

/// Text that stands for NULL in the input rows of a test file. No input contains this text.
const NULL_MARK: &str = "\u{1}NULL";

/// Rows that a test query has emitted, each with its kind of change, in the order of arrival.
struct Found {
    rows: Vec<(RowKind, String)>,
    /// Number of rows that operators of the query counted as late.
    late: u64,
}

impl Found {
    fn appended(&self) -> Result<Vec<String>, String> {
        match self.rows.iter().find(|(kind, _)| *kind != RowKind::Insert) {
            None => Ok(self.rows.iter().map(|(_, row)| row.clone()).collect()),
            Some((kind, row)) => Err(format!("rows are changed, and are to be new ones: {kind},{row}")),
        }
    }

    fn changes(&self) -> Vec<String> {
        self.rows.iter().map(|(kind, row)| format!("{kind},{row}")).collect()
    }
}

fn compare(found: Result<Vec<String>, String>, expected: &[String], is_ordered: bool) -> Verdict {
    let mut found = match found {
        Ok(found) => found,
        Err(error) => return Verdict::Failed(error),
    };
    let mut expected = expected.to_vec();
    if !is_ordered {
        found.sort();
        expected.sort();
    }
    if found == expected {
        return Verdict::Passed;
    }
    let list = |rows: &[String]| rows.iter().map(|row| format!("    {row}\n")).collect::<String>();
    Verdict::Failed(format!("expected\n{}  found\n{}", list(&expected), list(&found)))
}

/// Applies all changes of a result and returns the rows that remain.
fn left_over(changes: &[String]) -> Result<Vec<String>, String> {
    let mut rows: Vec<String> = Vec::new();
    for change in changes {
        let (kind, row) = change.split_once(',').ok_or_else(|| format!("`{change}` has no kind"))?;
        match kind {
            "+I" | "+U" => rows.push(row.to_owned()),
            "-U" | "-D" => match rows.iter().position(|known| known == row) {
                Some(place) => {
                    rows.swap_remove(place);
                }
                None => return Err(format!("`{change}` takes a row away that is not there")),
            },
            other => return Err(format!("`{other}` is no kind of change")),
        }
    }
    Ok(rows)
}

/// Reads the input rows of a test file as batches of a table's physical columns.
fn read_rows(table: &Table, rows: &[String], batch_rows: usize) -> Result<Vec<RecordBatch>, String> {
    let columns: Vec<FormatColumn> = table
        .columns
        .iter()
        .filter(|column| matches!(column.kind, TableColumnKind::Physical))
        .map(|column| FormatColumn {
            name: column.name.clone(),
            of: column.of.clone(),
            is_nullable: column.is_nullable,
        })
        .collect();
    let wanted: Vec<usize> = (0..columns.len()).collect();
    let options = BTreeMap::from([
        ("csv.null-literal".to_owned(), NULL_MARK.to_owned()),
        ("csv.ignore-parse-errors".to_owned(), "false".to_owned()),
    ]);
    let format = Format::bind("csv", &options, &columns).map_err(|error| error.to_string())?;
    let mut decoder: Box<dyn Decoder> = format.decoder(&wanted);
    let bytes: Vec<u8> = rows.iter().flat_map(|row| (with_nulls(row) + "\n").into_bytes()).collect();
    let mut rest = &bytes[..];
    let mut wrong = None;
    let mut batches = Vec::new();
    loop {
        let mut bad = |record: BadRecord<'_>| {
            wrong.get_or_insert_with(|| format!("row {}: {}", record.line, record.reason));
        };
        let taken = decoder.take(rest, true, batch_rows.max(1), &mut bad);
        rest = &rest[taken.bytes..];
        let count = decoder.rows();
        if count > 0 {
            batches.push(decoder.finish().rows);
        }
        if rest.is_empty() {
            break;
        }
        if taken.bytes == 0 && count == 0 {
            return Err(format!("{} bytes of the rows are not taken", rest.len()));
        }
    }
    match wrong {
        Some(wrong) => Err(wrong),
        None => Ok(batches),
    }
}

/// Runs a job of one query to its end, one scheduler step at a time.
///
/// # Errors
/// A fault that the query did not cause.
fn run_job(
    job: &Job,
    session: &Session,
    world: &World,
    manner: Manner,
    clock: &Arc<VirtualClock>,
) -> Result<Outcome, String> {
    let collected: Collected = Arc::new(Mutex::new(Vec::new()));
    let query = Query::new(job.name.clone());
    let context = match session.context() {
        Ok(context) => context,
        Err(error) => return Ok(Err(told(&error))),
    };
    let mut plans = Vec::new();
    let mut types = Vec::new();
    for part in &job.parts {
        types = part.plan.columns.iter().map(|column| column.of.clone()).collect();
        let sink = TableSink::new(
            "result",
            Box::new(Collect::new(Arc::clone(&collected))),
            Vec::new(),
            Tally::default(),
        );
        plans.push((&part.plan, Ending { name: "result".to_owned(), sink }));
    }
    let timing = job.settings.timing();
    if let Err(error) = Assembly::assemble(&query, &context, world, &Tally::default(), timing, plans) {
        return Ok(Err(told(&error)));
    }
    let mut builder = Engine::builder()
        .workers(manner.workers as u64)
        .clock(Arc::clone(clock) as _)
        .entropy(Box::new(SeededEntropy::new(manner.seed)));
    if let Some(name) = manner.policy {
        builder = builder.policy(by_name(name).map_err(|error| error.to_string())?);
    }
    let stepped = builder.build_stepped().map_err(|error| error.to_string())?;
    let Stepped { engine, mut workers, growth, keeper: _keeper } = stepped;
    let parallel = match manner.workers {
        0 | 1 => Parallel::Serial,
        workers => Parallel::Epochs { workers },
    };
    let graph =
        query.plan(Layout { chaining: Chaining::Default, parallel }).map_err(|error| error.to_string())?;
    let handle = engine.submit(graph).map_err(|error| error.to_string())?;
    let mut entropy = SeededEntropy::new(manner.seed);
    let mut idle_steps = 0;
    while matches!(handle.state(), QueryState::Running | QueryState::Paused) {
        let chosen = entropy.next_u64() as usize % workers.len();
        let is_idle = matches!(workers[chosen].step(&**clock), Step::Idle(_)) && !growth.step();
        idle_steps = if is_idle { idle_steps + 1 } else { 0 };
        if idle_steps > IDLE_STEPS_MAX {
            return Err("the query stands still".to_owned());
        }
    }
    let report = match handle.wait() {
        Ok(report) => report,
        Err(error) => return Ok(Err((error.code().to_owned(), error.to_string()))),
    };
    let collected = collected.lock().map_err(|_| "a sink has panicked".to_owned())?;
    let mut rows = Vec::new();
    for (batch, kinds) in collected.iter() {
        let writers: Vec<Writer> = types.iter().map(|of| Writer::new(of, context.zone)).collect();
        for row in 0..batch.num_rows() {
            let kind = kinds.as_ref().and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert);
            let mut line = String::new();
            write_row(batch, row, &writers, &mut line);
            rows.push((kind, line));
        }
    }
    Ok(Ok(Found { rows, late: report.total(|counts| counts.late) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match Cases::parse(text) {
            Ok(cases) => {
                let verdict = |case| match cases.run(case, Manner::default()) {
                    Verdict::Passed => "passed".to_owned(),
                    Verdict::Failed(why) => why,
                };
                cases.cases.iter().map(verdict).collect::<Vec<_>>().join("; ")
            }
            Err(error) => error,
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_manual_has_all_codes() {
        let manual = include_str!("../../../docs/sql/errors.md");
        // The manual lists error codes in headings and in the first cells of table rows. The codes after the
        // last table exist only in the Rust interface, as the manual says there.
        let listed: Vec<&str> = manual
            .lines()
            .filter_map(|line| match line.strip_prefix("### ") {
                Some(heading) => Some(heading),
                None => line.strip_prefix("| `").and_then(|row| row.split(" |").next()),
            })
            .flat_map(|codes| codes.split(", "))
            .map(|code| code.trim_matches('`'))
            .filter(|code| {
                code.chars().all(|letter| letter.is_ascii_uppercase() || matches!(letter, '_' | '0'..='9'))
            })
            .collect();
        // A case cannot expect a warning.
        let warnings = ["UNBOUNDED_STATE", "NOT_PORTABLE", "STATE_NEAR_LIMIT"];
        let listed: Vec<&str> = listed.into_iter().filter(|code| !warnings.contains(code)).collect();
        CODES.iter().for_each(|code| assert!(listed.contains(code), "{code} is not in the manual"));
        listed.iter().for_each(|code| assert!(CODES.contains(code), "{code} is in the manual alone"));
    }

    #[test]
    fn what_tests_nothing_is_wrong() {
        check("--- query a\nSELECT 1;\n\n--- rows\n1\n", "passed");
        check("SELECT 1;\n", "line 1: there is no `--- query` in this file, so it tests nothing");
        check("", "line 1: there is no `--- query` in this file, so it tests nothing");
        let unanswered = "the query `a` has no `--- rows`, `--- changelog` or `--- error` behind it";
        check("--- query a\nSELECT 1;\n", &format!("line 1: {unanswered}"));
        check(
            "\n--- query a\nSELECT 1;\n--- query b\nSELECT 2;\n--- rows\n2\n",
            &format!("line 2: {unanswered}"),
        );
        check(
            "--- query a\nSELECT 1;\n--- set 'pipeline.name' = 'x'\n--- rows\n1\n",
            &format!("line 1: {unanswered}"),
        );
        check("--- query a\nSELECT b;\n\n--- error FOO\nb\n", "line 4: there is no error `FOO`");
        check(
            "--- query a\nSELECT 1;\n--- rows backwards\n1\n",
            "line 3: rows are `ordered` or in any order, and not `backwards`",
        );
        check("--- input T\n1\n--- input T\n2\n", "line 3: there is an input `T` already");
        check(
            "--- input Foo\n1\n\n--- query a\nSELECT 1;\n--- rows\n1\n",
            "line 1: input Foo: there is no such table",
        );
        let one = "line 3: an error has one line of words that its message has";
        check("--- query a\nSELECT b;\n--- error UNKNOWN_COLUMN\n\n", one);
        check("--- query a\nSELECT b;\n--- error UNKNOWN_COLUMN\nb\n\nc\n", one);
        let ignored = "a row behind a blank line, which ends the rows above";
        check("--- query a\nSELECT 1;\n--- rows\n1\n\n2\n", &format!("line 6: {ignored}"));
        check("--- input T\n1\n \n\n2\n", &format!("line 5: {ignored}"));
        check("--- query a\nSELECT 'x\n\ny';\n--- rows\n\"x\n\ny\"\n\n", "passed");
        check("--- query a\nSELECT 1;\n--- rows\n\"1\n", "line 3: a quote of the rows below is never closed");
    }

    /// A test case can expect only an error of its query; an error in its setup is a failure of the test.
    #[test]
    fn errors_around_a_query_are_failures() {
        const QUERY: &str = "--- query a\nSELECT b;\n\n--- error UNKNOWN_COLUMN\n`b`\n";
        check(QUERY, "passed");
        let found = |before: &str, query: &str| {
            let cases = Cases::parse(&format!("{before}{query}")).unwrap();
            match cases.run(&cases.cases[0], Manner::default()) {
                Verdict::Passed => "passed".to_owned(),
                Verdict::Failed(why) => why,
            }
        };
        let starts = |before: &str, query: &str, expected: &str| {
            let found = found(before, query);
            assert!(found.starts_with(expected), "{before}{query}: {found}");
        };
        starts("CREATE VIEW v AS SELECT b;\n", QUERY, "the setup: UNKNOWN_COLUMN: ");
        let insert = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n";
        starts(insert, QUERY, "the setup declares and sets, and its queries are not run");
        starts("--- set 'thalweg.nothing' = 'x'\n", QUERY, "SET 'thalweg.nothing' = 'x';: UNKNOWN_OPTION: ");
        let input = "CREATE TABLE t (a INT);\n--- input t\nx\n";
        starts(input, &QUERY.replace("UNKNOWN_COLUMN", "INVALID"), "input t, behind line 2: row 1: ");
        let two = "--- query a\nSELECT 1;\nSELECT 2;\n\n--- error INVALID\none query\n";
        starts("", two, "a case has one query");
    }
}
