//! The queries, with the CPU time that their operators take.
//!
//! Operators of the paper cost 0.1 to 3 ms on its boards. Ours are faster, so each takes more time by `--spin-us` of the
//! programs in `bench/steer`. For ETL and STATS that is 0.1 ms times the weight that the operator has in `thalweg bench etl` and
//! `stats`, where a record is a message of five observations. For Linear Road each operator takes 0.1 ms, and the mean of
//! speeds twice that. Weights are ours.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// Length of a minute of Linear Road, in milliseconds. Its longest window is twice as long, so it fires many times within
/// a run.
const ROAD_MINUTE_MS: u32 = 2_000;
/// Options of the virtual machine of Storm's worker, which is started anew for each run: only its first compiler, whose code is
/// final after seconds. The second one takes core 0 for a minute, and next to nothing of it beside real-time threads, so that
/// a run would compare how far compilation has come.
const WORKER_OPTIONS: &str = "-XX:TieredStopAtLevel=1";
/// Observations in each message of ETL and STATS.
const OBSERVATIONS: u32 = 5;

/// A query of the paper that runs on an engine that is not ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Query {
    /// RIoTBench's ETL, on Storm.
    Etl,
    /// RIoTBench's STATS, on Storm.
    Stats,
    /// Linear Road, on Flink.
    LinearRoad,
}

/// An engine that is not ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Engine {
    /// Storm 2.8.
    Storm,
    /// Flink 2.3.
    Flink,
}

impl Engine {
    /// Returns the name of the engine on command lines.
    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Storm => "storm",
            Engine::Flink => "flink",
        }
    }
}

/// Cost of an operator.
struct Cost {
    operator: &'static str,
    /// CPU time that each call takes beside the work itself, in microseconds.
    spin_us: u32,
    /// Number of calls for each record of the source, if it is 1 or more; 0 for fewer.
    calls: u32,
}

/// Makes the cost of an operator.
const fn cost(operator: &'static str, spin_us: u32, calls: u32) -> Cost {
    Cost { operator, spin_us, calls }
}

impl Query {
    const ALL: [Self; 3] = [Query::Etl, Query::Stats, Query::LinearRoad];

    /// Returns the name of the query on command lines.
    pub(super) fn name(self) -> &'static str {
        match self {
            Query::Etl => "etl",
            Query::Stats => "stats",
            Query::LinearRoad => "lrb",
        }
    }

    /// Returns the query of this name, if there is one.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|query| query.name() == name)
    }

    /// Returns the engine that runs the query.
    pub(super) fn engine(self) -> Engine {
        match self {
            Query::Etl | Query::Stats => Engine::Storm,
            Query::LinearRoad => Engine::Flink,
        }
    }

    /// Returns the title of the query's report.
    pub(super) fn title(self) -> &'static str {
        match self {
            Query::Etl => "Lachesis on a real Storm, Figs. 5 and 10 and Table 1: ETL",
            Query::Stats => "Lachesis on a real Storm, Figs. 6 and 11 and Table 1: STATS",
            Query::LinearRoad => "Lachesis on a real Flink, Figs. 9 and 13 and Table 1: Linear Road",
        }
    }

    fn costs(self) -> Vec<Cost> {
        match self {
            Query::Etl => vec![
                cost("parse", 500, 1),
                cost("range_filter", 25, OBSERVATIONS),
                cost("bloom_filter", 25, OBSERVATIONS),
                cost("interpolate", 50, OBSERVATIONS),
                cost("join", 25, OBSERVATIONS),
                cost("annotate", 200, 1),
                cost("to_senml", 200, 1),
                cost("publish", 300, 1),
            ],
            Query::Stats => vec![
                cost("parse", 500, 1),
                cost("average", 25, OBSERVATIONS),
                cost("kalman", 200, OBSERVATIONS),
                cost("regression", 100, OBSERVATIONS),
                cost("distinct", 50, OBSERVATIONS),
                cost("accumulate", 25, 2 * OBSERVATIONS),
                cost("plot", 1_000, 0),
                cost("upload", 300, 0),
            ],
            Query::LinearRoad => vec![
                cost("type", 100, 1),
                cost("report", 100, 1),
                cost("standing", 100, 1),
                cost("accidents", 100, 0),
                cost("speeds", 200, 1),
                cost("counts", 100, 1),
                cost("tolls", 100, 0),
                cost("merge", 100, 0),
                cost("sink", 100, 0),
            ],
        }
    }

    /// Returns the value of `--spin-us`, such as `parse=500,join=25`.
    pub(super) fn spins(self) -> String {
        let spins =
            self.costs().iter().map(|cost| format!("{}={}", cost.operator, cost.spin_us)).collect::<Vec<_>>();
        spins.join(",")
    }

    /// Returns the records per second that one core would take if operators took nothing but `--spin-us`. The capacity is
    /// lower.
    pub(super) fn nominal_per_s(self) -> f64 {
        1e6 / self.costs().iter().map(|cost| f64::from(cost.spin_us * cost.calls)).sum::<f64>()
    }

    /// Returns the options of the query's program that do not depend on the run.
    pub(super) fn options(self, input: Option<&Path>) -> Vec<String> {
        let mut options = vec![self.name().to_owned(), "--spin-us".to_owned(), self.spins()];
        if let Some(input) = input {
            options.extend(["--input".to_owned(), input.display().to_string()]);
        }
        options.extend(match self.engine() {
            Engine::Storm => ["--conf".to_owned(), format!("topology.worker.childopts={WORKER_OPTIONS}")],
            Engine::Flink => ["--window-ms".to_owned(), ROAD_MINUTE_MS.to_string()],
        });
        options
    }

    /// Returns further options for a run that measures the capacity: Storm's bolts sleep for 1 ms when they find no work. With
    /// Storm's defaults they look for some 50 ms before, by which ten of them keep a core busy at any load.
    pub(super) fn probe_options(self) -> Vec<String> {
        match self.engine() {
            Engine::Flink => Vec::new(),
            Engine::Storm => [1, 2]
                .into_iter()
                .flat_map(|level| {
                    let setting = format!("topology.bolt.wait.progressive.level{level}.count=1");
                    ["--conf".to_owned(), setting]
                })
                .collect(),
        }
    }

    /// Returns the file of recorded messages that the query reads, if it reads any. It lies in the folder `THALWEG_DATA`, or in
    /// `shared/data` beside the checkout.
    ///
    /// # Errors
    ///
    /// When the file is not there.
    pub(super) fn input(self, root: &Path) -> Result<Option<PathBuf>> {
        if self.engine() == Engine::Flink {
            return Ok(None);
        }
        let given = env::var_os("THALWEG_DATA").filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = given.unwrap_or_else(|| root.join("../shared/data"));
        let file = folder.join("riotbench/SYS_sample_data_senml.csv.gz");
        if !file.is_file() {
            bail!(
                "no data: {} is not there; set THALWEG_DATA to the folder of recorded data",
                file.display()
            );
        }
        Ok(Some(file.canonicalize()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_those_of_the_paper() {
        for query in Query::ALL {
            assert_eq!(Query::named(query.name()), Some(query));
            // Time of an operator for all observations of a message, in microseconds: 0.1 to 3 ms in the paper.
            for cost in query.costs() {
                let each_us = cost.spin_us * cost.calls.max(1);
                assert!((100..=3_000).contains(&each_us), "{}: {each_us}", cost.operator);
            }
        }
        let messages_per_s =
            [Query::Etl, Query::Stats, Query::LinearRoad].map(|query| query.nominal_per_s().round());
        assert_eq!(messages_per_s, [548.0, 381.0, 1_667.0]);
    }

    #[test]
    fn options_name_the_costs() {
        let options = Query::LinearRoad.options(None).join(" ");
        assert!(options.starts_with("lrb --spin-us type=100,report=100,"), "{options}");
        assert!(options.ends_with("--window-ms 2000"), "{options}");
        let options = Query::Etl.options(Some(Path::new("/data/a.gz"))).join(" ");
        assert!(options.contains(" --input /data/a.gz --conf topology.worker.childopts="), "{options}");
    }
}
