//! Every source goes on exactly from a saved position: an uninterrupted read of a table is compared with reads that are saved
//! after any number of polls and gone on with by new sources. The sources of a table are polled in a drawn order, and each is
//! saved at its own moment, as barriers reach source tasks one by one.
//!
//! `THALWEG_POSITIONS` is the number of reads of each table, `THALWEG_SEED_BASE` the first seed.

use std::panic::AssertUnwindSafe;

use arrow::array::{Int32Array, StringArray};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use thalweg_model::{ProcessingTime, Record, SeededEntropy, Source, SourceStatus};

use super::*;
use crate::batch::Batch;
use crate::connect::bed::texts;
use crate::deliver::Tally;
use crate::scan::source::{Reading, TableSource};

/// The most polls of a read, after which it counts as one without an end.
const POLLS_MAX: usize = 200_000;

fn number(key: &str, unless: u64) -> u64 {
    std::env::var(key).ok().and_then(|text| text.parse().ok()).unwrap_or(unless)
}

/// An output with room for some batches, which notes each row and each new watermark in their order.
#[derive(Default)]
struct Seen {
    room: usize,
    watermark: Option<i64>,
    told: Vec<String>,
}

impl thalweg_model::Output<Batch> for Seen {
    fn room(&self) -> usize {
        self.room
    }

    fn push(&mut self, record: Record<Batch>) {
        self.room -= 1;
        let batch = record.value;
        let kinds = batch.kinds.as_deref();
        let rows = texts(&batch.rows).into_iter().enumerate();
        self.told.extend(
            rows.map(|(row, text)| kinds.map_or(text.clone(), |kinds| format!("{}{text}", kinds[row]))),
        );
        let watermark = batch.watermark.map(|watermark| watermark.as_micros());
        if watermark > self.watermark {
            self.watermark = watermark;
            self.told.push(format!("W{}", watermark.unwrap_or_default()));
        }
    }
}

/// A source as its task has it.
struct Running {
    source: TableSource,
    seen: Seen,
    has_ended: bool,
    /// Whether the source is not restored with the others, because its stream had ended.
    is_left_out: bool,
}

impl Running {
    fn new(source: TableSource) -> Self {
        Running { source, seen: Seen::default(), has_ended: false, is_left_out: false }
    }

    fn poll(&mut self, now: ProcessingTime, limit: usize, room: usize) -> Result<SourceStatus, Fault> {
        self.seen.room = room;
        let status = self.source.poll(now, limit, &mut self.seen)?.status;
        self.has_ended |= status == SourceStatus::Ended;
        Ok(status)
    }

    /// Lets the source emit what it has read, as the engine does before it saves, and saves it.
    fn saved(&mut self, now: ProcessingTime) -> Vec<u8> {
        while self.source.has_pending() {
            self.poll(now, 0, 1).unwrap();
        }
        saved(&self.source)
    }
}

fn saved(source: &TableSource) -> Vec<u8> {
    let mut state = StateWriter::default();
    source.save(&mut state).unwrap();
    state.into_bytes()
}

fn restore(source: &mut TableSource, bytes: &[u8]) -> Result<(), StateError> {
    let mut state = StateReader::new(bytes);
    source.load(&mut state)?;
    state.finish()
}

/// A table with its environment, as a job with checkpoints reads it.
struct Case {
    about: &'static str,
    table: Table,
    world: World,
    /// The most rows of a poll; few for a table with few rows.
    rows_max: u64,
    /// The greatest step of the clock between two polls.
    step_ms: u64,
}

impl Case {
    fn new(about: &'static str, table: Table, world: World, rows_max: u64) -> Self {
        Case { about, table, world: World { takes_checkpoints: true, ..world }, rows_max, step_ms: 0 }
    }

    fn sources(&self) -> Vec<Running> {
        let places: Vec<usize> = (0..self.table.columns.len()).collect();
        let field = |place: &usize| {
            let column = &self.table.columns[*place];
            column.of.field(&column.name, column.is_nullable)
        };
        let schema = Arc::new(Schema::new(places.iter().map(field).collect::<Vec<_>>()));
        let reading = Arc::new(Reading::new(&self.table, &places, schema).with_all_marks());
        let splits = bind_source(&self.table, &reading.from_records, &self.world).unwrap();
        let source = |rows| {
            let clock = Arc::clone(&self.world.clock);
            TableSource::new(Arc::clone(&reading), rows, clock, Tally::default(), JobEnd::default())
        };
        splits.into_iter().map(source).map(Running::new).collect()
    }

    /// Returns the bad records that were diverted.
    fn diverted(&self) -> Option<String> {
        std::fs::read_to_string(self.world.base.join("bad.jsonl")).ok()
    }

    /// Polls sources in a drawn order to their ends.
    fn read_on(&self, running: &mut [Running], draws: &mut SeededEntropy, clock: &mut u64) {
        for _ in 0..POLLS_MAX {
            let left: Vec<usize> = (0..running.len()).filter(|one| !running[*one].has_ended).collect();
            let Some(one) = left.get(draws.below(left.len().max(1) as u64) as usize) else { return };
            self.poll(&mut running[*one], draws, clock);
        }
        panic!("{}: no end", self.about);
    }

    fn poll(&self, running: &mut Running, draws: &mut SeededEntropy, clock: &mut u64) {
        *clock += draws.below(self.step_ms + 1) * 1_000_000;
        let (limit, room) = (1 + draws.below(self.rows_max) as usize, 1 + draws.below(3) as usize);
        running.poll(ProcessingTime::from_nanos(*clock), limit, room).unwrap();
    }

    /// Compares an uninterrupted read with reads that are saved and gone on with.
    fn check(&self) {
        let first = number("THALWEG_SEED_BASE", 0);
        let mut whole = self.sources();
        self.read_on(&mut whole, &mut SeededEntropy::new(first), &mut 0);
        let expected: Vec<Vec<String>> = whole.iter().map(|one| one.seen.told.clone()).collect();
        let bad: Vec<u64> = whole.iter().map(|one| one.source.bad_count()).collect();
        drop(whole);
        let diverted = self.diverted();
        assert!(expected.concat().len() > 20, "{}: rows", self.about);
        for seed in first..first + number("THALWEG_POSITIONS", 30) {
            let about = format!("{}, seed {seed}", self.about);
            let mut draws = SeededEntropy::new(seed);
            let (mut clock, mut before) = (draws.below(1 << 40), self.sources());
            let mut moments: Vec<u64> = (0..before.len()).map(|_| draws.below(60)).collect();
            if draws.below(4) == 0 {
                // Saved at the start, and behind the end.
                moments = moments.iter().map(|_| draws.below(2) * u64::MAX).collect();
            }
            let mut positions: Vec<Option<(Vec<u8>, usize, bool)>> = vec![None; before.len()];
            let mut turn = 0;
            while positions.iter().any(Option::is_none) {
                for one in 0..before.len() {
                    if positions[one].is_none() && (moments[one] <= turn || before[one].has_ended) {
                        let bytes = before[one].saved(ProcessingTime::from_nanos(clock));
                        positions[one] = Some((bytes, before[one].seen.told.len(), before[one].has_ended));
                    }
                }
                let one = draws.below(before.len() as u64) as usize;
                if !before[one].has_ended {
                    self.poll(&mut before[one], &mut draws, &mut clock);
                }
                turn += 1;
                assert!(turn < POLLS_MAX as u64, "{about}: no end");
            }
            let positions: Vec<(Vec<u8>, usize, bool)> = positions.into_iter().flatten().collect();
            let mut told: Vec<(Vec<String>, Option<i64>)> = Vec::new();
            for (one, (_, count, _)) in before.iter().zip(&positions) {
                let told_before = one.seen.told[..*count].to_vec();
                let mut marks = told_before.iter().filter_map(|told| told.strip_prefix('W')?.parse().ok());
                let watermark = marks.next_back();
                told.push((told_before, watermark));
            }
            drop(before);
            let mut after = self.sources();
            assert_eq!(after.len(), expected.len(), "{about}");
            for (one, (bytes, _, has_ended)) in positions.iter().enumerate() {
                after[one].seen.watermark = told[one].1;
                // The engine may leave out a source whose stream had ended.
                after[one].is_left_out = *has_ended && draws.below(2) == 0;
                if after[one].is_left_out {
                    after[one].has_ended = true;
                    continue;
                }
                restore(&mut after[one].source, bytes).unwrap();
                assert_eq!(saved(&after[one].source), *bytes, "{about}: saved again");
            }
            self.read_on(&mut after, &mut draws, &mut clock);
            assert_eq!(self.diverted(), diverted, "{about}");
            for (one, (mut told, _)) in told.into_iter().enumerate() {
                told.extend(after[one].seen.told.iter().cloned());
                assert_eq!(told, expected[one], "{about}: source {one}");
                let count = after[one].source.bad_count();
                assert!(
                    after[one].is_left_out || count == bad[one],
                    "{about}: {count} bad records of source {one}"
                );
            }
            drop(after);
            for (one, (bytes, ..)) in positions.iter().enumerate() {
                self.check_damaged(one, bytes, &mut draws, &about);
            }
        }
    }

    /// Checks that damaged bytes of a position are refused, or give a source that ends or fails.
    fn check_damaged(&self, one: usize, bytes: &[u8], draws: &mut SeededEntropy, about: &str) {
        for end in 0..bytes.len() {
            let mut source = self.sources().swap_remove(one).source;
            assert!(restore(&mut source, &bytes[..end]).is_err(), "{about}: {end} bytes of source {one}");
            if draws.below(8) > 0 {
                break;
            }
        }
        for _ in 0..3 {
            let mut damaged = bytes.to_vec();
            let place = draws.below(bytes.len() as u64) as usize;
            damaged[place] ^= 1 << draws.below(8);
            let mut running = self.sources().swap_remove(one);
            let poll = AssertUnwindSafe(|| {
                if restore(&mut running.source, &damaged).is_ok() {
                    for turn in 0..50 {
                        if running.has_ended
                            || running.poll(ProcessingTime::from_nanos(turn), 100, 3).is_err()
                        {
                            break;
                        }
                    }
                }
            });
            assert!(std::panic::catch_unwind(poll).is_ok(), "{about}: damaged {damaged:?}");
        }
    }
}

/// Gives the table an event time, whose watermark is the time of the row.
fn timed(mut table: Table, column: &str) -> Table {
    let column = table.column(column).unwrap();
    let watermark = Typed::column(column, table.columns[column].of.clone(), true);
    table.rowtime = Some(Rowtime { column, watermark });
    table
}

fn generated(about: &'static str, columns: &str, time: Option<&str>, options: &str, readers: usize) -> Case {
    let table = table(&format!("CREATE TABLE t ({columns}) WITH ({options})"));
    let table = time.map_or(table.clone(), |time| timed(table, time));
    let division = Division { workers: readers, readers, ..Division::default() };
    let world = World { seed: 3, division, ..World::default() };
    Case::new(about, table, world, if readers > 1 { 20_000 } else { 40 })
}

#[test]
fn generated_rows() {
    const RANDOM: &str = "n BIGINT, r INT, s STRING, d DECIMAL(10, 2), l ARRAY<INT>";
    const SEQUENCE: &str = "'connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '0', \
                            'fields.s.length' = '5', 'fields.l.length' = '2', 'fields.r.null-rate' = '0.2'";
    let free = "'rows-per-second' = '9223372036854775807'";
    generated("datagen", RANDOM, None, &format!("{SEQUENCE}, {free}, 'fields.n.end' = '300'"), 1).check();
    let paced = format!("{SEQUENCE}, 'rows-per-second' = '100', 'fields.n.end' = '300'");
    Case { step_ms: 300, ..generated("datagen at a rate", RANDOM, None, &paced, 1) }.check();
    let bids = "'connector' = 'nexmark', 'thalweg.events' = 'bid', 'events.num' = '400', 'first-event.rate' = '100', \
                'next-event.rate' = '200', 'rate.period' = '2 s'";
    const BID: &str =
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, `dateTime` TIMESTAMP(3), extra STRING";
    let free = format!("{bids}, 'max-emit-speed' = 'true'");
    generated("nexmark", BID, Some("dateTime"), &free, 1).check();
    Case { step_ms: 300, ..generated("nexmark at a rate", BID, Some("dateTime"), bids, 1) }.check();
}

/// Rows that several readers make, in stripes.
#[test]
fn generated_rows_of_several_readers() {
    let options = "'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'fields.n.kind' = 'sequence', \
                   'fields.n.start' = '0', 'fields.n.end' = '150000'";
    let case = generated("datagen of three readers", "n BIGINT, r INT", None, options, 3);
    assert_eq!(case.sources().len(), 3);
    case.check();
}

#[test]
fn events_of_ysb() {
    let options = "'connector' = 'ysb', 'events.num' = '3000', 'event-time.rate' = '700'";
    generated("ysb", "event_time TIMESTAMP(3), ad_id BIGINT", Some("event_time"), options, 1).check();
}

#[test]
fn given_rows() {
    let of = table("CREATE TABLE t (a INT) WITH ('connector' = 'datagen')");
    let batch = |from: i32, to: i32| {
        RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from_iter(from..to)) as _)]).unwrap()
    };
    let rows = Arc::new(vec![batch(0, 17), batch(17, 17), batch(17, 90)]);
    let world = World { given: BTreeMap::from([("t".to_owned(), rows)]), ..World::default() };
    Case::new("given rows", of, world, 9).check();
}

/// Lines of CSV with times out of order, line ends within quotes and some bad records.
fn csv(from: usize, to: usize) -> String {
    let line = |row: usize| match row % 9 {
        4 => format!("{row},\"a\nb {row}\",2020-01-01 00:00:{:02}\n", row % 60),
        7 => "bad\n".to_owned(),
        _ => format!("{row},x{row},2020-01-01 00:{:02}:{:02}\n", row % 40, row * 7 % 60),
    };
    (from..to).map(line).collect()
}

fn json(from: usize, to: usize) -> String {
    let line = |row: usize| match row % 8 {
        3 => format!(
            "[{{\"a\":{row},\"b\":\"x\"}},{{\"a\":{row},\"b\":\"y\"}},{{\"a\":{row},\"b\":\"z\"}}]\r\n"
        ),
        5 => "\n".to_owned(),
        _ => format!("{{\"a\":{row},\"b\":\"é\",\"t\":\"2020-01-01 00:{:02}:00\"}}\n", row % 50),
    };
    (from..to).map(line).collect()
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn columns(from: i32, to: i32) -> Vec<u8> {
    let numbers = Arc::new(Int32Array::from_iter(from..to));
    let texts = Arc::new(StringArray::from_iter_values((from..to).map(|row| format!("é{}", row % 17))));
    let rows = RecordBatch::try_from_iter([("a", numbers as _), ("b", texts as _)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).unwrap();
    for at in (0..rows.num_rows()).step_by(50) {
        writer.write(&rows.slice(at, 50.min(rows.num_rows() - at))).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn files(about: &'static str, folder: &Folder, workers: usize, options: &str, time: Option<&str>) -> Case {
    let columns = match time {
        Some(_) => "a INT, b STRING, t TIMESTAMP(3)",
        None => "a INT, b STRING",
    };
    let of = table(&format!(
        "CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'thalweg.bad-share-max' = '1', {options})"
    ));
    let of = time.map_or(of.clone(), |time| timed(of, time));
    let division = Division { workers, piece_bytes: 100, ..Division::default() };
    Case::new(about, of, World { division, ..folder.world() }, 12)
}

#[test]
fn files_of_lines() {
    let folder = Folder::new();
    folder.put("csv/a", csv(0, 150));
    folder.put("csv/b/c", csv(150, 160));
    folder.put("csv/d.gz", zipped(&csv(160, 250)));
    folder.put("csv/e", csv(250, 255).trim_end());
    folder.put("json/a", json(0, 120));
    folder.put("json/b", json(120, 150).trim_end());
    for workers in [1, 3] {
        let skip = "'path' = 'csv', 'format' = 'csv', 'thalweg.on-bad' = 'skip'";
        files("files of CSV", &folder, workers, skip, Some("t")).check();
        let divert = "'path' = 'csv', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'";
        files("files of CSV with a diversion", &folder, workers, divert, Some("t")).check();
        let one = "'path' = 'json/a', 'format' = 'json'";
        files("one file of JSON", &folder, workers, one, None).check();
        files("files of JSON", &folder, workers, "'path' = 'json', 'format' = 'json'", None).check();
    }
}

#[test]
fn files_of_columns() {
    let folder = Folder::new();
    folder.put("in/a", columns(0, 300));
    folder.put("in/b", columns(300, 310));
    for workers in [1, 3] {
        let options = "'path' = 'in', 'format' = 'parquet'";
        files("files of Parquet", &folder, workers, options, None).check();
    }
}

/// The value of a row is in the event time column, whatever the test of times relies on.
#[test]
fn times_are_out_of_order() {
    let folder = Folder::new();
    folder.put("csv/a", csv(0, 150));
    let case =
        files("", &folder, 1, "'path' = 'csv', 'format' = 'csv', 'thalweg.on-bad' = 'skip'", Some("t"));
    let mut running = case.sources();
    case.read_on(&mut running, &mut SeededEntropy::new(1), &mut 0);
    let marks = running[0].seen.told.iter().filter(|told| told.starts_with('W')).count();
    assert!(marks > 5 && marks < 60, "{marks} watermarks");
}
