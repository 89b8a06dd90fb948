//! Tests of sources under a load: they emit the records of the load as one source, in splits, and after going
//! back to a saved position.

use super::super::course::Walk;
use super::*;

fn messages(records: u64) -> Load {
    Load { message_records: Some(records), ..Load::default() }
}

/// Returns a source under this load, whose first record is due at second 10 and which begins at this rate.
fn under(load: &Load, rate_per_s: u64) -> Paced<Indices<false>> {
    rate(rate_per_s).with_load(load).unwrap()
}

/// Polls a source as often as needed, and returns all records and latency markers that come by an instant,
/// and the last status.
fn drained_by(
    source: &mut Paced<impl Generate<Item = (u64, EventTime)>>,
    now_ns: u64,
) -> (Vec<(u64, EventTime)>, Vec<u64>, SourceStatus) {
    let (mut all, mut markers) = (Vec::new(), Vec::new());
    loop {
        let (records, polled) = poll(source, Poll { now_ns, limit: usize::MAX, room: usize::MAX });
        all.extend(records.iter().map(|record| (record.value.0, record.event_time)));
        assert!(records.iter().all(|record| record.value.1 == record.event_time));
        markers.extend(polled.latency.map(|intended| intended.as_nanos()));
        if !matches!(polled.status, SourceStatus::DueSince(_)) {
            return (all, markers, polled.status);
        }
    }
}

#[test]
fn a_message_comes_whole_with_one_marker() {
    let mut source = under(&messages(3), 3);
    let first = "0@10000000 1@10000000 2@10000000 L10000000000 idle until 11000000000";
    assert_eq!(shown(&mut source, 10 * SECOND - 1, 9), "idle until 10000000000");
    assert_eq!(shown(&mut source, 10 * SECOND, 9), first);
    // After a stall of two seconds the records have the same event times as without it, and come as fast as
    // they are taken.
    assert_eq!(shown(&mut source, 13 * SECOND, 2), "3@11000000 4@11000000 due since 11000000000");
    assert_eq!(shown(&mut source, 13 * SECOND, 9), "5@11000000 L11000000000 due since 12000000000");
    assert_eq!(shown(&mut source, 13 * SECOND, 0), "due since 12000000000");
    let (rest, markers, status) = drained_by(&mut source, 13 * SECOND);
    assert_eq!((rest.len(), markers), (6, vec![12 * SECOND, 13 * SECOND]));
    assert_eq!(status, SourceStatus::IdleUntil(ProcessingTime::from_nanos(14 * SECOND)));
}

/// A delayed record has the event time at which it was sent, and comes when it arrives. The latency marker
/// behind it shows the difference.
#[test]
fn what_is_on_its_way_has_not_come() {
    let delay = Delay::Uniform { max: Span::from_millis(40) };
    let load = Load { delay, seed: 2, ..messages(2) };
    let mut source = under(&load, 200);
    let course = Walk::new(&Course::new(&load, 200));
    let late_ns = course.times().due_ns;
    assert!(late_ns > 10 * MILLI, "{late_ns} ns: a seed whose first delay can be told from the next message");
    let due = 10 * SECOND + late_ns;
    assert_eq!(shown(&mut source, due - 1, 9), format!("idle until {due}"));
    let first = "0@10000000 1@10000000 L10000000000";
    // The source is polled 30 ms too late, and the records have arrived when they were due all the same.
    assert!(shown(&mut source, due + 30 * MILLI, 2).starts_with(first));
    assert_eq!(source.arrived().map(ProcessingTime::as_nanos), Some(due));
}

#[test]
fn it_ends_as_any_source() {
    let stop = ProcessingTime::from_nanos(10 * SECOND + 5);
    let mut source = under(&messages(2), 2).stopping_at(stop);
    assert_eq!(
        shown(&mut source, 10 * SECOND, 9),
        "0@10000000 1@10000000 L10000000000 idle until 10000000005"
    );
    assert_eq!(shown(&mut source, 10 * SECOND + 5, 9), "ended");
    let mut source = under(&messages(2), 2).with_limit(3);
    assert_eq!(
        shown(&mut source, 20 * SECOND, 9),
        "0@10000000 1@10000000 L10000000000 due since 11000000000"
    );
    assert_eq!(shown(&mut source, 20 * SECOND, 9), "2@11000000 ended");
}

/// A source under a load holds the memory of 128 records with their times, and of a thousand sums of Zipf's
/// shares.
#[test]
fn what_is_held_has_a_bound() {
    let load = Load { delay: Delay::Zipf { exponent: 1.0 }, ..messages(1_000) };
    let mut source = under(&load, 1_000_000);
    drained_by(&mut source, 12 * SECOND);
    assert_eq!(source.held_bytes(), 128 * (24 + 24) + 1_000 * 8 + 16);
}

#[test]
fn what_a_source_s_load_may_not_be() {
    let code = |source: Result<Paced<Indices<false>>, LoadError>| source.map(|_| ()).unwrap_err().code();
    assert_eq!(code(rate(5).with_load(&messages(0))), "LOAD_OUT_OF_BOUNDS");
    assert_eq!(code(drain(5).with_load(&Load::default())), "LOAD_WITHOUT_RATE");
    let shuffled = rate(1_000).with_disorder(Span::from_secs(1), 7);
    assert_eq!(code(shuffled.with_load(&Load::default())), "LOAD_IN_DISORDER");
}

#[test]
fn a_position_keeps_its_load() {
    let load = Load { arrivals: Arrivals::Poisson, delay: Delay::Zipf { exponent: 1.0 }, ..messages(7) };
    let mut first = under(&load, 70_000);
    let (before, ..) = drained_by(&mut first, 11 * SECOND);
    assert!(before.len() > 1_000, "{}", before.len());
    let mut second = under(&load, 70_000);
    second.load(&mut StateReader::new(&saved(&first))).unwrap();
    assert_eq!(drained_by(&mut second, 12 * SECOND), drained_by(&mut first, 12 * SECOND));
    for other in [&messages(7), &Load { seed: 1, ..load.clone() }] {
        let error = under(other, 70_000).load(&mut StateReader::new(&saved(&first))).unwrap_err();
        assert!(error.to_string().contains("saved under Load {"), "{error}");
    }
    let error = rate(70_000).load(&mut StateReader::new(&saved(&first))).unwrap_err();
    assert!(error.to_string().contains("not no load"), "{error}");
}

fn any_load() -> impl Strategy<Value = Load> {
    let arrivals =
        prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson), Just(Arrivals::Pareto { shape: 1.5 })];
    let delay = prop_oneof![
        Just(Delay::None),
        Just(Delay::Uniform { max: Span::from_millis(30) }),
        Just(Delay::Zipf { exponent: 2.0 }),
    ];
    let steps = prop_oneof![Just(Vec::new()), Just(vec![(7, 30_000), (40, 200_000)])];
    (arrivals, delay, steps, prop::option::of(1..2_000u64), any::<u64>()).prop_map(
        |(arrivals, delay, steps, message_records, seed)| {
            let step = |(millis, rate_per_s)| RateStep { from: Span::from_millis(millis), rate_per_s };
            Load { steps: steps.into_iter().map(step).collect(), arrivals, message_records, delay, seed }
        },
    )
}

proptest! {
    /// A load without changes gives the same records and latency markers as a steady rate.
    #[test]
    fn a_steady_load_is_a_rate(
        rate_per_s in prop_oneof![1..50u64, 9_999..10_003u64, 10_000..300_000u64],
        polls_ms in prop::collection::vec(0..90u64, 1..20),
    ) {
        let (mut steady, mut under) = (rate(rate_per_s), under(&Load::default(), rate_per_s));
        let mut now_ns = 10 * SECOND - 1;
        for millis in polls_ms {
            prop_assert_eq!(drained_by(&mut under, now_ns), drained_by(&mut steady, now_ns));
            prop_assert_eq!(under.spacing_ns(), steady.spacing_ns());
            now_ns += millis * MILLI;
        }
    }

    /// With any sequence of polls, the splits together make the records of one source: each once, in order within
    /// each split, none before it arrives, and with as many markers. [`Stamps`] gives the same stamps.
    #[test]
    fn splits_make_the_records_of_a_load(
        load in any_load(),
        count in 1..5usize,
        skew in prop::option::of(0.0..3.0f64),
        polls in prop::collection::vec((0..5usize, 1..3_000usize, 0..40u64), 1..60),
    ) {
        let whole = || under(&load, 100_000);
        let even = SplitShares::under(count, &load, 100_000).unwrap();
        let shares = skew.map_or(even.clone(), |exponent| even.skewed(exponent));
        let mut splits = if skew.is_some() { whole().split_by(&shares) } else { whole().splits(count) };
        let mut made: Vec<Vec<(u64, EventTime)>> = vec![Vec::new(); count];
        let (mut now_ns, mut markers) = (10 * SECOND, 0);
        for (split, limit, millis) in polls {
            now_ns += millis * MILLI;
            let split = split % count;
            let (records, polled) = poll(&mut splits[split], Poll { now_ns, limit, room: usize::MAX });
            prop_assert!(records.len() <= limit);
            made[split].extend(records.iter().map(|record| (record.value.0, record.event_time)));
            markers += usize::from(polled.latency.is_some());
        }
        prop_assert!(made.iter().all(|records| records.is_sorted()));
        let counts: Vec<u64> = made.iter().map(|records| records.len() as u64).collect();
        let places = shares.places(&counts);
        let mut found = made.concat();
        found.sort_unstable();
        let indexes: Vec<u64> = found.iter().map(|(index, _)| *index).collect();
        prop_assert!(indexes.iter().copied().eq(places.into_iter().flatten()), "{indexes:?}");

        let last = indexes.last().map_or(0, |last| last + 1);
        let (all, marked, _) = drained_by(&mut whole().with_limit(last), u64::MAX - 1);
        prop_assert_eq!(all.len() as u64, last);
        prop_assert!(found.iter().all(|(index, stamp)| all[*index as usize] == (*index, *stamp)));
        let start = ProcessingTime::from_nanos(10 * SECOND);
        let mut stamps = Stamps::new(&load, 100_000, start).unwrap();
        prop_assert!(found.iter().all(|(index, stamp)| stamps.at(*index) == *stamp));
        prop_assert!(last < found.len() as u64 + 1 || markers <= marked.len());
        let arrived = (now_ns - 10 * SECOND, load.mean_rate_per_s(100_000, Span::ZERO..Span::from_secs(2)));
        prop_assert!(arrived.1.is_ok());
        let mut course = Walk::new(&Course::new(&load, 100_000));
        if let Some(last) = last.checked_sub(1) {
            course.pass(last);
            prop_assert!(course.times().due_ns <= arrived.0);
        }
        if found.len() as u64 == last {
            prop_assert_eq!(markers, marked.len());
        }
    }
}

#[test]
fn a_split_of_a_load_goes_on_where_it_was_saved() {
    let load = Load { arrivals: Arrivals::Poisson, ..Load::default() };
    let splits = |exponent| {
        let shares = SplitShares::under(3, &load, 100_000).unwrap().skewed(exponent);
        under(&load, 100_000).split_by(&shares)
    };
    let mut split = splits(1.0).swap_remove(1);
    drained_by(&mut split, 10 * SECOND + 300 * MILLI);
    let mut loaded = splits(1.0).swap_remove(1);
    loaded.load(&mut StateReader::new(&saved(&split))).unwrap();
    assert_eq!(drained_by(&mut loaded, 11 * SECOND), drained_by(&mut split, 11 * SECOND));
    let error = splits(2.0).swap_remove(1).load(&mut StateReader::new(&saved(&split))).unwrap_err();
    assert!(error.to_string().contains("split 1 of 3"), "{error}");
}
