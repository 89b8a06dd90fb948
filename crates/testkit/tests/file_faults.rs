//! Damaged and failing files. A query that reads or writes such a file reports the file, the position in it,
//! and a remedy. It leaves nothing behind that looks like a result. Published files survive a power cut.
#![forbid(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use thalweg::{Chaining, EventTime, Graph, Query, QueryReport, Record, WatermarkStrategy};
use thalweg_connectors::{CsvError, CsvOptions, CsvSink, CsvSource, Header, OnBad, Row, RowError, RowWriter};
use thalweg_model::Coded;
use thalweg_model::disk::Disk;
use thalweg_testkit::Simulation;
use thalweg_testkit::disk::{Call, Change, FaultyDisk};

const INPUT: &str = "in/numbers.csv";
const OUTPUT: &str = "out/doubled.csv";

/// Number of lines of the input file. They fill more than two of the reader's buffers of 256 KiB, so that
/// most of the file is read while the query runs.
const LINES: i64 = 60_000;

/// Number of bytes read when the file changes: more than opening reads, and less than the whole file.
const HALFWAY_BYTES: u64 = 300_000;

fn numbers() -> String {
    (0..LINES).map(|number| format!("{number},{}\n", number * 7)).collect()
}

fn doubled() -> String {
    (0..LINES).map(|number| format!("{number},{}\n", number * 14)).collect()
}

fn disk() -> Arc<FaultyDisk> {
    let disk = FaultyDisk::new();
    disk.put(INPUT, numbers());
    disk
}

fn parse(row: &Row<'_>) -> Result<Record<i64>, RowError> {
    Ok(Record::new(EventTime::from_micros(row.i64(0)?), row.i64(1)?))
}

fn write(record: &Record<i64>, row: &mut RowWriter) {
    row.push_i64(record.event_time.as_micros());
    row.push_i64(record.value);
}

/// Creates a query that reads the input file, doubles its numbers, and writes the output file.
fn graph(disk: &Arc<FaultyDisk>) -> Result<Graph, String> {
    let options = CsvOptions {
        path: INPUT.into(),
        columns: &["at", "number"],
        header: Header::None,
        on_bad: OnBad::Fail,
    };
    let told = |error: CsvError| format!("{}: {error}", error.code());
    let source = CsvSource::open(options, Arc::<FaultyDisk>::clone(disk), parse).map_err(told)?;
    let sink = CsvSink::create(Arc::<FaultyDisk>::clone(disk), OUTPUT, write);
    let sink = sink.map_err(|error| format!("{}: {error}", error.code()))?;
    let query = Query::new("double");
    query.source("read", source, WatermarkStrategy::ascending()).map(|number| number * 2).sink("write", sink);
    Ok(query.plan(Chaining::Default).expect("the stream ends in a sink"))
}

/// Runs the query to its end; an error is returned as a text of its code and message.
fn run(disk: &Arc<FaultyDisk>) -> Result<QueryReport, String> {
    let mut simulation = Simulation::new(1);
    let query = simulation.submit(graph(disk)?).expect("the budget is ample");
    simulation.run();
    simulation.outcome(query).map_err(|error| format!("{}: {error}", error.code()))
}

/// Checks that the query fails with an error that has these words, and that only the input file is left.
#[track_caller]
fn check_fails(disk: &Arc<FaultyDisk>, words: &[&str]) {
    let told = run(disk).expect_err("the query fails");
    for word in words {
        assert!(told.contains(word), "`{word}` is not in: {told}");
    }
    assert_eq!(disk.bytes(OUTPUT), None, "{told}: nothing is published");
    assert!(disk.paths().iter().all(|path| path == Path::new(INPUT)), "{told}: {:?}", disk.paths());
    assert!(disk.what_survives().bytes(OUTPUT).is_none());
}

#[test]
fn a_whole_file_becomes_a_whole_file_that_survives_a_power_cut() {
    let disk = disk();
    // Each read returns a few hundred bytes, so that buffers end within lines.
    disk.read_at_most(777);
    let report = run(&disk).unwrap();
    assert_eq!((report.events_in, report.conservation_error()), (LINES as u64, None));
    assert_eq!(disk.what_survives().bytes(OUTPUT), Some(doubled().into_bytes()));
    assert_eq!(disk.paths().len(), 2, "no unfinished file is left: {:?}", disk.paths());
}

#[test]
fn a_file_that_is_missing_or_unreadable_is_named_before_anything_runs() {
    check_fails(&FaultyDisk::new(), &["SOURCE_MISSING", INPUT, "does not exist", "check the path"]);
    let locked = disk();
    locked.fail(Call::Open, 1);
    check_fails(&locked, &["SOURCE_UNREADABLE", INPUT, "permissions"]);
}

/// If a file changes while it is read, the query fails, and does not take the part that it has read for the
/// whole file.
#[test]
fn a_file_that_changes_while_it_is_read_fails_the_query_at_its_place() {
    let check = |change: Change, words: &[&str]| {
        let disk = disk();
        disk.change_after(INPUT, HALFWAY_BYTES, change);
        check_fails(
            &disk,
            &[&["SOURCE_CHANGED", INPUT, "line ", "byte ", "`read-map-write` failed"], words].concat(),
        );
    };
    check(Change::Truncate(HALFWAY_BYTES as usize + 1_000), &["its length went from"]);
    check(Change::Truncate(0), &["its length went from"]);
    check(Change::Replace(numbers().into_bytes()), &["another file took its place"]);
    check(Change::Remove, &["it was removed"]);
    check(Change::Append(b"60000,1\n".to_vec()), &["its length went from"]);
}

#[test]
fn a_read_that_fails_halfway_fails_the_query_at_its_place() {
    let disk = disk();
    disk.read_at_most(10_000);
    disk.fail(Call::Read, 40);
    check_fails(&disk, &["SOURCE_UNREADABLE", INPUT, "line ", "Read number 40 fails"]);
}

/// If a sink cannot create, write, sync or publish its file, its query fails, and the error names the file.
#[test]
fn an_output_that_cannot_be_written_publishes_nothing() {
    for (call, number) in
        [(Call::Create, 1), (Call::Write, 1), (Call::Write, 5), (Call::Sync, 1), (Call::Publish, 1)]
    {
        let disk = disk();
        disk.fail(call, number);
        let failed = format!("{call:?} number {number} fails");
        check_fails(&disk, &["SINK_FAILED", OUTPUT, &failed, "space left"]);
    }
}

/// An earlier result stays until the new one takes its place, even if publishing the new one fails.
#[test]
fn an_older_result_stays_until_it_is_replaced() {
    let disk = disk();
    disk.put(OUTPUT, "old");
    disk.fail(Call::Sync, 1);
    assert!(run(&disk).is_err());
    assert_eq!(disk.bytes(OUTPUT), Some(b"old".to_vec()));
    run(&disk).unwrap();
    assert_eq!(disk.what_survives().bytes(OUTPUT), Some(doubled().into_bytes()));
}

/// The unfinished file exists while the query runs, and is gone after it was cancelled.
#[test]
fn a_cancelled_query_takes_its_unfinished_file_away() {
    let disk = disk();
    let mut simulation = Simulation::new(2);
    let query = simulation.submit(graph(&disk).unwrap()).unwrap();
    while disk.identity(Path::new("out/doubled.csv.inprogress")).is_err() {
        assert!(simulation.actions() < 1_000, "no file is begun");
        simulation.run_for(1);
    }
    simulation.at_action(simulation.actions(), thalweg_testkit::Event::Cancel(query));
    simulation.run();
    assert_eq!(simulation.outcome(query).unwrap_err().code(), "CANCELLED");
    assert_eq!(disk.paths(), [Path::new(INPUT)]);
}
