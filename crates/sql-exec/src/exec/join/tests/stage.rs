//! Tests of the adapter that makes a join an operator of the engine: output with room for one batch,
//! watermarks of single inputs, and watermarks that are held back.

use std::collections::VecDeque;

use thalweg_model::{Either, Flow, Input, Mark, Operator, Output, Record};
use thalweg_sql_functions::functions::EvaluationError;

use super::super::JoinStage;
use super::*;
use crate::exec::operator::InTurn;

type In = Record<Either<Batch, Batch>>;

/// Input of a test: records that wait to be read.
struct Queue(VecDeque<In>);

impl Input<Either<Batch, Batch>> for Queue {
    fn remaining(&self) -> usize {
        self.0.len()
    }

    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&In) -> Q) -> Q {
        look(&self.0[offset])
    }

    fn taken(&mut self, count: usize) -> impl Iterator<Item = In> {
        self.0.drain(..count)
    }

    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = In> {
        let chosen = |place: usize| selection.binary_search(&(place as u16)).is_ok();
        self.taken(count).enumerate().filter_map(move |(place, record)| chosen(place).then_some(record))
    }
}

/// Output of a test, with room for a limited number of batches.
#[derive(Default)]
struct Room {
    out: Vec<Record<Batch>>,
    room: usize,
}

impl Output<Batch> for Room {
    fn room(&self) -> usize {
        self.room
    }

    fn push(&mut self, record: Record<Batch>) {
        assert!(self.room > 0, "nothing is pushed without room (O1)");
        self.room -= 1;
        self.out.push(record);
    }
}

fn record(side: Side, rows: &[Row]) -> In {
    let time = rows.iter().map(|row| row.time).max().unwrap_or_default();
    let batch = Batch::new(rows_of(rows));
    Record::new(event_time(time), if side == Side::Left { Either::Left(batch) } else { Either::Right(batch) })
}

fn row(id: i64, time: i64) -> Row {
    Row { id, key: Some(1), value: None, time }
}

fn interval() -> JoinStage {
    let method = JoinMethod::Interval {
        left_time: TIME,
        right_time: TIME,
        lower_ms: -2,
        upper_ms: 3,
        domain: TimeDomain::Event,
    };
    JoinStage::<InTurn>::new(joined(JoinKind::Full, On::Key, method, &context()))
}

/// A join continues its output when there is room again, and small input batches of one side are merged.
#[test]
fn emissions_go_on() {
    let mut stage = interval();
    let many: Vec<Row> = (0..100).map(|id| row(id, 5)).collect();
    let mut input = Queue(VecDeque::from([
        record(Side::Left, &many[..50]),
        record(Side::Left, &many[50..]),
        record(Side::Right, &many),
    ]));
    let mut output = Room { room: 1, ..Room::default() };
    stage.process(&mut input, &mut output);
    // The first output batch found room and the next one is held; no input is taken meanwhile.
    assert!(stage.is_stalled() && input.remaining() == 0 && output.out.len() == 1);
    let mut rounds = 0;
    loop {
        output.room = 1;
        rounds += 1;
        if stage.resume(&mut output) == Flow::Done {
            break;
        }
    }
    assert!(rounds > 1 && !stage.is_stalled());
    assert_eq!(output.out.iter().map(|record| record.value.len()).sum::<usize>(), 100 * 100);
}

/// A join holds watermarks back by the distance at which rows may lie behind them. Watermarks of single
/// inputs decide which rows are late, and are not forwarded.
#[test]
fn marks_are_forwarded() {
    let mut stage = interval();
    let at = |millis: i64| Mark::Watermark(event_time(millis));
    assert_eq!(stage.forward(at(10)), Some(at(7)));
    assert_eq!(stage.forward(Mark::Watermark(EventTime::MAX)), Some(Mark::Watermark(EventTime::MAX)));
    assert_eq!(stage.forward(Mark::InputWatermark(event_time(10))), None);
    assert_eq!(stage.forward(Mark::End), Some(Mark::End));

    let places = crate::plan::WindowPlaces { start: START, end: END };
    let method = JoinMethod::Window { left: places, right: places, is_local: false };
    let mut stage_of_windows = JoinStage::<InTurn>::new(joined(JoinKind::Left, On::Key, method, &context()));
    let mut output = Room { room: 9, ..Room::default() };
    assert_eq!(stage_of_windows.on_mark(at(2), &mut output), Flow::Done);
    assert_eq!(stage_of_windows.on_mark(Mark::InputWatermark(event_time(10)), &mut output), Flow::Done);
    stage_of_windows.process_one(record(Side::Left, &[row(1, 9)]), &mut output);
    assert_eq!(stage_of_windows.on_mark(Mark::InputWatermark(event_time(9)), &mut output), Flow::Done);
    stage_of_windows.process_one(record(Side::Left, &[row(2, 9)]), &mut output);
    let mut late = 0;
    stage_of_windows.visit_counts(&mut |_, counts| late = counts.late);
    assert_eq!(late, 1);

    // The state of a join is saved when all its output is through, and another join can load it.
    let mut state = StateWriter::default();
    stage_of_windows.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let method = JoinMethod::Window { left: places, right: places, is_local: false };
    let mut other = JoinStage::<InTurn>::new(joined(JoinKind::Left, On::Key, method, &context()));
    other.load(&mut StateReader::new(&bytes)).unwrap();
    assert_eq!(other.on_mark(at(10), &mut output), Flow::Done);
    assert_eq!(output.out.len(), 1);
    assert_eq!(stage.on_mark(Mark::Watermark(EventTime::MAX), &mut output), Flow::Done);
}

/// A failure that arrives in the input of a join is forwarded, and ends the join.
#[test]
fn failures_travel_on() {
    let mut stage = interval();
    let mut output = Room { room: 9, ..Room::default() };
    let error = EvaluationError::division_by_zero();
    stage
        .process_one(Record::new(EventTime::EPOCH, Either::Right(Batch::failed("calc", error))), &mut output);
    stage.process_one(record(Side::Left, &[row(1, 1)]), &mut output);
    assert_eq!(stage.on_mark(Mark::Watermark(EventTime::MAX), &mut output), Flow::Done);
    assert_eq!(output.out.len(), 1);
    assert!(output.out[0].value.failure.is_some());
    // A failure of the join itself is forwarded, too, and ends the join.
    let mut stage = interval();
    let batch = Batch { kinds: Some([RowKind::Delete].into()), ..Batch::new(rows_of(&[row(1, 1)])) };
    stage.process_one(Record::new(EventTime::EPOCH, Either::Left(batch)), &mut output);
    assert_eq!(
        output.out[1].value.failure.as_ref().map(|failure| failure.operator.as_str()),
        Some("interval join")
    );
}
