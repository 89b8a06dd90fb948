//! Rows by arrival: the time column of a batch becomes the processing time at which the batch comes, and watermarks
//! follow the clock. So windows and interval joins over processing time are those of event time.
//!
//! The operator is [`ByArrival`](thalweg::Stream::by_arrival) of the typed interface. This module has what it needs for
//! batches: the instants at which a watermark must come without input ([`Ends`]), and the new value of the column.
//!
//! Source: Flink's documentation, "Time Attributes", processing time.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, TimestampMillisecondArray};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use chrono_tz::Tz;
use thalweg::Timers;
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::types::INSTANT_ZONE;
use thalweg_sql_tables::batch::Batch;

use super::windows::{Clocks, Slices, passed_ms};
use crate::plan::WindowSpec;

/// Number of instants between a row and the end of its session, or of its wait in a join, at which a watermark may come.
/// So results come at most a 1,024th of the gap late.
const STEPS: i64 = 1_024;

/// Instants at which windows end, or rows of an interval join have waited long enough, while there are any.
#[derive(Debug)]
pub struct Ends {
    clocks: Clocks,
    rule: Rule,
    /// The last instant that was noted, in milliseconds.
    noted_ms: i64,
}

/// Rule by which ends follow from the instants at which rows come. All numbers are milliseconds.
#[derive(Debug)]
enum Rule {
    /// Windows end at the ends of slices.
    Slices {
        slices: Slices,
        /// The next end of a window after the last watermark, as an instant.
        next: Option<EventTime>,
        /// End of the last window that has rows, as a local time.
        last: i64,
    },
    /// Something ends a span after each row. The ends are rounded up to multiples of `step`, so there are at most
    /// [`STEPS`] of them, and one more.
    After { span: i64, step: i64, ends: BTreeSet<EventTime> },
}

impl Ends {
    /// Returns the ends of windows. `zone` is the time zone of the session.
    pub fn of_windows(spec: &WindowSpec, zone: Tz) -> Self {
        let rule = match (Slices::of(spec), spec) {
            (Some(slices), _) => Rule::Slices { slices, next: None, last: i64::MIN },
            (None, WindowSpec::Session { gap_ms, .. }) => Rule::after(*gap_ms),
            (None, _) => Rule::after(0),
        };
        Ends { clocks: Clocks::new(Some(zone)), rule, noted_ms: i64::MIN }
    }

    /// Returns the ends of spans that begin when rows come.
    pub fn of_spans(span_ms: i64) -> Self {
        Ends { clocks: Clocks::new(None), rule: Rule::after(span_ms), noted_ms: i64::MIN }
    }
}

impl Rule {
    /// Returns the rule of spans of which a row exactly at the end still counts, so they end a millisecond later.
    fn after(span: i64) -> Rule {
        let span = span.saturating_add(1).max(1);
        Rule::After { span, step: (span / STEPS).max(1), ends: BTreeSet::new() }
    }
}

fn instant(millis: i64) -> EventTime {
    EventTime::from_micros(millis.saturating_mul(1_000))
}

impl Timers for Ends {
    fn note(&mut self, now: EventTime) {
        let now_ms = passed_ms(now);
        if now_ms == self.noted_ms {
            return;
        }
        self.noted_ms = now_ms;
        let reading = self.clocks.reading(now_ms);
        match &mut self.rule {
            Rule::Slices { slices, last, .. } => {
                *last = (*last).max(slices.last_end_of(slices.start_of(reading)));
            }
            Rule::After { span, step, ends } => {
                let end_ms = self.clocks.end(reading.saturating_add(*span));
                let steps = end_ms.saturating_add(*step - 1).div_euclid(*step);
                ends.insert(instant(steps.saturating_mul(*step)));
            }
        }
        self.pass(now);
    }

    fn next(&self) -> Option<EventTime> {
        match &self.rule {
            Rule::Slices { next, .. } => *next,
            Rule::After { ends, .. } => ends.first().copied(),
        }
    }

    fn pass(&mut self, now: EventTime) {
        let now_ms = passed_ms(now);
        match &mut self.rule {
            Rule::Slices { slices, next, last } => {
                let end = slices.first_end_of(slices.start_of(self.clocks.reading(now_ms)));
                let has_windows = self.clocks.end(*last) > now_ms;
                *next = has_windows.then(|| instant(self.clocks.end(end).max(now_ms + 1)));
            }
            Rule::After { ends, .. } => *ends = ends.split_off(&instant(now_ms.saturating_add(1))),
        }
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.noted_ms)?;
        match &self.rule {
            Rule::Slices { next, last, .. } => state.put(&(next.map(EventTime::as_micros), last)),
            Rule::After { ends, .. } => {
                state.put(&ends.iter().map(|end| end.as_micros()).collect::<Vec<_>>())
            }
        }
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.noted_ms = state.take()?;
        match &mut self.rule {
            Rule::Slices { next, last, .. } => {
                let next_us: Option<i64>;
                (next_us, *last) = state.take()?;
                *next = next_us.map(EventTime::from_micros);
            }
            Rule::After { ends, .. } => {
                let saved: Vec<i64> = state.take()?;
                *ends = saved.into_iter().map(EventTime::from_micros).collect();
            }
        }
        Ok(())
    }
}

/// Replaces the time column of a batch by the processing time at which the batch has come. A batch that carries a failure
/// stays as it is.
pub fn stamp(batch: &mut Batch, time: usize, now: EventTime) {
    if batch.failure.is_some() {
        return;
    }
    let rows = &batch.rows;
    let times = TimestampMillisecondArray::from_value(passed_ms(now), rows.num_rows());
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    if let Some(column) = columns.get_mut(time) {
        *column = Arc::new(times.with_timezone(INSTANT_ZONE));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    match RecordBatch::try_new_with_options(rows.schema(), columns, &options) {
        Ok(stamped) => batch.rows = stamped,
        Err(error) => *batch = Batch::failed("by_arrival", arrow_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::Span;

    use super::*;

    const MINUTE: i64 = 60_000;

    /// Checks the instants at which a watermark comes after rows at the instants `rows`, all in milliseconds. A watermark
    /// comes with each row, and at each end.
    #[track_caller]
    fn check(mut ends: Ends, rows: &[i64], expected: &[i64]) {
        let mut came = Vec::new();
        for (row, next) in rows.iter().zip(rows.iter().skip(1).chain([&i64::MAX])) {
            ends.pass(instant(*row));
            ends.note(instant(*row));
            let mut state = StateWriter::default();
            ends.save(&mut state).expect("ends can be saved");
            let bytes = state.into_bytes();
            let mut state = StateReader::new(&bytes);
            ends.load(&mut state).expect("ends can be loaded");
            state.finish().expect("all is read");
            while let Some(end) = ends.next().filter(|end| *end < instant(*next)) {
                let end_ms = passed_ms(end);
                assert!(
                    came.last().is_none_or(|last| *last < end_ms) && end_ms > *row,
                    "{end_ms} after {came:?}"
                );
                came.push(end_ms);
                ends.pass(end);
            }
        }
        assert_eq!(came, expected);
    }

    fn windows(spec: &WindowSpec) -> Ends {
        Ends::of_windows(spec, Tz::UTC)
    }

    #[test]
    fn windows_end_while_they_have_rows() {
        let tumble = || windows(&WindowSpec::Tumble { size_ms: 10, offset_ms: 3 });
        check(tumble(), &[5, 6, 40], &[13, 43]);
        check(tumble(), &[3, 13], &[23]);
        check(windows(&WindowSpec::Hop { size_ms: 20, slide_ms: 5, offset_ms: 0 }), &[7], &[10, 15, 20, 25]);
        check(
            windows(&WindowSpec::Hop { size_ms: 20, slide_ms: 5, offset_ms: 0 }),
            &[7, 11],
            &[10, 15, 20, 25, 30],
        );
        let cumulate = WindowSpec::Cumulate { size_ms: 12, step_ms: 4, offset_ms: 0 };
        let Some(slices) = Slices::of(&cumulate) else { panic!("windows of steps have slices") };
        let expected: Vec<i64> = slices.windows_of(1).map(|(_, end)| end).collect();
        check(windows(&cumulate), &[1], &expected);
    }

    #[test]
    fn sessions_end_a_gap_after_each_row() {
        let session = |gap_ms| windows(&WindowSpec::Session { gap_ms, keys: Vec::new() });
        check(session(10), &[5, 6, 40], &[16, 17, 51]);
        // Ends are rounded up to multiples of a 1,024th of the gap.
        check(session(10_240), &[5, 6, 14], &[10_250, 10_260]);
        check(Ends::of_spans(7), &[1, 2], &[9, 10]);
        let mut ends = Ends::of_spans(10 * MINUTE);
        for now in 0..10 * MINUTE {
            ends.note(instant(now));
            ends.pass(instant(now));
        }
        let Rule::After { ends, .. } = &ends.rule else { panic!("spans begin with rows") };
        assert!(ends.len() <= 1_200, "{} ends", ends.len());
    }

    /// Windows of a day in New York end at midnight there, also on the days on which clocks are changed.
    #[test]
    fn windows_end_in_the_zone_of_the_session() {
        let day = WindowSpec::Tumble { size_ms: 24 * 60 * MINUTE, offset_ms: 0 };
        let zone = Tz::America__New_York;
        // 12:00 there on 10 March, 11:00 on 3 November, and 12:00 on 1 January.
        for (row, hours) in [(1_710_086_400_000, 12), (1_730_649_600_000, 13), (1_704_128_400_000, 12)] {
            let expected = row + hours * 60 * MINUTE;
            check(Ends::of_windows(&day, zone), &[row], &[expected]);
        }
        // A session over the hour that clocks repeat ends by the later reading.
        let repeat = 1_730_613_600_000;
        let session = WindowSpec::Session { gap_ms: 30 * MINUTE, keys: Vec::new() };
        let mut ends = Ends::of_windows(&session, zone);
        ends.note(instant(repeat - 45 * MINUTE));
        assert!(ends.next().is_some_and(|end| end >= instant(repeat - 15 * MINUTE)));
        assert!(ends.next().is_some_and(|end| end <= instant(repeat).plus(Span::from_secs(3_600))));
    }
}
