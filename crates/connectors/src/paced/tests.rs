//! Tests of paced generators. A poll is shown as `index@event_time_us ...`, then the latency marker (`L<ns>`)
//! and the status of the source.

use proptest::prelude::*;

use super::*;
use crate::testing::VecOutput;

mod load;
mod positions;

/// Generator whose values are their own indices and the event times that they were made with. `IS_CHEAP`
/// tells whether a value is made when it is inspected, or made once and kept.
struct Indices<const IS_CHEAP: bool>;

/// The generator whose values are made once and kept.
const INDICES: Indices<false> = Indices;

impl<const IS_CHEAP: bool> Generate for Indices<IS_CHEAP> {
    type Item = (u64, EventTime);

    const IS_CHEAP: bool = IS_CHEAP;

    fn value(&self, index: u64, event_time: EventTime) -> (u64, EventTime) {
        (index, event_time)
    }

    fn cache_bytes(&self) -> usize {
        64
    }
}

const SECOND: u64 = 1_000_000_000;
const MILLI: u64 = 1_000_000;

fn drain(nominal_rate_per_s: u64) -> Paced<Indices<false>> {
    let pace = Pace::Drain { nominal_rate_per_s, start: EventTime::from_micros(-10) };
    Paced::new(Arc::new(INDICES), pace).unwrap()
}

fn rate(rate_per_s: u64) -> Paced<Indices<false>> {
    let pace = Pace::Rate { rate_per_s, start: ProcessingTime::from_nanos(10 * SECOND), time_scale: 1 };
    Paced::new(Arc::new(INDICES), pace).unwrap()
}

#[derive(Clone, Copy)]
struct Poll {
    now_ns: u64,
    limit: usize,
    room: usize,
}

fn poll<G>(source: &mut Paced<G>, poll: Poll) -> (Vec<Record<(u64, EventTime)>>, Polled)
where
    G: Generate<Item = (u64, EventTime)>,
{
    let mut output = VecOutput::with_room(poll.room);
    let polled = source.poll(ProcessingTime::from_nanos(poll.now_ns), poll.limit, &mut output).unwrap();
    (output.records, polled)
}

fn shown(source: &mut Paced<impl Generate<Item = (u64, EventTime)>>, now_ns: u64, limit: usize) -> String {
    let (records, polled) = poll(source, Poll { now_ns, limit, room: usize::MAX });
    let mut shown: Vec<String> = records
        .iter()
        .map(|record| format!("{}@{}", record.value.0, record.event_time.as_micros()))
        .collect();
    shown.extend(polled.latency.map(|intended| format!("L{}", intended.as_nanos())));
    shown.push(match polled.status {
        SourceStatus::Ready => "ready".to_owned(),
        SourceStatus::DueSince(instant) => format!("due since {}", instant.as_nanos()),
        SourceStatus::IdleUntil(instant) => format!("idle until {}", instant.as_nanos()),
        SourceStatus::Ended => "ended".to_owned(),
    });
    shown.join(" ")
}

#[test]
fn drained_records_come_as_fast_as_they_are_taken() {
    let mut source = drain(300_000).with_limit(5);
    assert_eq!(shown(&mut source, 0, 3), "0@-10 1@-7 2@-4 ready");
    assert_eq!(shown(&mut source, 0, 0), "ready");
    assert_eq!(shown(&mut source, 0, 3), "3@0 4@3 ended");
    assert_eq!(shown(&mut source, 0, 3), "ended");
    assert_eq!(shown(&mut drain(1).with_limit(0), 0, 3), "ended");
}

/// At a low rate no record comes before its time. Then one record comes per poll, each followed by a latency
/// marker.
#[test]
fn a_low_rate_marks_every_record() {
    let mut source = rate(3);
    assert_eq!(shown(&mut source, 10 * SECOND - 1, 9), "idle until 10000000000");
    assert_eq!(shown(&mut source, 10 * SECOND, 9), "0@10000000 L10000000000 idle until 10333333333");
    assert_eq!(shown(&mut source, 10_333_333_332, 9), "idle until 10333333333");
    // After a stall of a second, every record that was due in this second comes, with the same event times as
    // without the stall.
    assert_eq!(shown(&mut source, 11 * SECOND, 9), "1@10333333 L10333333333 due since 10666666666");
    assert_eq!(shown(&mut source, 11 * SECOND, 9), "2@10666666 L10666666666 due since 11000000000");
    assert_eq!(shown(&mut source, 11 * SECOND, 9), "3@11000000 L11000000000 idle until 11333333333");
}

/// At 20,000 records/s a poll ends with record 20, the first at 1 ms, and with every 20th record from there,
/// since a latency marker follows these.
#[test]
fn a_high_rate_marks_every_millisecond() {
    let mut source = rate(20_000);
    let mut cuts = Vec::new();
    loop {
        let (records, polled) =
            poll(&mut source, Poll { now_ns: 10 * SECOND + 2_400_000, limit: 4_096, room: 4_096 });
        cuts.push((records.len(), polled.latency.map(|intended| intended.as_nanos() - 10 * SECOND)));
        if let SourceStatus::IdleUntil(instant) = polled.status {
            assert_eq!(instant.as_nanos(), 10 * SECOND + 2_400_000 + 50_000);
            break;
        }
    }
    assert_eq!(cuts, [(21, Some(MILLI)), (20, Some(2 * MILLI)), (8, None)]);
}

/// A record has arrived when it was due, however late the source is polled. A drained source has no arrivals.
#[test]
fn a_record_arrives_when_it_is_due() {
    let spacing_ns = 50_000;
    let mut source = rate(20_000);
    assert_eq!(source.arrived(), None, "nothing is made yet");
    let last = |source: &mut Paced<Indices<false>>, now_ns, limit| {
        let (records, _) = poll(source, Poll { now_ns, limit, room: 4_096 });
        (records.last().map(|record| record.value.0), source.arrived().map(ProcessingTime::as_nanos))
    };
    assert_eq!(last(&mut source, 12 * SECOND, 10), (Some(9), Some(10 * SECOND + 9 * spacing_ns)));
    assert_eq!(last(&mut source, 12 * SECOND, 5), (Some(14), Some(10 * SECOND + 14 * spacing_ns)));
    assert_eq!(last(&mut source, 12 * SECOND, 0), (None, Some(10 * SECOND + 14 * spacing_ns)));
    // The first split makes records in runs; between two of them the other split makes its own.
    let mut split = rate(20_000).splits(2).remove(0);
    let now_ns = 20 * SECOND;
    for _ in 0..100 {
        let (index, arrived_ns) = last(&mut split, now_ns, 7);
        let Some(index) = index else { continue };
        assert_eq!(arrived_ns, Some(10 * SECOND + index * spacing_ns));
    }
    let mut drained = drain(1_000_000);
    assert_eq!(poll(&mut drained, Poll { now_ns: 0, limit: 9, room: 2 }).0.len(), 2);
    assert_eq!(drained.arrived(), None);
}

/// Without room in the output no record is made, and a latency marker waits for the record that it follows.
#[test]
fn room_is_respected() {
    let mut source = rate(1_000);
    let (records, polled) = poll(&mut source, Poll { now_ns: 11 * SECOND, limit: 9, room: 0 });
    let due = ProcessingTime::from_nanos(10 * SECOND);
    assert_eq!((records.len(), polled), (0, Polled::new(SourceStatus::DueSince(due))));
    let mut source = drain(1_000_000);
    assert_eq!(poll(&mut source, Poll { now_ns: 0, limit: 9, room: 2 }).0.len(), 2);
    assert_eq!(shown(&mut source, 0, 1), "2@-8 ready");
}

#[test]
fn ends() {
    let stop = ProcessingTime::from_nanos(11 * SECOND);
    let mut source = drain(1_000_000).stopping_at(stop);
    assert_eq!(shown(&mut source, 11 * SECOND - 1, 1), "0@-10 ready");
    assert_eq!(shown(&mut source, 11 * SECOND, 1), "ended");

    let mut source = rate(1).stopping_at(ProcessingTime::from_nanos(10 * SECOND + 5));
    assert_eq!(shown(&mut source, 10 * SECOND, 9), "0@10000000 L10000000000 idle until 10000000005");
    assert_eq!(shown(&mut source, 10 * SECOND + 5, 9), "ended");

    // Records that were due and not taken before the source was stopped are not sent.
    let mut source = rate(1_000).stopping_at(stop);
    assert_eq!(shown(&mut source, 11 * SECOND, 9), "ended");

    let mut source = rate(2).with_limit(2);
    assert_eq!(shown(&mut source, 20 * SECOND, 9), "0@10000000 L10000000000 due since 10500000000");
    assert_eq!(shown(&mut source, 20 * SECOND, 9), "1@10500000 L10500000000 ended");
}

#[test]
fn rates_have_bounds() {
    for rate_per_s in [0, 1_000_000_001, u64::MAX] {
        for pace in [
            Pace::Drain { nominal_rate_per_s: rate_per_s, start: EventTime::EPOCH },
            Pace::Rate { rate_per_s, start: ProcessingTime::ZERO, time_scale: 1 },
        ] {
            let error = Paced::new(Arc::new(INDICES), pace).map(|_| ()).unwrap_err();
            assert_eq!(
                (error, error.code()),
                (PaceError::RateOutOfBounds { rate_per_s }, "RATE_OUT_OF_BOUNDS")
            );
        }
    }
    let told = "rate is 0 records/s, but must be within 1 and 1000000000 records/s; drain the generator to have records as \
                fast as they are taken";
    assert_eq!(PaceError::RateOutOfBounds { rate_per_s: 0 }.to_string(), told);
}

/// The records that are taken from a poll's input are those that were inspected before. A selection removes
/// all records from the input and hands over some of them.
#[test]
fn the_input_of_a_poll() {
    struct Probe(Vec<u64>);
    impl Output<(u64, EventTime)> for Probe {
        fn room(&self) -> usize {
            100
        }
        fn push(&mut self, record: Record<(u64, EventTime)>) {
            self.0.push(record.value.0);
        }
        fn push_all<I: Input<(u64, EventTime)>>(&mut self, input: &mut I) {
            assert!(input.is_ascending());
            input.take_each(2, |record| self.push(record));
            assert_eq!((input.remaining(), input.inspect(3, |record| *record).value.0), (7, 5));
            input.take_selected(5, &[0, 3], |record| self.push(record));
            assert_eq!(input.take().map(|record| record.value.0), Some(7));
        }
    }
    fn check<const IS_CHEAP: bool>() {
        let pace = Pace::Drain { nominal_rate_per_s: 1_000_000, start: EventTime::from_micros(-10) };
        let mut source = Paced::new(Arc::new(Indices::<IS_CHEAP>), pace).unwrap();
        let mut probe = Probe(Vec::new());
        source.poll(ProcessingTime::ZERO, 9, &mut probe).unwrap();
        assert_eq!(probe.0, [0, 1, 2, 5]);
        assert_eq!(shown(&mut source, 0, 1), "8@-2 ready", "goes on behind what was taken");
    }
    check::<false>();
    check::<true>();
}

/// The buffer of made records is bounded in bytes: it holds a hundred or so small values, a few large ones,
/// or one huge one.
#[test]
fn what_is_kept_has_a_bound_in_bytes() {
    struct Wide<const WORDS: usize>;
    impl<const WORDS: usize> Generate for Wide<WORDS> {
        type Item = [u64; WORDS];
        fn value(&self, index: u64, _event_time: EventTime) -> [u64; WORDS] {
            [index; WORDS]
        }
        fn cache_bytes(&self) -> usize {
            0
        }
    }
    fn check<const WORDS: usize>(kept_records: usize) {
        let pace = Pace::Drain { nominal_rate_per_s: 1, start: EventTime::EPOCH };
        let mut source = Paced::new(Arc::new(Wide::<WORDS>), pace).unwrap();
        assert_eq!(source.held_bytes(), 0);
        let mut output = VecOutput::with_room(usize::MAX);
        source.poll(ProcessingTime::ZERO, 300, &mut output).unwrap();
        assert!((0..).zip(&output.records).all(|(index, record)| record.value == [index; WORDS]));
        assert_eq!((output.records.len(), source.held_bytes()), (300, kept_records * 8 * (WORDS + 1)));
    }
    check::<2>(128);
    check::<255>(8);
    check::<5_000>(1);
}

fn saved(source: &Paced<Indices<false>>) -> Vec<u8> {
    let mut state = StateWriter::default();
    source.save(&mut state).unwrap();
    state.into_bytes()
}

/// A source at a rate that goes back to a saved position keeps its first start, so records that were due in
/// between come at once.
#[test]
fn going_back_to_a_position() {
    let mut first = rate(2);
    shown(&mut first, 10 * SECOND, 9);
    let pace = Pace::Rate { rate_per_s: 2, start: ProcessingTime::from_nanos(77 * SECOND), time_scale: 1 };
    let mut second = Paced::new(Arc::new(INDICES), pace).unwrap().with_limit(2);
    second.load(&mut StateReader::new(&saved(&first))).unwrap();
    assert_eq!(shown(&mut second, 77 * SECOND, 9), "1@10500000 L10500000000 ended");

    let mut drained = drain(1_000_000);
    shown(&mut drained, 0, 7);
    let mut second = drain(1_000_000);
    second.load(&mut StateReader::new(&saved(&drained))).unwrap();
    assert_eq!(shown(&mut second, 0, 1), "7@-3 ready");
}

#[test]
fn positions_of_another_pace_are_refused() {
    let mut source = drain(5);
    shown(&mut source, 0, 7);
    let bytes = saved(&source);
    for other in [&mut drain(6), &mut rate(5), &mut drain(5).with_limit(6)] {
        assert!(other.load(&mut StateReader::new(&bytes)).is_err());
    }
    assert!(drain(5).load(&mut StateReader::new(&bytes[..1])).is_err());
    assert!(drain(5).with_limit(7).load(&mut StateReader::new(&bytes)).is_ok());
}

/// A drained source with disorder makes the same records as without, and none comes too late. Here three
/// records lie within the 2 µs of the disorder, and four such runs are made.
#[test]
fn disorder_shuffles_the_same_records() {
    let mut source = drain(1_000_000).with_disorder(Span::from_micros(2), 7).with_limit(12);
    let (first, _) = poll(&mut source, Poll { now_ns: 0, limit: 9, room: 5 });
    let (rest, polled) = poll(&mut source, Poll { now_ns: 0, limit: 9, room: 9 });
    assert_eq!((first.len(), rest.len(), polled.status), (5, 7, SourceStatus::Ended));
    let mut found = [first, rest].concat();
    let pace = Pace::Drain { nominal_rate_per_s: 1_000_000, start: EventTime::from_micros(-10) };
    let cheap = Paced::new(Arc::new(Indices::<true>), pace).unwrap();
    let mut cheap = cheap.with_disorder(Span::from_micros(2), 7).with_limit(12);
    assert_eq!(poll(&mut cheap, Poll { now_ns: 0, limit: 12, room: 12 }).0, found);
    assert!(!found.is_sorted_by_key(|record| record.event_time));
    found.chunks_mut(3).for_each(|run| run.sort_by_key(|record| record.event_time));
    let in_order = poll(&mut drain(1_000_000), Poll { now_ns: 0, limit: 12, room: 12 }).0;
    assert_eq!(found, in_order);
}

/// A source at a rate sends records with disorder at the same times as without. Their event times are
/// earlier, by 2 µs for the disorder and by up to as much again.
#[test]
fn disorder_at_a_rate_is_no_news_from_the_future() {
    let mut source = rate(1_000_000).with_disorder(Span::from_micros(2), 7);
    let (records, polled) = poll(&mut source, Poll { now_ns: 10 * SECOND + 5_000, limit: 99, room: 99 });
    assert_eq!(polled.status, SourceStatus::IdleUntil(ProcessingTime::from_nanos(10 * SECOND + 6_000)));
    let behind: Vec<i64> = (10_000_000..)
        .zip(&records)
        .map(|(sent_us, record)| sent_us - record.event_time.as_micros())
        .collect();
    assert_eq!(behind.len(), 6);
    assert!(behind.iter().all(|behind| (0..=4).contains(behind)), "{behind:?}");
}

fn early(percent: f64, epoch_us: i64) -> EarlyShare {
    EarlyShare { percent, epoch: Span::from_micros(epoch_us), seed: 1 }
}

/// A record that comes an epoch early keeps its own value and event time, and the others come in their time.
#[test]
fn some_records_come_an_epoch_early() {
    let records = |source: Paced<Indices<false>>| {
        poll(&mut source.with_limit(40), Poll { now_ns: 0, limit: 99, room: 99 }).0
    };
    let found = records(drain(1_000_000).with_early(early(40.0, 10)));
    let is_early: Vec<bool> = (0..).zip(&found).map(|(place, record)| record.value.0 != place).collect();
    assert!((1..=7).contains(&is_early[..10].iter().filter(|early| **early).count()), "{is_early:?}");
    for (place, record) in (0..).zip(&found) {
        let index = if is_early[place as usize % 10] { place + 10 } else { place };
        let event_time = EventTime::from_micros(index as i64 - 10);
        assert_eq!(*record, Record::new(event_time, (index, event_time)));
    }
    assert_eq!(records(drain(1_000_000).with_early(early(0.0, 10))), records(drain(1_000_000)));
    // If an epoch is not a whole number of records, early records are a little less than an epoch ahead of
    // the others.
    let found = records(drain(300_000).with_early(early(40.0, 10)));
    let apart = (0..).zip(&found).map(|(place, record)| record.value.0 - place).collect::<Vec<u64>>();
    assert!(apart.iter().all(|apart| [0, 3].contains(apart)) && apart.contains(&3), "{apart:?}");
    assert!(found.iter().all(|record| record.event_time == record.value.1));
    // With disorder in addition, the same records come an epoch early.
    let shuffled = drain(1_000_000).with_disorder(Span::from_micros(4), 7);
    let mut both = records(shuffled.with_early(early(40.0, 10)));
    both.sort_by_key(|record| record.event_time);
    let mut alone = records(drain(1_000_000).with_early(early(40.0, 10)));
    alone.sort_by_key(|record| record.event_time);
    assert_eq!(both, alone);
}

/// A source at a rate sends an early record at its event time, and the other records an epoch later.
#[test]
fn early_records_at_a_rate_are_no_news_from_the_future() {
    let mut source = rate(1_000_000).with_early(early(40.0, 10));
    let (records, _) = poll(&mut source, Poll { now_ns: 10 * SECOND + 99_000, limit: 999, room: 999 });
    assert_eq!(records.len(), 100);
    let behind =
        (10_000_000..).zip(&records).map(|(sent_us, record)| sent_us - record.event_time.as_micros());
    let behind: Vec<i64> = behind.collect();
    assert!(behind.iter().all(|behind| [0, 10].contains(behind)), "{behind:?}");
    assert!(behind.contains(&0) && behind.contains(&10), "{behind:?}");
}

#[test]
fn a_position_keeps_its_disorder() {
    let shuffled =
        |seed| drain(1_000_000).with_disorder(Span::from_micros(9), seed).with_early(early(30.0, 20));
    let mut first = shuffled(1);
    poll(&mut first, Poll { now_ns: 0, limit: 13, room: 99 });
    let mut second = shuffled(1);
    second.load(&mut StateReader::new(&saved(&first))).unwrap();
    assert_eq!(shown(&mut second, 0, 30), shown(&mut first, 0, 30));
    let without_early = drain(1_000_000).with_disorder(Span::from_micros(9), 1);
    for other in [&mut shuffled(2), &mut drain(1_000_000), &mut { without_early }] {
        assert!(other.load(&mut StateReader::new(&saved(&first))).is_err());
    }
}

proptest! {
    /// With any sequence of polls, all records come in order, none before its time, and each latency marker
    /// right behind its record.
    #[test]
    fn open_loop(
        rate_per_s in prop_oneof![1..50u64, 9_999..10_003u64, 10_000..RATE_PER_S_MAX],
        polls in prop::collection::vec((0..20_000_000u64, 0..3_000usize, 0..3_000usize), 1..40),
    ) {
        let start = ProcessingTime::from_nanos(1_234_567);
        let send_times = SendTimes::new(rate_per_s, start);
        let mut source = Paced::new(Arc::new(INDICES), Pace::Rate { rate_per_s, start, time_scale: 1 }).unwrap();
        let mut cheap = Paced::new(Arc::new(Indices::<true>), Pace::Rate { rate_per_s, start, time_scale: 1 }).unwrap();
        let (mut now_ns, mut next) = (0, 0);
        for (step, limit, room) in polls {
            now_ns += step;
            let now = ProcessingTime::from_nanos(now_ns);
            let (records, polled) = poll(&mut source, Poll { now_ns, limit, room });
            prop_assert!(records.len() <= limit.min(room));
            prop_assert_eq!(&poll(&mut cheap, Poll { now_ns, limit, room }), &(records.clone(), polled));
            for record in &records {
                let intended = send_times.intended(next);
                let event_time = EventTime::from_micros((intended.as_nanos() / 1_000) as i64);
                prop_assert_eq!(*record, Record::new(event_time, (next, event_time)));
                prop_assert!(intended <= now);
                next += 1;
            }
            let last_is_marked = !records.is_empty() && send_times.marked_index(next - 1) == next - 1;
            prop_assert_eq!(polled.latency, last_is_marked.then(|| send_times.intended(next - 1)));
            let due = send_times.intended(next);
            let status = if due <= now { SourceStatus::DueSince(due) } else { SourceStatus::IdleUntil(due) };
            prop_assert_eq!(polled.status, status);
        }
    }
}

proptest! {
    /// With any sequence of polls, the splits together make the records of one source: each once, in order within
    /// each split, and with as many latency markers.
    #[test]
    fn splits_make_the_records_of_one_source(
        count in 1..5usize,
        polls in proptest::collection::vec((0..5usize, 1..3_000usize, 0..40u64), 1..60),
        is_paced: bool,
        bound_ms in prop_oneof![Just(0i64), Just(3)],
        share in prop_oneof![Just(0.0), Just(10.0)],
    ) {
        let whole = || {
            let source = if is_paced { rate(700_000) } else { drain(2_000_000) };
            let source = source.with_disorder(Span::from_millis(bound_ms), 7);
            let early = EarlyShare { percent: share, epoch: Span::from_millis(5), seed: 3 };
            if share > 0.0 { source.with_early(early) } else { source }
        };
        let (mut splits, shares) = (whole().splits(count), SplitShares::to(count, whole().pace));
        let mut made: Vec<Vec<Record<(u64, EventTime)>>> = vec![Vec::new(); count];
        let (mut now_ns, mut markers) = (10 * SECOND, 0);
        for (split, limit, millis) in polls {
            now_ns += millis * MILLI;
            let split = split % count;
            let (records, polled) = poll(&mut splits[split], Poll { now_ns, limit, room: usize::MAX });
            made[split].extend(records);
            markers += usize::from(polled.latency.is_some());
        }
        let counts: Vec<u64> = made.iter().map(|records| records.len() as u64).collect();
        let places = shares.places(&counts);
        prop_assert_eq!(places.iter().map(|range| range.end - range.start).sum::<u64>(), counts.iter().sum::<u64>());
        let last = places.iter().map(|range| range.end).max().unwrap_or(0);
        let (mut single, mut all) = (whole(), Vec::new());
        let mut markers_of_single = 0;
        while (all.len() as u64) < last {
            let before = all.len() as u64;
            let limit = (last - before) as usize;
            let (records, polled) = poll(&mut single, Poll { now_ns: u64::MAX / 2, limit, room: usize::MAX });
            all.extend(records);
            let marked = all.len() as u64 - 1;
            markers_of_single +=
                usize::from(polled.latency.is_some() && places.iter().any(|range| range.contains(&marked)));
        }
        let mut expected: Vec<_> = places.iter().flat_map(|range| all[range.start as usize..range.end as usize].iter()).map(|record| (record.event_time, record.value)).collect();
        if bound_ms == 0 && share == 0.0 {
            prop_assert!(made.iter().all(|records| records.is_sorted_by_key(|record| record.event_time)));
        }
        let mut found: Vec<_> = made.iter().flatten().map(|record| (record.event_time, record.value)).collect();
        expected.sort_unstable();
        found.sort_unstable();
        prop_assert!(found == expected, "{} records, not those of one source", found.len());
        prop_assert_eq!(markers, markers_of_single);
    }
}

#[test]
fn a_split_goes_on_where_it_was_saved() {
    let splits = || drain(1_000_000).splits(2);
    let mut split = splits().pop().unwrap();
    for _ in 0..3 {
        poll(&mut split, Poll { now_ns: 0, limit: 2_000, room: usize::MAX });
    }
    let mut state = StateWriter::default();
    split.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let mut loaded = splits().pop().unwrap();
    loaded.load(&mut StateReader::new(&bytes)).unwrap();
    assert_eq!(shown(&mut loaded, 0, 2), shown(&mut split, 0, 2));
    let error = splits().swap_remove(0).load(&mut StateReader::new(&bytes)).unwrap_err();
    assert!(error.to_string().contains("split 1 of 2"), "{error}");
}
