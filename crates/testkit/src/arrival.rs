//! What an input brings, one thing after the other: records, and the watermarks between them.

use crate::oracle::{Promise, Row, source};

/// A record or a watermark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrival<T> {
    /// A record, stamped in microseconds.
    Record(i64, T),
    /// A watermark, in microseconds. Always above the one before it.
    Watermark(i64),
}

impl<T> Arrival<T> {
    /// The same with another value.
    pub fn map<U>(self, function: impl FnOnce(T) -> U) -> Arrival<U> {
        match self {
            Arrival::Record(at_us, value) => Arrival::Record(at_us, function(value)),
            Arrival::Watermark(watermark_us) => Arrival::Watermark(watermark_us),
        }
    }
}

/// Records with the watermarks that their source promises. One that it would set behind the last record is left out.
///
/// # Panics
/// If a watermark is no number of 64 bits.
pub fn arrivals<T: Clone>(input: &[(i64, T)], promise: Promise) -> Vec<Arrival<T>> {
    let mut arrivals = Vec::with_capacity(2 * input.len());
    let mut last_us = None;
    for row in source(input, promise) {
        if row.watermark_us > last_us {
            last_us = row.watermark_us;
            let watermark_us = last_us.expect("it is above another");
            arrivals
                .push(Arrival::Watermark(i64::try_from(watermark_us).expect("watermarks are not far out")));
        }
        arrivals.push(Arrival::Record(row.at_us, row.value));
    }
    arrivals
}

/// What one input brings as an oracle's rows.
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

#[cfg(test)]
mod tests {
    use super::*;

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
