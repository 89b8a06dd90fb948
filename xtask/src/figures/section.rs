//! Sections as data: the runs of each round, the figures that are read from them, and the bounds of the figures.

use super::table::{Row, Table, Target, Unit, median};

/// A section of the figures: a table, and the runs that it comes from. Every run is made once in each round,
/// in this order.
pub(super) struct Section {
    head: String,
    pub(super) sides: Vec<Side>,
}

/// A kind of run that is made once in each round, and the lines of the table that it fills.
pub(super) struct Side {
    /// Title of the run for people, printed while it runs and in the table of
    /// [`scheduling`](super::scheduling).
    pub(super) title: String,
    /// The workload and its options, as `thalweg bench` takes them.
    pub(super) options: String,
    pub(super) work: Work,
    /// Length of the run in seconds, unless the command line says another.
    pub(super) seconds: f64,
    pub(super) workers: Workers,
    pub(super) lines: Vec<Line>,
}

/// The rate at which the engine gets events in a run.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// The rate is among the options of `thalweg bench`.
    AtRate,
    /// The run is as fast as the engine can be.
    Drained,
    /// The rate is a share of the speed that was measured in the same round with the same options.
    AtShare(f64),
    /// No engine runs: threads only read the clock, see [`machine`](super::machine).
    Clock,
}

/// How busy the workers are in a run. The time for choosing tasks is judged by this.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Workers {
    /// Workers always have work.
    Busy,
    /// Workers have a record now and then.
    Waiting,
    /// Workers have so little work that the time for choosing tasks says nothing: one choice in 64 is
    /// measured.
    Idle,
}

/// A row of the section's table, which shows one figure of a run.
pub(super) struct Line {
    pub(super) title: String,
    pub(super) figure: Figure,
    pub(super) aim: Aim,
    /// The values of this figure that were measured so far, one for each round.
    pub(super) measured: Vec<f64>,
}

/// Kind of a figure that is read from a run.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    /// The figure is the number at a pointer into the run's JSON, such as `/latency_us/p50`.
    Number(&'static str, Unit),
    /// The figure is the speed in million records per second.
    Speed,
    /// The figure is the speed as a ratio to the speed that was measured in the same round with these
    /// options.
    SpeedOf(&'static str),
    /// The figure is the CPU time as a percentage of one core.
    Cpu,
    /// The figure is the ratio of processed to offered records.
    KeptUp,
    /// The figure is the number of records of one query as a ratio to the mean over all queries. Place 0
    /// means the query with the least records, and place 1 the query with the most.
    QueryShare(usize),
}

/// Bound of the median of a figure.
pub(super) enum Aim {
    /// The median of the figure has no bound.
    Free,
    AtLeast(f64),
    AtMost(f64),
    /// The median should be at most the median of the run with these options.
    AtMostOf(String),
    /// The table shows the ratio to the median of the run with these options. The ratio should be at least
    /// the bound, if there is one.
    OfCeiling(String, Option<f64>),
}

impl Section {
    pub(super) fn new(head: impl Into<String>, sides: impl IntoIterator<Item = Side>) -> Self {
        Section { head: head.into(), sides: sides.into_iter().collect() }
    }

    /// Returns the section's table of the figures measured so far.
    pub(super) fn table(&self) -> Table {
        let lines = || self.sides.iter().flat_map(|side| &side.lines);
        let is_speed = |line: &&Line| matches!(line.figure, Figure::Speed);
        // Speeds below 10 need digits behind the point, and all speeds of a table are written alike.
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

    /// Returns the values of the first figure of the run with these options.
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
