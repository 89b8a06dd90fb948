//! Tests of window aggregates on the test bed.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

use thalweg_model::{CountWindows, Counted, Either, Firing, Operator, SessionGap, Span, Then, Windowed};
use thalweg_operators::{
    CountAggregate, Filter, Map, SessionAggregate, SlidingAggregate, StaticJoin, Sum, TopN,
    TumblingAggregate, Values, of,
};
use thalweg_testkit::case::{Tally, TallyResult, window_row};
use thalweg_testkit::hostile::{self, Hostile, Reading, Sides};
use thalweg_testkit::operator_bed::Ran;
use thalweg_testkit::oracle::{self, Row};

use crate::inputs::{is_kept, key_of, mirrored, one_input, union, without_memory};
use crate::stateless::{factors, scaled, table};

fn tumbling(sides: &Sides) -> impl Operator<Reading, Out = Windowed<u64, TallyResult>> + use<> {
    TumblingAggregate::new("window", sides.sides[0].tumbling(), key_of, Tally(Arc::default()))
}

fn sliding(sides: &Sides) -> SlidingAggregate<u64, Reading, impl Fn(&Reading) -> u64 + Send + use<>, Tally> {
    SlidingAggregate::new("window", hostile::sliding(sides.sides[0].sliding()), key_of, Tally(Arc::default()))
}

type Sessions<KeyOf> = SessionAggregate<u64, Reading, KeyOf, Tally>;

fn lenient_sessions(sides: &Sides) -> Sessions<impl Fn(&Reading) -> u64 + Send + use<>> {
    let Hostile { gap_us, allowed_us, .. } = sides.sides[0];
    let gap = SessionGap::new(Span::from_micros(gap_us)).expect("it is above zero");
    let sessions = SessionAggregate::new("window", gap, key_of, Tally(Arc::default()));
    sessions.allow_lateness(Span::from_micros(allowed_us))
}

fn expected_of_lenient_sessions<Out>(
    sides: &Sides,
    ran: &Ran<Reading, Out>,
) -> oracle::Leniently<u64, TallyResult> {
    let Hostile { gap_us, allowed_us, .. } = sides.sides[0];
    oracle::lenient_sessions(&ran.arrived, gap_us, allowed_us, key_of, TallyResult::of)
}

/// Checks that results fire with their windows, are never behind a promised watermark, and are stamped with
/// the last instant of their window.
fn check_firing<In>(ran: &Ran<In, Windowed<u64, TallyResult>>) {
    ran.assert_keeps_its_promise();
    ran.assert_fires_at(|row| Some(row.value.window.end.as_micros()));
    assert!(ran.emitted.iter().all(|it| it.row.at_us == it.row.value.window.end.as_micros() - 1));
}

#[test]
fn tumbling_windows() {
    union(|sides, bed| {
        let ran = bed.drive(|| tumbling(sides));
        let expected = oracle::tumbling(&ran.arrived, sides.sides[0].windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        check_firing(&ran);
    });
}

#[test]
fn sliding_windows() {
    union(|sides, bed| {
        let windows = sides.sides[0].sliding();
        let ran = bed.drive(|| sliding(sides));
        let expected = oracle::sliding(&ran.arrived, windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        check_firing(&ran);
    });
}

/// With allowed lateness and several inputs, the result on time and the last update of a window are
/// determined. The updates between them depend on the progress of the other inputs.
#[test]
fn allowed_lateness() {
    union(|sides, bed| {
        let lenient = sides.sides[0].lenient();
        let make = || sliding(sides).allow_lateness(Span::from_micros(lenient.allowed_us));
        let ran = bed.drive(make);
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
        check_firing(&on_time);
    });
}

/// With allowed lateness and one input, every update of a window is determined.
#[test]
fn allowed_lateness_of_one_input() {
    one_input(|sides, bed| {
        let lenient = sides.sides[0].lenient();
        let make = || sliding(sides).allow_lateness(Span::from_micros(lenient.allowed_us));
        let ran = bed.drive(make).only(|row| row.value.firing == Firing::Update);
        let expected = oracle::lenient(&ran.arrived, lenient, key_of, TallyResult::of);
        ran.assert_results(expected.updates, |row| window_row(&row.value));
    });
}

#[test]
fn late_records_go_another_way() {
    union(|sides, bed| {
        let lenient = sides.sides[0].lenient();
        let make = || {
            let windows = sliding(sides).allow_lateness(Span::from_micros(lenient.allowed_us));
            windows.divert_late()
        };
        let ran = bed.drive(make).only(|row| matches!(row.value, Either::Right(_)));
        let expected = oracle::too_late(&ran.arrived, lenient);
        let expected: Vec<_> = expected.iter().map(|row| (row.at_us, Either::Right(row.value))).collect();
        ran.assert_sequence(&expected, |row| (row.at_us, row.value));
    });
}

#[test]
fn sessions() {
    union(|sides, bed| {
        let gap_us = sides.sides[0].gap_us;
        let gap = SessionGap::new(Span::from_micros(gap_us)).expect("it is above zero");
        let ran = bed.drive(|| SessionAggregate::new("window", gap, key_of, Tally(Arc::default())));
        let expected = oracle::sessions(&ran.arrived, gap_us, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        check_firing(&ran);
    });
}

/// Sessions on time are the same with allowed lateness and without. With several inputs, the updates between
/// the first result and the last update depend on the progress of the other inputs. The last update of a
/// group does not, and the other updates lie within it.
#[test]
fn allowed_lateness_of_sessions() {
    union(|sides, bed| {
        let ran = bed.drive(|| lenient_sessions(sides));
        let expected = expected_of_lenient_sessions(sides, &ran);
        ran.assert_late(expected.late);
        let mut last = BTreeMap::new();
        for Row { value, .. } in ran.emitted_rows() {
            let row = window_row(&value);
            if value.firing == Firing::Update {
                let within = |of: &oracle::Result<u64, _>| {
                    (of.key, true) == (row.key, of.start_us <= row.start_us && row.end_us <= of.end_us)
                };
                assert!(expected.last.iter().any(within), "{row:?}");
                last.insert((row.key, row.end_us), row);
            }
        }
        let expected_of = |row: &oracle::Result<u64, _>| last.get(&(row.key, row.end_us)).cloned();
        let last: Vec<_> = expected.last.iter().filter_map(expected_of).collect();
        assert_eq!(last, expected.last);
        let on_time = ran.only(|row| row.value.firing == Firing::OnTime);
        on_time.assert_results(expected.on_time, |row| window_row(&row.value));
        check_firing(&on_time);
    });
}

/// With allowed lateness and one input, every update of a session is determined.
#[test]
fn allowed_lateness_of_sessions_of_one_input() {
    one_input(|sides, bed| {
        let ran = bed.drive(|| lenient_sessions(sides)).only(|row| row.value.firing == Firing::Update);
        let expected = expected_of_lenient_sessions(sides, &ran);
        ran.assert_results(expected.updates, |row| window_row(&row.value));
    });
}

#[test]
fn records_that_are_late_for_sessions_go_another_way() {
    union(|sides, bed| {
        let ran = bed.drive(|| lenient_sessions(sides).divert_late());
        let ran = ran.only(|row| matches!(row.value, Either::Right(_)));
        let Hostile { gap_us, allowed_us, .. } = sides.sides[0];
        let expected = oracle::too_late_for_sessions(&ran.arrived, gap_us, allowed_us);
        let expected: Vec<_> = expected.iter().map(|row| (row.at_us, Either::Right(row.value))).collect();
        ran.assert_sequence(&expected, |row| (row.at_us, row.value));
    });
}

/// The results of count windows depend on how inputs mix, so the oracle gets the records in their order of
/// arrival.
#[test]
fn count_windows() {
    union(|sides, bed| {
        let counting = sides.sides[0].counting;
        let [size, slide] =
            [counting.size, counting.slide].map(|count| NonZeroU64::new(count as u64).unwrap());
        let windows = CountWindows::of_size(size).every(slide);
        let ran = bed.drive(|| CountAggregate::new("window", windows, key_of, Tally(Arc::default())));
        let expected = oracle::count_windows(&ran.arrived, counting, key_of, TallyResult::of);
        ran.assert_results(expected.results, |Row { at_us, value: Counted { key, value }, .. }| {
            oracle::Counted { key: *key, at_us: *at_us, value: *value }
        });
        assert_eq!(ran.total(|counts| counts.filtered), expected.outside);
    });
}

/// Sliding windows have the right results for aggregates that subtract leaving values, that keep all values,
/// and that keep the best ones.
#[test]
fn aggregates_of_panes() {
    union(|sides, bed| {
        let windows = hostile::sliding(sides.sides[0].sliding());
        let best = || TopN::new(NonZeroUsize::new(2).unwrap(), |reading: &Reading| reading.amount);
        let make = || {
            let amounts = of(|reading: &Reading| reading.amount, Sum);
            SlidingAggregate::new("window", windows, key_of, (amounts, Values, best()))
        };
        let ran = bed.drive(make);
        let aggregate = |values: &[&Reading]| {
            let mut all: Vec<Reading> = values.iter().map(|reading| **reading).collect();
            all.sort();
            let sum = values.iter().map(|reading| i128::from(reading.amount)).sum::<i128>();
            (sum, all, oracle::largest(values, 2, |a, b| (a.amount, a).cmp(&(b.amount, b))))
        };
        let expected = oracle::sliding(&ran.arrived, sides.sides[0].sliding(), key_of, aggregate);
        ran.assert_results(expected.results, |row| {
            let oracle::Result { start_us, end_us, key, value: (sum, mut all, best) } =
                window_row(&row.value);
            all.sort();
            oracle::Result { start_us, end_us, key, value: (sum, all, best) }
        });
    });
}

#[test]
fn windows_without_memory() {
    without_memory(tumbling);
    without_memory(|sides| sliding(sides).allow_lateness(Span::from_micros(sides.sides[0].allowed_us)));
    let gap = SessionGap::new(Span::from_micros(10)).unwrap();
    without_memory(|_| SessionAggregate::new("window", gap, key_of, Tally(Arc::default())));
    without_memory(lenient_sessions);
    let two = CountWindows::of_size(NonZeroU64::new(2).unwrap());
    without_memory(|_| CountAggregate::new("window", two, key_of, Tally(Arc::default())));
}

/// In a chain that ends in a window, lateness is judged by the marks that reach the window.
#[test]
fn a_chain_that_ends_in_a_window() {
    union(|sides, bed| {
        let chain = || {
            let kept = Then::new(Map::new("map", mirrored), Filter::new("filter", is_kept));
            let joined = Then::new(kept, StaticJoin::new("join", table(), key_of, scaled));
            Then::new(joined, tumbling(sides))
        };
        let ran = bed.drive(chain);
        let kept = oracle::filter(&oracle::map(&ran.arrived, |reading| mirrored(*reading)), is_kept);
        let joined = oracle::join(&kept, &factors(), key_of, |reading, factor| scaled(*reading, factor));
        let expected = oracle::tumbling(&joined, sides.sides[0].windows, key_of, TallyResult::of);
        ran.assert_results(expected.results, |row| window_row(&row.value));
        ran.assert_late(expected.late);
        let read: Vec<u64> = ran.counts.iter().map(|counts| counts.read).collect();
        assert_eq!(read[2..], [kept.len() as u64, joined.len() as u64]);
    });
}
