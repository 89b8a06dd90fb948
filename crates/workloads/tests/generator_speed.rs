//! Cost of a generated record in nanoseconds, for each generator on one core: the median of several passes over
//! some million records.
//!
//! `cargo test --release -p thalweg-workloads --test generator_speed -- --ignored --nocapture`

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::Instant;

use thalweg_model::{EventTime, Generate};
use thalweg_workloads::lrb::{LrbGenerator, LrbOptions};
use thalweg_workloads::nyt::NytGenerator;
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions};

const RECORDS: u64 = 20_000_000;
const REPEATS: usize = 7;

#[test]
#[ignore = "reads the clock"]
fn generator_speed() {
    measure("ysb", &YsbGenerator::new(YsbOptions::default()));
    measure("nyt", &NytGenerator::new(0));
    for rate in [1_000, 100_000, 10_000_000] {
        let begun = Instant::now();
        let rate_per_s = NonZeroU64::new(rate).unwrap();
        let generator = LrbGenerator::new(LrbOptions { rate_per_s, ..LrbOptions::default() });
        println!("lrb: cache made in {} ms", begun.elapsed().as_millis());
        measure(&format!("lrb, {} expressways", generator.xway_count()), &generator);
    }
}

/// Measures how long a generator takes to write blocks of records, as a source does.
fn measure<G: Generate>(name: &str, generator: &G)
where
    G::Item: Copy,
{
    let block_records = 384;
    let mut block = vec![generator.value(0, EventTime::EPOCH); block_records];
    let mut costs_ns: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let begun = Instant::now();
            let mut index = 0;
            while index < RECORDS {
                for slot in &mut block {
                    *slot = generator.value(index, EventTime::EPOCH);
                    index += 1;
                }
                black_box(&mut block);
            }
            begun.elapsed().as_secs_f64() * 1e9 / RECORDS as f64
        })
        .collect();
    costs_ns.sort_unstable_by(f64::total_cmp);
    let [low, median, high] = [0, REPEATS / 2, REPEATS - 1].map(|n| costs_ns[n]);
    println!("{name}: {median:.2} ns a record ({low:.2}..{high:.2})");
}
