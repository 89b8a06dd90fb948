//! Load that generators offer to their queries: sources with the pace and the disorder that the options ask
//! for; and, for the references, the records that these sources make, with their stamps.
//!
//! A query's sources may be splits, of which one has made more than another when a run ends. So the
//! references get the number of records that each has made (`QueryReport::made`). In the generator's sequence
//! nearly all of these records form one range without gaps, from the first place on. A few places after that
//! range were made by some splits, while other splits have not come so far.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use thalweg::{Clock, Engine, EventTime, Generate, ProcessingTime, Span, SystemClock};
use thalweg_cli::failure;
use thalweg_connectors::{Disorder, Load, Pace, Paced, SplitShares, Stamps};
use thalweg_memory::Reservation;

use super::args::BenchArgs;
use super::delayed::Delayed;
use super::drive::Driven;
use super::load;
use crate::values::Rate;

/// The load offered to one query. The sources of the query, which are all alike, are created from it.
#[derive(Clone)]
pub struct Offered {
    pace: Pace,
    /// Changes of the offered rate over time, if there are any.
    load: Option<Load>,
    /// Assignment of the records of a stream to its splits.
    shares: SplitShares,
    disorder: Disorder,
    /// Records per second of event time, of one stream of the query.
    rate_per_s: u64,
    /// The event time of the generator's first record, in microseconds.
    start_us: i64,
    /// Time from the deployment of the run's first query to the deployment of this query.
    after: Duration,
    /// Start of the query's windows. If queries are deployed one after the other with records at a rate, it
    /// is the time of deployment, rounded to a millisecond, so that not all windows end at once.
    windows_from: Span,
}

impl Offered {
    /// Returns the loads offered to all queries, by the options. It must be called once for all queries of a
    /// run, so that queries which are deployed at once send their first records at the same instant.
    pub fn of_queries(args: &BenchArgs) -> Vec<Self> {
        Offered::of_deployed(args, SystemClock::default().now(), &load::deployments(args))
    }

    /// Returns the loads offered to all queries of a run, of which query `n` is deployed `instants[n]` after
    /// `now`.
    pub fn of_deployed(args: &BenchArgs, now: ProcessingTime, instants: &[Duration]) -> Vec<Self> {
        let loads = load::of_queries(args);
        let streams = args.workload().facts().streams;
        let of_query = |(query, after): (usize, &Duration)| match (args.rate, loads.get(query)) {
            (Rate::PerSecond(_), Some(query)) => {
                // The start of the query's load is rounded to a whole microsecond, so that event times have a
                // closed form.
                let start_us = now.as_nanos() / 1_000 + u64::try_from(after.as_micros()).unwrap_or(0);
                let start = ProcessingTime::from_nanos(start_us * 1_000);
                let load = (!query.load.is_steady()).then(|| query.load.clone());
                let pace = Pace::Rate { rate_per_s: query.rate_per_s, start, time_scale: args.time_scale };
                let are_deployed_apart = args.deploy_within > Span::ZERO;
                let windows_from = if are_deployed_apart { (start_us / 1_000).cast_signed() } else { 0 };
                let windows_from = Span::from_millis(windows_from);
                Offered { after: *after, windows_from, ..Offered::at(args, pace, load) }
            }
            _ => {
                let nominal_rate_per_s = args.nominal_rate_per_s() / streams;
                let pace = Pace::Drain { nominal_rate_per_s, start: EventTime::EPOCH };
                Offered { after: *after, ..Offered::at(args, pace, None) }
            }
        };
        instants.iter().enumerate().map(of_query).collect()
    }

    fn at(args: &BenchArgs, pace: Pace, load: Option<Load>) -> Self {
        let sent_us = match pace {
            Pace::Drain { start, .. } => start.as_micros(),
            Pace::Rate { start, .. } => (start.as_nanos() / 1_000).cast_signed(),
        };
        let rate_per_s = pace.event_rate_per_s();
        let disorder = Disorder::new(args.out_of_order, rate_per_s, args.seed).with_early(args.early());
        let held_up = match pace {
            Pace::Drain { .. } => Span::ZERO,
            // Shuffled records are sent up to the bound of the disorder after their event time. So event
            // times begin earlier than the load, by this bound.
            Pace::Rate { .. } => disorder.bound(),
        };
        let shares = match &load {
            Some(load) => SplitShares::under(args.splits(), load, rate_per_s)
                .expect("reading the options has checked the load against the rate"),
            None => SplitShares::to(args.splits(), pace),
        };
        let shares = match (args.several_inputs(), args.message_records) {
            (Some(_), Some(message_records)) => shares.in_messages(message_records),
            _ => shares,
        };
        let shares = match load::split_skew(args) {
            Some(exponent) => shares.skewed(exponent),
            None => shares,
        };
        Offered {
            pace,
            load,
            shares,
            disorder,
            rate_per_s,
            start_us: sent_us - held_up.as_micros(),
            after: Duration::ZERO,
            windows_from: Span::ZERO,
        }
    }

    /// Returns the load offered to the query's stream of the given number, where `self` is the load of stream
    /// 0. Streams at a steady rate are all alike; at a changing rate each has a seed of its own.
    pub fn of_stream(&self, stream: u64) -> Self {
        let load = self.load.clone().map(|load| Load { seed: load.seed.wrapping_add(stream), ..load });
        Offered { load, ..self.clone() }
    }

    /// Creates a source that offers this load from a generator.
    pub fn source<G: Generate>(&self, args: &BenchArgs, generator: &Arc<G>) -> Result<Paced<G>> {
        let source = Paced::new(Arc::clone(generator), self.pace);
        let source = source.map_err(|error| failure::of_connector(&error))?;
        match &self.load {
            Some(load) => source.with_load(load).map_err(|error| failure::of_connector(&error)),
            None => Ok(source.with_disorder(args.out_of_order, args.seed).with_early(args.early())),
        }
    }

    /// Returns the number of splits of a stream: at least one, and at most as many as asked for.
    pub fn split_count(&self) -> usize {
        self.shares.split_count()
    }

    /// Creates the splits of a query's only stream.
    pub fn splits<G: Generate>(&self, args: &BenchArgs, generator: &Arc<G>) -> Result<Vec<Paced<G>>> {
        Ok(self.source(args, generator)?.split_by(&self.shares))
    }

    /// Creates the inputs of a query, each with the delay that the options give it. A query with one source has it as the
    /// only input, or its splits.
    pub fn inputs<G: Generate>(&self, args: &BenchArgs, generator: &Arc<G>) -> Result<Vec<Delayed<G>>> {
        let delays = args.input_delays.as_ref().map_or(&[Span::ZERO][..], |delays| &delays.0);
        let inputs = self.splits(args, generator)?.into_iter().zip(delays.iter().cycle());
        Ok(inputs.map(|(input, delay)| Delayed::by(*delay, input)).collect())
    }

    /// Returns the number of records up to which a reference can compute the results. It is `in_closed_form`
    /// if event times have a closed form, else `one_by_one`. The event times of a load that changes have no
    /// closed form.
    pub fn records_max(&self, in_closed_form: u64, one_by_one: u64) -> u64 {
        if self.load.is_none() { in_closed_form } else { one_by_one }
    }

    /// Returns the records per second of one stream, on average between two instants counted from the first
    /// record on.
    fn mean_rate_per_s(&self, over: Range<Span>) -> f64 {
        let of_load = |load: &Load| load.mean_rate_per_s(self.rate_per_s, over);
        self.load.as_ref().map_or(self.rate_per_s as f64, |load| {
            of_load(load).expect("reading the options has checked the load against the rate")
        })
    }

    /// Returns index and event time of the records that a stream's splits have made, in the order in which
    /// one source would make them. Split `n` has made its first `made[n]` records.
    pub fn records(&self, made: &[u64]) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        self.stamped(self.at_places(self.shares.places(made)))
    }

    /// Returns the range of indexes, without gaps, that most of the records made by a stream's splits have.
    /// The range lacks the records by which some splits are ahead of others, those of a group that was
    /// shuffled together and is incomplete, and the records of two epochs that are sent early. It is empty if
    /// event times have no [closed form](Self::stamps_from).
    pub fn whole(&self, made: &[u64]) -> Range<u64> {
        if self.load.is_some() { 0..0 } else { self.disorder.whole(self.first_places(made).0) }
    }

    /// Returns the made records outside the range [`whole`](Self::whole), in any order.
    pub fn others(&self, made: &[u64]) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        let (count, ahead) = self.first_places(made);
        // The records of a changing load come in order. None of them counts as part of the range without
        // gaps.
        let (count, all) = if self.load.is_some() { (0, 0..count) } else { (count, 0..0) };
        self.stamped(all.chain(self.disorder.others(count)).chain(self.at_places(ahead)))
    }

    /// Returns all made records in the order of their event times. The records outside the range
    /// [`whole`](Self::whole) are kept in memory, except for a changing load.
    pub fn in_order(&self, made: &[u64]) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        let (of_load, whole) = match self.load {
            Some(_) => (Some(self.records(made)), 0..0),
            None => (None, self.whole(made)),
        };
        let mut others: Vec<(u64, EventTime)> =
            if of_load.is_some() { Vec::new() } else { self.others(made).collect() };
        others.sort_unstable();
        let behind = others.split_off(others.partition_point(|(index, _)| *index < whole.start));
        of_load.into_iter().flatten().chain(others).chain(self.stamped(whole)).chain(behind)
    }

    /// Returns how many places of the generator's sequence, from the first on, were made without a gap, and
    /// the ranges of further places that were made.
    fn first_places(&self, made: &[u64]) -> (u64, Vec<Range<u64>>) {
        let mut places = self.shares.places(made);
        let first = places.remove(0);
        (first.end, places)
    }

    /// Returns the indexes of the records at these places of the generator's sequence.
    fn at_places(&self, places: Vec<Range<u64>>) -> impl Iterator<Item = u64> + use<> {
        let disorder = self.disorder;
        places.into_iter().flat_map(move |places| {
            let count = usize::try_from(places.end - places.start).expect("a run makes what it can count");
            disorder.indexes_from(places.start).take(count)
        })
    }

    fn stamped<I>(&self, indexes: I) -> impl Iterator<Item = (u64, EventTime)> + use<I>
    where
        I: Iterator<Item = u64>,
    {
        let Offered { rate_per_s, start_us, .. } = *self;
        let mut stamps = self.stamps();
        indexes.map(move |index| match &mut stamps {
            Some(stamps) => (index, stamps.at(index)),
            None => (index, stamp(rate_per_s, start_us, index)),
        })
    }

    /// Returns the event times of a changing load, which must be asked for by rising index; `None` for a
    /// steady rate.
    fn stamps(&self) -> Option<Stamps> {
        match (&self.load, self.pace) {
            (Some(load), Pace::Rate { rate_per_s, start, .. }) => Some(
                Stamps::new(load, rate_per_s, start)
                    .expect("reading the options has checked the load against the rate"),
            ),
            _ => None,
        }
    }

    /// Returns the event time of the generator's first record. It may lie before the time at which this
    /// record is sent, by the greatest delay of shuffled records.
    pub fn start(&self) -> EventTime {
        EventTime::from_micros(self.start_us)
    }

    /// Returns the start of one of the query's windows, as a whole number of milliseconds after 1970. It is
    /// zero unless queries are deployed one after the other.
    pub fn windows_from(&self) -> Span {
        self.windows_from
    }

    /// Returns the records per second of event time, and the event time in microseconds of the record at
    /// `index`, with which the range [`whole`](Self::whole) begins. The event times of all later records
    /// follow from these two numbers.
    pub fn stamps_from(&self, index: u64) -> (u64, i64) {
        (self.rate_per_s, stamp(self.rate_per_s, self.start_us, index).as_micros())
    }
}

/// Returns the records per second that were offered to all queries together, on average over the measured
/// time; `None` if no rate was given, so that records came as fast as queries read them.
pub fn per_s(offered: &[Offered], args: &BenchArgs, driven: &Driven) -> Option<u64> {
    let last = offered.iter().map(|offered| offered.after).max().unwrap_or_default();
    per_s_behind(offered, args, driven.measured.seconds, last)
}

/// Returns the records per second that were offered to some queries together, on average over `seconds` after
/// the warm-up. The warm-up begins `last` after the first of all queries was deployed, when the last one is
/// deployed.
pub fn per_s_behind(offered: &[Offered], args: &BenchArgs, seconds: f64, last: Duration) -> Option<u64> {
    if args.rate == Rate::Max {
        return None;
    }
    let span = |seconds: f64| Span::from_micros((seconds * 1e6) as i64);
    let of_query = |offered: &Offered| {
        let before = (last - offered.after).as_secs_f64() + args.warmup;
        let over = span(before)..span(before + seconds);
        let streams = 0..args.workload().facts().streams;
        streams.map(|stream| offered.of_stream(stream).mean_rate_per_s(over.clone())).sum::<f64>()
    };
    Some(offered.iter().map(of_query).sum::<f64>().round() as u64)
}

/// Returns the event time of the record at `index`, at a steady rate.
pub fn stamp(rate_per_s: u64, start_us: i64, index: u64) -> EventTime {
    let offset_us = u128::from(index) * 1_000_000 / u128::from(rate_per_s);
    EventTime::from_micros(start_us + i64::try_from(offset_us).expect("a run lies in the range of times"))
}

/// Reserves memory for the cache of a generator in the engine's budget, until the reservation is dropped.
pub fn reserve_cache(engine: &Engine, generator: &impl Generate) -> Result<Reservation> {
    let reserved = engine.budget().reserve(generator.cache_bytes());
    reserved.context("BUDGET_TOO_SMALL: the generator's cache does not fit into --memory-budget")
}

#[cfg(test)]
mod tests {
    use thalweg::{Output, ProcessingTime, Record, Source};

    use super::*;

    /// A generator for tests, whose values are their own indexes.
    struct Indexes;

    impl Generate for Indexes {
        type Item = u64;

        fn value(&self, index: u64, _event_time: EventTime) -> u64 {
            index
        }

        fn cache_bytes(&self) -> usize {
            0
        }
    }

    struct Gathered(Vec<(u64, EventTime)>);

    impl Output<u64> for Gathered {
        fn room(&self) -> usize {
            usize::MAX
        }

        fn push(&mut self, record: Record<u64>) {
            self.0.push((record.value, record.event_time));
        }
    }

    /// Checks that a reference gets the records that the sources make, and whether these are in order. Source
    /// `n` is polled `polls[n]` times for 5,000 records.
    #[track_caller]
    fn check(options: &str, polls: &[usize], is_in_order: bool) {
        let args = BenchArgs::parsed(&format!("ysb {options}"));
        let offered = Offered::of_queries(&args).swap_remove(0);
        let mut sources = offered.splits(&args, &Arc::new(Indexes)).unwrap();
        assert_eq!(sources.len(), polls.len(), "{options}");
        let mut found: Vec<Gathered> = sources.iter().map(|_| Gathered(Vec::new())).collect();
        for round in 0..polls.iter().copied().max().unwrap_or(0) {
            let each = sources.iter_mut().zip(&mut found).zip(polls);
            for ((source, gathered), _) in each.filter(|(_, polls)| round < **polls) {
                source.poll(ProcessingTime::from_nanos(u64::MAX - 1), 5_000, gathered).unwrap();
            }
        }
        let made: Vec<u64> = found.iter().map(|gathered| gathered.0.len() as u64).collect();
        assert!(
            made.iter().zip(polls).all(|(made, polls)| (*made == 0) == (*polls == 0)),
            "{options}: {made:?}"
        );
        let mut found = found.into_iter().flat_map(|gathered| gathered.0).collect::<Vec<_>>();
        let mut told: Vec<_> = offered.records(&made).collect();
        assert!(told.is_sorted() || !is_in_order, "{options}");
        if let [_] = polls {
            assert_eq!(told, found, "{options}");
            assert_eq!(told.is_sorted(), is_in_order, "{options}");
        }
        found.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, found, "{options}");
        assert_eq!(offered.in_order(&made).collect::<Vec<_>>(), found, "{options}");
        let whole = offered.whole(&made);
        assert!(offered.others(&made).all(|(index, _)| !whole.contains(&index)), "{options}");
        assert_eq!(whole.count() + offered.others(&made).count(), found.len(), "{options}");
    }

    const ORDERS: [(&str, bool); 18] = [
        ("", true),
        ("--rate 3k", true),
        ("--out-of-order 100us", false),
        ("--out-of-order 1h --seed 7", false),
        ("--rate 3k --out-of-order 1s", false),
        ("--rate 3k --out-of-order 1us", true),
        ("--rate 3k --late-share 40", false),
        ("--rate 3k --late-share 12.5 --out-of-order 200ms", false),
        ("--rate 3k --late-share 0", true),
        // The first epoch is not over after 10,000 records, because there are 10 million records per second.
        ("--late-share 40 --out-of-order 10us", false),
        ("--rate 100k --rate-steps 100ms:1k,200ms:3M", true),
        ("--rate 100k --arrivals poisson", true),
        ("--rate 100k --arrivals pareto:1.5 --seed 5", true),
        ("--rate 100k --message-records 300", true),
        ("--rate 100k --delay uniform:50ms", true),
        ("--rate 100k --delay zipf:0.99 --message-records 7 --arrivals poisson", true),
        ("--rate 100k --skew 1.5", true),
        ("--rate 100k --skew 1.5 --arrivals poisson", true),
    ];

    #[test]
    fn references_are_told_what_sources_make() {
        for (options, is_in_order) in ORDERS {
            check(options, &[40], is_in_order);
            check(&format!("--workers 3 --parallel serial {options}"), &[40], is_in_order);
        }
    }

    /// Splits together make the records of one source, except for records that some splits have made and
    /// others have not yet.
    #[test]
    fn references_are_told_what_splits_make() {
        for (options, is_in_order) in ORDERS {
            for polls in [[50, 50], [50, 43], [0, 12], [33, 34]] {
                check(&format!("--workers 2 {options}"), &polls, is_in_order);
            }
            for polls in [[30, 30, 30], [20, 31, 24], [2, 0, 0]] {
                check(&format!("--workers 3 {options}"), &polls, is_in_order);
            }
            check(&format!("--workers 1 --parallel epochs {options}"), &[40], is_in_order);
            for polls in [[30, 30, 30], [20, 31, 24], [2, 0, 0]] {
                check(&format!("--inputs 3 {options}"), &polls, is_in_order);
            }
        }
    }

    /// Windows of queries that are deployed apart begin apart. Queries are deployed 0, 1.5 and 10 ms after an
    /// instant, and the starts of their windows are checked in ms.
    #[test]
    fn windows_of_queries_that_are_deployed_apart_begin_apart() {
        let check = |options: &str, expected: [i64; 3]| {
            let args = BenchArgs::parsed(&format!("ysb --queries 3 {options}"));
            let instants = [0, 1_500, 10_000].map(Duration::from_micros);
            let offered = Offered::of_deployed(&args, ProcessingTime::from_nanos(7_900_000), &instants);
            let from: Vec<i64> =
                offered.iter().map(|offered| offered.windows_from().as_micros() / 1_000).collect();
            assert_eq!(from, expected, "{options}");
        };
        check("--rate 5 --deploy-within 1s", [7, 9, 17]);
        check("--rate 5", [0, 0, 0]);
        check("--deploy-within 1s", [0, 0, 0]);
    }
}
