//! How fast a drained generator gets through, beside its ceiling: the same job as one hand-written loop, or with another
//! window, run in the same round.

use anyhow::Result;

use super::Section;
use super::bench::{Bench, Side, Workers};
use super::table::{Row, Table, Target, Unit};

/// A line: what it is, the workload and its options, the line that it is set in relation to, and how much of that it is to
/// reach.
struct Speed {
    title: &'static str,
    options: &'static str,
    ceiling: Option<usize>,
    of_ceiling_min: Option<f64>,
}

/// A table: what it says, and its lines.
pub(super) struct Lines {
    head: &'static str,
    speeds: &'static [Speed],
}

/// The Yahoo streaming benchmark.
pub(super) const YSB: Lines = Lines {
    head: "YSB, M events/s",
    speeds: &[
        Speed {
            title: "hand-written, a loop per operator (`--api loop-blocks`)",
            options: "ysb --workers 1 --api loop-blocks",
            ceiling: None,
            of_ceiling_min: None,
        },
        Speed {
            title: "engine, a task per operator (`--isolate`)",
            options: "ysb --workers 1 --isolate",
            ceiling: Some(0),
            of_ceiling_min: Some(0.8),
        },
        Speed {
            title: "hand-written, two chains (`--api loop-chains`)",
            options: "ysb --workers 1 --api loop-chains",
            ceiling: None,
            of_ceiling_min: None,
        },
        DEFAULT_CHAINS,
        Speed {
            title: "hand-written, one loop (`--api loop-fused`)",
            options: "ysb --workers 1 --api loop-fused",
            ceiling: None,
            of_ceiling_min: None,
        },
        Speed {
            title: "engine, one task (`--chain all`)",
            options: "ysb --workers 1 --chain all",
            ceiling: Some(4),
            of_ceiling_min: None,
        },
        Speed {
            title: "engine, default chains, two workers, `--parallel serial`",
            options: "ysb --workers 2 --parallel serial",
            ceiling: Some(2),
            of_ceiling_min: None,
        },
    ],
};

/// The same question in SQL, over batches of columns.
pub(super) const SQL: Lines = Lines {
    head: "YSB in SQL, M events/s",
    speeds: &[
        Speed {
            title: "hand-written, a loop per operator (`--api loop-blocks`)",
            options: "ysb --workers 1 --api loop-blocks",
            ceiling: None,
            of_ceiling_min: None,
        },
        Speed {
            title: "SQL (`--api sql`)",
            options: "ysb --workers 1 --api sql",
            ceiling: Some(0),
            of_ceiling_min: None,
        },
        Speed {
            title: "SQL, two workers",
            options: "ysb --workers 2 --api sql",
            ceiling: Some(1),
            of_ceiling_min: None,
        },
    ],
};

/// What the loads follow from as well.
pub(super) const DEFAULT_CHAINS_OPTIONS: &str = "ysb --workers 1";

const DEFAULT_CHAINS: Speed = Speed {
    title: "engine, default chains",
    options: DEFAULT_CHAINS_OPTIONS,
    ceiling: Some(2),
    of_ceiling_min: Some(0.8),
};

/// Linear Road's short form, and the taxis.
pub(super) const ROADS: Lines = Lines {
    head: "Linear Road and NYT, M events/s",
    speeds: &[
        Speed {
            title: "Linear Road by hand, a loop per operator (`lrb --api loop-blocks`)",
            options: "lrb --workers 1 --api loop-blocks",
            ceiling: None,
            of_ceiling_min: None,
        },
        Speed {
            title: "Linear Road, default chains (`lrb`)",
            options: "lrb --workers 1",
            ceiling: Some(0),
            of_ceiling_min: Some(0.6),
        },
        Speed {
            title: "Linear Road, two workers, `--parallel serial`",
            options: "lrb --workers 2 --parallel serial",
            ceiling: Some(0),
            of_ceiling_min: None,
        },
        Speed {
            title: "taxis, 60 s (`nyt`)",
            options: "nyt --workers 1",
            ceiling: None,
            of_ceiling_min: None,
        },
        Speed {
            title: "taxis, 120 s every 30 s (`nyt --window 120s --slide 30s`)",
            options: "nyt --workers 1 --window 120s --slide 30s",
            ceiling: Some(3),
            of_ceiling_min: None,
        },
    ],
};

/// A mode of the ablation, on two cores.
macro_rules! mode {
    ($title:literal, $execution:literal, $memory:literal, $ceiling:expr, $of_ceiling_min:expr) => {
        Speed {
            title: $title,
            options: concat!(
                "ysb --workers 2 --parallel serial --isolate --execution ",
                $execution,
                " --memory ",
                $memory
            ),
            ceiling: $ceiling,
            of_ceiling_min: $of_ceiling_min,
        }
    };
}

/// Who runs operators, and what lies between them (Enjima, section 5.2.5): every operator a task of its own.
pub(super) const ABLATION: Lines = Lines {
    head: "YSB on two cores, a task per operator, M events/s",
    speeds: &[
        mode!("threads, queue", "threads", "queue", None, None),
        mode!("threads, queue in batches", "threads", "queue-batched", Some(0), None),
        mode!("threads, blocks", "threads", "blocks", Some(0), None),
        mode!("workers, queue", "workers", "queue", Some(0), None),
        mode!("workers, queue in batches", "workers", "queue-batched", Some(0), None),
        mode!("workers, blocks", "workers", "blocks", Some(0), Some(5.0)),
        mode!("the same, of threads with queues in batches", "workers", "blocks", Some(1), Some(1.3)),
    ],
};

/// A workload on one worker, and on two that share its operators, which are to do so much more; every two lines are of one.
macro_rules! scaling {
    ($($workload:literal: $of_one_min:literal,)*) => {
        &[$(
            Speed {
                title: concat!("`", $workload, "`, one worker"),
                options: concat!($workload, " --workers 1"),
                ceiling: None,
                of_ceiling_min: None,
            },
            Speed {
                title: concat!("`", $workload, "`, two workers"),
                options: concat!($workload, " --workers 2"),
                ceiling: Some(LINE_BEFORE),
                of_ceiling_min: Some($of_one_min),
            },
        )*]
    };
}

/// As a ceiling: the line before.
const LINE_BEFORE: usize = usize::MAX;

/// Several workers inside one query.
pub(super) const SCALING: Lines = Lines {
    head: "Two workers inside one query, M records/s",
    speeds: scaling! {
        "ysb": 1.8,
        "nyt": 1.8,
        "wordcount": 1.8,
        "netmon": 1.8,
        "distinct": 1.8,
        "grep": 1.8,
        "lrb": 1.6,
        "tweets": 1.0,
        "join": 1.0,
    },
};

/// A workload on two workers: in order, its records made as if some came early, a share of them early, and its watermarks a
/// hundred times as frequent as by default.
macro_rules! disorder {
    ($($workload:literal,)*) => {
        &[$(
            Speed {
                title: concat!("`", $workload, "`, in order"),
                options: concat!($workload, " --workers 2"),
                ceiling: None,
                of_ceiling_min: None,
            },
            Speed {
                title: concat!("`", $workload, "`, a watermark every 10 us of event time"),
                options: concat!($workload, " --workers 2 --watermark-step 10us"),
                ceiling: Some(LINE_BEFORE),
                of_ceiling_min: Some(0.85),
            },
            Speed {
                title: concat!("`", $workload, "`, made as if some came early"),
                options: concat!($workload, " --workers 2 --late-share 0.001"),
                ceiling: None,
                of_ceiling_min: None,
            },
            Speed {
                title: concat!("`", $workload, "`, 40 % an epoch early"),
                options: concat!($workload, " --workers 2 --late-share 40"),
                ceiling: Some(LINE_BEFORE),
                of_ceiling_min: Some(0.93),
            },
        )*]
    };
}

/// Records out of order, and watermarks that come often.
pub(super) const DISORDER: Lines = Lines {
    head: "Two workers, records out of order and watermarks often, M records/s",
    speeds: disorder! { "ysb", "nyt", "wordcount", "netmon", "grep", },
};

/// The same at a rate of event time at which an epoch is a whole number of the generator's periods: then a record that comes
/// early is read where that is which would come in its time, and what is lost is the engine's.
macro_rules! early {
    ($($workload:literal: $rate:literal,)*) => {
        &[$(
            Speed {
                title: concat!("`", $workload, "`, made as if some came early"),
                options: concat!($workload, " --workers 2 --nominal-rate ", $rate, " --late-share 0.001"),
                ceiling: None,
                of_ceiling_min: None,
            },
            Speed {
                title: concat!("`", $workload, "`, 40 % an epoch early"),
                options: concat!($workload, " --workers 2 --nominal-rate ", $rate, " --late-share 40"),
                ceiling: Some(LINE_BEFORE),
                of_ceiling_min: Some(0.93),
            },
        )*]
    };
}

/// Records out of order, from generators that read one place of their caches.
pub(super) const EARLY: Lines = Lines {
    head: "Two workers, an epoch is a whole number of the generator's periods, M records/s",
    speeds: early! { "ysb": 10485760, "netmon": 1000000, },
};

/// A run of so many seconds drains some hundred million events.
const SECONDS: f64 = 5.0;

/// What draining the generator with these options is.
pub(super) fn drained(title: &str, options: &str) -> Side {
    Side {
        title: title.to_owned(),
        options: format!("{options} --rate max"),
        seconds: SECONDS,
        workers: Workers::Busy,
    }
}

/// Million events per second of every line, a round each.
pub(super) struct Speeds {
    lines: Lines,
    measured: Vec<Vec<f64>>,
}

impl Speeds {
    pub(super) fn of(lines: Lines) -> Self {
        let measured = vec![Vec::new(); lines.speeds.len()];
        Speeds { lines, measured }
    }
}

/// The line that a ceiling is, of the line at this place.
fn ceiling_of(ceiling: usize, place: usize) -> usize {
    if ceiling == LINE_BEFORE { place - 1 } else { ceiling }
}

impl Section for Speeds {
    fn measure(&mut self, bench: &mut Bench<'_>) -> Result<()> {
        for (Speed { title, options, .. }, measured) in self.lines.speeds.iter().zip(&mut self.measured) {
            measured.push(bench.figures(&drained(title, options))?.speed()?);
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let is_slow = self.measured.iter().flatten().any(|&speed| speed < 10.0);
        let unit = if is_slow { Unit::Ratio } else { Unit::Whole };
        let row = |(place, (speed, measured)): (usize, (&Speed, &Vec<f64>))| Row {
            ceiling: speed.ceiling.map(|ceiling| self.measured[ceiling_of(ceiling, place)].clone()),
            target: speed.of_ceiling_min.map(Target::OfCeiling),
            ..Row::new(speed.title, measured, unit)
        };
        let Lines { head, speeds } = self.lines;
        let rows = speeds.iter().zip(&self.measured).enumerate().map(row).collect();
        Table { head: head.to_owned(), rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is aimed at is a hand-written side.
    #[test]
    fn ceilings_are_loops() {
        for Lines { speeds, .. } in [YSB, ROADS] {
            for Speed { title, ceiling, of_ceiling_min, .. } in speeds {
                let is_loop = ceiling.is_some_and(|ceiling| speeds[ceiling].options.contains("--api"));
                assert!(of_ceiling_min.is_none() || is_loop, "{title}");
            }
        }
    }

    /// A line that refers to the one before it is of the same workload.
    #[test]
    fn lines_refer_to_their_own_workload() {
        for Lines { speeds, .. } in [SCALING, DISORDER, EARLY] {
            for (place, speed) in speeds.iter().enumerate() {
                let workload = |speed: &Speed| speed.options.split(' ').next().map(str::to_owned);
                let of = speed.ceiling.map(|ceiling| &speeds[ceiling_of(ceiling, place)]);
                assert!(of.is_none_or(|of| of.ceiling.is_none() && workload(of) == workload(speed)));
            }
        }
    }
}
