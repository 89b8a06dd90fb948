//! How long a record takes where workers share the operators, and where each operator has a thread of its own: the second half of
//! Enjima's ablation (SIGMOD 2025, section 5.2.5). At each rate both run by turns.
//!
//! A mean over few markers is made by the worst of them, which is the machine's doing (see [`machine`](super::machine)): medians
//! of 25 rounds are what can be repeated.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::table::{Row, Table, Target, Unit};

/// Up to nine tenths of what threads did at most where the figures were taken, in events per second.
const RATES: [u64; 10] = [
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    50_000_000,
    80_000_000,
    100_000_000,
    125_000_000,
    147_000_000,
];

/// With a marker every 50 ms, 40 of them; of up to 10,000 events a second each is one.
const SECONDS: f64 = 2.0;

/// Of every rate, a round each: the mean of workers and that of threads, in microseconds.
#[derive(Default)]
pub(super) struct Modes([[Vec<f64>; 2]; RATES.len()]);

impl Section for Modes {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        for (rate, measured) in RATES.iter().zip(&mut self.0) {
            for (execution, means) in ["workers", "threads"].iter().zip(measured) {
                let side = Side {
                    title: format!("{rate} events/s, {execution}"),
                    options: format!(
                        "ysb --workers 2 --parallel serial --isolate --rate {rate} --execution {execution}"
                    ),
                    seconds: SECONDS,
                    workers: Workers::Idle,
                };
                means.push(bench.figures(&side)?.number("/latency_us/mean")?);
            }
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let rows = RATES.iter().zip(&self.0).flat_map(|(rate, [workers, threads])| {
            let row = |who: &str, means| Row::new(format!("{rate} events/s, {who}"), means, Unit::Micros);
            [
                row("workers", workers).aiming(Target::AtMost(super::table::median(threads))),
                row("a thread per operator", threads),
            ]
        });
        Table { head: "YSB, two workers, mean latency".to_owned(), rows: rows.collect() }
    }
}
