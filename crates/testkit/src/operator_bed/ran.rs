//! The output of an operator that the test bed has driven, and the checks on this output.

use std::fmt::Debug;

use thalweg_model::{Counts, Either};

use crate::case::{first_difference, in_order_difference};
use crate::oracle::Row;

/// The input and the output of an operator that the test bed has driven.
#[derive(Clone, Debug)]
pub struct Ran<In, Out> {
    /// All input records in the order of arrival, each with the watermark of its own input; oracles read them.
    pub arrived: Vec<Row<In>>,
    /// All output records, in the order in which they were emitted.
    pub emitted: Vec<Emitted<Out>>,
    /// All watermarks that the operator was given, in microseconds.
    pub watermarks_us: Vec<i64>,
    /// Counts of records (read, late and so on) of each operator of a chain. The counts of operators that
    /// replaced each other are added up.
    pub counts: Vec<Counts>,
    /// Tells whether the operator was refused memory and then not called any more.
    pub is_starved: bool,
}

/// An output record with its position among the watermarks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emitted<Out> {
    /// The record, with the watermark by which later operators judge whether it is late: the last watermark
    /// forwarded, whether of the operator or of one input.
    pub row: Row<Out>,
    /// Number of watermarks that the operator was given before it emitted the record, including the one that
    /// caused it.
    pub watermark_count: usize,
    /// The watermark that the operator forwarded last before the record, in microseconds.
    pub promised_us: Option<i64>,
}

impl<In, Out> Ran<In, Out> {
    /// Returns all records that the operator emitted, in order.
    pub fn emitted_rows(&self) -> Vec<Row<Out>>
    where
        Out: Clone,
    {
        self.emitted.iter().map(|emitted| emitted.row.clone()).collect()
    }

    /// Returns the run with only those output records for which `is_asked` returns true.
    #[must_use]
    pub fn only(mut self, is_asked: impl Fn(&Row<Out>) -> bool) -> Self {
        self.emitted.retain(|emitted| is_asked(&emitted.row));
        self
    }

    /// Returns the sum of one count over all operators of a chain.
    pub fn total(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        self.counts.iter().map(count).sum()
    }

    /// Asserts that exactly `expected` records were late.
    ///
    /// # Panics
    /// If the number differs.
    pub fn assert_late(&self, expected: u64) {
        assert_eq!(self.total(|counts| counts.late), expected, "late records");
    }

    /// Asserts that the results are the expected ones, in any order.
    ///
    /// # Panics
    /// If they differ; the message has the first difference.
    pub fn assert_results<R: Ord + Debug>(&self, expected: Vec<R>, look: impl Fn(&Row<Out>) -> R) {
        let found = self.emitted.iter().map(|emitted| look(&emitted.row)).collect();
        if let Some(difference) = first_difference(expected, found) {
            panic!("the results are others: {difference}");
        }
    }

    /// Asserts that the results are the expected ones, in this order.
    ///
    /// # Panics
    /// If they differ; the message has the first difference.
    pub fn assert_sequence<R: PartialEq + Debug>(&self, expected: &[R], look: impl Fn(&Row<Out>) -> R) {
        let found: Vec<R> = self.emitted.iter().map(|emitted| look(&emitted.row)).collect();
        if let Some(difference) = in_order_difference(expected, &found) {
            panic!("the results are others: {difference}");
        }
    }

    /// Asserts that the output is these rows in this order, each with the watermark by which later operators
    /// judge whether it is late.
    ///
    /// # Panics
    /// If they differ; the message has the first difference.
    pub fn assert_rows(&self, expected: &[Row<Out>])
    where
        Out: Clone + PartialEq + Debug,
    {
        self.assert_sequence(expected, Row::clone);
    }

    /// Asserts that no record is stamped below a watermark that was forwarded before it. Operators that emit
    /// results of their own must promise this. Operators that forward late records cannot.
    ///
    /// # Panics
    /// If a record is stamped below such a watermark.
    pub fn assert_keeps_its_promise(&self) {
        for Emitted { row: Row { at_us, .. }, promised_us, .. } in &self.emitted {
            assert!(
                promised_us.is_none_or(|promised_us| promised_us <= *at_us),
                "a record at {at_us} came behind the watermark {promised_us:?}"
            );
        }
    }

    /// Asserts that each result came with the first watermark that reaches the end of its window, in
    /// microseconds, and in the order of these ends. Results for which `end_of` returns `None` are left out.
    ///
    /// # Panics
    /// If a result came too early, too late or out of order.
    pub fn assert_fires_at(&self, end_of: impl Fn(&Row<Out>) -> Option<i64>) {
        let mut last_end_us = i64::MIN;
        for Emitted { row, watermark_count, .. } in &self.emitted {
            let Some(end_us) = end_of(row) else { continue };
            let reached = &self.watermarks_us[..*watermark_count];
            assert!(
                reached.last().is_some_and(|last| end_us <= *last),
                "the result of a window came before its end {end_us}, at watermark {:?}",
                reached.last()
            );
            let before = &reached[..reached.len() - 1];
            assert!(
                before.last().is_none_or(|last| *last < end_us),
                "the result of a window came behind its end {end_us}, which watermark {:?} had reached",
                before.last()
            );
            assert!(last_end_us <= end_us, "the window that ends at {end_us} came behind {last_end_us}");
            last_end_us = end_us;
        }
    }
}

impl<L: Clone, R: Clone, Out> Ran<Either<L, R>, Out> {
    /// Returns the rows that arrived at the left and at the right input of a join.
    pub fn sides(&self) -> (Vec<Row<L>>, Vec<Row<R>>) {
        let mut sides = (Vec::new(), Vec::new());
        for row in &self.arrived {
            match &row.value {
                Either::Left(left) => sides.0.push(row.with(left.clone())),
                Either::Right(right) => sides.1.push(row.with(right.clone())),
            }
        }
        sides
    }
}
