//! Window arithmetic against its definition: windows tile the line, and each instant lies in exactly one.

use proptest::prelude::*;

use super::*;

fn windows(size: i64, offset: i64) -> TumblingWindows {
    TumblingWindows::new(Span::from_micros(size)).unwrap().with_offset(Span::from_micros(offset))
}

#[test]
fn table() {
    for (size, offset, instant, start, end) in [
        (10, 0, 0, 0, 10),
        (10, 0, 9, 0, 10),
        (10, 0, 10, 10, 20),
        (10, 0, -1, -10, 0),
        (10, 3, 2, -7, 3),
        (10, 3, 3, 3, 13),
        (10, -7, 3, 3, 13),
        (10, 23, 3, 3, 13),
        (1, 0, 5, 5, 6),
    ] {
        let window = windows(size, offset).window_of(EventTime::from_micros(instant));
        let got = (window.start.as_micros(), window.end.as_micros());
        assert_eq!(got, (start, end), "size {size} offset {offset} instant {instant}");
    }
}

#[test]
fn refuses_sizes_that_are_not_above_zero() {
    for micros in [0, -1, i64::MIN] {
        let size = Span::from_micros(micros);
        assert_eq!(TumblingWindows::new(size), Err(WindowError::Size(size)));
    }
    let shown = WindowError::Size(Span::ZERO).to_string();
    assert_eq!(shown, "window size is 0s, but must be at least 1us: give a span above zero");
}

#[test]
fn the_ends_of_the_range_are_cut_off_and_never_wrap() {
    let window = windows(1_000, 1).window_of(EventTime::MAX);
    assert!(window.start <= EventTime::MAX && window.end == EventTime::MAX);
    let window = windows(1_000, 1).window_of(EventTime::MIN);
    assert!(window.start == EventTime::MIN && window.contains(EventTime::MIN));
}

proptest! {
    #[test]
    fn each_instant_lies_in_its_window_and_neighbours_touch(
        size in 1..1_000_000_000_000i64, offset: i32, instant in -1_000_000_000_000_000i64..1_000_000_000_000_000,
    ) {
        let windows = windows(size, i64::from(offset));
        let window = windows.window_of(EventTime::from_micros(instant));
        prop_assert!(window.contains(EventTime::from_micros(instant)));
        prop_assert_eq!(window.end.since(window.start), Span::from_micros(size));
        prop_assert_eq!((window.start.as_micros() - i64::from(offset)).rem_euclid(size), 0);
        prop_assert_eq!(windows.window_of(window.end).start, window.end);
        prop_assert_eq!(windows.window_of(window.last_instant()), window);
    }
}
