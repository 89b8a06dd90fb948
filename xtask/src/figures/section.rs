//! Sections as data: the runs of each round, the figures that are read from them, and the bounds of the figures.

use super::table::{Row, Table, Target, Unit, median};

/// A table, and the runs that it comes from. Every side runs once in each round, in this order.
pub(super) struct Section {
    head: String,
    pub(super) sides: Vec<Side>,
}

/// A run of each round, and the lines of the table that it fills.
pub(super) struct Side {
    /// Title for people, shown while the side runs and in the table of [`scheduling`](super::scheduling).
    pub(super) title: String,
    /// The workload and its options.
    pub(super) options: String,
    pub(super) work: Work,
    /// Length of the run, unless the command line says another.
    pub(super) seconds: f64,
    pub(super) workers: Workers,
    pub(super) lines: Vec<Line>,
}

/// The rate of a run.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// The rate that the options give.
    AtRate,
    /// The highest rate that the engine reaches.
    Drained,
    /// A share of the speed that was measured in the same round with the same options.
    AtShare(f64),
    /// No engine runs: threads look at the clock, see [`machine`](super::machine).
    Clock,
}

/// Load of the workers, by which the time for choosing tasks is judged.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Workers {
    /// There is always work.
    Busy,
    /// There is a record now and then.
    Waiting,
    /// There is so little work that the sample of choices, one in 64, says nothing.
    Idle,
}

/// A row of the table: one figure of the run.
pub(super) struct Line {
    pub(super) title: String,
    pub(super) figure: Figure,
    pub(super) aim: Aim,
    /// The figures measured so far, one for each round.
    pub(super) measured: Vec<f64>,
}

/// A figure of a run.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    /// The number at a pointer into the run's JSON, such as `/latency_us/p50`.
    Number(&'static str, Unit),
    /// Million records per second.
    Speed,
    /// Speed as a ratio to the speed that was measured in the same round with these options.
    SpeedOf(&'static str),
    /// CPU time as a percentage of one core.
    Cpu,
    /// Records done, as a ratio to the records offered.
    KeptUp,
    /// Records of a query, as a ratio to the mean over all queries: at place 0 of the query with the least, at place 1 of the
    /// query with the most.
    QueryShare(usize),
}

/// Bound of the median of a line.
pub(super) enum Aim {
    /// No bound.
    Free,
    AtLeast(f64),
    AtMost(f64),
    /// At most the median of the side with these options.
    AtMostOf(String),
    /// The ratio to the median of the side with these options is shown. It should be at least the bound, if there is one.
    OfCeiling(String, Option<f64>),
}

impl Section {
    pub(super) fn new(head: impl Into<String>, sides: impl IntoIterator<Item = Side>) -> Self {
        Section { head: head.into(), sides: sides.into_iter().collect() }
    }

    /// Returns the table of the figures measured so far.
    pub(super) fn table(&self) -> Table {
        let lines = || self.sides.iter().flat_map(|side| &side.lines);
        let is_speed = |line: &&Line| matches!(line.figure, Figure::Speed);
        // Speeds below 10 need the digits behind the point, and all speeds of a table are written alike.
        let is_slow = lines().filter(is_speed).flat_map(|line| &line.measured).any(|&speed| speed < 10.0);
        let row = |line: &Line| {
            let unit = if is_slow && is_speed(&line) { Unit::Ratio } else { line.figure.unit() };
            let (ceiling, target) = match &line.aim {
                Aim::Free => (None, None),
                Aim::AtLeast(bound) => (None, Some(Target::AtLeast(*bound))),
                Aim::AtMost(bound) => (None, Some(Target::AtMost(*bound))),
                Aim::AtMostOf(options) => (None, Some(Target::AtMost(median(self.measured(options))))),
                Aim::OfCeiling(options, bound) => {
                    (Some(self.measured(options).to_vec()), bound.map(Target::OfCeiling))
                }
            };
            Row { title: line.title.clone(), figures: line.measured.clone(), unit, ceiling, target }
        };
        Table { head: self.head.clone(), rows: lines().map(row).collect() }
    }

    /// Returns the figures of the first line of the side with these options.
    fn measured(&self, options: &str) -> &[f64] {
        let side = self.sides.iter().find(|side| side.options == options);
        &side.expect("an aim names the options of a side of its own section").lines[0].measured
    }
}

impl Line {
    pub(super) fn new(title: impl Into<String>, figure: Figure, aim: Aim) -> Self {
        Line { title: title.into(), figure, aim, measured: Vec::new() }
    }
}

impl Figure {
    fn unit(self) -> Unit {
        match self {
            Figure::Number(_, unit) => unit,
            Figure::Speed => Unit::Whole,
            Figure::Cpu => Unit::Percent,
            Figure::SpeedOf(_) | Figure::KeptUp | Figure::QueryShare(_) => Unit::Ratio,
        }
    }
}
