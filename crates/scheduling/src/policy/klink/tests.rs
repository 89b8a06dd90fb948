//! Tests of Klink's evaluation, order and variants; slack itself is tested in `tests/by_hand.rs`.
//!
//! A query is written as its operators, each feeding the next, and its streams: `*9/10/.5@3 1 |
//! 10+1~2 !4`. For an operator: `*` marks a source on demand; then records pending, ns per record and
//! selectivity (defaults .1 and 1); `@` the start of its wait in s (default now). For a stream, in s: its
//! deadline, `+` the mean delay, `~` its deviation, `!` the arrival of a watermark that makes the query put
//! out results and is on its way to the sinks; `-` no deadline, `end` none before the end, `away:` idle.

mod by_hand;
mod hostile;

use thalweg_model::EventTime;

use super::*;
use crate::policy::tests::{around_ns, longest_wait_ns};
use crate::policy::{by_name, names};
use crate::snapshot::{DelayStatistics, ProgressMap, QueryState, StreamState};
use crate::test_bed::{Bed, Task, graph};

/// Origin of the instants in test texts, in seconds, for event time and processing time. It is a present-day
/// instant, at which neither fits a double exactly.
const TODAY_S: i64 = 1_800_000_000;

fn processing(at_s: f64) -> ProcessingTime {
    ProcessingTime::from_nanos((TODAY_S as u64 * 1_000_000_000).strict_add_signed((at_s * 1e9) as i64))
}

fn event(at_s: f64) -> EventTime {
    EventTime::from_micros(TODAY_S * 1_000_000 + (at_s * 1e6) as i64)
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn stream(query: QueryId, text: &str) -> StreamState {
    let is_away = text.starts_with("away:");
    let text = text.trim_start_matches("away:");
    let (text, swept) =
        text.split_once('!').map_or((text, None), |(text, swept)| (text, Some(processing(number(swept)))));
    let (text, deviation_s) =
        text.split_once('~').map_or((text, 0.0), |(text, deviation)| (text, number(deviation)));
    let (text, mean_s) = text.split_once('+').map_or((text, 0.0), |(text, mean)| (text, number(mean)));
    let deadline = match text {
        "" | "-" => None,
        "end" => Some(EventTime::MAX),
        deadline => Some(event(number(deadline))),
    };
    let epochs = 16 * u32::from((mean_s, deviation_s) != (0.0, 0.0));
    let (mean_ns, deviation_ns) = (mean_s * 1e9, deviation_s * 1e9);
    let delays = DelayStatistics { epochs, mean_ns, variance_ns2: deviation_ns * deviation_ns };
    // Klink ignores when the next window of the query ends, if it is not one with the latest deadline.
    let next_firing = deadline.map(|_| EventTime::MIN);
    StreamState { query, next_firing, deadline, swept, delays, progress: None, is_away }
}

fn operator(query: QueryId, now_s: f64, text: &str) -> OperatorState {
    let is_source = text.starts_with('*');
    let (text, since_s) = text.split_once('@').map_or((text, now_s), |(text, since)| (text, number(since)));
    let mut numbers = text.trim_start_matches('*').split('/').map(number);
    let since = processing(since_s);
    OperatorState {
        is_source,
        is_on_demand: is_source,
        pending: numbers.next().unwrap_or(0.0) as u64,
        cost_ns_per_record: numbers.next().unwrap_or(0.1),
        selectivity: numbers.next().unwrap_or(1.0),
        ..OperatorState::new(query, since)
    }
}

/// Parses queries written as text into a snapshot at `now_s` seconds.
fn snapshot(now_s: f64, queries: &[&str]) -> Snapshot {
    let mut snapshot = Snapshot { now: processing(now_s), block_records: 384, ..Snapshot::default() };
    for (text, query) in queries.iter().zip((0..).map(QueryId)) {
        let (operators, streams) = text.split_once('|').expect("streams come behind operators");
        let states: Vec<OperatorState> =
            operators.split_whitespace().map(|text| operator(query, now_s, text)).collect();
        for (state, behind) in states.iter().zip((0..states.len()).rev()) {
            let id = snapshot.operators.len() as u32;
            snapshot.operators.push(Some(*state));
            snapshot.order.push(OperatorId(id));
            snapshot.downstream.push(if behind > 0 { vec![OperatorId(id + 1)] } else { vec![] });
        }
        snapshot.queries.push(Some(QueryState::default()));
        snapshot.streams.extend(streams.split_whitespace().map(|text| stream(query, text)));
    }
    snapshot
}

/// Returns the slack in s by which the policy ranks an operator.
fn slack_s(policy: &Klink, snapshot: &Snapshot, operator: u32) -> f64 {
    let rank = policy.rank(snapshot, OperatorId(operator)).expect("it can run");
    assert_eq!(rank.class, BY_SLACK);
    -rank.score / 1e9
}

/// Checks the slack of a query in s at `now_s` seconds.
#[track_caller]
fn check_with(mut policy: Klink, now_s: f64, query: &str, expected_s: f64) {
    let snapshot = snapshot(now_s, &[query]);
    policy.prepare(&snapshot);
    let found_s = slack_s(&policy, &snapshot, snapshot.operators.len() as u32 - 1);
    // The tolerance is about 1 ns, because the default cost of an operator is a tenth of a nanosecond.
    assert!((found_s - expected_s).abs() < 1.5e-9, "{query} at {now_s}: {found_s}, not {expected_s}");
}

/// Checks the order in which operators are ranked, the most urgent first, with the class in front of each
/// group. A is the first operator of the first query.
#[track_caller]
fn check_order(policy: &mut Klink, snapshot: &Snapshot, expected: &str) {
    policy.prepare(snapshot);
    let words = |id: &OperatorId| Some((policy.rank(snapshot, *id)?.word(), id.0));
    let mut ranked: Vec<(u64, u32)> = snapshot.order.iter().filter_map(words).collect();
    ranked.sort_unstable();
    let mut shown = String::new();
    for group in ranked.chunk_by(|one, next| one.0 >> 60 == next.0 >> 60) {
        let letters: String = group.iter().map(|(_, id)| char::from(b'A' + *id as u8)).collect();
        shown += &format!(" {}:{letters}", group[0].0 >> 60);
    }
    assert_eq!(shown.trim_start(), expected);
}

#[test]
fn the_least_slack_goes_first_and_of_one_query_the_sink() {
    check_order(&mut Klink::default(), &snapshot(5.0, &["1 1 | 10", "1 1 1 | 7", "1 | !5"]), "2:FEDCBA");
    // The cost of pending work reduces slack: 8 s - 2 s is less than 7 s.
    check_order(&mut Klink::default(), &snapshot(0.0, &["1 | 7", "1/2e9 | 8"]), "2:BA");
}

/// Within a query, sources run last, the longest wait first. Operators that have waited for more than a cycle
/// run before all others of their query.
#[test]
fn of_one_query_who_has_waited_for_a_cycle_goes_first() {
    let queries = ["*1@4.99 *1@4.95 *1@4.97 1@4.9 1@4.99 | 10"];
    check_order(&mut Klink::default(), &snapshot(5.0, &queries), "2:EDBCA");
    let queries = ["*1@4.99 *1@4.8 *1@4.97 1@4.7 1@4.99 | 10", "1 | 9"];
    let mut waits = snapshot(5.0, &queries);
    check_order(&mut Klink::default(), &waits, "2:FDBECA");
    // If the input is new, it does not matter that the last run ended long ago: the wait is short.
    waits.operators[4].as_mut().unwrap().last_run_ended = processing(1.0);
    check_order(&mut Klink::default(), &waits, "2:FDBECA");
    // The query has more operators than the tie-break of a rank has distinct values.
    let (policy, [source, other]) = (Klink::default(), [0, 4].map(|id| waits.operators[id].unwrap()));
    assert!(policy.tie(&other, 7) < policy.tie(&other, u32::MAX));
    assert!(policy.tie(&other, u32::MAX) < policy.tie(&source, 0));
}

/// Two sources that can always run and a sink share a worker: neither source gets far ahead of the other.
#[test]
fn sources_of_one_query_take_turns() {
    let source = Task { is_on_demand: true, room_records: 500, ..Task::new(20, 1.0, &[2]) };
    let sink = Task { room_records: 2_000, ..Task::new(10, 1.0, &[]) };
    let mut bed = Bed::new(Box::new(Klink::default()), 384, vec![source.clone(), source, sink]);
    for step in 0..10_000 {
        bed.step();
        let made = [0, 1].map(|id: usize| bed.tasks[id].records_in);
        assert!(made[0].abs_diff(made[1]) <= 500, "{made:?} after {step}");
    }
    assert!(bed.tasks[0].records_in > 100_000);
}

/// Slack is computed once per cycle, so that scores can be compared. A new query, or a watermark that makes a
/// query put out results, begins a new cycle.
#[test]
fn slack_stands_for_a_cycle() {
    let (mut klink, mut literal) = (Klink::default(), Klink::literal_variance());
    let mut check = |now_s: f64, queries: &[&str], klink_s: f64, literal_s: f64| {
        let snapshot = snapshot(now_s, queries);
        for (policy, expected_s) in [(&mut klink, klink_s), (&mut literal, literal_s)] {
            policy.prepare(&snapshot);
            let found_s = slack_s(policy, &snapshot, 0);
            assert!((found_s - expected_s).abs() < 1e-8, "{} at {now_s}: {found_s}", policy.name());
        }
    };
    check(0.0, &["1 | 10"], 10.0, 10.0);
    check(0.119, &["1 | 10"], 10.0, 10.0);
    check(0.12, &["1 | 10"], 9.88, 9.88);
    // Another query is submitted, which begins a new cycle, and later ends.
    check(0.13, &["1 | 10", "1 | 7"], 9.87, 9.87);
    check(0.14, &["1 | 10", "1 | 7"], 9.87, 9.87);
    check(0.15, &["1 | 10"], 9.87, 9.87);
    check(0.24, &["1 | 10"], 9.87, 9.87);
    check(0.25, &["1 | 10"], 9.75, 9.75);
    // A watermark of one stream makes the query put out results, then one of the other stream, then one of
    // the first again. Each begins a new cycle.
    check(0.27, &["1 | 10 10!.26"], -0.01, 9.75);
    check(0.28, &["1 | 10 10!.26"], -0.01, 9.75);
    check(0.29, &["1 | 10!.285 10!.26"], -0.03, 9.75);
    check(0.30, &["1 | 10!.295 10"], -0.005, 9.75);
    // A watermark of a stream that is idle or has ended begins no cycle.
    check(0.31, &["1 | 10!.295 away:10!.305"], -0.005, 9.75);
    // The clock was set back, so the slack of the query is computed again.
    check(0.2, &["1 | 10"], 9.8, 9.8);
}

/// An operator that no evaluation has seen yet runs after all others, until the next round.
#[test]
fn newcomers_wait_for_a_round() {
    let mut policy = Klink::default();
    policy.prepare(&snapshot(5.0, &["1 | 10", "0 | 6"]));
    let rank = |policy: &Klink, snapshot: &Snapshot, id| {
        policy.rank(snapshot, OperatorId(id)).map(|rank| rank.class)
    };
    let more = snapshot(5.0, &["1 | 10", "1 | 6", "1 | 7"]);
    let classes = [0, 1, 2].map(|id| rank(&policy, &more, id));
    assert_eq!(classes, [Some(BY_SLACK), Some(BY_SLACK), Some(NOT_EVALUATED)]);
    // The operator of another query has the number of an operator that has ended.
    let other = snapshot(5.0, &["| 10", "1 | 6"]);
    assert_eq!(rank(&policy, &other, 0), Some(NOT_EVALUATED));
    policy.prepare(&other);
    assert_eq!(rank(&policy, &other, 0), Some(BY_SLACK));
}

/// The quantum is the rest of the cycle: 120 ms at 1 us per record, then 20 ms. It is one block after the end
/// of the cycle, or if there was no evaluation yet.
#[test]
fn a_run_takes_the_rest_of_the_cycle() {
    let mut policy = Klink::default();
    let records =
        |policy: &Klink, now_s| policy.quantum(&snapshot(now_s, &["1/1000 | 10"]), OperatorId(0)).records;
    assert_eq!(records(&policy, 5.0), 384);
    policy.prepare(&snapshot(5.0, &["1/1000 | 10"]));
    assert_eq!([5.0, 5.1, 5.1198, 9.0].map(|now_s| records(&policy, now_s)), [120_000, 20_000, 384, 384]);
    assert_eq!(policy.quantum(&snapshot(5.0, &[]), OperatorId(0)).records, 384);
}

/// In memory mode the operators that free the most memory run first. B of the first query releases 90 of 100
/// records; D and E of the second query together release 100 - 20.
#[test]
fn while_memory_is_short_what_frees_most_goes_first() {
    let queries = ["*900 100/10/.1 5 | 20", "60/10/.5 40/10/.28 3 | 10"];
    let mut used = snapshot(5.0, &queries);
    (used.memory_used_bytes, used.memory_limit_bytes) = (79, 100);
    let (mut klink, mut no_memory) = (Klink::default(), Klink::no_memory());
    check_order(&mut klink, &used, "2:FEDCBA");
    used.memory_used_bytes = 80;
    // The second query has less slack, and by the other reading of the paper that counts first.
    check_order(&mut Klink::memory_slack(), &used, "1:ED 2:FCBA");
    // Memory mode begins only at the next evaluation.
    check_order(&mut klink, &used, "2:FEDCBA");
    used.now = processing(5.2);
    check_order(&mut klink, &used, "1:B 2:FEDCA");
    assert!(klink.is_relieving_memory());
    check_order(&mut no_memory, &used, "2:FEDCBA");
    // Most of the input of B is gone, so now the operators of the other query free the most.
    used.now = processing(5.4);
    used.operators[1].as_mut().unwrap().pending = 50;
    check_order(&mut klink, &used, "1:ED 2:FCBA");
    // The variant without memory mode ignores how much memory is used.
    check_order(&mut no_memory, &Snapshot { memory_used_bytes: 1_000, ..used.clone() }, "2:FEDCBA");
    // Half of the memory that was used on entry is free, so memory mode ends.
    used.now = processing(5.6);
    used.memory_used_bytes = 40;
    check_order(&mut klink, &used, "2:FEDCBA");
    assert!(!klink.is_relieving_memory());
}

/// Both queries can release 50 records, so the query with the least slack runs first. With equal slack,
/// sources run after the others. If nothing can be released, slack alone decides.
#[test]
fn of_those_that_free_as_much_the_least_slack_goes_first() {
    let check = |first: &str, second: &str, expected: &str| {
        let mut short = snapshot(5.0, &[first, second]);
        (short.memory_used_bytes, short.memory_limit_bytes) = (9, 10);
        check_order(&mut Klink::default(), &short, expected);
    };
    check("*1 100/10/.5 | 8", "*1 100/10/.5 | 9", "1:B 2:ADC");
    check("*1 100/10/.5 | 9", "*1 100/10/.5 | 8", "1:D 2:CBA");
    check("*1 100/10/.5 | 8", "*1 100/10/.5 | 8", "1:B 2:DAC");
    check("*1 100/10/1 | 9", "*1 100/10/1 | 8", "2:DCBA");
}

/// By the other reading of the paper the least slack decides between all queries that release anything,
/// however much that is. The release decides between equal slacks. The query with the least slack of all
/// releases nothing.
#[test]
fn the_least_slack_of_all_that_free_memory_goes_first() {
    let check = |queries: [&str; 3], ours: &str, by_slack: &str| {
        let mut short = snapshot(5.0, &queries);
        (short.memory_used_bytes, short.memory_limit_bytes) = (9, 10);
        check_order(&mut Klink::default(), &short, ours);
        check_order(&mut Klink::memory_slack(), &short, by_slack);
    };
    let none = "*1 100/10/1 | 7";
    check(["*1 100/10/.5 | 9", "*1 10/10/.5 | 8", none], "1:B 2:FEDCA", "1:D 2:FECBA");
    check(["*1 100/10/.5 | 8", "*1 10/10/.5 | 9", none], "1:B 2:FEADC", "1:B 2:FEADC");
    // The cost of pending work is part of slack, so these costs are equal.
    check(["*1 10/10/.5 | 9", "*1 10/10/.4 | 9", none], "1:D 2:FEBAC", "1:D 2:FEBAC");
}

/// Input behind a source without more data waits beside a join of which only one stream has advanced. After a
/// minute this input runs first.
#[test]
fn nobody_waits_for_longer_than_a_minute() {
    let queries = ["1@5 | 1000", "1 1 | !4 1000"];
    check_order(&mut Klink::default(), &snapshot(65.0, &queries), "2:CBA");
    check_order(&mut Klink::default(), &snapshot(65.1, &queries), "0:A 2:CB");
    for literal in [Klink::lazy(), Klink::literal_variance()] {
        let classes = (0..3).map({
            let (mut literal, snapshot) = (literal, snapshot(1e3, &queries));
            literal.prepare(&snapshot);
            move |id| literal.rank(&snapshot, OperatorId(id)).map(|rank| rank.class)
        });
        assert!(!classes.flatten().any(|class| class == 0), "the literal forms have no bound");
    }
}

/// Algorithm 1 to the letter: its minimum starts at 0, so a query with positive slack is not chosen. Such a
/// query runs only when nothing else can.
#[test]
fn the_lazy_form_chooses_nobody_who_has_time() {
    check_order(&mut Klink::lazy(), &snapshot(5.0, &["1 | 10", "1/2e9 | 7", "1 | !5", "1/3e9 | 7"]), "2:DCB");
    assert!(Klink::lazy().conserves_work());
    // The variant that follows Algorithm 1 to the letter frees memory, too, when memory is short.
    let mut short = snapshot(5.0, &["*1 9/10/.5 1 | 10"]);
    (short.memory_used_bytes, short.memory_limit_bytes) = (9, 10);
    check_order(&mut Klink::lazy(), &short, "1:B");
}

/// The literal variance is divided by the number of epochs. With 16 epochs the deviation is a quarter: 1 s
/// becomes .25 s, and z = 1 becomes 4. h(4) = 4.2256.
#[test]
fn the_literal_variance_is_that_of_the_mean() {
    check_with(Klink::literal_variance(), 11.0, "1 | 10+0~1", 0.25 * 0.225_607_144_5);
    check_with(Klink::literal_variance(), 5.0, "1 | 10+1", 6.0);
}

/// The slack by the sum of Eq. 8 as in `slack/tests.rs`, with r = 1 s: the steps from 8 on have their ends at
/// 9 to 13. An overdue query has slack 0, whatever its cost.
#[test]
fn the_sum_has_a_slack_of_its_own() {
    let settings = KlinkSettings {
        cycle_ns: 1_000_000_000,
        estimate: Estimate::Sum { reach_deviations: 2.0 },
        ..KlinkSettings::default()
    };
    check_with(Klink::new(settings), 0.0, "1 | 10+0~1", 10.300_450_270);
    check_with(Klink::new(settings), 15.0, "1/2e9 | 10+0~1", 0.0);
    // The sum has 34 steps of 120 ms; the expected value was computed by another program.
    check_with(Klink::sum(), 0.0, "1 | 10+0~1", 9.650_519_885_7);
    check_with(Klink::sum(), 5.0, "1/2e9 | 10", 3.12);
    // If the watermark has been ingested, its arrival is known and nothing is summed.
    check_with(Klink::sum(), 15.0, "1/2e9 | 20+0~1!12", -5.0);
    // The source has not run since 14 s: the sum starts there, and ends one step of 1 s too late.
    check_with(Klink::new(settings), 15.0, "*1/2e9/0@14 1 | 14.5", 14.5 + 1.0 - 15.0 - 2.0);
}

/// Event time runs at twice the speed of the clock, so the stamp 10 is observed at 6 s, whatever the delays
/// were.
#[test]
fn the_regression_follows_its_line_and_nothing_else() {
    let check_line = |mut policy: Klink, now_s: f64, stream: &str, expected_s: f64| {
        let mut snapshot = snapshot(now_s, &[&format!("1 | {stream}")]);
        let line = ProgressMap { event_time: event(2.0), observed: processing(2.0), slope: 0.5 };
        snapshot.streams[0].progress = Some(line);
        policy.prepare(&snapshot);
        let found_s = slack_s(&policy, &snapshot, 0);
        assert!((found_s - expected_s).abs() < 1.5e-9, "{stream} at {now_s}: {found_s}");
    };
    check_line(Klink::regression(), 1.0, "10+3~2", 5.0);
    check_line(Klink::regression(), 7.0, "10+3~2", 0.0);
    check_line(Klink::regression(), 7.0, "20+3~2!5", -2.0);
    check_line(Klink::default(), 1.0, "10+3", 12.0);
    // Without a regression line, the regression uses the mean of delays. The other variants ignore a line.
    check_with(Klink::regression(), 1.0, "1 | 10+3", 12.0);
}

fn every_form() -> [Klink; 7] {
    [
        Klink::default(),
        Klink::no_memory(),
        Klink::memory_slack(),
        Klink::sum(),
        Klink::lazy(),
        Klink::literal_variance(),
        Klink::regression(),
    ]
}

/// Every name of a Klink variant has different settings. The variants to the letter leave out the parts that
/// are ours.
#[test]
fn each_name_is_another_form() {
    let all = every_form();
    let klinks: Vec<&str> = names().into_iter().filter(|name| name.starts_with(NAME)).collect();
    assert_eq!(klinks, all.each_ref().map(|policy| policy.name));
    for (index, policy) in all.iter().enumerate() {
        assert!(all[..index].iter().all(|other| other.settings != policy.settings));
        let is_literal = [LAZY_NAME, LITERAL_VARIANCE_NAME].contains(&policy.name);
        assert_eq!(policy.settings.evaluates_sweeps, !is_literal);
    }
}

/// Users set r, f, h and b in every form that has them. The defaults of these settings change no form.
#[test]
fn settings_change_each_form_and_defaults_none() {
    let settings = Settings {
        klink_cycle_ns: 7,
        klink_confidence_percent: 99.0,
        klink_epochs: 9,
        klink_memory_share: 0.5,
        ..Settings::default()
    };
    for policy in every_form() {
        let usual = policy.settings;
        assert_eq!(policy.clone().with(&Settings::default()).settings, usual, "{}", policy.name);
        let set = policy.with(&settings).settings;
        assert_eq!((set.cycle_ns, set.epochs), (7, 9));
        let has_memory_mode = usual.memory_share.is_finite();
        assert_eq!(set.memory_share, if has_memory_mode { 0.5 } else { f64::INFINITY });
        match set.estimate {
            Estimate::Sum { reach_deviations } => assert!((reach_deviations - 2.575_829_303_5).abs() < 1e-9),
            other => assert_eq!(other, usual.estimate),
        }
    }
}

/// The confidence f that users set decides how far the sum of Eq. 8 reaches: section 6.2 varies it, 95 % beside
/// 90 %. Delays have a mean of 0 s and a deviation of 1 s, and it is the deadline, so that steps begin at 0 s. A
/// step of 1.6448 s has a second one within the range from f = 90 % on, which begins at 1.6448 deviations, and one
/// of 1.645 s not before 90.1 %.
#[test]
fn the_confidence_decides_how_far_the_sum_reaches() {
    let slack_s_of = |klink_confidence_percent: f64, klink_cycle_ns: u64| {
        let settings = Settings { klink_confidence_percent, klink_cycle_ns, ..Settings::default() };
        let mut policy = Klink::sum().with(&settings);
        let snapshot = snapshot(10.0, &["1 | 10+0~1"]);
        policy.prepare(&snapshot);
        slack_s(&policy, &snapshot, 0)
    };
    // The first step holds nine tenths of what may still come. The second one ends at twice the step and holds
    // nearly all of the rest.
    let (one_s, two_s) = (1.6448 * 0.9, 1.6448 * 0.9 + 2.0 * 1.6448 * 0.099);
    for (percent, cycle_ns, expected_s) in [
        (89.9, 1_644_800_000, one_s),
        (90.0, 1_644_800_000, two_s),
        (90.1, 1_644_800_000, two_s),
        (89.9, 1_645_000_000, one_s),
        (90.0, 1_645_000_000, one_s),
        (90.1, 1_645_000_000, two_s),
        (95.0, 1_645_000_000, two_s),
    ] {
        let found_s = slack_s_of(percent, cycle_ns);
        assert!((found_s - expected_s).abs() < 0.002, "{percent} % in steps of {cycle_ns} ns: {found_s}");
    }
}

/// A variance of delays may be negative by rounding, or NaN by a division by zero epochs: both count as zero.
#[test]
fn a_variance_that_is_none_counts_as_zero() {
    for variance_ns2 in [-1.0, f64::NAN] {
        for mut policy in [Klink::default(), Klink::sum(), Klink::literal_variance()] {
            let expected_s = if policy.name == SUM_NAME { 6.12 } else { 6.0 };
            let mut snapshot = snapshot(5.0, &["1 | 10+1"]);
            snapshot.streams[0].delays.variance_ns2 = variance_ns2;
            policy.prepare(&snapshot);
            assert!((slack_s(&policy, &snapshot, 0) - expected_s).abs() < 1.5e-9, "{}", policy.name);
        }
    }
}

/// With cycles of 1 ms, no operator waits much longer than it takes to process once everything that the
/// others hold, as under round robin. `policy/tests.rs` tests longer cycles.
#[test]
fn nobody_starves_in_short_cycles() {
    let settings = KlinkSettings { cycle_ns: 1_000_000, ..KlinkSettings::default() };
    for seed in 0..50 {
        let waited_ns = longest_wait_ns(Box::new(Klink::new(settings)), seed);
        let around_ns = around_ns(seed);
        assert!(waited_ns <= 12_000_000 + 2 * around_ns, "{seed}: {waited_ns} ns of {around_ns}");
    }
}
