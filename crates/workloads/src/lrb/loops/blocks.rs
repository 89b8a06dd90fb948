//! `loop-blocks`: one loop per operator. Rows are copied from one operator to the next through reused blocks,
//! as in an engine without chains.
//!
//! No operator is inlined. It must leave its rows in memory for the next one, as in an engine; otherwise the
//! compiler could fuse the two.

use thalweg_model::{EventTime, Record, Span, TumblingWindows, Window, Windowed};

use super::minute::{Minute, count_reports, group_accidents, sum_speeds};
use super::stops::{Stops, keep_stops};
use crate::loops::Fed;
use crate::loops::stamps::Stamps;
use crate::lrb::generator::LrbCursor;
use crate::lrb::report::{Direction, EXIT_LANE, LrbRecord, PositionReport, Segment};
use crate::lrb::toll::{ACCIDENT_SLIDE, ACCIDENT_WINDOW, SegmentReport, WINDOW};

/// The content of a row in a block before a report is written to it.
const BLANK: PositionReport = PositionReport {
    vehicle: 0,
    position_feet: 0,
    xway: 0,
    speed_mph: 0,
    lane: 0,
    direction: Direction::East,
    segment: 0,
};

/// A stream of generated records with their event times.
pub(super) struct Source<'a> {
    pub(super) records: LrbCursor<'a>,
    pub(super) stamps: Stamps,
}

/// The hand-written loop for Linear Road: its stream of reports, the blocks between its operators, and its
/// open windows.
pub(super) struct Blocks<'a> {
    source: Source<'a>,
    records: Vec<Record<LrbRecord>>,
    reports: Vec<Record<LrbRecord>>,
    positions: Vec<Record<PositionReport>>,
    standing: Vec<Record<PositionReport>>,
    windows: OpenWindows,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(source: Source<'a>, block_records: usize) -> Self {
        let blank = Record::new(EventTime::EPOCH, LrbRecord::Report(BLANK));
        let blank_position = Record::new(EventTime::EPOCH, BLANK);
        Blocks {
            source,
            records: vec![blank; block_records],
            reports: vec![blank; block_records],
            positions: vec![blank_position; block_records],
            standing: vec![blank_position; block_records],
            windows: OpenWindows::new(block_records),
        }
    }
}

impl Fed for Blocks<'_> {
    type Row = Windowed<Segment, SegmentReport>;

    fn run_block(&mut self, limit: usize) -> usize {
        let Blocks { source, records, reports, positions, standing, windows } = self;
        let count = limit.min(records.len());
        produce(source, &mut records[..count]);
        let report_count = keep_reports(&records[..count], reports);
        let positions = &mut positions[..report_count];
        take_positions(&reports[..report_count], positions);
        windows.each_run(positions, |run, windows| {
            let standing_count = keep_standing(run, standing);
            keep_stops(&standing[..standing_count], &mut windows.stops);
            sum_speeds(run, &mut windows.minute.speeds);
            count_reports(run, &mut windows.minute.counts);
        });
        count
    }

    fn finish(mut self) -> Vec<Windowed<Segment, SegmentReport>> {
        self.windows.end_until(EventTime::MAX);
        self.windows.minute.finish()
    }
}

/// Source: copies the next records from the generator and gives them their event times.
#[inline(never)]
fn produce(source: &mut Source<'_>, records: &mut [Record<LrbRecord>]) {
    // The position in the sequence of event times is copied into a local variable, which stays in registers.
    // It is written back once per block, not once per row.
    let mut stamps = source.stamps;
    for (row, value) in records.iter_mut().zip(&mut source.records) {
        *row = Record::new(stamps.next_stamp(), value);
    }
    source.stamps = stamps;
}

/// Filter: copies every row, and advances the write position only if the row is a report, so there is no
/// branch. Returns the number of reports.
#[inline(never)]
fn keep_reports(records: &[Record<LrbRecord>], reports: &mut [Record<LrbRecord>]) -> usize {
    let mut count = 0;
    for row in records {
        reports[count] = *row;
        count += usize::from(matches!(row.value, LrbRecord::Report(_)));
    }
    count
}

/// Map: takes the fields of each position report.
#[inline(never)]
fn take_positions(reports: &[Record<LrbRecord>], positions: &mut [Record<PositionReport>]) {
    for (position, report) in positions.iter_mut().zip(reports) {
        let LrbRecord::Report(value) = report.value else { continue };
        *position = Record::new(report.event_time, value);
    }
}

/// Filter: keeps the reports of standing cars. It uses a branch, because it keeps only 1 row in 100. Returns
/// the number of rows kept.
#[inline(never)]
fn keep_standing(positions: &[Record<PositionReport>], standing: &mut [Record<PositionReport>]) -> usize {
    let mut count = 0;
    for row in positions {
        if row.value.speed_mph == 0 && row.value.lane != EXIT_LANE {
            standing[count] = *row;
            count += 1;
        }
    }
    count
}

/// The open pane of 30 s, the windows that the pane is part of, and the results of earlier windows.
struct OpenWindows {
    panes: TumblingWindows,
    minutes: TumblingWindows,
    pane: Window,
    /// End of the last pane of 30 s that has a row.
    rows_end: EventTime,
    stops: Stops,
    minute: Minute,
}

/// Time from the end of a row's pane to the end of the last minute that the row can affect. That minute
/// contains the end of the last accident window with the row.
const LAST_END: Span = Span::from_secs(120);

const _: () = {
    let last_accident = ACCIDENT_WINDOW.as_micros() - ACCIDENT_SLIDE.as_micros();
    assert!(WINDOW.as_micros() % ACCIDENT_SLIDE.as_micros() == 0);
    assert!(LAST_END.as_micros() == last_accident + WINDOW.as_micros() - ACCIDENT_SLIDE.as_micros());
};

impl OpenWindows {
    /// Creates the state without an open pane; the first row will open one.
    fn new(block_records: usize) -> Self {
        let windows = |size| TumblingWindows::new(size).expect("Linear Road's windows have a size");
        OpenWindows {
            panes: windows(ACCIDENT_SLIDE),
            minutes: windows(WINDOW),
            pane: Window { start: EventTime::MIN, end: EventTime::MIN },
            rows_end: EventTime::MIN,
            stops: Stops::new(block_records),
            minute: Minute::new(block_records),
        }
    }

    /// Splits `rows` into the longest runs that lie in one pane, and calls `each` with each of these runs of
    /// rows while its pane is open.
    #[inline(always)]
    fn each_run(
        &mut self,
        rows: &[Record<PositionReport>],
        mut each: impl FnMut(&[Record<PositionReport>], &mut Self),
    ) {
        let mut rest = rows;
        while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            if self.pane.end <= first.event_time {
                self.end_until(first.event_time);
                self.pane = self.panes.window_of(first.event_time);
                self.rows_end = self.pane.end;
            }
            let end = self.pane.end;
            let count = if last.event_time < end {
                rest.len()
            } else {
                // The run has at least the first row, which opened the pane. The pane with the maximum event
                // time ends at that time, so the search alone could find an empty run there.
                rest.partition_point(|row| row.event_time < end).max(1)
            };
            let (run, behind) = rest.split_at(count);
            each(run, self);
            rest = behind;
        }
    }

    /// Ends all non-empty panes, windows and minutes whose end is at or before `event_time`.
    #[cold]
    fn end_until(&mut self, event_time: EventTime) {
        let until = event_time.min(self.rows_end.plus(LAST_END));
        while self.pane.end <= until && self.rows_end > EventTime::MIN {
            let segments = &mut self.minute.segments;
            self.stops.end_pane(self.pane.last_instant(), |accidents| group_accidents(accidents, segments));
            let minute = self.minutes.window_of(self.pane.start);
            if minute.end == self.pane.end {
                self.minute.end(minute);
            }
            self.pane = Window { start: self.pane.end, end: self.pane.end.plus(ACCIDENT_SLIDE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports of cars that stand in the exit lane are dropped. Generated cars never stand there, so no other
    /// run would show that.
    #[test]
    fn only_who_stands_on_the_road_is_kept() {
        let rows = [(0, 0), (1, 2), (0, 2), (0, EXIT_LANE), (30, EXIT_LANE), (0, 3)]
            .map(|(speed_mph, lane)| PositionReport { speed_mph, lane, ..BLANK })
            .map(|report| Record::new(EventTime::EPOCH, report));
        let mut kept = [Record::new(EventTime::EPOCH, BLANK); 6];
        let count = keep_standing(&rows, &mut kept);
        assert_eq!(kept[..count].iter().map(|row| row.value.lane).collect::<Vec<u8>>(), [0, 2, 3]);
    }
}
