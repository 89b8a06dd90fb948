//! Frames as they are written: their columns, their width, and how one is drawn over the other.

use thalweg::{LatencySummary, QueryState};

use super::*;

fn row(query: &str, events_in: u64, latency: Option<LatencySummary>) -> Row<'_> {
    let progress = Progress {
        state: QueryState::Running,
        events_in,
        results_out: 100,
        bad: 0,
        pending: 12,
        watermark: None,
        latency,
    };
    Row { query, rate_per_s: 1e6, progress }
}

fn latency(p50_ns: u64, p99_ns: u64) -> LatencySummary {
    LatencySummary { count: 1, mean_ns: 0.0, p50_ns, p90_ns: 0, p99_ns, p999_ns: 0, max_ns: 0 }
}

fn frame(last_line: &str) -> Frame<'_> {
    let leader = ("22:33:10 UTC".to_owned(), "most views for campaign 42: 33,512".to_owned());
    Frame {
        elapsed: Duration::from_millis(512),
        rows: vec![row("ysb", 12_345_678, Some(latency(12_300, 1_200_000))), row("nyt", 0, None)],
        leaders: vec![Some(leader), None],
        last_line: last_line.to_owned(),
    }
}

/// One frame above the other: the cursor goes up by as many lines as there are.
#[test]
fn frames_are_drawn_in_place() {
    let mut screen = Screen::Live { drawn: 0 };
    let lines = [
        "query      rate         events     results   pending      p50      p99",
        "ysb    1.00 M/s     12,345,678         100        12  12.3 us  1.20 ms",
        "nyt    1.00 M/s              0         100        12        -        -",
        "",
        "ysb  until 22:33:10 UTC  most views for campaign 42: 33,512",
        "nyt  its first window has not ended yet",
        "7 s left",
    ];
    let drawn: String = lines.iter().map(|line| format!("\r{line}\x1b[K\n")).collect();
    assert_eq!(screen.draw(&frame("7 s left")), drawn);
    assert_eq!(screen.draw(&frame("7 s left")), format!("\x1b[7A{drawn}"));
}

#[test]
fn without_a_terminal_there_is_a_line_per_query() {
    let mut screen = Screen::Lines { has_head: false };
    let rows = "    0.5 s ysb    1.00 M/s     12,345,678         100        12  12.3 us  1.20 ms\n    \
                0.5 s nyt    1.00 M/s              0         100        12        -        -\n";
    let head = "     time query      rate         events     results   pending      p50      p99\n";
    assert_eq!(screen.draw(&frame("")), format!("{head}{rows}"));
    assert_eq!(screen.draw(&frame("")), rows);
}

/// Also after a day at a rate that nobody reaches.
#[test]
fn no_line_is_wider_than_the_terminal() {
    let worst = Progress {
        state: QueryState::Running,
        events_in: 99_999_999_999,
        results_out: 999_999_999,
        bad: 0,
        pending: 9_999_999,
        watermark: None,
        latency: Some(latency(999_000_000_000, 999_000_000)),
    };
    let rows = vec![Row { query: "ysb", rate_per_s: 999e6, progress: worst }];
    let frame =
        Frame { elapsed: Duration::from_secs(86_400), rows, leaders: vec![None], last_line: String::new() };
    for mut screen in [Screen::Live { drawn: 9 }, Screen::Lines { has_head: false }] {
        let drawn = screen.draw(&frame).replace("\x1b[K", "");
        assert!(drawn.lines().all(|line| line.chars().count() <= COLUMNS), "{drawn}");
    }
}
