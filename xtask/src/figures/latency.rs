//! How long a record takes when there is little to do, every record measured, and what waiting for it costs.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::table::{Row, Table, Target, Unit};

/// Tens of microseconds are what waking a thread takes.
const P50_MICROS_MAX: f64 = 60.0;
const P99_MICROS_MAX: f64 = 600.0;

/// A worker that spins for the last 50 us before a record is due would use 5 % of a core at this rate.
const CPU_PERCENT_MAX: f64 = 5.0;

/// A record every millisecond: 200 of 20,000 lie above the 99th percentile.
const SECONDS: f64 = 20.0;

const SIDES: [(&str, &str); 2] =
    [("one worker", "ysb --workers 1 --rate 1000"), ("two workers", "ysb --workers 2 --rate 1000")];

/// Of every side, a round each: p50 and p99 in microseconds, and the percentage of a core.
#[derive(Default)]
pub(super) struct Latency([[Vec<f64>; 3]; SIDES.len()]);

impl Section for Latency {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        for ((workers, options), measured) in SIDES.iter().zip(&mut self.0) {
            let side = Side {
                title: format!("1,000 events/s, {workers}"),
                options: (*options).to_owned(),
                seconds: SECONDS,
                workers: Workers::Waiting,
            };
            let figures = bench.figures(&side)?;
            let found = [
                figures.number("/latency_us/p50")?,
                figures.number("/latency_us/p99")?,
                figures.cpu_percent()?,
            ];
            measured.iter_mut().zip(found).for_each(|(measured, found)| measured.push(found));
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let rows = SIDES.iter().zip(&self.0).flat_map(|((workers, _), [p50, p99, cpu])| {
            let row = |what: &str, figures, unit, most| {
                Row::new(format!("{workers}, {what}"), figures, unit).aiming(Target::AtMost(most))
            };
            [
                row("p50", p50, Unit::Micros, P50_MICROS_MAX),
                row("p99", p99, Unit::Micros, P99_MICROS_MAX),
                row("CPU, of one core", cpu, Unit::Percent, CPU_PERCENT_MAX),
            ]
        });
        Table { head: "YSB at 1,000 events/s, default chains".to_owned(), rows: rows.collect() }
    }
}
