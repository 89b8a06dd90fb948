//! How fast a drained generator gets through, beside its ceiling: the same job as one hand-written loop, run in the
//! same round.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::table::{Row, Table, Target, Unit};

/// What the engine is to reach of the hand-written loop.
const OF_CEILING_MIN: f64 = 0.8;

/// A line: what it is, the options of `bench ysb`, the line that is its ceiling, and whether it is to come near it.
struct Speed {
    title: &'static str,
    options: &'static str,
    ceiling: Option<usize>,
    is_aiming: bool,
}

const SPEEDS: [Speed; 7] = [
    Speed {
        title: "hand-written, a loop per operator (`--api loop-blocks`)",
        options: "--workers 1 --api loop-blocks",
        ceiling: None,
        is_aiming: false,
    },
    Speed {
        title: "engine, a task per operator (`--isolate`)",
        options: "--workers 1 --isolate",
        ceiling: Some(0),
        is_aiming: true,
    },
    Speed {
        title: "hand-written, two chains (`--api loop-chains`)",
        options: "--workers 1 --api loop-chains",
        ceiling: None,
        is_aiming: false,
    },
    Speed { title: "engine, default chains", options: "--workers 1", ceiling: Some(2), is_aiming: true },
    Speed {
        title: "hand-written, one loop (`--api loop-fused`)",
        options: "--workers 1 --api loop-fused",
        ceiling: None,
        is_aiming: false,
    },
    Speed {
        title: "engine, one task (`--chain all`)",
        options: "--workers 1 --chain all",
        ceiling: Some(4),
        is_aiming: false,
    },
    Speed {
        title: "engine, default chains, two workers",
        options: "--workers 2",
        ceiling: Some(2),
        is_aiming: false,
    },
];

/// A run of so many seconds drains some hundred million events.
const SECONDS: f64 = 5.0;

/// What draining the generator with these options is.
fn drained(title: &str, options: &str) -> Side {
    Side {
        title: title.to_owned(),
        options: format!("{options} --rate max"),
        seconds: SECONDS,
        workers: Workers::Busy,
    }
}

/// Default chains on one worker, drained; what others are set in relation to.
pub(super) fn default_chains() -> Side {
    drained(SPEEDS[3].title, SPEEDS[3].options)
}

/// Million events per second of every line, a round each.
#[derive(Default)]
pub(super) struct Speeds([Vec<f64>; SPEEDS.len()]);

impl Section for Speeds {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        for (Speed { title, options, .. }, measured) in SPEEDS.iter().zip(&mut self.0) {
            measured.push(bench.figures(&drained(title, options))?.speed()?);
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let row = |(speed, measured): (&Speed, &Vec<f64>)| Row {
            ceiling: speed.ceiling.map(|ceiling| self.0[ceiling].clone()),
            target: speed.is_aiming.then_some(Target::OfCeiling(OF_CEILING_MIN)),
            ..Row::new(speed.title, measured, Unit::Whole)
        };
        Table { head: "YSB, M events/s".to_owned(), rows: SPEEDS.iter().zip(&self.0).map(row).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every ceiling is a hand-written side.
    #[test]
    fn ceilings_are_loops() {
        for Speed { title, ceiling, .. } in SPEEDS {
            assert!(ceiling.is_none_or(|ceiling| SPEEDS[ceiling].options.contains("--api")), "{title}");
        }
    }

    #[test]
    fn the_side_that_others_refer_to_is_the_engine_s_default() {
        assert_eq!(default_chains().options, "--workers 1 --rate max");
    }
}
