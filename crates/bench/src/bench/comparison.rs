//! Benchmark runs to be compared: the measurements of several policies or modes under the same load.

use serde::Serialize;

use super::observe::Series;
use super::report::{Figures, GroupFigures};
use super::verdict::{Claim, median};

/// Benchmark runs to be compared, with the description of the comparison.
#[derive(Serialize)]
pub struct Comparison {
    /// Subject of the comparison, in a few words.
    pub title: String,
    /// Description of the compared runs, in a sentence or two.
    pub about: String,
    /// Command line that repeats the compared runs.
    pub command: String,
    /// Description of the machine: processor, cores and seed.
    pub machine: String,
    /// Claims of the paper about these runs, with their verdicts.
    pub claims: Vec<Claim>,
    /// Name and unit of the parameter that was varied besides policy or mode, if there was one.
    pub axis: Option<String>,
    pub runs: Vec<Run>,
}

/// One of the benchmark runs that are compared.
#[derive(Serialize)]
pub struct Run {
    /// Name of the policy that ran, or of the mode: the kinds of threads and of memory.
    pub label: String,
    /// Value of the varied parameter in this run, if there is such a parameter.
    pub at: Option<f64>,
    /// Number of the repetition of the comparison to which this run belongs, counted from 0.
    pub repetition: u32,
    pub figures: Figures,
    pub series: Series,
}

impl Comparison {
    /// Returns the names of the policies or modes, in the order in which they first ran.
    pub fn labels(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !labels.contains(&run.label.as_str()) {
                labels.push(&run.label);
            }
        }
        labels
    }

    /// Returns the names of the groups of queries, for workloads whose queries are not all alike.
    pub fn groups(&self) -> Vec<&'static str> {
        self.runs
            .first()
            .map_or(Vec::new(), |run| run.figures.groups.iter().map(|group| group.name).collect())
    }

    /// Returns the median of a figure of one group of queries, over all runs of a policy or mode with the
    /// given value of the varied parameter.
    pub fn median_of_group(
        &self,
        label: &str,
        at: Option<f64>,
        group: &str,
        figure: impl Fn(&GroupFigures) -> Option<f64>,
    ) -> Option<f64> {
        self.median(label, at, |figures| figure(figures.groups.iter().find(|known| known.name == group)?))
    }

    /// Returns the values of the varied parameter, ascending. Returns a single `None` if no parameter was
    /// varied.
    pub fn places(&self) -> Vec<Option<f64>> {
        let mut places: Vec<Option<f64>> = self.runs.iter().map(|run| run.at).collect();
        places.sort_by(|a, b| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
        places.dedup();
        places
    }

    /// Returns the values of a figure under two policies or modes, as a pair for each repetition; `None` for
    /// a repetition in which one of them lacks the figure.
    pub fn pairs(
        &self,
        [first, second]: [(&str, Option<f64>); 2],
        figure: impl Fn(&Figures) -> Option<f64>,
    ) -> Vec<Option<(f64, f64)>> {
        let of = |(label, at): (&str, Option<f64>), repetition| {
            let is_it = |run: &&Run| run.label == label && run.at == at && run.repetition == repetition;
            self.runs.iter().find(is_it).and_then(|run| figure(&run.figures))
        };
        self.repetitions().map(|repetition| Some((of(first, repetition)?, of(second, repetition)?))).collect()
    }

    /// Returns the numbers of all repetitions of the comparison, ascending.
    pub fn repetitions(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.runs.iter().map(|run| run.repetition + 1).max().unwrap_or(0)
    }

    /// Returns the median of a figure over the runs of a policy or mode with the given value of the
    /// parameter. Runs without the figure are left out.
    pub fn median(
        &self,
        label: &str,
        at: Option<f64>,
        figure: impl Fn(&Figures) -> Option<f64>,
    ) -> Option<f64> {
        let runs = self.runs.iter().filter(|run| run.label == label && run.at == at);
        median(runs.filter_map(|run| figure(&run.figures)).collect())
    }
}
