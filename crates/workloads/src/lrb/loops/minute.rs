//! The state of one minute in the hand-written loop for Linear Road: speeds and numbers of reports per
//! segment. When the minute has ended, the two are joined, and the result is co-grouped with accidents.
//!
//! Every operator passes its rows to the next through a block, although it has them all at once: a minute of a
//! hundred expressways has 20,000.

use thalweg_model::{Record, Window, Windowed};

use super::table::Table;
use crate::lrb::report::{Direction, Place, PositionReport, Segment};
use crate::lrb::toll::{SegmentReport, toll};

/// The average speed of the cars in a segment during one minute.
#[derive(Clone, Copy)]
pub(super) struct SegmentSpeed {
    segment: Segment,
    average_speed_mph: f64,
}

/// The number of reports from a segment during one minute.
#[derive(Clone, Copy)]
pub(super) struct SegmentCount {
    segment: Segment,
    cars: u64,
}

/// The average speed and the number of reports of a segment, joined, with the toll that follows from them.
#[derive(Clone, Copy)]
pub(super) struct TollReport {
    segment: Segment,
    cars: u64,
    average_speed_mph: f64,
    toll: u64,
}

const _: () = assert!(size_of::<Record<SegmentSpeed>>() == 24);
const _: () = assert!(size_of::<Record<SegmentCount>>() == 24);
const _: () = assert!(size_of::<Record<TollReport>>() == 40);

/// The state of the open minute, the blocks between the operators, and the results of earlier minutes.
pub(super) struct Minute {
    pub(super) speeds: Speeds,
    pub(super) counts: Counts,
    join: Join,
    pub(super) segments: Segments,
    results: Vec<Windowed<Segment, SegmentReport>>,
    speed_block: Vec<Record<SegmentSpeed>>,
    count_block: Vec<Record<SegmentCount>>,
    toll_block: Vec<Record<TollReport>>,
    result_block: Vec<Windowed<Segment, SegmentReport>>,
}

/// Sum and number of the speeds in each segment during the minute.
pub(super) struct Speeds(Table<u32, SpeedSum>);

/// Number of reports from each segment during the minute.
pub(super) struct Counts(Table<u32, u32>);

/// The average speed of each segment, with which the numbers of reports are joined.
struct Join(Table<u32, f64>);

/// Toll reports (number of reports, average speed and toll) and number of accidents of each segment,
/// co-grouped.
pub(super) struct Segments(Table<u32, SegmentReport>);

#[derive(Clone, Copy, Default)]
struct SpeedSum {
    speed_sum: u64,
    reports: u64,
}

impl Minute {
    pub(super) fn new(block_records: usize) -> Self {
        Minute {
            speeds: Speeds(Table::new()),
            counts: Counts(Table::new()),
            join: Join(Table::fed_by_table()),
            segments: Segments(Table::fed_by_table()),
            results: Vec::new(),
            speed_block: Vec::with_capacity(block_records),
            count_block: Vec::with_capacity(block_records),
            toll_block: Vec::with_capacity(block_records),
            result_block: Vec::with_capacity(block_records),
        }
    }

    /// Ends the minute, after all its rows have arrived.
    pub(super) fn end(&mut self, window: Window) {
        let stamp = window.last_instant();
        let speed_row = |(key, sum): (u32, SpeedSum)| {
            let average_speed_mph = sum.speed_sum as f64 / sum.reports as f64;
            Record::new(stamp, SegmentSpeed { segment: segment_of(key), average_speed_mph })
        };
        let count_row = |(key, cars)| {
            Record::new(stamp, SegmentCount { segment: segment_of(key), cars: u64::from(cars) })
        };
        let Minute { join, segments, results, toll_block, .. } = self;
        in_blocks(self.speeds.0.drain().map(speed_row), &mut self.speed_block, |rows| {
            keep_speeds(rows, join);
        });
        in_blocks(self.counts.0.drain().map(count_row), &mut self.count_block, |rows| {
            join_counts(rows, join, toll_block);
            group_tolls(toll_block, segments);
        });
        join.0.clear();
        let result = |(key, group): (u32, SegmentReport)| {
            let toll = if group.accidents > 0 { 0 } else { group.toll };
            Windowed::on_time(window, segment_of(key), SegmentReport { toll, ..group })
        };
        in_blocks(segments.0.drain().map(result), &mut self.result_block, |rows| take(rows, results));
    }

    /// Returns the results of all minutes, ordered by window and in no order within a window.
    pub(super) fn finish(self) -> Vec<Windowed<Segment, SegmentReport>> {
        self.results
    }
}

/// Window: sums the speeds of the reports of each segment.
#[inline(never)]
pub(super) fn sum_speeds(rows: &[Record<PositionReport>], speeds: &mut Speeds) {
    for row in rows {
        let sum = speeds.0.entry(bits_of(row.value.segment()));
        sum.speed_sum += u64::from(row.value.speed_mph);
        sum.reports += 1;
    }
}

/// Window: counts the reports of each segment.
#[inline(never)]
pub(super) fn count_reports(rows: &[Record<PositionReport>], counts: &mut Counts) {
    for row in rows {
        *counts.0.entry(bits_of(row.value.segment())) += 1;
    }
}

/// Join, left side: stores the average speed of every segment.
#[inline(never)]
fn keep_speeds(rows: &[Record<SegmentSpeed>], join: &mut Join) {
    for row in rows {
        *join.0.entry(bits_of(row.value.segment)) = row.value.average_speed_mph;
    }
}

/// Join, right side: computes the toll of every segment that has an average speed.
#[inline(never)]
fn join_counts(rows: &[Record<SegmentCount>], join: &Join, tolls: &mut Vec<Record<TollReport>>) {
    tolls.clear();
    for row in rows {
        let SegmentCount { segment, cars } = row.value;
        if let Some(average_speed_mph) = join.0.get(bits_of(segment)) {
            let toll = toll(cars, average_speed_mph);
            let report = TollReport { segment, cars, average_speed_mph, toll };
            tolls.push(Record::new(row.event_time, report));
        }
    }
}

/// Co-group, left side: stores the toll report (number of reports, average speed and toll) of each segment.
#[inline(never)]
fn group_tolls(rows: &[Record<TollReport>], segments: &mut Segments) {
    for row in rows {
        let TollReport { segment, cars, average_speed_mph, toll } = row.value;
        let group = segments.0.entry(bits_of(segment));
        *group = SegmentReport { cars, average_speed_mph, toll, ..*group };
    }
}

/// Co-group, right side: counts the accidents of each segment.
#[inline(never)]
pub(super) fn group_accidents(rows: &[Record<Place>], segments: &mut Segments) {
    for row in rows {
        segments.0.entry(bits_of(row.value.segment())).accidents += 1;
    }
}

#[inline(never)]
fn take(rows: &[Windowed<Segment, SegmentReport>], results: &mut Vec<Windowed<Segment, SegmentReport>>) {
    results.extend_from_slice(rows);
}

/// Passes all rows to `next` through `block`, which is filled and emptied in turn; it has room for at least
/// one row.
fn in_blocks<T>(rows: impl Iterator<Item = T>, block: &mut Vec<T>, mut next: impl FnMut(&[T])) {
    for row in rows {
        block.push(row);
        if block.len() == block.capacity() {
            next(block);
            block.clear();
        }
    }
    if !block.is_empty() {
        next(block);
        block.clear();
    }
}

/// Packs a segment into one number: number, direction and expressway, from the lowest bit up.
#[inline(always)]
fn bits_of(segment: Segment) -> u32 {
    let Segment { xway, direction, number } = segment;
    u32::from(number) | u32::from(direction.number()) << 7 | u32::from(xway) << 8
}

fn segment_of(bits: u32) -> Segment {
    Segment {
        xway: (bits >> 8) as u16,
        direction: if bits >> 7 & 1 == 0 { Direction::East } else { Direction::West },
        number: (bits & 0x7f) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_survives_being_packed() {
        for direction in [Direction::East, Direction::West] {
            for (xway, number) in [(0, 0), (u16::MAX, 99), (1, 2)] {
                let segment = Segment { xway, direction, number };
                assert_eq!(segment_of(bits_of(segment)), segment);
            }
        }
    }
}
