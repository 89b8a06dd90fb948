//! Question: what does the pace of a generator cost per record, beside the copy of its value? Workload: drained
//! YSB-like records of 56 bytes from a cache of 2^12 into a buffer of 384; as a ceiling, the hand-written loop that
//! copies the same records with a constant stamp; and the same records under a load. Unit: ns per record. The figures
//! are for regressions, not for claims.
//!
//! `cargo bench -p thalweg-connectors --bench paced`; under `cargo test` it runs once, small.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use thalweg_connectors::{Arrivals, Delay, Load, Pace, Paced};
use thalweg_model::{EventTime, Generate, Input, Output, ProcessingTime, Record, Source, Span};

type Value = [u64; 6];

const ROOM: usize = 384;

struct Cache(Box<[Value; 4_096]>);

impl Generate for Cache {
    type Item = Value;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> Value {
        self.0[index as usize % 4_096]
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

struct Block {
    slots: Vec<Record<Value>>,
    length: usize,
}

impl Output<Value> for Block {
    fn room(&self) -> usize {
        ROOM - self.length
    }

    #[inline]
    fn push(&mut self, record: Record<Value>) {
        self.slots[self.length] = record;
        self.length += 1;
    }

    #[inline]
    fn push_all<I: Input<Value>>(&mut self, input: &mut I) {
        let count = input.remaining().min(self.room());
        let mut slots = self.slots[self.length..self.length + count].iter_mut();
        input.take_each(count, |record| {
            if let Some(slot) = slots.next() {
                *slot = record;
            }
        });
        self.length += count;
    }
}

/// Returns the nanoseconds per record: the median of `repeats` runs of `polls` polls each.
fn median_ns(repeats: usize, polls: usize, mut run: impl FnMut()) -> f64 {
    let mut runs: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            (0..polls).for_each(|_| run());
            start.elapsed().as_secs_f64() * 1e9 / (polls * ROOM) as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[repeats / 2]
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (repeats, polls) = if is_bench { (9, 100_000) } else { (1, 10) };
    let cache = Arc::new(Cache(Box::new([[7; 6]; 4_096])));
    let mut block = Block { slots: vec![Record::new(EventTime::EPOCH, [0; 6]); ROOM], length: 0 };

    let mut index = 0;
    let ceiling = median_ns(repeats, polls, || {
        for slot in &mut block.slots {
            *slot = Record::new(EventTime::EPOCH, cache.value(index, EventTime::EPOCH));
            index += 1;
        }
        black_box(&mut block);
    });
    println!("paced ceiling: {ceiling:.2} ns per record");

    for rate in [1_000_000, 10_000_000, 999_999_937] {
        let pace = Pace::Drain { nominal_rate_per_s: rate, start: EventTime::EPOCH };
        let mut source = Paced::new(Arc::clone(&cache), pace).unwrap();
        let cost = median_ns(repeats, polls, || {
            block.length = 0;
            source.poll(ProcessingTime::ZERO, ROOM, &mut block).unwrap();
            assert_eq!(block.length, ROOM);
            black_box(&mut block);
        });
        println!("paced drain at {rate}/s: {cost:.2} ns per record");
    }
    let late = ProcessingTime::from_nanos(u64::MAX - 1);
    let at_rate = || {
        Paced::new(
            Arc::clone(&cache),
            Pace::Rate { rate_per_s: 1_000_000, start: ProcessingTime::ZERO, time_scale: 1 },
        )
    };
    let delay = Delay::Uniform { max: Span::from_millis(50) };
    for (name, load) in [
        ("that is steady", Load::default()),
        ("of messages of 1,000 records", Load { message_records: Some(1_000), delay, ..Load::default() }),
        ("with Poisson's gaps", Load { arrivals: Arrivals::Poisson, ..Load::default() }),
        (
            "with Pareto's bursts and delays",
            Load { arrivals: Arrivals::Pareto { shape: 1.5 }, delay, ..Load::default() },
        ),
    ] {
        let mut source = at_rate().unwrap().with_load(&load).unwrap();
        let cost = median_ns(repeats, polls, || {
            block.length = 0;
            while block.length < ROOM {
                source.poll(late, ROOM, &mut block).unwrap();
            }
            black_box(&mut block);
        });
        println!("paced load {name}: {cost:.2} ns per record");
    }
}
