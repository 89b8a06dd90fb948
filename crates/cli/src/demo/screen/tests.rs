//! Tests of the frames of the demo: their columns, their width, and drawing in place.

use thalweg::Span;

use super::*;

const NOW: EventTime = EventTime::from_secs(1_000_000_000);

fn latency(p50_ns: u64, p99_ns: u64) -> LatencySummary {
    LatencySummary {
        count: 1,
        mean_ns: 0.0,
        stdev_ns: 0.0,
        p50_ns,
        p90_ns: 0,
        p95_ns: 0,
        p99_ns,
        p999_ns: 0,
        max_ns: 0,
    }
}

/// Returns a frame with one query in full flow, and one that has only just begun.
fn frame(last_line: &str) -> Frame<'_> {
    let flowing = Row {
        query: "ysb-1",
        rate_per_s: 1e6,
        pending: 1_234,
        latency: Some(latency(12_300, 1_200_000)),
        watermark: Some(NOW.minus(Span::from_micros(980))),
        leader: Some("campaign 42: 33,512".to_owned()),
    };
    let beginning =
        Row { query: "nyt-1", rate_per_s: 0.0, pending: 0, latency: None, watermark: None, leader: None };
    let rows = vec![flowing, beginning];
    Frame { elapsed: Duration::from_millis(512), now: NOW, rows, last_line: last_line.to_owned() }
}

/// A frame is drawn over the previous one: the cursor goes up by the number of lines of that frame.
#[test]
fn frames_are_drawn_in_place() {
    let mut screen = Screen::Live { drawn: 0 };
    let lines = [
        "query      rate   pending      p50      p99   watermark  leader, latest window",
        "ysb-1  1.00 M/s     1,234  12.3 us  1.20 ms  980 us ago  campaign 42: 33,512",
        "nyt-1   0.00 /s         0        -        -           -  first window is open",
        "",
        "7 s left",
    ];
    let drawn: String = lines.iter().map(|line| format!("\r{line}\x1b[K\n")).collect();
    assert_eq!(screen.draw(&frame("7 s left")), drawn);
    assert_eq!(screen.draw(&frame("7 s left")), format!("\x1b[5A{drawn}"));
}

#[test]
fn without_a_terminal_there_is_a_line_per_query() {
    let mut screen = Screen::Lines { has_head: false };
    let rows = "    0.5 s ysb-1  1.00 M/s     1,234  12.3 us  1.20 ms  980 us ago\n    \
                0.5 s nyt-1   0.00 /s         0        -        -           -\n";
    let head = "     time query      rate   pending      p50      p99   watermark\n";
    assert_eq!(screen.draw(&frame("")), format!("{head}{rows}"));
    assert_eq!(screen.draw(&frame("")), rows);
}

/// The display tells how far a watermark lies behind. A watermark ahead of the clock promises
/// future records, so nothing lies behind.
#[test]
fn how_far_a_watermark_lies_behind() {
    let shown = |micros: i64| behind(NOW.minus(Span::from_micros(micros)), NOW);
    assert_eq!([shown(20), shown(0), shown(-5)], ["20.0 us ago", "0.00 us ago", "0.00 us ago"]);
    assert_eq!([shown(1_500_000), shown(86_400_000_000)], ["1.50 s ago", "86400 s ago"]);
    assert_eq!(behind(EventTime::MAX, NOW), "at the end");
}

/// No line is wider than the terminal, even after a day without a result and at an unrealistic
/// rate.
#[test]
fn no_line_is_wider_than_the_terminal() {
    let worst = || Row {
        query: "ysb-1",
        rate_per_s: 999e6,
        pending: 9_999_999,
        latency: Some(latency(999_000_000_000, 999_000_000)),
        watermark: Some(NOW.minus(Span::from_secs(86_400))),
        leader: Some("campaign 99: 1,000,000,000,000".to_owned()),
    };
    let rows = (0..crate::demo::queries::COUNT).map(|_| worst()).collect();
    let elapsed = Duration::from_secs(86_400);
    let frame = Frame { elapsed, now: NOW, rows, last_line: String::new() };
    for mut screen in [Screen::Live { drawn: 0 }, Screen::Lines { has_head: false }] {
        let drawn = screen.draw(&frame).replace("\x1b[K", "").replace('\r', "");
        assert!(drawn.lines().all(|line| line.chars().count() < COLUMNS), "{drawn}");
        // The frame leaves a line of the terminal for the prompt below it.
        assert!(drawn.lines().count() < ROWS_MIN.into(), "{drawn}");
    }
}
