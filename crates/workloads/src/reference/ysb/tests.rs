//! The reference of YSB compared with cases worked out by hand, and its closed form with the sum over all
//! events.

use proptest::prelude::*;

use super::*;

/// Checks the counts of windows of 10 ms. Events are words `type:ad@milliseconds`, expected results words
/// `window:campaign=count`.
fn check(events: &str, expected: &str) {
    check_windows(10_000.into(), events, expected);
}

fn check_windows(windows: Windows, events: &str, expected: &str) {
    let event = |word: &str| {
        let numbers: Vec<i64> = word.split([':', '@']).map(|number| number.parse().unwrap()).collect();
        YsbInput {
            event_type: numbers[0] as u64,
            ad_id: numbers[1] as u64,
            event_time_us: numbers[2] * 1_000,
        }
    };
    let rows = ysb_counts(events.split_whitespace().map(event), windows);
    let shown: Vec<String> =
        rows.iter().map(|row| format!("{}:{}={}", row.window_start_ms, row.campaign, row.count)).collect();
    assert_eq!(shown.join(" "), expected, "{events}");
}

#[test]
fn views_are_counted_per_campaign_and_window() {
    check("", "");
    check("0:1@0 0:10@9 0:11@9 0:1@10", "0:0=2 0:1=1 10:0=1");
    check("0:1@-1 0:1@-10 0:1@-11", "-20:0=1 -10:0=2");
    check("1:1@0 2:1@0 0:1000@0", "0:99=1");
    check("0:0@0 0:1001@0", "");
}

#[test]
fn windows_may_slide() {
    let windows = |size_us, slide_us| Windows { size_us, slide_us };
    check_windows(windows(10_000, 5_000), "0:1@0 0:1@5 0:1@-1", "-10:0=1 -5:0=2 0:0=2 5:0=1");
    check_windows(windows(10_000, 4_000), "0:1@0", "-8:0=1 -4:0=1 0:0=1");
    check_windows(windows(5_000, 10_000), "0:1@4 0:1@5 0:1@10", "0:0=1 10:0=1");
}

fn naive(run: YsbDrain<'_>) -> Vec<YsbCount> {
    let event = |index: u64| {
        let (event_type, ad_id) = run.period[(index % run.period.len() as u64) as usize];
        let event_time_us =
            run.start_us + (u128::from(index) * 1_000_000 / u128::from(run.rate_per_s)) as i64;
        YsbInput { event_time_us, event_type, ad_id }
    };
    ysb_counts((0..run.events).map(event), run.windows)
}

proptest! {
    /// The views of each campaign and window by the closed formula equal those counted event by event, for any rate, period
    /// of events, start and window.
    #[test]
    fn the_closed_form_counts_as_one_by_one(
        period in prop::collection::vec((0u64..3, 0u64..1_010), 1..40),
        events in 0u64..3_000,
        rate_per_s in prop_oneof![1u64..200, Just(1_000_000), Just(10_000_000), 1u64..5_000_000],
        start_us in -5_000_000i64..5_000_000,
        size_ms in prop_oneof![1i64..20, 1_000i64..20_000],
        slide_ms in prop_oneof![Just(None), (1i64..20).prop_map(Some), (1_000i64..20_000).prop_map(Some)],
    ) {
        // The run has at most some thousand windows, so that most are not empty, and an event lies in few
        // of them.
        let least_ms = (events * 1_000 / rate_per_s) as i64 / 1_000;
        let size_ms = size_ms.max(least_ms);
        let slide_ms = slide_ms.map_or(size_ms, |slide_ms| slide_ms.max(least_ms).max(size_ms / 10));
        let windows = Windows { size_us: size_ms * 1_000, slide_us: slide_ms.max(1) * 1_000 };
        let run = YsbDrain { period: &period, events, rate_per_s, start_us, windows };
        prop_assert_eq!(ysb_counts_of_drain(run), naive(run));
    }
}

/// In a run of hundreds of millions of events, no view is missing from the results.
#[test]
fn a_long_run_loses_no_view() {
    let period: Vec<(u64, u64)> = (0..3_000).map(|n| (n % 3, n % 1_000 + 1)).collect();
    let run = YsbDrain {
        period: &period,
        events: 900_000_001,
        rate_per_s: 9_999_991,
        start_us: 1_357_000_000_000_123,
        windows: 10_000_000.into(),
    };
    let rows = ysb_counts_of_drain(run);
    assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 300_000_001);
    assert_eq!(rows.len(), 1_000);
}
