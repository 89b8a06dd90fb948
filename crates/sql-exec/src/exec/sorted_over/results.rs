//! Results of the calls of an OVER window for whole keys, whose rows are all known and sorted.
//!
//! An aggregate follows its frames: it adds the rows that enter and takes back the rows that leave. Keys are processed side
//! by side. An aggregate that cannot take rows back is computed anew for each frame, if frames do not all begin with the
//! first row.
//!
//! Source: Flink, `BatchExecOverAggregate` and its frames; the SQL standard for PERCENT_RANK, CUME_DIST and NTILE.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, UInt32Array};
use arrow::compute::{concat, interleave, take};
use arrow::record_batch::RecordBatch;
use thalweg_sql_functions::expression::arrow_error;

use super::super::calls::{Calls, gathered};
use super::super::operator::Outcome;
use super::SortedCalls;
use super::frames::{Sorted, frames};
use crate::plan::sorted_over::{RowFrame, SortedFunction};
use crate::plan::{AggregateCall, RankFunction};

/// Frames of an aggregate without retractions that are computed side by side.
const FRAMES_AT_ONCE: usize = 1_024;

/// Frames of one key that an aggregate follows before its results are put together.
const ROUNDS_AT_ONCE: usize = 4_096;

/// Rows that are added at once to aggregates without retractions.
const ROWS_AT_ONCE: usize = 65_536;

/// Returns a column of results for each call of an OVER window. `rows` are sorted as `sorted` tells.
pub(super) fn results(over: &SortedCalls, rows: &RecordBatch, sorted: &Sorted) -> Outcome<Vec<ArrayRef>> {
    over.calls
        .iter()
        .map(|call| match &call.function {
            SortedFunction::Aggregate { call, frame } => aggregated(over, call, *frame, rows, sorted),
            SortedFunction::Rank(function) => Ok(ranks(*function, sorted)),
            SortedFunction::PercentRank => Ok(by_key(sorted, |row, key| match key.len() {
                1 => 0.0,
                count => (sorted.first_peer[row] - key.start) as f64 / (count - 1) as f64,
            })),
            SortedFunction::CumeDist => Ok(by_key(sorted, |row, key| {
                (sorted.behind_peers[row] - key.start) as f64 / key.len() as f64
            })),
            SortedFunction::Ntile(buckets) => Ok(tiles(*buckets, sorted)),
            SortedFunction::Offset { value, default, rows: by, .. } => {
                let default = default.map(|place| rows.column(place));
                moved(rows.column(*value), default, *by, sorted)
            }
        })
        .collect()
}

fn by_key(sorted: &Sorted, of: impl Fn(usize, &Range<usize>) -> f64) -> ArrayRef {
    let of = &of;
    let rows = sorted.keys.iter().flat_map(|key| key.clone().map(move |row| of(row, key)));
    Arc::new(Float64Array::from_iter_values(rows))
}

fn ranks(function: RankFunction, sorted: &Sorted) -> ArrayRef {
    let mut found: Vec<i64> = Vec::with_capacity(sorted.len());
    for key in &sorted.keys {
        let mut dense = 0;
        for row in key.clone() {
            let first = sorted.first_peer[row];
            dense += i64::from(first == row);
            found.push(match function {
                RankFunction::RowNumber => (row - key.start) as i64 + 1,
                RankFunction::Rank => (first - key.start) as i64 + 1,
                RankFunction::DenseRank => dense,
            });
        }
    }
    Arc::new(Int64Array::from(found))
}

/// Returns the bucket of each row. The first buckets have one row more than the others if the rows cannot be divided
/// evenly.
fn tiles(buckets: u64, sorted: &Sorted) -> ArrayRef {
    let mut found: Vec<i32> = Vec::with_capacity(sorted.len());
    for key in &sorted.keys {
        let (size, larger) = (key.len() as u64 / buckets, key.len() as u64 % buckets);
        let in_larger = larger * (size + 1);
        found.extend((0..key.len() as u64).map(|row| {
            let bucket = if row < in_larger {
                row / (size + 1)
            } else {
                larger + (row - in_larger).checked_div(size).unwrap_or_default()
            };
            i32::try_from(bucket + 1).unwrap_or(i32::MAX)
        }));
    }
    Arc::new(Int32Array::from(found))
}

/// Returns for each row the value of the row that lies `by` rows behind it in its key, or the default of the row.
fn moved(value: &ArrayRef, default: Option<&ArrayRef>, by: i64, sorted: &Sorted) -> Outcome<ArrayRef> {
    let mut places: Vec<Option<usize>> = Vec::with_capacity(sorted.len());
    for key in &sorted.keys {
        places.extend(key.clone().map(|row| {
            let place = i64::try_from(row).ok().and_then(|row| row.checked_add(by));
            place.and_then(|place| usize::try_from(place).ok()).filter(|place| key.contains(place))
        }));
    }
    match default {
        None => {
            let places: UInt32Array =
                places.into_iter().map(|place| place.and_then(|place| u32::try_from(place).ok())).collect();
            take(value, &places, None).map_err(arrow_error)
        }
        Some(default) => {
            let places: Vec<(usize, usize)> = places
                .into_iter()
                .enumerate()
                .map(|(row, place)| place.map_or((1, row), |place| (0, place)))
                .collect();
            interleave(&[&**value, &**default], &places).map_err(arrow_error)
        }
    }
}

fn aggregated(
    over: &SortedCalls,
    call: &AggregateCall,
    frame: RowFrame,
    rows: &RecordBatch,
    sorted: &Sorted,
) -> Outcome<ArrayRef> {
    let order = match &over.order[..] {
        [key] => Some((rows.column(key.place), key.is_descending)),
        _ => None,
    };
    let frames = frames(frame, sorted, order);
    let moves = sorted.keys.iter().any(|key| key.clone().any(|row| frames[row].start > key.start));
    if moves && call.function.create_retractable.is_none() {
        return anew(call, rows, &frames);
    }
    following(call, rows, sorted, &frames, moves)
}

/// One pass over the keys of a batch, which moves each key to its next frame.
#[derive(Default)]
struct Round {
    back_slots: Vec<u32>,
    back_rows: Vec<u32>,
    slots: Vec<u32>,
    rows: Vec<u32>,
    asked: Vec<u32>,
}

/// Computes an aggregate that follows the frames of each key.
fn following(
    call: &AggregateCall,
    rows: &RecordBatch,
    sorted: &Sorted,
    frames: &[Range<usize>],
    must_retract: bool,
) -> Outcome<ArrayRef> {
    let mut calls = Calls::new(std::slice::from_ref(call), must_retract)?;
    calls.resize(sorted.keys.len());
    let columns = calls.columns(rows);
    // For each key, the rows that its accumulator holds, and the next row whose frame is wanted.
    let mut states: Vec<(Range<usize>, usize)> =
        sorted.keys.iter().map(|key| (key.start..key.start, key.start)).collect();
    let mut found: Vec<Vec<ArrayRef>> = Vec::new();
    let mut places: Vec<(usize, usize)> = vec![(0, 0); frames.len()];
    loop {
        let mut rounds: Vec<Round> = Vec::new();
        // Rows of these rounds, each with its round and the place of its result there.
        let mut asked: Vec<(usize, usize, usize)> = Vec::new();
        for ((slot, key), (held, next)) in (0u32..).zip(&sorted.keys).zip(&mut states) {
            let mut last: Option<(usize, usize)> = None;
            while *next < key.end {
                let frame = &frames[*next];
                let is_known = *next > key.start && frames[*next - 1] == *frame;
                let (turn, place) = match last {
                    Some(place) if is_known => place,
                    last => {
                        let turn = last.map_or(0, |(turn, _)| turn + 1);
                        if turn == ROUNDS_AT_ONCE {
                            break;
                        }
                        if rounds.len() <= turn {
                            rounds.push(Round::default());
                        }
                        let round = &mut rounds[turn];
                        // Rows that are left out as soon as they enter do both in one round.
                        let enter = held.end..frame.end.max(held.end);
                        let leave = held.start..frame.start.max(held.start);
                        round.slots.extend(enter.clone().map(|_| slot));
                        round.rows.extend(enter.clone().map(|row| row as u32));
                        round.back_slots.extend(leave.clone().map(|_| slot));
                        round.back_rows.extend(leave.clone().map(|row| row as u32));
                        *held = leave.end..enter.end;
                        round.asked.push(slot);
                        (turn, round.asked.len() - 1)
                    }
                };
                last = Some((turn, place));
                asked.push((*next, turn, place));
                *next += 1;
            }
        }
        if rounds.is_empty() {
            break;
        }
        let (mut made, mut begins, mut count) = (Vec::new(), Vec::new(), 0);
        for round in &rounds {
            calls.fold(&columns, &round.slots, &round.rows, true)?;
            calls.fold(&columns, &round.back_slots, &round.back_rows, false)?;
            begins.push(count);
            count += round.asked.len();
            made.extend(calls.results_of(&round.asked)?);
        }
        let made: Vec<&dyn Array> = made.iter().map(|column| &**column).collect();
        for (row, turn, place) in asked {
            places[row] = (found.len(), begins[turn] + place);
        }
        found.push(vec![concat(&made).map_err(arrow_error)?]);
    }
    one_of(gathered(&found, 1, &places)?, call)
}

/// Computes an aggregate for each frame anew.
fn anew(call: &AggregateCall, rows: &RecordBatch, frames: &[Range<usize>]) -> Outcome<ArrayRef> {
    let mut calls = Calls::new(std::slice::from_ref(call), false)?;
    let columns = calls.columns(rows);
    let mut found = Vec::new();
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(frames.len());
    for part in frames.chunks(FRAMES_AT_ONCE) {
        let slots: Vec<u32> = (0u32..).take(part.len()).collect();
        calls.resize(part.len());
        let (mut of, mut added) = (Vec::new(), Vec::new());
        for (slot, frame) in (0u32..).zip(part) {
            for row in frame.clone() {
                of.push(slot);
                added.push(row as u32);
                if added.len() == ROWS_AT_ONCE {
                    calls.fold(&columns, &of, &added, true)?;
                    (of, added) = (Vec::new(), Vec::new());
                }
            }
        }
        calls.fold(&columns, &of, &added, true)?;
        places.extend((0..part.len()).map(|row| (found.len(), row)));
        found.push(calls.results_of(&slots)?);
        calls.reset(&slots);
    }
    one_of(gathered(&found, 1, &places)?, call)
}

fn one_of(columns: Vec<ArrayRef>, call: &AggregateCall) -> Outcome<ArrayRef> {
    let empty = || arrow::array::new_empty_array(&call.function.result.arrow());
    Ok(columns.into_iter().next().unwrap_or_else(empty))
}
