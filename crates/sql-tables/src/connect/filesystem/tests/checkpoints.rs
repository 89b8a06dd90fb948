//! Tests of files that are published with checkpoints: whenever a process dies, and whatever a power cut loses, the published
//! rows are in the end those of a run without a crash.

mod machine;

use std::sync::{Arc, Mutex};

use machine::{CRASHES, Crash, Machine, Process};
use thalweg_model::{Fault, Publisher, SeededEntropy, StateReader, StateWriter};

use super::of;
use crate::connect::bed::{Folder, batch, rows_of, table};
use crate::connect::files::Standing;
use crate::connect::job_end::JobEnd;
use crate::connect::{RowSink, World, bind_sink};
use crate::table::Table;

/// Number of rows of the query. Each write has one row.
const ROWS: usize = 10;

/// Number of rows between two checkpoints.
const ROWS_A_CHECKPOINT: usize = 3;

/// A durable checkpoint.
#[derive(Clone)]
struct Kept {
    number: u64,
    /// Rows before the barrier.
    rows: usize,
    state: Vec<u8>,
    /// Descriptions of output that is to be published: that of this checkpoint, behind those of checkpoints that could not be written.
    prepared: Vec<Vec<u8>>,
    is_last: bool,
}

/// A query over one table, as the engine runs it, with what survives its processes.
struct Job {
    machine: Machine,
    table: Table,
    is_bounded: bool,
    kept: Option<Kept>,
    /// The number of the checkpoint that the store cannot write.
    fails: u64,
    processes: u64,
}

impl Job {
    fn new(table: &Table, is_bounded: bool) -> Self {
        let machine = Machine::default();
        Job { machine, table: table.clone(), is_bounded, kept: None, fails: 2, processes: 0 }
    }

    fn world(&self, process: &Process) -> World {
        World {
            base: "/sim".into(),
            files: Arc::new(process.clone()),
            names: Arc::new(Mutex::new(SeededEntropy::new(self.processes))),
            end: JobEnd::new(self.is_bounded),
            takes_checkpoints: true,
            checkpoint_key: 7,
            ..World::default()
        }
    }

    /// Runs the query from its newest checkpoint to its end, or until the process dies.
    fn run(&mut self, dies_at: Option<u64>) -> Process {
        self.processes += 1;
        let process = self.machine.process(dies_at);
        if let Err(error) = self.live(&process) {
            assert!(process.is_dead(), "{error}");
        }
        process
    }

    fn live(&mut self, process: &Process) -> Result<(), String> {
        let world = self.world(process);
        let sink = bind_sink(&self.table, &self.table.written_columns(), &world);
        let mut sink = sink.map_err(|error| error.to_string())?;
        let mut publisher = sink.publisher().expect("files are published with checkpoints");
        self.go_on(sink.as_mut(), publisher.as_mut()).map_err(|fault| fault.to_string())
    }

    fn go_on(&mut self, sink: &mut dyn RowSink, publisher: &mut dyn Publisher) -> Result<(), Fault> {
        let (mut number, mut rows) = (0, 0);
        if let Some(kept) = self.kept.clone() {
            if !kept.is_last {
                let mut state = StateReader::new(&kept.state);
                sink.load(&mut state)
                    .map_err(|error| std::io::Error::other(error.to_string()))
                    .map_err(lost)?;
                state.finish().unwrap();
            }
            kept.prepared.iter().try_for_each(|prepared| publisher.publish(prepared))?;
            (number, rows) = (kept.number, if kept.is_last { ROWS } else { kept.rows });
        }
        publisher.clean()?;
        let mut unpublished: Vec<Vec<u8>> = Vec::new();
        while !self.kept.as_ref().is_some_and(|kept| kept.is_last) {
            let end = ROWS.min(rows + ROWS_A_CHECKPOINT);
            while rows < end {
                sink.write(&batch(&self.table, &line(rows)), None)?;
                rows += 1;
                // The publisher has a thread of its own, so it may publish when further rows are written.
                if self.kept.as_ref().is_some_and(|kept| kept.number == number) {
                    std::mem::take(&mut unpublished)
                        .iter()
                        .try_for_each(|prepared| publisher.publish(prepared))?;
                }
            }
            number += 1;
            let is_last = rows == ROWS;
            unpublished.push(sink.prepare(number, is_last)?);
            let mut state = StateWriter::default();
            sink.save(&mut state).unwrap();
            if number != self.fails || is_last {
                let (state, prepared) = (state.into_bytes(), unpublished.clone());
                self.kept = Some(Kept { number, rows, state, prepared, is_last });
            }
        }
        unpublished.iter().try_for_each(|prepared| publisher.publish(prepared))
    }

    /// Returns the rows that a reader of the table finds.
    fn rows(&self) -> Vec<String> {
        // Files of columns are read by random access, which the disk in memory does not have.
        let folder = (self.table.options["format"].value == "parquet").then(Folder::new);
        let world = match &folder {
            Some(folder) => folder.world(),
            None => self.world(&self.machine.process(None)),
        };
        for (path, bytes) in self.machine.files() {
            let name = path.strip_prefix("/sim").unwrap();
            folder.iter().for_each(|folder| folder.put(name.to_str().unwrap(), &bytes));
        }
        let path = world.base.join(&self.table.options["path"].value);
        let is_there = world.files.standing(&path).unwrap() != Standing::Nothing;
        let mut rows = if is_there { rows_of(&self.table, &world, 100).unwrap() } else { Vec::new() };
        rows.sort();
        rows
    }

    fn names(&self) -> Vec<String> {
        self.machine.files().iter().map(|(path, _)| path.display().to_string()).collect()
    }
}

fn lost(source: std::io::Error) -> thalweg_connectors::SinkError {
    thalweg_connectors::SinkError::Failed { target: "state".to_owned(), source }
}

fn line(row: usize) -> String {
    format!("{{\"a\":{row},\"b\":\"{}\"}}", row % 2)
}

fn expected() -> Vec<String> {
    (0..ROWS).map(|row| format!("{row},{}", row % 2)).collect()
}

const SUCCESS: &str = "'sink.partition-commit.policy.kind' = 'success-file'";

fn plain(options: &str) -> Table {
    of("", &format!("'path' = 'out', {options}"))
}

fn parted(options: &str) -> Table {
    table(&format!(
        "CREATE TABLE t (a INT, b STRING) PARTITIONED BY (b) WITH ('connector' = 'filesystem', 'path' = 'out', {options})"
    ))
}

/// A run that recovers from a crash crashes again at one of so many of its calls.
const SECOND_CRASH_EVERY: u64 = 23;

/// Crashes the query at every call that changes the disk, and again while it recovers; then it runs to its end.
fn crash_everywhere(make: &dyn Fn() -> Job, check: &dyn Fn(&Job, &str)) {
    let mut whole = make();
    let calls = whole.run(None).calls();
    check(&whole, "without a crash");
    whole.machine.crash(Crash::PowerCut);
    assert_eq!(whole.rows(), expected(), "published rows survive");
    for first in 0..calls {
        for crash in CRASHES {
            for second in (first % SECOND_CRASH_EVERY..).step_by(SECOND_CRASH_EVERY as usize) {
                let told = format!("{crash:?} at {first}, again at {second}");
                let mut job = make();
                assert!(job.run(Some(first)).is_dead(), "{told}");
                job.machine.crash(crash);
                let is_dead = job.run(Some(second)).is_dead();
                if is_dead {
                    job.machine.crash(crash);
                    job.run(None);
                }
                check(&job, &told);
                job.machine.crash(Crash::PowerCut);
                assert_eq!(job.rows(), expected(), "{told}");
                if !is_dead {
                    break;
                }
            }
        }
    }
}

fn check(job: &Job, told: &str) {
    assert_eq!(job.rows(), expected(), "{told}");
    let hidden: Vec<String> = job.names().into_iter().filter(|name| name.contains("/.")).collect();
    assert!(hidden.is_empty(), "{told}: {hidden:?}");
}

#[test]
fn files_are_published_once() {
    for is_bounded in [true, false] {
        let table = plain(&format!("'format' = 'json', 'sink.rolling-policy.file-size' = '15 b', {SUCCESS}"));
        crash_everywhere(&|| Job::new(&table, is_bounded), &|job, told| {
            check(job, told);
            assert!(job.names().contains(&"/sim/out/_SUCCESS".to_owned()), "{told}");
        });
    }
}

#[test]
fn files_of_partitions_are_published_once() {
    let table = parted(&format!("'format' = 'csv', {SUCCESS}"));
    crash_everywhere(&|| Job::new(&table, true), &|job, told| {
        check(job, told);
        let count = job.names().iter().filter(|name| name.ends_with("/_SUCCESS")).count();
        assert_eq!(count, 2, "{told}");
    });
}

#[test]
fn files_of_columns_are_published_once() {
    let table = plain("'format' = 'parquet'");
    crash_everywhere(&|| Job::new(&table, true), &check);
}

#[test]
fn a_single_file_is_published_at_the_end() {
    let table = of("", "'path' = 'out.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let make = || {
        let job = Job::new(&table, true);
        job.machine.put("/sim/out.csv", "77,old\n");
        job
    };
    crash_everywhere(&make, &|job, told| {
        check(job, told);
        assert_eq!(job.names(), ["/sim/out.csv"], "{told}");
        let lines = String::from_utf8(job.machine.files().remove(0).1).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines, expected(), "the rows keep their order: {told}");
    });
    // Before the end the old file is there.
    let mut job = make();
    let calls = make().run(None).calls();
    for dies_at in (0..calls).rev() {
        job = make();
        job.run(Some(dies_at));
        if !job.kept.as_ref().is_some_and(|kept| kept.is_last) {
            break;
        }
    }
    assert_eq!(job.rows(), ["77,old"]);
}

#[test]
fn old_files_are_replaced_at_the_end() {
    let options = "'format' = 'json', 'sink.rolling-policy.file-size' = '15 b'";
    let old = "{\"a\":77,\"b\":\"1\"}\n";
    for (table, old_paths) in [
        (plain(options), ["/sim/out/old.json", "/sim/out/deep/old.json"]),
        (parted(options), ["/sim/out/b=0/old.json", "/sim/out/b=1/old.json"]),
    ] {
        let table = Table { is_replaced: true, ..table };
        let make = || {
            let job = Job::new(&table, true);
            old_paths.iter().for_each(|path| job.machine.put(path, old));
            job
        };
        crash_everywhere(&make, &check);
        let mut job = make();
        job.run(Some(make().run(None).calls() / 2));
        assert_eq!(job.rows().len(), 2, "only the old rows: {:?}", job.names());
    }
}

/// Readers never find a row twice, nor a row of a job that takes it back.
#[test]
fn rows_are_visible_once_at_any_time() {
    let table = parted("'format' = 'json'");
    let calls = Job::new(&table, false).run(None).calls();
    for dies_at in 0..calls {
        let mut job = Job::new(&table, false);
        job.run(Some(dies_at));
        for _ in 0..2 {
            let mut rows = job.rows();
            let count = rows.len();
            rows.dedup();
            assert_eq!(rows.len(), count, "{dies_at}");
            assert!(rows.iter().all(|row| expected().contains(row)), "{dies_at}: {rows:?}");
            job.machine.crash(Crash::Death);
            job.run(Some(dies_at / 2));
        }
    }
}

/// Returns a job that has died when its newest checkpoint, which is not the last, was durable and not published.
fn unpublished(table: &Table) -> Job {
    let calls = Job::new(table, true).run(None).calls();
    for dies_at in 0..calls {
        let mut job = Job::new(table, true);
        job.run(Some(dies_at));
        let is_prepared = job.kept.as_ref().is_some_and(|kept| !kept.is_last && !kept.prepared[0].is_empty());
        if is_prepared && job.rows().is_empty() {
            job.machine.crash(Crash::Death);
            return job;
        }
    }
    panic!("no such moment");
}

/// Output that is published stays as it is when it is published again. A described file that is missing or has changed is an
/// error that names it.
#[test]
fn a_missing_file_is_an_error() {
    let table = plain("'format' = 'json'");
    let job = unpublished(&table);
    let prepared = job.kept.as_ref().unwrap().prepared[0].clone();
    let publish = |job: &Job, prepared: &[u8]| {
        let world = job.world(&job.machine.process(None));
        let mut sink = bind_sink(&table, &table.written_columns(), &world).unwrap();
        let mut publisher = sink.publisher().unwrap();
        publisher.publish(prepared).map_err(|fault| format!("{} {fault}", fault.code()))
    };
    for _ in 0..3 {
        publish(&job, &prepared).unwrap();
        assert_eq!(job.rows(), expected()[..ROWS_A_CHECKPOINT]);
    }
    let name = job.names().remove(0);
    for (is_changed, reason) in [(true, "has 3 bytes and not "), (false, "neither it nor ")] {
        job.machine.remove(&name);
        if is_changed {
            job.machine.put(&name, "new");
        }
        let error = publish(&job, &prepared).unwrap_err();
        assert!(
            error.starts_with("OUTPUT_LOST ") && error.contains(&name) && error.contains(reason),
            "{error}"
        );
    }
    let error = publish(&job, &prepared[..prepared.len() - 1]).unwrap_err();
    assert!(
        error.starts_with(
            "OUTPUT_LOST /sim/out: a checkpoint describes this output, and its description is of no use"
        ),
        "{error}"
    );
}

/// Another run that writes to the table, with checkpoints of its own or without, leaves prepared files alone.
#[test]
fn other_runs_leave_prepared_files() {
    let table = plain("'format' = 'json'");
    for takes_checkpoints in [true, false] {
        let mut job = unpublished(&table);
        let before = job.names();
        assert!(before.iter().any(|name| name.ends_with(".staged")), "{before:?}");
        let world = job.world(&job.machine.process(None));
        let world = World { takes_checkpoints, checkpoint_key: 8, ..world };
        let mut sink = bind_sink(&table, &table.written_columns(), &world).unwrap();
        if takes_checkpoints {
            sink.publisher().unwrap().clean().unwrap();
        }
        drop(sink);
        let mut left = before;
        left.retain(|name| !name.ends_with(".inprogress"));
        assert_eq!(job.names(), left, "the marker of the process that died is removed");
        job.run(None);
        check(&job, "after another run");
    }
}

/// Two sinks of one job write to one table. Cleaning up for one of them keeps the files of the other.
#[test]
fn two_sinks_of_a_job() {
    let table = plain("'format' = 'json'");
    let job = Job::new(&table, true);
    let open = |dies_at| {
        let process = job.machine.process(dies_at);
        let world = World { names: Arc::new(Mutex::new(SeededEntropy::new(9))), ..job.world(&process) };
        let bind = || bind_sink(&table, &table.written_columns(), &world).unwrap();
        (process, [bind(), bind()])
    };
    let (_, mut sinks) = open(None);
    let mut publishers = sinks.each_mut().map(|sink| sink.publisher().unwrap());
    let prepared: Vec<Vec<u8>> = (0..2)
        .map(|at| {
            sinks[at].write(&batch(&table, &line(at)), None).unwrap();
            publishers[1 - at].clean().unwrap();
            sinks[at].prepare(1, false).unwrap()
        })
        .collect();
    publishers[0].publish(&prepared[0]).unwrap();
    drop(sinks);
    job.machine.crash(Crash::Death);
    let (_, mut sinks) = open(None);
    let mut publishers = sinks.each_mut().map(|sink| sink.publisher().unwrap());
    for (publisher, prepared) in publishers.iter_mut().zip(&prepared) {
        publisher.publish(prepared).unwrap();
    }
    publishers.iter_mut().for_each(|publisher| publisher.clean().unwrap());
    assert_eq!(job.rows(), expected()[..2]);
    assert_eq!(job.names().len(), 2, "{:?}", job.names());
}

/// INSERT OVERWRITE that is stopped before its end replaces nothing, and leaves nothing.
#[test]
fn a_job_that_is_cut_replaces_nothing() {
    let table = Table { is_replaced: true, ..plain("'format' = 'json'") };
    let job = Job::new(&table, true);
    job.machine.put("/sim/out/old.json", "{\"a\":77}\n");
    let world = job.world(&job.machine.process(None));
    let mut sink = bind_sink(&table, &table.written_columns(), &world).unwrap();
    let mut publisher = sink.publisher().unwrap();
    sink.write(&batch(&table, &line(0)), None).unwrap();
    assert!(sink.prepare(1, false).unwrap().is_empty());
    world.end.note_cut();
    let prepared = sink.prepare(2, true).unwrap();
    publisher.publish(&prepared).unwrap();
    publisher.publish(&prepared).unwrap();
    assert_eq!(job.names(), ["/sim/out/old.json"]);
    assert_eq!(world.notes.take().len(), 1);
}

/// State that names a file which has gone is refused when it is loaded.
#[test]
fn state_whose_files_have_gone_is_refused() {
    let table = of("", "'path' = 'out.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let job = Job::new(&table, true);
    let bind = || {
        let world = job.world(&job.machine.process(None));
        let mut sink = bind_sink(&table, &table.written_columns(), &world).unwrap();
        sink.publisher().unwrap();
        sink
    };
    let mut sink = bind();
    sink.write(&batch(&table, &line(0)), None).unwrap();
    sink.prepare(1, false).unwrap();
    let mut state = StateWriter::default();
    sink.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    drop(sink);
    let load = |bytes: &[u8]| bind().load(&mut StateReader::new(bytes)).map_err(|error| error.to_string());
    load(&bytes).unwrap();
    assert!((0..bytes.len()).all(|end| load(&bytes[..end]).is_err()));
    let name = job.names().into_iter().find(|name| name.ends_with(".staged")).unwrap();
    job.machine.remove(&name);
    assert!(load(&bytes).unwrap_err().contains(&format!("{name} is missing")));
}

/// One file of parquet is refused when its job takes checkpoints, before anything runs.
#[test]
fn one_file_of_columns_is_refused() {
    let table = of("", "'path' = 'out', 'format' = 'parquet', 'thalweg.single-file' = 'true'");
    let job = Job::new(&table, true);
    let world = job.world(&job.machine.process(None));
    let error = bind_sink(&table, &table.written_columns(), &world).err().unwrap();
    assert!(error.to_string().contains("one file of parquet cannot be continued"), "{error}");
    assert!(job.names().is_empty());
}
