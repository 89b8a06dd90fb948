//! The first argument of the command `bench`: the name of a workload, or of an experiment of a paper.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::workload::Workload;

/// A workload to run, or an experiment of a paper to repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Workload(Workload),
    Experiment(Experiment),
}

/// All workloads and experiments that can be run.
const ALL: &[Target] = &[
    Target::Workload(Workload::Ysb),
    Target::Workload(Workload::Nyt),
    Target::Workload(Workload::Lrb),
    Target::Workload(Workload::LrbFull),
    Target::Workload(Workload::Grep),
    Target::Workload(Workload::Wordcount),
    Target::Workload(Workload::Distinct),
    Target::Workload(Workload::Tweets),
    Target::Workload(Workload::Netmon),
    Target::Workload(Workload::Etl),
    Target::Workload(Workload::Stats),
    Target::Workload(Workload::Join),
    Target::Workload(Workload::Ipq1),
    Target::Workload(Workload::Ipq2),
    Target::Workload(Workload::Ipq3),
    Target::Workload(Workload::Ipq4),
    Target::Workload(Workload::Mixed),
    Target::Workload(Workload::Tenants),
    Target::Workload(Workload::NexmarkQ0),
    Target::Workload(Workload::NexmarkQ1),
    Target::Workload(Workload::NexmarkQ2),
    Target::Workload(Workload::NexmarkQ3),
    Target::Workload(Workload::NexmarkQ4),
    Target::Workload(Workload::NexmarkQ5),
    Target::Workload(Workload::NexmarkQ7),
    Target::Workload(Workload::NexmarkQ8),
    Target::Workload(Workload::NexmarkQ9),
    Target::Workload(Workload::NexmarkQ10),
    Target::Workload(Workload::NexmarkQ11),
    Target::Workload(Workload::NexmarkQ12),
    Target::Workload(Workload::NexmarkQ13),
    Target::Workload(Workload::NexmarkQ14),
    Target::Workload(Workload::NexmarkQ15),
    Target::Workload(Workload::NexmarkQ16),
    Target::Workload(Workload::NexmarkQ17),
    Target::Workload(Workload::NexmarkQ18),
    Target::Workload(Workload::NexmarkQ19),
    Target::Workload(Workload::NexmarkQ20),
    Target::Workload(Workload::NexmarkQ21),
    Target::Workload(Workload::NexmarkQ22),
    Target::Experiment(Experiment::EnjimaFig5b),
    Target::Experiment(Experiment::EnjimaFig9a),
    Target::Experiment(Experiment::EnjimaFig9b),
    Target::Experiment(Experiment::CameoFig8),
    Target::Experiment(Experiment::CameoFig8b),
    Target::Experiment(Experiment::CameoFig8c),
    Target::Experiment(Experiment::LachesisFig5),
    Target::Experiment(Experiment::LachesisFig6),
    Target::Experiment(Experiment::LachesisFig10),
    Target::Experiment(Experiment::LachesisFig11),
    Target::Experiment(Experiment::LachesisFig14),
    Target::Experiment(Experiment::LachesisFig15),
    Target::Experiment(Experiment::LachesisFig16),
];

impl ValueEnum for Target {
    fn value_variants<'a>() -> &'a [Self] {
        ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Target::Workload(workload) => workload.to_possible_value(),
            Target::Experiment(experiment) => experiment.to_possible_value(),
        }
    }
}

/// An experiment of a paper that `bench` can repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Experiment {
    /// Enjima, Fig. 5b: policies, with more and more YSB queries.
    #[value(name = "enjima-fig5b")]
    EnjimaFig5b,
    /// Enjima, Fig. 9a: threads or workers, queues or blocks, at rising rates of LRB.
    #[value(name = "enjima-fig9a")]
    EnjimaFig9a,
    /// Enjima, Fig. 9b: threads or workers, queues or blocks, at rising rates of YSB.
    #[value(name = "enjima-fig9b")]
    EnjimaFig9b,
    /// Cameo, Fig. 8a: jobs with a latency target, beside bulk jobs that are offered more and more load.
    #[value(name = "cameo-fig8")]
    CameoFig8,
    /// Cameo, Fig. 8b: jobs with a latency target, beside more and more bulk jobs.
    #[value(name = "cameo-fig8b")]
    CameoFig8b,
    /// Cameo, Fig. 8c: jobs with a latency target, beside bulk jobs, on fewer and fewer workers.
    #[value(name = "cameo-fig8c")]
    CameoFig8c,
    /// Lachesis, Fig. 5: nice values for the threads of ETL, at rising rates.
    #[value(name = "lachesis-fig5")]
    LachesisFig5,
    /// Lachesis, Fig. 6: nice values for the threads of STATS, at rising rates.
    #[value(name = "lachesis-fig6")]
    LachesisFig6,
    /// Lachesis, Fig. 10 and Table 1: real-time priorities for the threads of ETL, at rising rates.
    #[value(name = "lachesis-fig10")]
    LachesisFig10,
    /// Lachesis, Fig. 11 and Table 1: real-time priorities for the threads of STATS, at rising rates.
    #[value(name = "lachesis-fig11")]
    LachesisFig11,
    /// Lachesis, Fig. 14: mean length of the queue of each operator of ETL, beyond saturation.
    #[value(name = "lachesis-fig14")]
    LachesisFig14,
    /// Lachesis, Fig. 15: mean priority of the thread of each operator of ETL, beyond saturation.
    #[value(name = "lachesis-fig15")]
    LachesisFig15,
    /// Lachesis, Fig. 16: time between two rounds of steering, beyond saturation.
    #[value(name = "lachesis-fig16")]
    LachesisFig16,
}

impl Experiment {
    /// Returns the workload that the experiment runs, and whose options it takes.
    pub const fn workload(self) -> Workload {
        match self {
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => Workload::Ysb,
            Experiment::EnjimaFig9a => Workload::Lrb,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => Workload::Tenants,
            Experiment::LachesisFig5
            | Experiment::LachesisFig10
            | Experiment::LachesisFig14
            | Experiment::LachesisFig15
            | Experiment::LachesisFig16 => Workload::Etl,
            Experiment::LachesisFig6 | Experiment::LachesisFig11 => Workload::Stats,
        }
    }
}
