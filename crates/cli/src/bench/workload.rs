//! The workloads, and what each takes of the options that not all take.

use clap::ValueEnum;
use thalweg::Span;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::nyt;
use thalweg_workloads::ysb::event;

/// A workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Workload {
    /// Yahoo's streaming benchmark: views per campaign.
    Ysb,
    /// New York's taxis: trips and their mean distance per cell of the town.
    Nyt,
}

/// What a workload takes.
pub struct Facts {
    /// Its name in options, figures and files.
    pub name: &'static str,
    /// The windows that it counts in.
    pub windows: Windows,
    /// Records per second of event time, unless `--rate` says otherwise.
    pub nominal_rate_per_s: u64,
    /// Whether it takes `--input`.
    pub is_recorded: bool,
    /// Whether it takes `--cyclic`.
    pub has_cycle: bool,
    /// As which hand-written loops there is.
    pub loops: &'static [LoopKind],
}

/// Windows, as far as they can be chosen.
pub struct Windows {
    /// Their size unless `--window` says otherwise.
    pub size: Span,
    /// They start at whole multiples of this, for so their start is written.
    pub unit: Span,
    /// In words.
    pub units: &'static str,
}

const YSB: Facts = Facts {
    name: "ysb",
    windows: Windows { size: event::WINDOW, unit: Span::from_millis(1), units: "milliseconds" },
    nominal_rate_per_s: 10_000_000,
    is_recorded: false,
    has_cycle: true,
    loops: &LoopKind::ALL,
};

const NYT: Facts = Facts {
    name: "nyt",
    windows: Windows { size: nyt::WINDOW, unit: Span::from_secs(1), units: "seconds" },
    is_recorded: true,
    has_cycle: false,
    loops: &[],
    ..YSB
};

impl Workload {
    /// What it takes.
    pub const fn facts(self) -> &'static Facts {
        match self {
            Workload::Ysb => &YSB,
            Workload::Nyt => &NYT,
        }
    }

    /// The names of those that take something, such as `ysb or nyt`.
    pub fn names_of(takes: impl Fn(&Facts) -> bool) -> String {
        let facts = Self::value_variants().iter().map(|workload| workload.facts());
        let names: Vec<&str> = facts.filter(|facts| takes(facts)).map(|facts| facts.name).collect();
        match names.split_last() {
            Some((last, first @ [_, ..])) => format!("{} or {last}", first.join(", ")),
            _ => names.concat(),
        }
    }
}
