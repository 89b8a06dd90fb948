//! Tests of the limit of 1 % bad lines. The handling of bad lines is tested through the source.

use super::*;

/// Adds bad lines with these numbers, and returns the first number that exceeds the limit.
fn first_too_many(numbers: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut recent = RecentBad::new();
    numbers.into_iter().find(|&number| recent.is_one_too_many(number))
}

#[test]
fn a_hundred_in_a_window_are_fine() {
    assert_eq!(first_too_many(1..=100), None);
    // 100 bad lines among any 10,000 lines stay within the limit, however long the file is.
    assert_eq!(first_too_many((1..=10_000).map(|n| n * 100)), None);
    assert_eq!(first_too_many((0..50).flat_map(|window| window * 10_000 + 1..=window * 10_000 + 100)), None);
}

#[test]
fn a_hundred_and_one_are_not() {
    assert_eq!(first_too_many(1..=101), Some(101));
    assert_eq!(first_too_many((1..=200).map(|n| n * 99)), Some(101 * 99));
}

/// The 101st bad line exceeds the limit if it is the last line of a window that starts at the first bad line, but not
/// if it is the line after that window.
#[test]
fn the_window_is_exact() {
    for first in [1, 77, 123_456] {
        let next_99 = first + 1..first + 100;
        let spread = |last| first_too_many([first].into_iter().chain(next_99.clone()).chain([last]));
        assert_eq!(spread(first + 9_999), Some(first + 9_999));
        assert_eq!(spread(first + 10_000), None);
    }
}
