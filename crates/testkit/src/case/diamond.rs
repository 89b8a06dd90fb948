//! A stream that is split and united again. One branch drops many records, the other multiplies its records,
//! and the united stream is split once more. There is no deadlock, even with the smallest edges.

use std::sync::Arc;

use thalweg::{Either, Graph, Layout, Query, QueryReport};
use thalweg_model::{Entropy, SeededEntropy};

use super::{Case, count_difference, first_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Hostile, Reading, records};
use crate::oracle::{self, Row};
use crate::script::Script;

/// Test case whose query sends readings along two branches to two sinks.
pub struct Diamond {
    hostile: Hostile,
    input: Vec<(i64, Reading)>,
    pauses: u64,
    /// The filter of the first branch keeps one reading in this number; it keeps none if the number is zero.
    keeps_one_in: i64,
    even: Gathered<Reading>,
    odd: Gathered<i64>,
}

impl Diamond {
    /// Draws a random test case with a [hostile](crate::hostile) stream of `count` records.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let hostile = Hostile::draw(entropy);
        let input = hostile.readings(count, entropy);
        let keeps_one_in = crate::seed::pick(entropy, &[0, 1, 2, 50]);
        let pauses = entropy.next_u64();
        Diamond { hostile, input, pauses, keeps_one_in, even: Gathered::default(), odd: Gathered::default() }
    }
}

fn is_kept(reading: &Reading, one_in: i64) -> bool {
    one_in > 0 && reading.amount % one_in == 0
}

fn tripled(reading: Reading) -> Reading {
    Reading { amount: reading.amount * 3, ..reading }
}

fn is_even(reading: &Reading) -> bool {
    reading.amount % 2 == 0
}

fn stamped<T: Copy>(rows: &[Row<T>]) -> Vec<(i64, T)> {
    rows.iter().map(|row| (row.at_us, row.value)).collect()
}

impl Case for Diamond {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let pauses = &mut SeededEntropy::new(self.pauses);
        let source = Script::new(records(&self.input), &Arc::default()).with_pauses(pauses);
        let (even, odd) = (
            Gather::new(Expects::Anything, &Arc::default()),
            Gather::new(Expects::Anything, &Arc::default()),
        );
        (self.even, self.odd) = (even.gathered(), odd.gathered());
        let one_in = self.keeps_one_in;
        let query = Query::new(name);
        let shared = query.source("source", source, self.hostile.strategy()).share();
        let kept = shared.branch().filter(move |reading| is_kept(reading, one_in));
        let united = kept.union(shared.branch().map(tripled));
        let choose =
            |reading| if is_even(&reading) { Either::Left(reading) } else { Either::Right(reading.amount) };
        let (evens, odds) = united.split(choose);
        evens.sink("even", even);
        odds.sink("odd", odd);
        query.plan(layout).expect("both streams end in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = oracle::source(&self.input[..report.events_in as usize], self.hostile.promise);
        let kept = oracle::filter(&rows, |reading| is_kept(reading, self.keeps_one_in));
        let united = oracle::union(&[kept, oracle::map(&rows, |reading| tripled(*reading))]);
        let (even, odd) = oracle::split(&united, is_even);
        let odd = oracle::map(&odd, |reading| reading.amount);
        let found_even = self.even.each(|record| (record.event_time.as_micros(), record.value));
        let found_odd = self.odd.each(|record| (record.event_time.as_micros(), record.value));
        first_difference(stamped(&even), found_even)
            .or_else(|| first_difference(stamped(&odd), found_odd))
            .or_else(|| count_difference("results", united.len() as u64, report.results_out))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.even, &self.odd]
    }
}
