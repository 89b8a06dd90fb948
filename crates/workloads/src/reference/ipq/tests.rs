//! The references of IPQ1 to IPQ4 compared with cases worked out by hand, and the closed form with the sum over
//! all events.

use proptest::prelude::*;

use super::*;

fn numbers(word: &str) -> Vec<i64> {
    word.split([':', '@']).map(|number| number.parse().unwrap()).collect()
}

/// Checks the revenue per window. Events are words `revenue@milliseconds`, expected results words
/// `window=revenue`. Windows have 10 ms and this slide.
#[track_caller]
fn check_revenue(slide_ms: i64, events: &str, expected: &str) {
    let mut revenues = Revenues::new(Windows { size_us: 10_000, slide_us: slide_ms * 1_000 });
    let event = |word: &str| (numbers(word)[1] * 1_000, numbers(word)[0] as u64);
    revenues.add(events.split_whitespace().map(event));
    let rows = revenues.rows();
    let shown: Vec<String> =
        rows.iter().map(|row| format!("{}={}", row.window_start_ms, row.revenue_micros)).collect();
    assert_eq!(shown.join(" "), expected, "{events}");
}

#[test]
fn revenue_is_added_up_per_window() {
    check_revenue(10, "", "");
    check_revenue(10, "5@0 6@9 7@10 1@-1", "-10=1 0=11 10=7");
    // A window has a row even if its events have a revenue of 0.
    check_revenue(10, "0@3", "0=0");
    check_revenue(5, "5@0 6@9", "-5=5 0=11 5=6");
    check_revenue(4, "1@0", "-8=1 -4=1 0=1");
}

/// Events are counted per job, level and window. Events are words `job:level@milliseconds`, expected results
/// words `window:job:level=events`. Windows have 10 ms.
#[test]
fn events_are_counted_per_job_level_and_window() {
    let check = |events: &str, expected: &str| {
        let event = |word: &str| (numbers(word)[2] * 1_000, numbers(word)[0] as u32, numbers(word)[1] as u32);
        let rows = events_rows(events.split_whitespace().map(event), 10_000);
        let shown: Vec<String> = rows
            .iter()
            .map(|row| format!("{}:{}:{}={}", row.window_start_ms, row.job, row.level, row.events))
            .collect();
        assert_eq!(shown.join(" "), expected, "{events}");
    };
    check("", "");
    check("1:0@0 1:1@3 1:0@9 1:0@10 2:0@-1", "-10:2:0=1 0:1:0=2 0:1:1=1 10:1:0=1");
}

/// Errors match the requests of their window. Requests are words `request:job@milliseconds`, errors
/// `request@milliseconds`, expected results `window:job=errors`. Windows have 10 ms.
#[test]
fn errors_meet_the_requests_of_their_window() {
    let check = |requests: &str, errors: &str, expected: &str| {
        let request = |word: &str| RequestInput {
            event_time_us: numbers(word)[2] * 1_000,
            request: numbers(word)[0] as u64,
            job: numbers(word)[1] as u64,
        };
        let error = |word: &str| RequestInput {
            event_time_us: numbers(word)[1] * 1_000,
            request: numbers(word)[0] as u64,
            job: 99,
        };
        let rows = errors_rows(
            requests.split_whitespace().map(request),
            errors.split_whitespace().map(error),
            10_000,
        );
        let shown: Vec<String> =
            rows.iter().map(|row| format!("{}:{}={}", row.window_start_ms, row.job, row.errors)).collect();
        assert_eq!(shown.join(" "), expected, "{requests} and {errors}");
    };
    check("", "", "");
    check("7:1@0", "", "");
    check("", "7@0", "");
    check("7:1@9", "7@0", "0:1=1");
    check("7:1@9", "7@10", "");
    check("7:1@-1", "7@-10", "-10:1=1");
    // A request or error that occurs twice in a window matches twice.
    check("7:1@0 7:1@5 8:2@5", "7@1 7@2 8@3 9@4", "0:1=4 0:2=1");
    check("7:1@0 7:1@10 8:1@11", "7@1 7@12 8@13", "0:1=1 10:1=2");
}

proptest! {
    /// The closed form equals the sum over all events one by one, at any rate, period, start and window.
    #[test]
    fn the_closed_form_adds_up_as_one_by_one(
        period in prop::collection::vec(0_u64..1_000, 1..40),
        events in 0_u64..3_000,
        rate_per_s in prop_oneof![10_u64..200, Just(1_000_000), 1_000_u64..5_000_000],
        start_us in -5_000_000_i64..5_000_000,
        size_ms in 100_i64..20_000,
        parts in 1_i64..5,
    ) {
        let windows = Windows { size_us: size_ms * 1_000, slide_us: (size_ms / parts) * 1_000 };
        let mut at_once = Revenues::new(windows);
        at_once.add_drain(RevenueDrain { period: &period, events, rate_per_s, start_us });
        let mut one_by_one = Revenues::new(windows);
        one_by_one.add((0..events).map(|index| {
            let offset_us = (index * 1_000_000 / rate_per_s) as i64;
            (start_us + offset_us, period[(index % period.len() as u64) as usize])
        }));
        prop_assert_eq!(at_once.rows(), one_by_one.rows());
    }
}
