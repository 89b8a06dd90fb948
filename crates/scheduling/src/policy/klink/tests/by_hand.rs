//! Slack by hand, in each of its branches, and along the two figures of the paper.

use super::*;

/// Checks the slack of a query in s at `now_s` seconds.
#[track_caller]
fn check(now_s: f64, query: &str, expected_s: f64) {
    check_with(Klink::default(), now_s, query, expected_s);
}

/// A watermark not seen by the deadline plus the mean delay may arrive at any moment: the slack is minus the cost.
#[test]
fn without_deviation_slack_is_what_is_left() {
    check(5.0, "1/2e9 | 10", 3.0);
    check(5.0, "1/2e9 | 10+1", 4.0);
    check(15.0, "1/2e9 | 10+1", -2.0);
    // The stamps of the source are ahead of our clock.
    check(5.0, "1/2e9 | 10+-3", 0.0);
    // Replayed event time before 1970: the delay is long.
    check(5.0, "1/2e9 | -2000000000+2000000010", 3.0);
}

/// With a deviation of 1 s, by the table of h(z) = phi(z) / Q(z): h(-1) = .2876, h(0) = .7979, h(1) = 1.5251, h(10) =
/// 10.0981.
#[test]
fn with_deviation_slack_is_the_mean_of_what_may_still_come() {
    check(9.0, "1 | 10+0~1", 1.287_599_970_9);
    check(10.0, "1 | 10+0~1", 0.797_884_560_8);
    check(11.0, "1/1e9 | 10+0~1", 0.525_135_276_2 - 1.0);
    check(21.0, "1 | 10+1~1", 0.098_093_234_0);
    // The asymptote 1 / z.
    check(1_010.0, "1 | 10+0~1", 0.000_999_998_0);
    check(-90.0, "1 | 10+0~1", 100.0);
}

/// Slack falls below zero and continues to fall until the watermark has reached the sinks, whatever the stream's next
/// deadline is.
#[test]
fn a_watermark_on_its_way_is_overdue_since_it_came() {
    check(12.0, "1/2e9 | 20+1~3!12", -2.0);
    check(15.0, "1/2e9 | 20+1~3!12", -5.0);
    check(15.0, "1/2e9 | 20+1", 4.0);
}

#[test]
fn of_several_streams_the_least_slack_counts() {
    check(5.0, "1/1e9 | 10+1 8+2 12", 4.0);
    check(5.0, "1/1e9 | 10+1 !4 12", -2.0);
    check(5.0, "1/1e9 | end 10+1 -", 5.0);
    // A stream that is away does not count.
    check(5.0, "1/1e9 | 10+1 away:6 away:!2", 5.0);
}

/// Without a deadline, slack counts from the arrival of the oldest record.
#[test]
fn a_query_without_deadlines_ages_from_its_oldest_record_on() {
    for streams in ["", "-", "end", "away:6", "end - away:!4"] {
        check(5.0, &format!("1/1e9@4.5 1@3 0@1 1@4 | {streams}"), -3.0);
    }
    // Input that arrives at an empty query is due from the evaluation on.
    let mut snapshot = snapshot(5.0, &["0/1e9@1 |"]);
    let mut policy = Klink::default();
    policy.prepare(&snapshot);
    snapshot.operators[0].as_mut().unwrap().pending = 1;
    assert_eq!(slack_s(&policy, &snapshot, 0), 0.0);
}

/// The watermark may have arrived at any time since the source was last read: an overdue query ages, another does not.
#[test]
fn sources_that_nobody_asks_may_hold_the_watermark() {
    check(15.0, "*1/1e9/0@14 1 | 10+1", -1.0 - 1.0);
    check(15.0, "*1/1e9/0@14 *1/0.1/0@13 *0@12 1 | 10+1", -2.0 - 1.0);
    check(5.0, "*1/1e9/0@1 1 | 10+1", 5.0);
    // At 12, one deviation after the mean, the watermark had not arrived.
    check(15.0, "*1@12 1 | 10+1~1", 0.525_135_276_2 - 3.0);
    // It was expected at 11, when no source was read: it counts as arrived then.
    check(15.0, "*1@5 1 | 10+1", -4.0);
    // Nothing waits at the source, or its next record has a stamp in the future: the watermark has not arrived before
    // now.
    check(15.0, "*0@5 1/2e9 | 10+1", -2.0);
    check(15.0, "*1/2e9/0@20 1 | 10+1", -2.0);
}

/// A (2 ns, 20 pending) makes .5 of each record, B (4 ns, 5) makes 2, C costs 1 ns (2 pending), D 3. By hand G is 8,
/// 12, 1, 3.
#[test]
fn all_that_is_held_costs_what_it_takes_down_to_the_sinks() {
    let mut snapshot = graph(&[(2.0, 0.5, &[1]), (4.0, 2.0, &[2, 3]), (1.0, 1.0, &[]), (3.0, 1.0, &[])]);
    snapshot.queries = vec![Some(QueryState::default())];
    for (state, pending) in snapshot.operators.iter_mut().flatten().zip([20, 5, 2, 0]) {
        state.pending = pending;
    }
    let mut policy = Klink::default();
    policy.prepare(&snapshot);
    assert_eq!(slack_s(&policy, &snapshot, 0) * 1e9, -(160.0 + 60.0 + 2.0));
}

/// A hundred operators, each of which makes a million records out of one.
#[test]
fn costs_that_no_double_holds_are_bounded() {
    let readers: Vec<u32> = (1..100).collect();
    let mut rows: Vec<(f64, f64, &[u32])> =
        readers.chunks(1).map(|reader| (1e12, f64::INFINITY, reader)).collect();
    rows.push((1e12, 1.0, &[]));
    let mut snapshot = graph(&rows);
    snapshot.queries = vec![Some(QueryState::default())];
    let mut policy = Klink::default();
    policy.prepare(&snapshot);
    let slack_s = slack_s(&policy, &snapshot, 0);
    assert!(-1e30 < slack_s && slack_s < -1e12, "{slack_s}");
}

/// Figure 2: windows of 3 s and watermarks 1, 3, 5 and 7, each ingested as soon as it is made. 3 and 7 sweep, 1 and 5
/// do not.
#[test]
fn figure_2_slack_falls_towards_each_sweeping_watermark() {
    check(0.0, "1 | 3", 3.0);
    check(1.0, "1 | 3", 2.0);
    // 3 is ingested; until it has reached the sink, deadline 6 does not count.
    check(3.0, "1 | 6!3", 0.0);
    check(4.0, "1 | 6!3", -1.0);
    check(4.0, "1 | 6", 2.0);
    check(5.0, "1 | 6", 1.0);
    // Nothing has arrived at 6: the slack is 0 and does not fall.
    check(6.5, "1 | 6", 0.0);
    check(7.0, "1 | 9!7", 0.0);
    check(8.0, "1 | 9!7", -1.0);
    check(8.0, "1 | 9", 1.0);
}

/// Figure 4: two streams, windows of 1 s, watermarks that arrive 1 s late. Each stream has a slack of its own.
#[test]
fn figure_4_a_join_is_as_urgent_as_its_most_urgent_stream() {
    // Both streams have brought watermark 1; then its result is out.
    check(2.0, "1 | 2+1!2 2+1!2", 0.0);
    check(2.0, "1 | 2+1 2+1", 1.0);
    // The lower one brings 2, then the upper one 3, which ends two of its epochs. The result of 2 waited for that.
    check(3.0, "1 | 2+1 3+1!3", 0.0);
    check(4.0, "1 | 4+1!4 3+1!3", -1.0);
    // It is out: the lower stream's 2 has reached the sink. The upper one's 3 has not, and waits for the lower one.
    check(4.5, "1 | 4+1!4 3+1", -0.5);
    // The lower one brings 4, and the result of 3 is out.
    check(5.0, "1 | 4+1!4 5+1!5", -1.0);
    check(5.0, "1 | 4+1 5+1!5", 0.0);
}
