//! What generators offer their queries: sources at the pace and in the disorder that the options ask for; and, for the
//! references, which records those make, and how they are stamped.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Generate};
use thalweg_connectors::{Disorder, Pace, Paced};

use super::args::BenchArgs;
use crate::failure;

/// Sources that are all alike.
#[derive(Clone, Copy)]
pub struct Offered {
    pace: Pace,
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
        let (pace, streams) = (args.pace(), args.workload.facts().streams);
        let disorder =
            |rate_per_s| Disorder::new(args.out_of_order, rate_per_s, args.seed).with_early(args.early());
        match pace {
            Pace::Drain { nominal_rate_per_s: rate_per_s, start } => Offered {
                pace,
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
                Offered { pace, disorder, rate_per_s, start_us, at_rate: Some(rate_per_s * streams) }
            }
        }
    }

    /// A source.
    pub fn source<G: Generate>(&self, args: &BenchArgs, generator: &Arc<G>) -> Result<Paced<G>> {
        let source = Paced::new(Arc::clone(generator), self.pace);
        let source = source.map_err(|error| failure::of_connector(&error))?;
        Ok(source.with_disorder(args.out_of_order, args.seed).with_early(args.early()))
    }

    /// The first `count` records that a source makes, in the order in which they come: their index and event time.
    pub fn records(&self, count: u64) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        let count = usize::try_from(count).expect("a run makes what it can count");
        self.stamped(self.disorder.indexes_from(0).take(count))
    }

    /// Of the first `count` records, the indexes of a part without gaps: all but a run's rest and two epochs' early ones.
    pub fn whole(&self, count: u64) -> Range<u64> {
        self.disorder.whole(count)
    }

    /// The first `count` records less those that are [whole](Self::whole), in any order.
    pub fn others(&self, count: u64) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        self.stamped(self.disorder.others(count))
    }

    /// The first `count` records in the order of their event times. Keeps the [others](Self::others).
    pub fn in_order(&self, count: u64) -> impl Iterator<Item = (u64, EventTime)> + use<> {
        let whole = self.whole(count);
        let mut others: Vec<(u64, EventTime)> = self.others(count).collect();
        others.sort_unstable();
        let behind = others.split_off(others.partition_point(|(index, _)| *index < whole.start));
        others.into_iter().chain(self.stamped(whole)).chain(behind)
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
            10_000 - self.0.len()
        }

        fn push(&mut self, record: Record<u64>) {
            self.0.push((record.value, record.event_time));
        }
    }

    /// What a reference is told is what a source makes; whether it is in order.
    #[track_caller]
    fn check(options: &str, is_in_order: bool) {
        let words = ["bench", "ysb"].into_iter().chain(options.split_whitespace());
        let Bed { args } = Bed::parse_from(words);
        let offered = Offered::of(&args);
        let (mut source, mut made) =
            (offered.source(&args, &Arc::new(Indexes)).unwrap(), Gathered(Vec::new()));
        while made.room() > 0 {
            source.poll(ProcessingTime::from_nanos(u64::MAX - 1), 5_000, &mut made).unwrap();
        }
        assert_eq!(offered.records(10_000).collect::<Vec<_>>(), made.0, "{options}");
        assert_eq!(made.0.is_sorted(), is_in_order, "{options}");
        let mut in_order = made.0.clone();
        in_order.sort_unstable();
        assert_eq!(offered.in_order(10_000).collect::<Vec<_>>(), in_order, "{options}");
        let whole = offered.whole(10_000);
        assert!(offered.others(10_000).all(|(index, _)| !whole.contains(&index)), "{options}");
        assert_eq!(whole.count() + offered.others(10_000).count(), 10_000, "{options}");
    }

    #[test]
    fn references_are_told_what_sources_make() {
        check("", true);
        check("--rate 3k", true);
        check("--out-of-order 100us", false);
        check("--out-of-order 1h --seed 7", false);
        check("--rate 3k --out-of-order 1s", false);
        check("--rate 3k --out-of-order 1us", true);
        check("--rate 3k --late-share 40", false);
        check("--rate 3k --late-share 12.5 --out-of-order 200ms", false);
        check("--rate 3k --late-share 0", true);
        // The first epoch is not over after 10,000 of 10 million records.
        check("--late-share 40 --out-of-order 10us", false);
    }
}
