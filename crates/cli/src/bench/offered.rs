//! What generators offer their queries: sources at the pace and in the disorder that the options ask for; and, for the
//! references, which records those make, and how they are stamped.
//!
//! A query's sources may be splits, of which one has made more than another when a run ends. So the references are given
//! the records that each has made (`QueryReport::made`): the places of the generator's sequence that these are begin with
//! a range without gaps, in which nearly all lie, and behind it there are some more.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Generate};
use thalweg_connectors::{Dealt, Disorder, Pace, Paced};

use super::args::BenchArgs;
use crate::failure;

/// Sources that are all alike.
#[derive(Clone, Copy)]
pub struct Offered {
    pace: Pace,
    /// How many splits a stream has.
    splits: usize,
    /// Which of the records each of them makes.
    dealt: Dealt,
    disorder: Disorder,
    /// Records per second of event time.
    rate_per_s: u64,
    /// The event time of the generator's first record, in microseconds.
    start_us: i64,
    /// Records per second of processing time and query, if there is a rate.
    pub at_rate: Option<u64>,
}

impl Offered {
    /// As the options say. Asked for once for all queries of a run, so that the first records of all are to be sent at the
    /// same instant.
    pub fn of(args: &BenchArgs) -> Self {
        let (pace, streams, splits) = (args.pace(), args.workload.facts().streams, args.splits());
        let dealt = Dealt::to(splits, pace);
        let disorder =
            |rate_per_s| Disorder::new(args.out_of_order, rate_per_s, args.seed).with_early(args.early());
        match pace {
            Pace::Drain { nominal_rate_per_s: rate_per_s, start } => Offered {
                pace,
                splits,
                dealt,
                disorder: disorder(rate_per_s),
                rate_per_s,
                start_us: start.as_micros(),
                at_rate: None,
            },
            Pace::Rate { rate_per_s, start } => {
                let disorder = disorder(rate_per_s);
                let sent_us = (start.as_nanos() / 1_000).cast_signed();
                // What is held up has happened before it is sent.
                let start_us = sent_us - disorder.bound().as_micros();
                let at_rate = Some(rate_per_s * streams);
                Offered { pace, splits, dealt, disorder, rate_per_s, start_us, at_rate }
            }
        }
    }

    /// A source.
    pub fn source<G: Generate>(&self, args: &BenchArgs, generator: &Arc<G>) -> Result<Paced<G>> {
        let source = Paced::new(Arc::clone(generator), self.pace);
        let source = source.map_err(|error| failure::of_connector(&error))?;
        Ok(source.with_disorder(args.out_of_order, args.seed).with_early(args.early()))
    }

    /// How many splits a stream has: one at least, no more than are made of it.
    pub fn split_count(&self) -> usize {
        self.dealt.split_count()
    }

    /// The splits of a query's only stream.
    pub fn splits<G: Generate>(&self, args: &BenchArgs, generator: &Arc<G>) -> Result<Vec<Paced<G>>> {
        Ok(self.source(args, generator)?.splits(self.splits))
    }

    /// The first records that a stream's splits have made, so many each, in the order in which one source would make
    /// them: their index and event time.
    pub fn records(&self, made: &[u64]) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        self.stamped(self.at(self.dealt.places(made)))
    }

    /// Of those, the indexes of a part without gaps: all but what some splits are ahead of others, a run's rest and two
    /// epochs' early ones.
    pub fn whole(&self, made: &[u64]) -> Range<u64> {
        self.disorder.whole(self.first_places(made).0)
    }

    /// Those less the [whole](Self::whole) ones, in any order.
    pub fn others(&self, made: &[u64]) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        let (count, ahead) = self.first_places(made);
        self.stamped(self.disorder.others(count).chain(self.at(ahead)))
    }

    /// All of them in the order of their event times. Keeps the [others](Self::others).
    pub fn in_order(&self, made: &[u64]) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        let whole = self.whole(made);
        let mut others: Vec<(u64, EventTime)> = self.others(made).collect();
        others.sort_unstable();
        let behind = others.split_off(others.partition_point(|(index, _)| *index < whole.start));
        others.into_iter().chain(self.stamped(whole)).chain(behind)
    }

    /// Of the places that splits have made, how many come first without a gap, and those behind them.
    fn first_places(&self, made: &[u64]) -> (u64, Vec<Range<u64>>) {
        let mut places = self.dealt.places(made);
        let first = places.remove(0);
        (first.end, places)
    }

    /// The indexes of the records at these places.
    fn at(&self, places: Vec<Range<u64>>) -> impl Iterator<Item = u64> + use<> {
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
        indexes.map(move |index| (index, stamp(rate_per_s, start_us, index)))
    }

    /// Records per second of event time, and the event time of the record at an index at which [`whole`](Self::whole)
    /// begins, in microseconds: from these the stamps of all behind it follow.
    pub fn stamps_from(&self, index: u64) -> (u64, i64) {
        (self.rate_per_s, stamp(self.rate_per_s, self.start_us, index).as_micros())
    }
}

/// When the record at `index` happened.
pub fn stamp(rate_per_s: u64, start_us: i64, index: u64) -> EventTime {
    let offset_us = u128::from(index) * 1_000_000 / u128::from(rate_per_s);
    EventTime::from_micros(start_us + i64::try_from(offset_us).expect("a run lies in the range of times"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use thalweg::{Output, ProcessingTime, Record, Source};

    use super::*;

    #[derive(Parser)]
    struct Bed {
        #[command(flatten)]
        args: BenchArgs,
    }

    /// Its values are their indexes.
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

    /// What a reference is told is what sources make, of which each is polled so often, 5,000 records at a time; whether
    /// that is in order.
    #[track_caller]
    fn check(options: &str, polls: &[usize], is_in_order: bool) {
        let words = ["bench", "ysb"].into_iter().chain(options.split_whitespace());
        let Bed { args } = Bed::parse_from(words);
        let offered = Offered::of(&args);
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

    const ORDERS: [(&str, bool); 10] = [
        ("", true),
        ("--rate 3k", true),
        ("--out-of-order 100us", false),
        ("--out-of-order 1h --seed 7", false),
        ("--rate 3k --out-of-order 1s", false),
        ("--rate 3k --out-of-order 1us", true),
        ("--rate 3k --late-share 40", false),
        ("--rate 3k --late-share 12.5 --out-of-order 200ms", false),
        ("--rate 3k --late-share 0", true),
        // The first epoch is not over after 10,000 of 10 million records.
        ("--late-share 40 --out-of-order 10us", false),
    ];

    #[test]
    fn references_are_told_what_sources_make() {
        for (options, is_in_order) in ORDERS {
            check(options, &[40], is_in_order);
            check(&format!("--workers 3 --parallel serial {options}"), &[40], is_in_order);
        }
    }

    /// Splits make what one source would, but for what one has made and another has not yet.
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
        }
    }
}
