//! Tests that the SQL files in `examples` are valid, and that the small ones give the rows that they state.
//!
//! The head of a file states its rows: lines after `-- Expected` that begin with `--` and three spaces. The
//! output is compared with them as a set of lines. A line that ends in three spaces and "and N more" stands
//! for N further lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg::{Chaining, Clock, Engine, Layout, Parallel, SystemClock};
use thalweg_sql::bind::changelog::Changes;
use thalweg_sql::cases::head::{Head, Sums};
use thalweg_sql::catalog::Entry;
use thalweg_sql::connect::{self, Output, RowSink, World};
use thalweg_sql::job::{self, BATCH_EDGES, Shown};
use thalweg_sql::plan::Column;
use thalweg_sql::session::{Action, Session};
use thalweg_sql::table::Table;

#[path = "support/kept.rs"]
mod kept;
use kept::Kept;

/// Root of the repository, to which paths in the example files are relative.
const ROOT: &str = "../..";

/// Returns all SQL files in a folder and its sub-folders, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of examples") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Reads an example file; returns its session and the actions of its statements.
fn read(path: &Path) -> Result<(Session, Vec<Action>), String> {
    let text = fs::read_to_string(path).expect("a file of SQL");
    let mut session = Session::new(Arc::new(SystemClock::default()));
    let actions = session.read(&text).map_err(|error| error.show(&path.display().to_string(), &text))?;
    if let Some(note) = session.notes(&text).first() {
        return Err(note.show(&path.display().to_string(), &text));
    }
    for (_, entry) in session.catalog().entries() {
        if let Entry::Table(table) = entry {
            connect::check(table).map_err(|error| error.show(&path.display().to_string(), &text))?;
        }
    }
    Ok((session, actions))
}

/// Runs an example file as `thalweg run` does; returns its standard output, and the row counts over its jobs.
fn run(path: &Path) -> Result<(String, Sums), String> {
    let (_, actions) = read(path)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let kept = Kept::default();
    let stdout: Output = Arc::new(Mutex::new(Box::new(kept.clone())));
    let mut sums = Sums::default();
    for action in actions {
        let Action::Run(job) = action else { continue };
        let world = World {
            seed: 1,
            base: ROOT.into(),
            clock: Arc::clone(&clock),
            zone: job.settings.zone,
            stdout: Output::clone(&stdout),
            ..World::default()
        };
        let mut shown = |columns: &[Column], changes: Changes| {
            let shown = Shown::text(columns, job.settings.zone, !changes.is_none(), Output::clone(&stdout));
            Ok(Box::new(shown) as Box<dyn RowSink>)
        };
        let assembled =
            job::assemble(&job, &clock, &world, &mut shown).map_err(|error| format!("{error:?}"))?;
        let engine = Engine::builder().workers(1).clock(Arc::clone(&clock)).edges(BATCH_EDGES);
        let engine = engine.build().map_err(|error| error.to_string())?;
        let layout = Layout { chaining: Chaining::Default, parallel: Parallel::Serial };
        let graph = assembled.query.plan(layout).map_err(|error| error.to_string())?;
        let handle = engine.submit(graph).map_err(|error| error.to_string())?;
        let report = handle.wait().map_err(|error| error.to_string())?;
        sums.rows_in += assembled.tally.rows_in();
        sums.rows_out += assembled.tally.rows_out();
        sums.late += report.total(|counts| counts.late);
        sums.bad += report.bad;
    }
    let bytes = kept.0.lock().expect("nobody panics").clone();
    Ok((String::from_utf8(bytes).expect("text"), sums))
}

/// Compares the output of an example file with the expectations in the file's head.
fn check_output(path: &Path, output: &str, sums: Sums) -> Result<(), String> {
    let text = fs::read_to_string(path).expect("a file of SQL");
    let mut head = Head::parse(&text).expect("a head that says what to expect")?;
    output.lines().for_each(|line| head.line(line));
    head.end(sums)
}

#[test]
fn every_example_is_valid() {
    let mut failures = Vec::new();
    let paths = files(&Path::new(ROOT).join("examples"));
    assert!(paths.len() >= 30, "{} files", paths.len());
    for path in &paths {
        match read(path) {
            Ok((_, actions)) => assert!(!actions.is_empty(), "{} does nothing", path.display()),
            Err(error) => failures.push(error),
        }
        let text = fs::read_to_string(path).expect("a file of SQL");
        for word in ["You will learn:", "Run it:", "Portable:", "Expected"] {
            assert!(text.contains(word), "{} does not say `{word}`", path.display());
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} files are not valid\n{}",
        failures.len(),
        paths.len(),
        failures.join("\n")
    );
}

/// SHOW CREATE TABLE of each table of each example declares an equal table.
#[test]
fn declarations_of_examples_are_shown_as_they_are() {
    let mut count = 0;
    for path in files(&Path::new(ROOT).join("examples")) {
        let Ok((mut session, _)) = read(&path) else { continue };
        let names: Vec<String> = session.catalog().entries().map(|(name, _)| name.to_owned()).collect();
        for name in names {
            let Ok(Entry::Table(table)) = session.catalog().get(&name).cloned() else { continue };
            let show = format!("SHOW CREATE TABLE `{name}`");
            let shown = |session: &mut Session| match &session.read(&show).expect("a declaration")[..] {
                [Action::Show(shown)] => shown.clone(),
                other => panic!("{other:?}"),
            };
            let text = shown(&mut session);
            let mut again = Session::new(Arc::new(SystemClock::default()));
            again.read(&text).unwrap_or_else(|error| panic!("{}", error.show(&name, &text)));
            assert_eq!(shown(&mut again), text);
            let Ok(Entry::Table(declared)) = again.catalog().get(&name).cloned() else { panic!("{text}") };
            let facts = |table: &Table| {
                let columns = table.columns.iter().map(|column| {
                    format!("{} {} {} {:?}", column.name, column.of, column.is_nullable, column.kind)
                });
                let options = table.options.iter().map(|(key, option)| format!("{key}={}", option.value));
                let lists = format!("{:?} {:?} {:?}", table.rowtime, table.primary_key, table.partitioned_by);
                columns.chain(options).chain([lists]).collect::<Vec<_>>()
            };
            assert_eq!(facts(&declared), facts(&table), "{text}");
            count += 1;
        }
    }
    assert!(count > 40, "{count} tables");
}

#[test]
fn small_examples_have_the_rows_that_they_say() {
    let mut failures = Vec::new();
    let small = [
        "01_hello",
        "03_tumbling",
        "04_late_and_watermarks",
        "05_top_n",
        "06_joins",
        "07_views_and_statement_sets",
        "08_json",
        "09_final_rows",
        "lrb_windows",
        "nyt",
        "ysb_json",
    ];
    for name in small {
        let path = Path::new(ROOT).join("examples").join(name).with_extension("sql");
        let done = run(&path).and_then(|(output, sums)| check_output(&path, &output, sums));
        if let Err(error) = done {
            failures.push(format!("{name}:\n{error}"));
        }
    }
    assert!(failures.is_empty(), "{} of {} differ\n{}", failures.len(), small.len(), failures.join("\n"));
}

/// Each query of Nexmark and YSB runs; the test prints how long it takes, and how many rows it reads and
/// writes.
#[test]
#[ignore = "takes a while: run it in release, with --nocapture"]
fn every_query_of_the_workloads_runs() {
    let mut failures = Vec::new();
    let folder = Path::new(ROOT).join("examples");
    for path in files(&folder.join("nexmark"))
        .into_iter()
        .chain([folder.join("ysb.sql"), folder.join("02_files.sql")])
    {
        let started = std::time::Instant::now();
        match run(&path) {
            Ok((output, sums)) => {
                let seconds = started.elapsed().as_secs_f64();
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                println!(
                    "{name}: {} rows in, {} out in {seconds:.3} s; {} lines shown",
                    sums.rows_in,
                    sums.rows_out,
                    output.lines().count()
                );
                if let Err(error) = check_output(&path, &output, sums) {
                    failures.push(format!("{name}: {error}"));
                }
            }
            Err(error) => failures.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}
