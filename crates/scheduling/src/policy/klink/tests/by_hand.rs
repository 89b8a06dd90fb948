//! Tests of slack computed by hand, in each of its cases and along the two figures of the Klink paper.

use super::*;
use crate::test_bed::{Row, with_copies};

/// Checks the slack of a query in s at `now_s` seconds, under the default settings of Klink.
#[track_caller]
fn check(now_s: f64, query: &str, expected_s: f64) {
    check_with(Klink::default(), now_s, query, expected_s);
}

/// A watermark that has not arrived by the deadline plus the mean delay may arrive at any moment: the slack
/// is then minus the cost.
#[test]
fn without_deviation_slack_is_what_is_left() {
    check(5.0, "1/2e9 | 10", 3.0);
    check(5.0, "1/2e9 | 10+1", 4.0);
    check(15.0, "1/2e9 | 10+1", -2.0);
    // The stamps of the source are ahead of the engine's clock, so the mean delay is negative.
    check(5.0, "1/2e9 | 10+-3", 0.0);
    // Event time before 1970 is replayed, so the delay of watermarks is very long.
    check(5.0, "1/2e9 | -2000000000+2000000010", 3.0);
}

/// Slack if delays have a deviation of 1 s, by the table of h(z) = phi(z) / Q(z): h(-1) = .2876, h(0) =
/// .7979, h(1) = 1.5251, h(10) = 10.0981.
#[test]
fn with_deviation_slack_is_the_mean_of_what_may_still_come() {
    check(9.0, "1 | 10+0~1", 1.287_599_970_9);
    check(10.0, "1 | 10+0~1", 0.797_884_560_8);
    check(11.0, "1/1e9 | 10+0~1", 0.525_135_276_2 - 1.0);
    check(21.0, "1 | 10+1~1", 0.098_093_234_0);
    // Long after the expected arrival of a watermark the slack is about 1 / z.
    check(1_010.0, "1 | 10+0~1", 0.000_999_998_0);
    check(-90.0, "1 | 10+0~1", 100.0);
}

/// While a watermark is on its way to the sinks, slack falls below zero and continues to fall, whatever the
/// stream's next deadline is.
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
    // A stream that is idle or has ended does not count in the slack of its query.
    check(5.0, "1/1e9 | 10+1 away:6 away:!2", 5.0);
}

/// The slack of a query without deadlines counts from the arrival of its oldest record.
#[test]
fn a_query_without_deadlines_ages_from_its_oldest_record_on() {
    for streams in ["", "-", "end", "away:6", "end - away:!4"] {
        check(5.0, &format!("1/1e9@4.5 1@3 0@1 1@4 | {streams}"), -3.0);
    }
    // The query had no input at the evaluation, so input that arrives later is due from the evaluation on.
    let mut snapshot = snapshot(5.0, &["0/1e9@1 |"]);
    let mut policy = Klink::default();
    policy.prepare(&snapshot);
    snapshot.operators[0].as_mut().unwrap().pending = 1;
    assert_eq!(slack_s(&policy, &snapshot, 0), 0.0);
}

/// The watermark may have arrived at any time since the source was last read. So an overdue query whose
/// source waits becomes more urgent with time, and a query that is not overdue does not.
#[test]
fn sources_that_nobody_asks_may_hold_the_watermark() {
    check(15.0, "*1/1e9/0@14 1 | 10+1", -1.0 - 1.0);
    check(15.0, "*1/1e9/0@14 *1/0.1/0@13 *0@12 1 | 10+1", -2.0 - 1.0);
    check(5.0, "*1/1e9/0@1 1 | 10+1", 5.0);
    // When the source was read at 12 s, one deviation after the mean, the watermark had not arrived.
    check(15.0, "*1@12 1 | 10+1~1", 0.525_135_276_2 - 3.0);
    // The watermark was expected at 11 s, when no source was read, so it counts as arrived then.
    check(15.0, "*1@5 1 | 10+1", -4.0);
    // No record waits at the source, or its next record has a stamp in the future. So the watermark has not
    // arrived before now.
    check(15.0, "*0@5 1/2e9 | 10+1", -2.0);
    check(15.0, "*1/2e9/0@20 1 | 10+1", -2.0);
}

/// The cost of pending work includes all operators down to the sinks. A (2 ns, 20 pending) makes .5 of each
/// record, B (4 ns, 5) makes 2, C costs 1 ns (2 pending), D 3. By hand, a record costs 8, 12, 1 and 3 from
/// these operators on.
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

/// Returns the cost in ns of all pending work of a query, which is minus its slack. An operator with 20 records
/// pending, 2 ns and the selectivity .5 stands in front of operators with these costs, each of which is one of
/// `copies` copies. Eight records wait for them together. They feed one operator of 3 ns, for which two records wait.
fn held_ns(costs_ns: &[f64], copies: u32) -> f64 {
    let count = costs_ns.len() as u32;
    let (readers, last): (Vec<u32>, [u32; 1]) = ((1..=count).collect(), [count + 1]);
    let mut rows: Vec<Row<'_>> = vec![(2.0, 0.5, &readers[..])];
    rows.extend(costs_ns.iter().map(|cost_ns| (*cost_ns, 1.0, &last[..])));
    rows.push((3.0, 1.0, &[]));
    let copies_of = |place: usize| if (1..=costs_ns.len()).contains(&place) { copies } else { 1 };
    let all_copies: Vec<u32> = (0..rows.len()).map(copies_of).collect();
    let mut snapshot = with_copies(graph(&rows), &all_copies);
    snapshot.queries = vec![Some(QueryState::default())];
    let pending = [20].into_iter().chain(costs_ns.iter().map(|_| 8 / u64::from(count))).chain([2]);
    for (state, pending) in snapshot.operators.iter_mut().flatten().zip(pending) {
        state.pending = pending;
    }
    let mut policy = Klink::default();
    policy.prepare(&snapshot);
    policy.rank(&snapshot, OperatorId(0)).expect("it can run").score
}

/// A record in front of copies goes to one of them, so it costs the same for every number of copies. By hand, a
/// record costs 2 + .5 * (4 + 3) = 5.5 from the first operator on, 7 from a copy on, and 3 from the last operator on.
/// Copies with unequal costs count with their mean. Branches take every record, so the costs of all branches count: a
/// record costs 2 + .5 * 14 = 9 and 2 + .5 * 28 = 16 from the first operator on.
#[test]
fn a_record_in_front_of_copies_costs_what_one_of_them_takes() {
    let one = 20.0 * 5.5 + 8.0 * 7.0 + 2.0 * 3.0;
    assert_eq!(held_ns(&[4.0], 1), one);
    assert_eq!(held_ns(&[4.0; 2], 2), one);
    assert_eq!(held_ns(&[4.0; 4], 4), one);
    assert_eq!(held_ns(&[2.0, 6.0], 2), one);
    assert_eq!(held_ns(&[4.0; 2], 1), 20.0 * 9.0 + 8.0 * 7.0 + 2.0 * 3.0);
    assert_eq!(held_ns(&[4.0; 4], 1), 20.0 * 16.0 + 8.0 * 7.0 + 2.0 * 3.0);
}

/// Costs stay bounded in a chain of 100 operators, each of which makes a million records out of one.
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

/// Figure 2 of the paper: windows of 3 s and watermarks 1, 3, 5 and 7, each ingested as soon as it is made.
/// The watermarks 3 and 7 reach the end of a window, 1 and 5 do not.
#[test]
fn figure_2_slack_falls_towards_each_sweeping_watermark() {
    check(0.0, "1 | 3", 3.0);
    check(1.0, "1 | 3", 2.0);
    // Watermark 3 is ingested. Until it has reached the sink, the next deadline at 6 does not count.
    check(3.0, "1 | 6!3", 0.0);
    check(4.0, "1 | 6!3", -1.0);
    check(4.0, "1 | 6", 2.0);
    check(5.0, "1 | 6", 1.0);
    // No watermark has arrived by 6 s: the slack is 0 and does not fall.
    check(6.5, "1 | 6", 0.0);
    check(7.0, "1 | 9!7", 0.0);
    check(8.0, "1 | 9!7", -1.0);
    check(8.0, "1 | 9", 1.0);
}

/// Figure 4 of the paper: a query has two streams, windows of 1 s, and watermarks that arrive 1 s late. Each
/// stream has a slack of its own, and the least counts.
#[test]
fn figure_4_a_join_is_as_urgent_as_its_most_urgent_stream() {
    // Both streams have brought the watermark 1, and in the second line its result has reached the sink.
    check(2.0, "1 | 2+1!2 2+1!2", 0.0);
    check(2.0, "1 | 2+1 2+1", 1.0);
    // The lower stream brings the watermark 2, then the upper one 3, which ends two of its epochs. The result
    // of 2 waited for that.
    check(3.0, "1 | 2+1 3+1!3", 0.0);
    check(4.0, "1 | 4+1!4 3+1!3", -1.0);
    // The result is out: the lower stream's watermark 2 has reached the sink. The upper stream's watermark 3
    // has not, and waits for the lower stream.
    check(4.5, "1 | 4+1!4 3+1", -0.5);
    // The lower stream brings the watermark 4, and then the result of 3 reaches the sink.
    check(5.0, "1 | 4+1!4 5+1!5", -1.0);
    check(5.0, "1 | 4+1 5+1!5", 0.0);
}
