//! Tests that compare window arithmetic with its definition: tumbling windows cover all of event time, and
//! each instant is in exactly one.

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

fn sliding(size: i64, slide: i64, offset: i64) -> SlidingWindows {
    // Spans are allowed here with which a record belongs to more windows than a query may have, because the
    // arithmetic must also hold for them.
    let (size, slide) = (Span::from_micros(size), Span::from_micros(slide));
    let windows = SlidingWindows { size, slide, offset: Span::ZERO, pane: pane_of(size, slide) };
    windows.with_offset(Span::from_micros(offset))
}

fn spans_of(windows: SlidingWindows, instant: EventTime) -> Vec<(i64, i64)> {
    windows.windows_of(instant).map(|window| (window.start.as_micros(), window.end.as_micros())).collect()
}

#[test]
fn an_instant_is_in_the_windows_that_span_it_in_the_order_of_their_ends() {
    for (size, slide, offset, instant, expected) in [
        (10, 5, 0, 0, &[(-5, 5), (0, 10)][..]),
        (10, 5, 0, 4, &[(-5, 5), (0, 10)]),
        (10, 5, 0, -1, &[(-10, 0), (-5, 5)]),
        (10, 5, 2, 1, &[(-8, 2), (-3, 7)]),
        (10, 5, -3, 1, &[(-8, 2), (-3, 7)]),
        (10, 10, 3, 2, &[(-7, 3)]),
        (7, 3, 0, 7, &[(3, 10), (6, 13)]),
        (7, 3, 0, 6, &[(0, 7), (3, 10), (6, 13)]),
        // The slide is greater than the size: windows cover 10 instants of every 30.
        (10, 30, 0, 9, &[(0, 10)]),
        (10, 30, 0, 10, &[]),
        (10, 30, 0, -1, &[]),
        (10, 30, -5, -1, &[(-5, 5)]),
    ] {
        let got = spans_of(sliding(size, slide, offset), EventTime::from_micros(instant));
        assert_eq!(got, expected, "size {size} slide {slide} offset {offset} instant {instant}");
    }
}

#[test]
fn panes_are_as_long_as_starts_and_ends_of_windows_allow() {
    let pane = |size, slide| sliding(size, slide, 0).pane().as_micros();
    assert_eq!((pane(120, 30), pane(120, 50), pane(7, 3), pane(8, 8), pane(10, 31)), (30, 10, 1, 8, 10));
    let pane_of = |windows: SlidingWindows, instant| {
        let pane = windows.pane_of(EventTime::from_micros(instant))?;
        Some((pane.start().as_micros(), pane.end().as_micros()))
    };
    assert_eq!(pane_of(sliding(120, 50, 3), -1), Some((-7, 2)));
    assert_eq!(pane_of(sliding(10, 30, 5), 14), Some((5, 14)));
    assert_eq!(pane_of(sliding(10, 30, 5), 15), None);
}

#[test]
fn refuses_slides_and_gaps_that_are_not_above_zero() {
    let zero = Span::ZERO;
    assert_eq!(SlidingWindows::of_size(zero).every(Span::MAX), Err(WindowError::Size(zero)));
    assert_eq!(SlidingWindows::of_size(Span::MAX).every(zero), Err(WindowError::Slide(zero)));
    assert_eq!(SessionGap::new(Span::from_micros(-1)), Err(WindowError::Gap(Span::from_micros(-1))));
    let shown = [WindowError::Slide(zero), WindowError::Gap(zero)].map(|error| error.to_string());
    assert_eq!(
        shown,
        [
            "windows slide by 0s, but must by at least 1us: give a span above zero",
            "sessions are 0s apart, but must be at least 1us: give a gap above zero"
        ]
    );
}

#[test]
fn a_record_belongs_to_a_bounded_number_of_windows() {
    let day = Span::from_secs(86_400);
    let every = |slide: Span| SlidingWindows::of_size(day).every(slide);
    assert!(every(Span::from_secs(10)).is_ok() && every(Span::from_micros(8_640_000)).is_ok());
    let slide = Span::from_micros(8_639_999);
    assert_eq!(every(slide), Err(WindowError::TooMany { size: day, slide }));
    assert_eq!(windows_per_record(day, Span::from_millis(1)), 86_400_000);
    assert!(SlidingWindows::of_size(Span::MAX).every(Span::from_micros(1)).is_err());
    let told = every(Span::from_millis(1)).unwrap_err().to_string();
    assert!(told.contains("86400000 windows, but at most 10000 are possible"), "{told}");
}

/// With any sizes of windows nothing wraps at the ends of the range. Each window that contains one of the
/// last instants is cut off at the end of the range, and all windows have ended there.
#[test]
fn sliding_windows_are_cut_off_at_the_ends_of_the_range_too() {
    let (min, max) = (i64::MIN, i64::MAX);
    // The greatest 64-bit number, 2^63 - 1, is 2 above a multiple of 5.
    assert_eq!(spans_of(sliding(10, 5, 0), EventTime::MAX), [(max - 7, max), (max - 2, max)]);
    assert_eq!(spans_of(sliding(10, 5, 0), EventTime::MIN), [(min, min + 3), (min, min + 8)]);
    let widest = sliding(max, max, max - 1);
    for (windows, instant) in [(widest, EventTime::MIN), (widest, EventTime::MAX)] {
        let pane = windows.pane_of(instant).unwrap();
        assert!(pane.contains(&instant) && windows.windows_of(instant).count() == 1);
    }
    // These windows begin 5 instants before and after the first instant of the range, so they do not contain
    // it.
    let samples = sliding(1, 10, (min + 5).rem_euclid(10));
    assert_eq!((samples.pane_of(EventTime::MIN), samples.windows_of(EventTime::MIN).count()), (None, 0));
    for windows in [sliding(10, 5, 0), sliding(1, max, 0), sliding(max, 1, 0), widest] {
        assert_eq!(windows.first_ending_after(EventTime::MAX), windows.numbers_of(EventTime::MAX).end);
        assert_eq!(windows.first_ending_after(EventTime::MIN), windows.numbers_of(EventTime::MIN).start);
    }
}

proptest! {
    /// Numbers, panes and ends of sliding windows agree with the definition, which is computed with additions
    /// only: window `n` is `[offset + n * slide, offset + n * slide + size)`.
    #[test]
    fn sliding_windows_equal_their_definition(
        size in 1..60i64, slide in 1..60i64, offset in -100..100i64, instant in -300..300i64, other in -300..300i64,
    ) {
        let windows = sliding(size, slide, offset);
        let (at, other) = (EventTime::from_micros(instant), EventTime::from_micros(other));
        let all: Vec<Window> = (-600..600i64)
            .map(|n| offset + n * slide)
            .map(|start| Window {
                start: EventTime::from_micros(start),
                end: EventTime::from_micros(start + size),
            })
            .collect();
        let expected: Vec<Window> = all.iter().copied().filter(|window| window.contains(at)).collect();
        prop_assert_eq!(windows.windows_of(at).collect::<Vec<_>>(), expected.clone());
        let after = all.iter().copied().find(|window| window.end > at);
        prop_assert_eq!(Some(windows.window(windows.first_ending_after(at))), after);

        let pane = windows.pane_of(at);
        prop_assert_eq!(pane.is_none(), expected.is_empty());
        if let Some(pane) = pane {
            prop_assert!(pane.contains(&at));
            // Instants of one pane are in the same windows. If windows overlap, a pane cannot be longer
            // without breaking this.
            if pane.contains(&other) {
                prop_assert_eq!(windows.windows_of(other).collect::<Vec<_>>(), expected);
            } else {
                prop_assert_ne!(windows.pane_of(other), Some(pane));
            }
        }
    }

    #[test]
    fn tumbling_windows_are_sliding_ones(size in 1..1_000i64, offset: i64, instant: i64) {
        let tumbling = windows(size, offset);
        let (sliding, at) = (SlidingWindows::from(tumbling), EventTime::from_micros(instant));
        prop_assert_eq!(sliding.windows_of(at).collect::<Vec<_>>(), [tumbling.window_of(at)]);
    }
}
