//! The input of an operator: a sequence of records and the watermarks between them.

use thalweg_model::{Entropy, Record, Span};

use crate::oracle::{Promise, Row, source};

/// An item of an operator's input: a record or a watermark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrival<T> {
    /// A record: its event time in microseconds, and its value.
    Record(i64, T),
    /// A watermark in microseconds, always above the previous one of the same input.
    Watermark(i64),
}

impl<T> Arrival<T> {
    /// Returns the arrival with its value replaced by the result of `function`; a watermark stays as it is.
    pub fn map<U>(self, function: impl FnOnce(T) -> U) -> Arrival<U> {
        match self {
            Arrival::Record(at_us, value) => Arrival::Record(at_us, function(value)),
            Arrival::Watermark(watermark_us) => Arrival::Watermark(watermark_us),
        }
    }
}

/// Returns records with the watermarks that their source promises. A watermark after the last record is left
/// out.
///
/// # Panics
/// If a watermark does not fit 64 bits.
pub fn arrivals<T: Clone>(input: &[(i64, T)], promise: Promise) -> Vec<Arrival<T>> {
    let mut arrivals = Vec::with_capacity(2 * input.len());
    let mut last_us = None;
    for row in source(input, promise) {
        if row.watermark_us > last_us {
            last_us = row.watermark_us;
            let watermark_us = last_us.expect("a watermark that has risen is there");
            arrivals
                .push(Arrival::Watermark(i64::try_from(watermark_us).expect("watermarks are not far out")));
        }
        arrivals.push(Arrival::Record(row.at_us, row.value));
    }
    arrivals
}

/// Converts one input to the rows that an oracle reads, each with the watermark before it.
pub fn rows<T: Clone>(arrivals: &[Arrival<T>]) -> Vec<Row<T>> {
    let mut rows = Vec::new();
    let mut last_us = None;
    for arrival in arrivals {
        match arrival {
            Arrival::Record(at_us, value) => {
                rows.push(Row { at_us: *at_us, watermark_us: last_us, value: value.clone() });
            }
            Arrival::Watermark(watermark_us) => last_us = Some(i128::from(*watermark_us)),
        }
    }
    rows
}

/// Returns the records in another order: each is delayed by up to `bound` of event time, so that a source which
/// promises that bound keeps its promise. Records with the same delayed time keep their order.
pub fn delayed<T: Clone>(records: &[Record<T>], bound: Span, entropy: &mut dyn Entropy) -> Vec<Record<T>> {
    let bound_us = bound.as_micros().cast_unsigned();
    let mut delayed: Vec<(i128, &Record<T>)> = records
        .iter()
        .map(|record| {
            let late_us = entropy.below(bound_us.saturating_add(1));
            (i128::from(record.event_time.as_micros()) + i128::from(late_us), record)
        })
        .collect();
    delayed.sort_by_key(|(at, _)| *at);
    delayed.into_iter().map(|(_, record)| record.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::records;
    use crate::seed::entropy_for;

    #[test]
    fn what_is_delayed_comes_no_later_than_promised() {
        let input: Vec<(i64, i64)> = (0..1_000).map(|serial| (serial / 3 * 7, serial)).collect();
        let records: Vec<Record<i64>> = records(&input).collect();
        let entropy = &mut entropy_for(1, "delayed");
        assert_eq!(delayed(&records, Span::ZERO, entropy), records);
        let late = delayed(&records, Span::from_micros(50), entropy);
        let stamps = |records: &[Record<i64>]| -> Vec<(i64, i64)> {
            records.iter().map(|record| (record.event_time.as_micros(), record.value)).collect()
        };
        let rows = source(&stamps(&late), Promise { bound_us: 50, step_us: 1 });
        assert!(
            rows.iter().all(|row| row.watermark_us.is_none_or(|watermark| watermark <= row.at_us.into()))
        );
        assert_ne!(late, records);
        let mut sorted = stamps(&late);
        sorted.sort();
        assert_eq!(sorted, input);
    }

    #[test]
    fn watermarks_stand_where_the_source_sets_them() {
        let input = [(5, 'a'), (6, 'b'), (15, 'c'), (1, 'd')];
        let promise = Promise { bound_us: 1, step_us: 10 };
        let found = arrivals(&input, promise);
        let [a, b, c, d] = input.map(|(at_us, value)| Arrival::Record(at_us, value));
        assert_eq!(found, [a, Arrival::Watermark(4), b, c, Arrival::Watermark(14), d]);
        assert_eq!(rows(&found), source(&input, promise));
    }
}
