//! Operators that several workers share: records go to random copies, and the copies' state is merged at
//! watermarks. The output is that of a single operator.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use thalweg_model::{Firing, Span, Then};
use thalweg_operators::{
    Count, DistinctCount, Filter, FloatSum, Max, Mean, Min, SlidingAggregate, StaticJoin, Sum, TopN,
    TumblingAggregate, Values, of,
};
use thalweg_testkit::case::{Tally, TallyResult, window_row};
use thalweg_testkit::hostile::{self, Reading, Sides};
use thalweg_testkit::operator_bed::{Bed, Copies};
use thalweg_testkit::oracle::{self, Row};

use crate::inputs::{is_kept, key_of, union_at_watermarks, without_memory};
use crate::stateless::{factors, scaled, table};

/// Runs `test` on test beds, with one to four copies of the operator in turn.
fn copied(test: impl Fn(&Sides, &Bed<Reading>, usize)) {
    let runs = Cell::new(0);
    union_at_watermarks(|sides, bed| {
        runs.set(runs.get() + 1);
        test(sides, bed, 1 + runs.get() % 4);
    });
}

#[test]
fn tumbling_windows() {
    copied(|sides, bed, copies| {
        let windows = sides.sides[0].tumbling();
        let make = || TumblingAggregate::new("window", windows, key_of, Tally(Arc::default()));
        let ran = bed.drive(|| Copies::of(make(), copies));
        let expected = oracle::tumbling(&ran.arrived, sides.sides[0].windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        ran.assert_keeps_its_promise();
        ran.assert_fires_at(|row| Some(row.value.window.end.as_micros()));
    });
}

#[test]
fn sliding_windows_with_allowed_lateness() {
    copied(|sides, bed, copies| {
        let lenient = sides.sides[0].lenient();
        let make = || {
            let windows = hostile::sliding(lenient.windows);
            let windows = SlidingAggregate::new("window", windows, key_of, Tally(Arc::default()));
            windows.allow_lateness(Span::from_micros(lenient.allowed_us))
        };
        let ran = bed.drive(|| Copies::of(make(), copies));
        let expected = oracle::lenient(&ran.arrived, lenient, key_of, TallyResult::of);
        ran.assert_late(expected.late);
        let mut last = BTreeMap::new();
        for Row { value, .. } in ran.emitted_rows() {
            if value.firing == Firing::Update {
                last.insert((value.window, value.key), window_row(&value));
            }
        }
        let mut last: Vec<_> = last.into_values().collect();
        last.sort();
        assert_eq!(last, expected.last);
        let on_time = ran.only(|row| row.value.firing == Firing::OnTime);
        on_time.assert_results(expected.on_time, |row| window_row(&row.value));
        on_time.assert_keeps_its_promise();
        on_time.assert_fires_at(|row| Some(row.value.window.end.as_micros()));
    });
}

/// Every aggregate has the same results in several copies. Amounts are whole numbers, so floating-point sums
/// are exact.
#[test]
fn every_aggregate() {
    copied(|sides, bed, copies| {
        let windows = hostile::sliding(sides.sides[0].sliding());
        let amount = |reading: &Reading| reading.amount;
        let float = |reading: &Reading| reading.amount as f64;
        let make = || {
            let ends = (of(amount, Min), of(amount, Max));
            let sums = (of(amount, Sum), of(float, FloatSum), of(float, Mean));
            let kept = (Values, TopN::new(NonZeroUsize::new(2).unwrap(), amount));
            let counts = (Count, of(amount, DistinctCount));
            SlidingAggregate::new("window", windows, key_of, (ends, sums, (kept, counts)))
        };
        let ran = bed.drive(|| Copies::of(make(), copies));
        let aggregate = |values: &[&Reading]| {
            let mut all: Vec<Reading> = values.iter().map(|reading| **reading).collect();
            all.sort();
            let mut amounts: Vec<i64> = all.iter().map(|reading| reading.amount).collect();
            amounts.sort_unstable();
            let sum = amounts.iter().sum::<i64>();
            let mean = sum as f64 / amounts.len() as f64;
            let ends = (amounts[0], amounts[amounts.len() - 1]);
            let count = amounts.len() as u64;
            amounts.dedup();
            let best = oracle::largest(values, 2, |a, b| (a.amount, a).cmp(&(b.amount, b)));
            let floats = [sum as f64, mean].map(f64::to_bits);
            (ends, i128::from(sum), floats, all, best, (count, amounts.len() as u64))
        };
        let expected = oracle::sliding(&ran.arrived, sides.sides[0].sliding(), key_of, aggregate);
        ran.assert_results(expected.results, |row| {
            let oracle::Result { start_us, end_us, key, value } = window_row(&row.value);
            let (ends, (sum, float, mean), ((mut all, best), counts)) = value;
            all.sort();
            // Adding zero turns a negative zero into a positive one, so that equal numbers have equal bits.
            let floats = [float + 0.0, mean + 0.0].map(f64::to_bits);
            oracle::Result { start_us, end_us, key, value: (ends, sum, floats, all, best, counts) }
        });
        ran.assert_late(expected.late);
    });
}

/// A chain of operators that ends in a window has the same results in several copies.
#[test]
fn a_chain_that_ends_in_a_window() {
    copied(|sides, bed, copies| {
        let make = || {
            let windows = sides.sides[0].tumbling();
            let joined = StaticJoin::new("join", table(), key_of, scaled);
            let window = TumblingAggregate::new("window", windows, key_of, Tally(Arc::default()));
            Then::new(Then::new(Filter::new("filter", is_kept), joined), window)
        };
        let ran = bed.drive(|| Copies::of(make(), copies));
        let kept = oracle::filter(&ran.arrived, is_kept);
        let joined = oracle::join(&kept, &factors(), key_of, |reading, factor| scaled(*reading, factor));
        let expected = oracle::tumbling(&joined, sides.sides[0].windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        let read: Vec<u64> = ran.counts.iter().map(|counts| counts.read).collect();
        assert_eq!(read[1..], [kept.len() as u64, joined.len() as u64]);
    });
}

#[test]
fn copies_without_memory() {
    without_memory(|sides| {
        let windows = sides.sides[0].tumbling();
        Copies::of(TumblingAggregate::new("window", windows, key_of, Tally(Arc::default())), 3)
    });
}
