//! Tests of co-groups: hand-made cases, and comparison with a recomputation from the whole input. The key of
//! a value is its last digit; `1,11+2@9` is the result at time 9 of the left values 1 and 11 and the right
//! value 2.

use proptest::prelude::*;
use thalweg_model::Span;

use super::super::two_streams::{Run, TwoStreams, key_of, sorted};
use super::*;
use crate::bounded_grant::BoundedGrant;
use crate::test_bed::Bed;

fn even(size: i64, slide: i64, offset: i64) -> EvenWindows {
    let [size, slide, offset] = [size, slide, offset].map(Span::from_micros);
    EvenWindows::new(size, slide, offset)
}

/// Formats the values of both sides, each side sorted, so that the order of arrival does not matter.
fn sides(lefts: &[i64], rights: &[i64]) -> String {
    let side = |values: &[i64]| {
        let mut values = values.to_vec();
        values.sort_unstable();
        let shown: Vec<String> = values.iter().map(i64::to_string).collect();
        shown.join(",")
    };
    format!("{}+{}", side(lefts), side(rights))
}

fn grouped(windows: EvenWindows) -> impl Operator<Either<i64, i64>, Out = String> {
    CoGroup::new("group", windows, key_of, key_of, |window, key, lefts, rights| {
        assert!(lefts.iter().chain(rights).all(|value| value % 10 == *key) && window.start < window.end);
        Some(sides(lefts, rights))
    })
}

fn check(windows: EvenWindows, input: &str, expected: &str) {
    assert_eq!(Bed::of_two(grouped(windows)).run(input), expected);
    let one_by_one = Bed::of_two(grouped(windows)).with_room(1).run(input);
    assert_eq!(one_by_one, expected, "with room for one result at a time");
}

#[test]
fn all_records_of_a_key_are_seen_at_once_when_their_window_closes() {
    check(even(10, 10, 0), "L1@0 R2@1 L11@2 R1@3 W9 L12@9 W10", "W9 1,11+1@9 12+2@9 W10");
}

#[test]
fn one_side_is_enough() {
    check(even(10, 10, 0), "L1@0 R2@1 L3@-1 END", "3+@-1 1+@9 +2@9 END");
    check(even(10, 10, 0), "END", "END");
}

#[test]
fn late_records_are_seen_by_nobody() {
    let mut bed = Bed::of_two(grouped(even(10, 10, 0)));
    assert_eq!(bed.run("I10 L1@9 L1@10 I0 R1@9 W10 END"), "+1@9 W10 1+@19 END");
    assert_eq!(bed.counts(), "group: 3 read, 2 folded, 1 late");
}

#[test]
fn windows_that_overlap_see_a_record_each() {
    check(even(10, 5, 0), "L1@4 R1@7 L2@3 END", "1+@4 2+@4 1+1@9 2+@9 +1@14 END");
}

#[test]
fn values_come_in_the_order_in_which_they_came() {
    let function =
        |_: Window, _: &i64, lefts: &[i64], rights: &[i64]| [lefts.to_vec(), rights.to_vec()].concat();
    let mut bed = Bed::of_two(CoGroup::new("group", even(10, 10, 0), key_of, key_of, function));
    assert_eq!(bed.run("L21@9 L1@5 R31@4 L11@7 R41@1 R1@0 END"), "21@9 1@9 11@9 31@9 41@9 1@9 END");
}

/// The results of one call of the function are emitted one by one, as there is room; a call may also have
/// none.
#[test]
fn a_function_may_make_more_than_there_is_room_for() {
    let function = |_: Window, key: &i64, lefts: &[i64], _: &[i64]| 0..*key * lefts.len() as i64;
    for room in [1, 2, 100] {
        let group = CoGroup::new("group", even(10, 10, 0), key_of, key_of, function);
        let mut bed = Bed::of_two(group).with_room(room);
        assert_eq!(bed.run("L2@0 R3@0 L2@1 L0@1 L1@2 END"), "0@9 1@9 2@9 3@9 0@9 END");
    }
}

#[test]
fn a_panic_is_blamed_on_it() {
    let divide = |_: Window, key: &i64, _: &[i64], _: &[i64]| [1 / key];
    let mut bed = Bed::of_two(CoGroup::new("broken", even(10, 10, 0), key_of, key_of, divide));
    assert_eq!(bed.panics("L10@1 END"), "broken");
    let later = |_: Window, key: &i64, _: &[i64], _: &[i64]| {
        let key = *key;
        (0..3i64).map(move |n| n / key)
    };
    let mut bed = Bed::of_two(CoGroup::new("later", even(10, 10, 0), key_of, key_of, later));
    assert_eq!(bed.panics("L10@1 END"), "later");
}

#[test]
fn values_side_by_side_are_paid_for() {
    let many: String = (0..1_000).map(|n| format!("L{}@0 R{}@1 ", n * 10, n * 10)).collect();
    for bytes in [0, 1_000, 10_000, 40_000, 1 << 20] {
        let bounded_grant = BoundedGrant::of(bytes);
        let mut bed = Bed::of_two(grouped(even(10, 10, 0)));
        bed.fund(&bounded_grant.allowance());
        bed.run(&many);
        assert!(bed.state_bytes() <= bounded_grant.granted());
        bed.run("END");
        assert!(bed.state_bytes() <= bounded_grant.granted());
        bed.counts();
    }
}

proptest! {
    /// The results of a co-group equal a recomputation, with any room, with the streams interleaved in any
    /// way, and with the state saved and loaded at every watermark or not.
    #[test]
    fn equals_recomputation(
        size in 1..40i64, slide in prop_oneof![Just(0), 1..20i64], offset in -20..20i64,
        streams in TwoStreams::any(), run in Run::any(),
    ) {
        let slide = if slide == 0 { size } else { slide };
        let mut expected = Vec::new();
        for start in (-400..400).filter(|start| (start - offset) % slide == 0) {
            let within = |side: usize, key: i64| -> Vec<i64> {
                let judged = streams.judged(side).into_iter().filter(|record| {
                    let is_inside = start <= record.time && record.time < start + size;
                    is_inside && start + size > record.late_by && record.value % 10 == key
                });
                judged.map(|record| record.value).collect()
            };
            for key in 0..10 {
                let (lefts, rights) = (within(0, key), within(1, key));
                if !lefts.is_empty() || !rights.is_empty() {
                    expected.push((sides(&lefts, &rights), start + size - 1));
                }
            }
        }
        let got = run.results(&streams, || grouped(even(size, slide, offset)));
        prop_assert_eq!(got, sorted(expected));
    }
}
