//! What eight queries do together, against one alone; and whether each gets its part when there is hardly enough.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::table::{Row, Table, Target, Unit};

const QUERIES: u32 = 8;

/// Two workers, a task per operator: most of the choices that an engine can have to make.
const BASE: &str = "ysb --workers 2 --chain none";

/// Of what the queries did together when they were drained.
const LOAD: f64 = 0.95;

/// More queries are more tasks to choose from, and more to keep in the caches; next to nothing less is to be done.
const AGAINST_ONE_MIN: f64 = 0.9;

/// Less means that a backlog grew.
const KEPT_UP_MIN: f64 = 0.99;

/// How far a query may be from an eighth of what all do.
const SHARE_MIN: f64 = 0.9;
const SHARE_MAX: f64 = 1.1;

const SECONDS: f64 = 5.0;

/// A round each.
#[derive(Default)]
pub(super) struct Queries {
    /// Million events per second.
    one: Vec<f64>,
    /// Million events per second of all.
    all: Vec<f64>,
    against_one: Vec<f64>,
    /// Of what was offered.
    kept_up: Vec<f64>,
    /// Least and most that a query did, as a multiple of an eighth of what all did.
    shares: [Vec<f64>; 2],
}

fn side(title: &str, options: &str) -> Side {
    Side {
        title: format!("{title}, two workers, a task per operator"),
        options: format!("{BASE} {options}"),
        seconds: SECONDS,
        workers: Workers::Busy,
    }
}

impl Section for Queries {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        let one = bench.figures(&side("one query", "--rate max"))?.speed()?;
        let options = format!("--queries {QUERIES} --rate max");
        let all = bench.figures(&side("eight queries", &options))?.speed()?;
        let rate = (LOAD * all * 1e6 / f64::from(QUERIES)).max(1.0).round();
        let options = format!("--queries {QUERIES} --rate {rate}");
        let figures = bench.figures(&side(&format!("eight queries at {LOAD} of that"), &options))?;
        let eighth = figures.number("/throughput_per_s")? / f64::from(QUERIES);
        self.kept_up.push(eighth / rate);
        for (index, shares) in self.shares.iter_mut().enumerate() {
            shares.push(figures.number(&format!("/query_throughput_per_s/{index}"))? / eighth);
        }
        self.one.push(one);
        self.all.push(all);
        self.against_one.push(all / one);
        Ok(())
    }

    fn table(&self) -> Table {
        let [least, most] = &self.shares;
        let share = |what: &str| format!("at {LOAD} of that: the {what} of a query, in eighths of all");
        Table {
            head: "YSB, M events/s, two workers, a task per operator".to_owned(),
            rows: vec![
                Row::new("one query", &self.one, Unit::Whole),
                Row::new("eight queries, in all", &self.all, Unit::Whole),
                Row::new("eight queries against one", &self.against_one, Unit::Ratio)
                    .aiming(Target::AtLeast(AGAINST_ONE_MIN)),
                Row::new(format!("at {LOAD} of that: done of what was offered"), &self.kept_up, Unit::Ratio)
                    .aiming(Target::AtLeast(KEPT_UP_MIN)),
                Row::new(share("least"), least, Unit::Ratio).aiming(Target::AtLeast(SHARE_MIN)),
                Row::new(share("most"), most, Unit::Ratio).aiming(Target::AtMost(SHARE_MAX)),
            ],
        }
    }
}
