//! What an engine costs that has queries and next to nothing to do.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::table::{Row, Table, Target, Unit};

/// An engine that ticks every millisecond uses more.
const CPU_PERCENT_MAX: f64 = 2.0;

const SECONDS: f64 = 10.0;

const SIDES: [(&str, &str); 2] = [
    ("one worker", "ysb --workers 1 --queries 20 --rate 1"),
    ("two workers", "ysb --workers 2 --queries 20 --rate 1"),
];

/// The percentage of a core of every side, a round each.
#[derive(Default)]
pub(super) struct Idle([Vec<f64>; SIDES.len()]);

impl Section for Idle {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        for ((workers, options), measured) in SIDES.iter().zip(&mut self.0) {
            let side = Side {
                title: format!("20 queries at 1 event/s, {workers}"),
                options: (*options).to_owned(),
                seconds: SECONDS,
                workers: Workers::Idle,
            };
            measured.push(bench.figures(&side)?.cpu_percent()?);
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let row = |((workers, _), measured): (&(&str, &str), &Vec<f64>)| {
            let row = Row::new(format!("{workers}, CPU, of one core"), measured, Unit::Percent);
            row.aiming(Target::AtMost(CPU_PERCENT_MAX))
        };
        Table {
            head: "20 YSB queries at 1 event/s each, default chains".to_owned(),
            rows: SIDES.iter().zip(&self.0).map(row).collect(),
        }
    }
}
