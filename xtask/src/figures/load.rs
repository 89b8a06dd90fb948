//! How long a record takes when there is much to do: at shares of the speed that was measured in the same round.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::speeds;
use super::table::{Row, Table, Target, Unit};

/// Of the speed of default chains.
const SHARES: [f64; 2] = [0.5, 0.8];

/// What is loaded.
pub(super) struct Loaded {
    name: &'static str,
    options: &'static str,
    /// Of every share, the most that p99 may be. Latency below a millisecond at tens of millions of events a second is what
    /// the engine is for.
    p99_micros_max: [f64; 2],
}

/// YSB on one worker.
pub(super) const ONE: Loaded = Loaded {
    name: "YSB, one worker",
    options: speeds::DEFAULT_CHAINS_OPTIONS,
    p99_micros_max: [1_000.0, 3_000.0],
};

/// The same on two that share its operators.
pub(super) const TWO: Loaded =
    Loaded { name: "YSB, two workers", options: "ysb --workers 2", p99_micros_max: [1_000.0, 2_000.0] };

/// New York's taxis on two workers.
pub(super) const TAXIS: Loaded =
    Loaded { name: "NYT, two workers", options: "nyt --workers 2", p99_micros_max: [1_000.0, 2_000.0] };

/// An engine that falls behind has no latency: its backlog grows as long as it runs.
const KEPT_UP_MIN: f64 = 0.99;

/// With a marker every 50 ms, two of 200 lie above the 99th percentile.
const SECONDS: f64 = 10.0;

/// The highest rate that `bench` takes, in events per second.
const RATE_MAX: f64 = 1e9;

/// Of every share, a round each: what was done of what was offered, and p50 and p99 in microseconds.
pub(super) struct Load {
    of: Loaded,
    measured: [[Vec<f64>; 3]; SHARES.len()],
}

impl Load {
    pub(super) fn of(of: Loaded) -> Self {
        Load { of, measured: Default::default() }
    }
}

impl Section for Load {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        let Loaded { name, options, .. } = self.of;
        let max = bench.figures(&speeds::drained(name, options))?.speed()? * 1e6;
        for (share, measured) in SHARES.iter().zip(&mut self.measured) {
            let rate = (share * max).clamp(1.0, RATE_MAX).round();
            let side = Side {
                title: format!("{name}, at {share} of its speed"),
                options: format!("{options} --rate {rate}"),
                seconds: SECONDS,
                workers: Workers::Waiting,
            };
            let figures = bench.figures(&side)?;
            let found = [
                figures.number("/throughput_per_s")? / rate,
                figures.number("/latency_us/p50")?,
                figures.number("/latency_us/p99")?,
            ];
            measured.iter_mut().zip(found).for_each(|(measured, found)| measured.push(found));
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let sides = SHARES.iter().zip(self.of.p99_micros_max).zip(&self.measured);
        let rows = sides.flat_map(|((share, p99_micros_max), [kept_up, p50, p99])| {
            let row = |what: &str, figures, unit| Row::new(format!("at {share}, {what}"), figures, unit);
            [
                row("p50", p50, Unit::Micros),
                row("p99", p99, Unit::Micros).aiming(Target::AtMost(p99_micros_max)),
                row("done of what was offered", kept_up, Unit::Ratio).aiming(Target::AtLeast(KEPT_UP_MIN)),
            ]
        });
        Table { head: format!("{} at a share of its speed", self.of.name), rows: rows.collect() }
    }
}
