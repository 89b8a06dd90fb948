//! Tests of memory mode: its entry and exit, and the release of a pipeline computed by hand and as the paper
//! defines it.

use thalweg_model::{Entropy, SeededEntropy};

use super::*;
use crate::policy::output_cost::{cost_ns, selectivity};

/// Checks at each given millisecond whether memory mode is on from then on. The used bytes are out of a limit
/// of 1,000.
#[track_caller]
fn check_mode(settings: &KlinkSettings, moments: &[(u64, u64, bool)]) {
    let mut mode = MemoryMode::default();
    for &(at_ms, memory_used_bytes, is_pressed) in moments {
        let now = ProcessingTime::from_nanos(at_ms * 1_000_000);
        let snapshot = Snapshot { now, memory_used_bytes, memory_limit_bytes: 1_000, ..Snapshot::default() };
        mode = mode.next(settings, &snapshot);
        assert_eq!(mode.is_pressed(), is_pressed, "at {at_ms} ms");
    }
}

#[test]
fn memory_is_short_from_the_bound_on_until_half_is_freed() {
    let paper = KlinkSettings::default();
    check_mode(
        &paper,
        &[(0, 790, false), (120, 800, true), (240, 401, true), (360, 400, false), (480, 790, false)],
    );
    // Half of the memory used on entry counts, not half of the limit or of the maximum.
    check_mode(&paper, &[(0, 900, true), (120, 1_000, true), (240, 451, true), (360, 450, false)]);
}

/// The share of the limit from which on memory counts as short is a setting, 80 % unless given. The bound itself
/// counts as short.
#[test]
fn the_bound_of_memory_is_a_setting() {
    let with = |memory_share| KlinkSettings { memory_share, ..KlinkSettings::default() };
    for (used, is_short) in [(899, false), (900, true), (901, true)] {
        check_mode(&with(0.9), &[(0, used, is_short)]);
    }
    for (used, is_short) in [(799, false), (800, true), (899, true)] {
        check_mode(&KlinkSettings::default(), &[(0, used, is_short)]);
    }
}

/// After three seconds in memory mode, slack decides for one cycle, even if memory is still short.
#[test]
fn memory_mode_lasts_for_three_seconds_and_pauses_for_a_cycle() {
    let moments = [
        (0, 900, true),
        (2_999, 900, true),
        (3_000, 900, false),
        (3_119, 990, false),
        (3_120, 900, true),
        (6_119, 900, true),
        (6_120, 900, false),
    ];
    check_mode(&KlinkSettings::default(), &moments);
}

#[test]
fn memory_is_never_short_without_a_bound_or_a_limit() {
    for memory_share in [f64::INFINITY, f64::NAN] {
        check_mode(
            &KlinkSettings { memory_share, ..KlinkSettings::default() },
            &[(0, 1_000, false), (1, u64::MAX, false)],
        );
    }
    let no_limit = Snapshot { memory_used_bytes: 5, ..Snapshot::default() };
    assert!(!MemoryMode::default().next(&KlinkSettings::default(), &no_limit).is_pressed());
}

/// An operator of a test as (pending records, cost in ns, selectivity).
type Row = (u64, f64, f64);

fn state(&(pending, cost_ns_per_record, selectivity): &Row) -> OperatorState {
    OperatorState { pending, cost_ns_per_record, selectivity, ..OperatorState::default() }
}

fn released(cycle_ns: u64, rows: &[Row]) -> Release {
    let settings = KlinkSettings { cycle_ns, ..KlinkSettings::default() };
    let mut release = Release::default();
    for (row, place) in rows.iter().zip((0..rows.len() as u32).rev()) {
        release.pass(&settings, &state(row), place);
    }
    release
}

/// Checks the greatest release of memory in a cycle, and the number of operators, from the first one on, that
/// give it.
#[track_caller]
fn check(cycle_ns: u64, rows: &[Row], most: f64, operators: u32) {
    let release = released(cycle_ns, rows);
    let passed = if release.most > 0.0 { rows.len() as u32 - release.place } else { 0 };
    assert_eq!((release.most, passed), (most, operators));
}

#[test]
fn the_part_of_a_pipeline_that_releases_most_is_found() {
    // The first operator releases 100 - 50 records, the first two 110 - 60 / 5. The third has selectivity 1,
    // so it releases none.
    let rows = [(100, 1.0, 0.5), (10, 1.0, 0.2), (5, 1.0, 1.0)];
    check(1_000, &rows, 98.0, 2);
    // The first two operators take 100 + 60 ns. In a cycle of 80 ns they release half.
    check(80, &rows, 49.0, 2);
    // The second operator costs ten times as much: 700 ns to release 98. In 80 ns the first operator alone
    // releases 4 of 5 of its 50.
    check(80, &[(100, 1.0, 0.5), (10, 10.0, 0.2)], 40.0, 1);
    // An operator that multiplies records is worth running for the operator behind it: 100 records become 200
    // and then 20.
    check(1_000, &[(100, 1.0, 2.0), (0, 1.0, 0.1)], 80.0, 2);
    // Pending records of a later operator count from that operator on. As the paper prints it, 50 more would
    // be at the first operator.
    check(1_000, &[(0, 1.0, 1.0), (50, 1.0, 0.5)], 25.0, 2);
    check(1_000, &[(100, 1.0, 1.0), (50, 1.0, 3.0)], 0.0, 0);
    check(1_000, &[], 0.0, 0);
    // A cycle of 0 counts as 1 ns, which suffices to compare the releases of queries.
    check(0, &rows, 0.6125, 2);
}

/// Returns the release of three operators, of which the second has `copies` copies. Eight records wait for the first
/// operator and four for the second, of which the first copy has `first` and the others have even parts of the rest.
fn released_with_copies(copies: u32, first: u64) -> Release {
    let settings = KlinkSettings { cycle_ns: 1_000, ..KlinkSettings::default() };
    let others = if copies > 1 { (4 - first) / u64::from(copies - 1) } else { 0 };
    let of = |copy: u32| if copy == 0 { first } else { others };
    let copied = (0..copies).map(|copy| OperatorState { copies, ..state(&(of(copy), 1.0, 0.5)) });
    let all = std::iter::once(state(&(8, 1.0, 0.5))).chain(copied).chain([state(&(0, 1.0, 2.0))]);
    let mut release = Release::default();
    for (state, place) in all.zip((0..copies + 2).rev()) {
        release.pass(&settings, &state, place);
    }
    release
}

/// The records in front of an operator are divided among its copies, so they release as much as one operator would.
/// By hand: the first operator leaves 4 of 8 records, the second 4 of these 4 and the 4 that wait for it. So 8 of 12
/// are released. If the records passed two copies with two records each, one after the other, 9.5 would be released.
#[test]
fn records_in_front_of_copies_pass_one_of_them() {
    for (copies, first) in [(1, 4), (2, 2), (2, 0), (2, 4), (4, 1)] {
        let release = released_with_copies(copies, first);
        assert_eq!((release.most, release.place), (8.0, 1), "{copies} copies");
    }
}

/// Up to the first of two copies, the share of the second one stays. By hand: 12 records come to the copies, 6 to each,
/// and the first releases 3 of them. The second copy releases nothing.
#[test]
fn the_share_of_copies_beyond_the_pipeline_stays() {
    let settings = KlinkSettings { cycle_ns: 1_000, ..KlinkSettings::default() };
    let copy = |selectivity| OperatorState { copies: 2, ..state(&(0, 1.0, selectivity)) };
    let mut release = Release::default();
    let states = [state(&(12, 1.0, 1.0)), copy(0.5), copy(1.0), state(&(0, 1.0, 1.0))];
    for (state, place) in states.iter().zip([3, 2, 1, 0]) {
        release.pass(&settings, state, place);
    }
    assert_eq!((release.most, release.place), (3.0, 2));
}

/// If a copy has ended, the next operator still gets all records: 8 come, 4 to the copy that is left, which leaves 2,
/// so 6 come to the last operator, which drops them all.
#[test]
fn a_copy_that_has_ended_loses_no_records() {
    let settings = KlinkSettings { cycle_ns: 1_000, ..KlinkSettings::default() };
    let copy = OperatorState { copies: 2, ..state(&(0, 1.0, 0.5)) };
    let mut release = Release::default();
    for (state, place) in [state(&(8, 1.0, 1.0)), copy, state(&(0, 1.0, 0.0))].iter().zip([2, 1, 0]) {
        release.pass(&settings, state, place);
    }
    assert_eq!((release.most, release.place), (8.0, 0));
}

/// Each of 100 operators makes a very large number of records out of one, and the last operator drops all.
/// Everything is released, without overflow. It takes far more than a cycle, so the released share is tiny.
#[test]
fn pipelines_that_make_more_than_a_double_holds_release_what_they_end_in() {
    let mut rows = vec![(1, 1.0, f64::INFINITY); 100];
    rows.push((0, 1.0, 0.0));
    let release = released(1_000, &rows);
    assert!(0.0 < release.most && release.most < 1e-20 && release.place == 0, "{release:?}");
}

/// Returns p(k) min(1, r / C(k)), the release as the paper defines it, computed with nested loops.
fn defined(cycle_ns: f64, rows: &[Row], last: usize) -> f64 {
    let states: Vec<OperatorState> = rows.iter().map(state).collect();
    let product = |from: usize, to: usize| {
        states[from..to].iter().map(|state| selectivity(state, 0.0)).product::<f64>()
    };
    let pending = |index: usize| states[index].pending as f64;
    let gone: f64 = (0..=last).map(|index| pending(index) * (1.0 - product(index, last + 1))).sum();
    let of =
        |index: usize| (index..=last).map(|step| product(index, step) * cost_ns(&states[step])).sum::<f64>();
    let cost_ns: f64 = (0..=last).map(|index| pending(index) * of(index)).sum();
    if cost_ns <= cycle_ns { gone } else { gone * cycle_ns / cost_ns }
}

#[test]
fn what_is_released_is_as_the_paper_defines_it() {
    let mut entropy = SeededEntropy::new(3);
    for _ in 0..2_000 {
        let row = |entropy: &mut SeededEntropy| {
            let selectivity = [0.0, 0.3, 1.0, 2.0, f64::NAN][entropy.below(5) as usize];
            (entropy.below(1_000), 1.0 + 500.0 * entropy.unit(), selectivity)
        };
        let rows: Vec<Row> = (0..1 + entropy.below(6)).map(|_| row(&mut entropy)).collect();
        let cycle_ns = 1 + entropy.below(1_000_000);
        let most = (0..rows.len()).map(|last| defined(cycle_ns as f64, &rows, last)).fold(0.0, f64::max);
        let found = released(cycle_ns, &rows);
        assert!((found.most - most).abs() <= 1e-9 * most.max(1.0), "{} is not {most}: {rows:?}", found.most);
        if found.most > 0.0 {
            let last = rows.len() - 1 - found.place as usize;
            assert!((found.most - defined(cycle_ns as f64, &rows, last)).abs() <= 1e-9 * most.max(1.0));
            assert!(selectivity(&state(&rows[last]), 0.0) < 1.0, "{rows:?}");
        }
    }
}
