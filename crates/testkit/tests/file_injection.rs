//! Errors of the operating system at calls drawn by a seed, in SQL jobs that read and write files of every
//! format. A job that meets an error either fails with a clear message and publishes nothing incomplete, or has
//! all of its rows.
//!
//! Each run takes one shape (a format and a kind of sink), and makes one call of one kind fail, once or from
//! then on. `check` runs some seeds, `cargo xtask deep faults` a thousand.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg::{Chaining, Clock, SystemClock};
use thalweg_model::Entropy;
use thalweg_model::disk::{Disk, FileIdentity, WriteFile};
use thalweg_sql::connect::World;
use thalweg_sql::connect::files::{Entry, Files, RealFiles, Standing};
use thalweg_sql::job::{BATCH_EDGES, Shown, assemble};
use thalweg_sql::session::{Action, Job, Session};
use thalweg_testkit::seed::{Seeds, entropy_for};
use thalweg_testkit::{Setup, Simulation};

/// Kinds of calls to the operating system that can fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    Open,
    Read,
    Create,
    Write,
    Sync,
    Publish,
    /// Syncing a directory after a file was renamed. If it fails, the file has its new name already.
    SyncDirectory,
    Remove,
    Look,
    List,
    MakeDirectories,
}

const CALLS: [Call; 11] = [
    Call::Open,
    Call::Read,
    Call::Create,
    Call::Write,
    Call::Sync,
    Call::Publish,
    Call::SyncDirectory,
    Call::Remove,
    Call::Look,
    Call::List,
    Call::MakeDirectories,
];

/// Error numbers that calls fail with: EIO, EACCES, EMFILE, ENOSPC.
const ERRORS: [i32; 4] = [5, 13, 24, 28];

/// The call to the operating system that fails in a run.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: Call,
    /// Number of the failing call among the calls of its kind, counted from 1.
    number: u64,
    errno: i32,
    /// True if all later calls of the kind that fails once fail as well.
    stays: bool,
}

#[derive(Default)]
struct State {
    counts: [u64; CALLS.len()],
    fault: Option<Fault>,
    is_hit: bool,
}

/// The files of the operating system, with calls that fail by choice of the test.
#[derive(Clone, Default)]
struct Injected(Arc<Mutex<State>>);

impl Injected {
    fn with(fault: Option<Fault>) -> Self {
        Injected(Arc::new(Mutex::new(State { fault, ..State::default() })))
    }

    /// Counts a call, and returns an error if this is the call to fail.
    fn call(&self, call: Call) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.counts[call as usize] += 1;
        let number = state.counts[call as usize];
        let fails = |fault: &Fault| {
            fault.call == call && (fault.number == number || fault.stays && fault.number < number)
        };
        match state.fault.filter(fails) {
            None => Ok(()),
            Some(fault) => {
                state.is_hit = true;
                Err(io::Error::from_raw_os_error(fault.errno))
            }
        }
    }
}

struct Handle<T>(T, Injected);

impl Read for Handle<Box<dyn Read + Send>> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1.call(Call::Read)?;
        // Each read returns little, so that there are enough calls that can fail.
        let most = into.len().min(4_096);
        self.0.read(&mut into[..most])
    }
}

impl Write for Handle<Box<dyn WriteFile>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.call(Call::Write)?;
        // Each call writes half of the bytes, as a disk does that is nearly full.
        self.0.write(&bytes[..bytes.len().div_ceil(2)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl WriteFile for Handle<Box<dyn WriteFile>> {
    fn sync(&mut self) -> io::Result<()> {
        self.1.call(Call::Sync)?;
        self.0.sync()
    }
}

impl Disk for Injected {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.call(Call::Open)?;
        Ok(Box::new(Handle(RealFiles.open(path)?, self.clone())))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.call(Call::Create)?;
        Ok(Box::new(Handle(RealFiles.create(path)?, self.clone())))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.call(Call::Look)?;
        RealFiles.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(Call::Publish)?;
        RealFiles.publish(from, to)?;
        self.call(Call::SyncDirectory)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(Call::Remove)?;
        RealFiles.remove(path)
    }
}

impl Files for Injected {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        self.call(Call::List)?;
        RealFiles.list(directory)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        self.call(Call::Look)?;
        RealFiles.is_directory(path)
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        self.call(Call::Look)?;
        RealFiles.standing(path)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.call(Call::Look)?;
        RealFiles.real_path(path)
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        self.call(Call::MakeDirectories)?;
        RealFiles.make_directories(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.call(Call::Remove)?;
        RealFiles.remove_directory(path)
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        self.call(Call::Look)?;
        RealFiles.is_held(path)
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        self.call(Call::Remove)?;
        RealFiles.remove_leftover(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<File> {
        self.call(Call::Open)?;
        RealFiles.open_file(path)
    }
}

/// A folder for the files of one test, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-injection-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Returns the paths of all files below the folder, relative to the folder.
    fn names(&self) -> Vec<String> {
        let (mut names, mut left) = (Vec::new(), vec![self.0.clone()]);
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    names.push(path.strip_prefix(&self.0).unwrap().display().to_string());
                }
            }
        }
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Kind of output of a job: a directory of files, one file, or a partitioned directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sink {
    Directory,
    Single,
    Partitioned,
}

const FORMATS: [&str; 5] = ["csv", "json", "raw", "debezium-json", "parquet"];
const SINKS: [Sink; 3] = [Sink::Directory, Sink::Single, Sink::Partitioned];

/// Number of good rows of the input, which lie in three files.
const ROWS: usize = 900;

/// A job to test: a format for input and output, and a kind of sink.
struct Shape {
    format: &'static str,
    sink: Sink,
    job: Job,
    /// A second job, which reads the output of the first one.
    back: Job,
    /// Number of calls of each kind that the job makes when none fails.
    counts: [u64; CALLS.len()],
    expected: BTreeSet<String>,
    /// Number of bad records of the input, which are diverted.
    bad: usize,
}

fn jobs(sql: &str) -> Vec<Job> {
    let actions = Session::new(clock()).read(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let job = |action| match action {
        Action::Run(job) => job,
        other => panic!("{other:?} does not run"),
    };
    actions.into_iter().map(job).collect()
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::default())
}

/// A writer into memory, whose contents the test can read.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a job. Returns the lines of the rows that it prints, or code and message of its error.
fn run(job: &Job, seed: u64, files: &Injected, base: &Path) -> Result<Vec<String>, String> {
    let clock = clock();
    let text = Text::default();
    let world = World {
        files: Arc::new(files.clone()),
        base: base.to_owned(),
        clock: Arc::clone(&clock),
        ..World::default()
    };
    let zone = job.settings.zone;
    let mut shown = |columns: &[_], changes: thalweg_sql::bind::changelog::Changes| {
        let output = Arc::new(Mutex::new(Box::new(text.clone()) as Box<dyn Write + Send>));
        Ok(Box::new(Shown::text(columns, zone, !changes.is_none(), output)) as Box<_>)
    };
    let assembled = assemble(job, &clock, &world, &mut shown)
        .map_err(|error| format!("{}: {error}", error.code.name()))?;
    let graph = assembled.query.plan(Chaining::Default).expect("the stream ends in a sink");
    // Batches and file buffers take more memory than the smallest budget that a seed may draw.
    let drawn = Setup::draw(&mut entropy_for(seed, "setup"));
    let setup = Setup { memory_budget_bytes: 256 << 20, edges: BATCH_EDGES, ..drawn };
    let mut simulation = Simulation::with_setup(seed, setup);
    let query = simulation.submit(graph).expect("the budget is ample");
    simulation.run();
    simulation.outcome(query).map_err(|error| format!("{}: {error}", error.code()))?;
    drop(simulation);
    let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
    Ok(text.lines().skip(1).map(str::to_owned).collect())
}

/// Returns the columns of a format, with and without types; `raw` has only one column.
fn columns(format: &str) -> (&'static str, &'static str) {
    if format == "raw" { ("b STRING", "b") } else { ("a BIGINT, b STRING, p INT", "a, b, p") }
}

/// Makes the input files of every format from lines of CSV, some of which are bad.
fn make_inputs(folder: &Folder) {
    let input = folder.0.join("csv");
    fs::create_dir_all(&input).unwrap();
    for file in 0..3 {
        let line = |row: usize| match row % 100 {
            50 => format!("bad {row},text,1\nrow {row}"),
            _ => format!("row {row}"),
        };
        let rows = (file * ROWS / 3..(file + 1) * ROWS / 3).map(line);
        let lines = rows.map(|text| {
            let (bad, row) = text.rsplit_once('\n').map_or(("", &*text), |(bad, row)| (bad, row));
            let number: usize = row[4..].parse().unwrap();
            let bad = if bad.is_empty() { String::new() } else { format!("{bad}\n") };
            format!("{bad}{number},text of row {number},{}\n", number % 4)
        });
        fs::write(input.join(format!("{file}.csv")), lines.collect::<String>()).unwrap();
    }
    for format in FORMATS.into_iter().filter(|format| *format != "csv") {
        let (declared, named) = columns(format);
        let sql = format!(
            "CREATE TABLE s (a BIGINT, b STRING, p INT) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv',
             'thalweg.on-bad' = 'skip');
             CREATE TABLE t ({declared}) WITH ('connector' = 'filesystem', 'path' = '{format}', 'format' = '{format}',
             'sink.rolling-policy.file-size' = '9 kb');
             INSERT INTO t SELECT {named} FROM s WHERE a >= 0",
            input.display()
        );
        run(&jobs(&sql)[0], 1, &Injected::default(), &folder.0).unwrap();
    }
}

fn shape(format: &'static str, sink: Sink, inputs: &Folder) -> Shape {
    let (declared, named) = columns(format);
    let lines = if format == "parquet" { "" } else { ", 'thalweg.on-bad' = 'divert:bad.json'" };
    let to = match sink {
        Sink::Single => "'path' = 'out/rows', 'thalweg.single-file' = 'true'",
        Sink::Directory => "'path' = 'out', 'sink.rolling-policy.file-size' = '4 kb'",
        Sink::Partitioned => "'path' = 'out', 'sink.partition-commit.policy.kind' = 'success-file'",
    };
    let parted = if sink == Sink::Partitioned { "PARTITIONED BY (p)" } else { "" };
    let target = format!(
        "CREATE TABLE t ({declared}) {parted} WITH ('connector' = 'filesystem', 'format' = '{format}', {to});"
    );
    let job = jobs(&format!(
        "CREATE TABLE s ({declared}) WITH ('connector' = 'filesystem', 'path' = '{}/{format}', 'format' = '{format}'{lines});
         {target} INSERT INTO t SELECT {named} FROM s",
        inputs.0.display()
    ));
    let back = jobs(&format!("{target} SELECT {named} FROM t"));
    let mut shape = Shape {
        format,
        sink,
        job: job[0].clone(),
        back: back[0].clone(),
        counts: [0; CALLS.len()],
        expected: BTreeSet::new(),
        bad: if format == "csv" { ROWS / 100 } else { 0 },
    };
    let folder = Folder::new(&format!("shape-{format}-{sink:?}"));
    let files = Injected::default();
    run(&shape.job, 1, &files, &folder.0).unwrap();
    shape.counts = files.0.lock().unwrap().counts;
    shape.expected = read_back(&shape, &folder).into_iter().collect();
    assert_eq!(shape.expected.len(), ROWS, "{format} {sink:?}");
    shape
}

/// Returns the rows that the job has published.
fn read_back(shape: &Shape, folder: &Folder) -> Vec<String> {
    if !folder.0.join("out").exists() || shape.sink == Sink::Single && !folder.0.join("out/rows").exists() {
        return Vec::new();
    }
    run(&shape.back, 1, &Injected::default(), &folder.0)
        .unwrap_or_else(|error| panic!("what was published cannot be read: {error}"))
}

/// Content of the file of diverted records that an earlier run has left.
const OLD_BAD: &str = "{\"file\":\"old\"}\n";

/// Runs a job with this fault and checks the result. Returns true if the call that was to fail was made at
/// all.
fn check(shape: &Shape, seed: u64, fault: Fault) -> bool {
    let folder = Folder::new(&format!("{seed}"));
    let old_rows = "no rows, and of an earlier run";
    if shape.sink == Sink::Single {
        fs::create_dir_all(folder.0.join("out")).unwrap();
        fs::write(folder.0.join("out/rows"), old_rows).unwrap();
    }
    fs::write(folder.0.join("bad.json"), OLD_BAD).unwrap();
    let files = Injected::with(Some(fault));
    let ran = run(&shape.job, seed, &files, &folder.0);
    let is_hit = files.0.lock().unwrap().is_hit;
    let Shape { format, sink, .. } = shape;
    let told = format!(
        "{format} to {sink:?}, seed {seed}, {fault:?} (met: {is_hit}): {ran:?}, {:?}",
        folder.names()
    );
    let bad = fs::read_to_string(folder.0.join("bad.json")).unwrap_or_default();
    // The file of diverted records consists of whole lines, and is either the earlier run's or that of this
    // run.
    assert!(
        bad == OLD_BAD || bad.lines().all(|line| line.starts_with("{\"file\":") && line.ends_with('}')),
        "{told}: {bad}"
    );
    let unfinished = folder.names().into_iter().filter(|name| name.contains(".inprogress")).count();
    assert!(unfinished == 0 || fault.call == Call::Remove, "{told}: unfinished files are left");
    let is_old = shape.sink == Sink::Single
        && fs::read_to_string(folder.0.join("out/rows")).is_ok_and(|text| text == old_rows);
    let rows = if is_old { Vec::new() } else { read_back(shape, &folder) };
    let distinct: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), distinct.len(), "{told}: rows are there twice");
    assert!(distinct.is_subset(&shape.expected), "{told}: rows that should not be");
    match &ran {
        Ok(_) => {
            assert_eq!(distinct, shape.expected, "{told}: rows are lost");
            let diverted = if bad == OLD_BAD { 0 } else { bad.lines().count() };
            assert_eq!(diverted, shape.bad, "{told}: bad records are lost");
        }
        Err(message) => {
            assert!(is_hit, "{told}: nothing failed");
            assert!(message.contains(&format!("(os error {})", fault.errno)), "{told}: it does not say why");
            assert!(message.contains(std::env::temp_dir().to_str().unwrap()), "{told}: it names no file");
            assert!(!message.contains("panic"), "{told}");
            if shape.sink == Sink::Single {
                let is_whole = fault.call == Call::SyncDirectory && distinct == shape.expected;
                assert!(is_old || is_whole, "{told}: the earlier file is gone");
            }
        }
    }
    is_hit
}

/// An error at any call to the operating system leaves whole files and an error message, or has no effect.
#[test]
fn an_error_of_the_system_never_publishes_what_is_torn() {
    let inputs = Folder::new("inputs");
    make_inputs(&inputs);
    // The format `raw` cannot be partitioned, because it has no second column.
    let is_possible = |(format, sink): &(&str, Sink)| !(*format == "raw" && *sink == Sink::Partitioned);
    let shapes: Vec<Shape> = FORMATS
        .into_iter()
        .flat_map(|format| SINKS.map(|sink| (format, sink)))
        .filter(is_possible)
        .map(|(format, sink)| shape(format, sink, &inputs))
        .collect();
    let (mut runs, mut hits) = (0, 0);
    Seeds::from_env("file_injection").each(|seed| {
        let mut entropy = entropy_for(seed, "faults of files");
        let mut below = |bound: usize| entropy.below(bound as u64) as usize;
        let shape = &shapes[below(shapes.len())];
        let calls: Vec<Call> = CALLS.into_iter().filter(|call| shape.counts[*call as usize] > 0).collect();
        let call = calls[below(calls.len())];
        let number = 1 + below(shape.counts[call as usize] as usize) as u64;
        let fault = Fault { call, number, errno: ERRORS[below(ERRORS.len())], stays: below(2) == 0 };
        runs += 1;
        hits += u64::from(check(shape, seed, fault));
    });
    // The order of tasks depends on the seed, and with another order a job may make fewer calls of a kind. So
    // some faults may not occur.
    assert!(runs < 100 || runs < 2 * hits, "{hits} of {runs} runs met their error");
}
