//! The runs of an experiment of a paper, and the figures by which the paper's claims are judged.

use thalweg_workloads::tenants::Group;

use crate::bench::comparison::{Comparison, Run};
use crate::bench::verdict::median;

/// Plan of an experiment: which policies or modes run, and with which values of the varied parameter.
pub struct Plan {
    pub title: &'static str,
    pub about: &'static str,
    pub axis: &'static str,
    pub places: &'static [f64],
    pub labels: Vec<&'static str>,
}

/// Reason why a benchmark run is too short to judge a claim of a paper by it.
pub struct TooShort {
    /// The least value of the option `--seconds` with which the run would be long enough; infinite if no
    /// value is.
    pub option_s: f64,
    pub why: String,
}

/// The runs of an experiment, by which the claims of the paper are judged.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub found: &'a Comparison,
    /// Returns why a run is too short to judge a claim about the queries of a group, or about all queries; `None` if
    /// the run is long enough.
    pub too_short_of: &'a dyn Fn(&Run, Option<Group>) -> Option<TooShort>,
}

impl Evidence<'_> {
    /// Returns why runs of the given policies or modes are too short, at one value of the parameter. The
    /// reason is that of the shortest run; `None` if all runs are long enough.
    pub fn too_short(self, labels: &[&str], at: Option<f64>) -> Option<String> {
        self.too_short_for(None, labels, at)
    }

    /// Returns why runs of the given policies are too short, at one value of the parameter, to judge a claim about the
    /// queries of `group`, or about all queries if it is `None`.
    pub fn too_short_for(self, group: Option<Group>, labels: &[&str], at: Option<f64>) -> Option<String> {
        let runs = self.found.runs.iter();
        self.worst(group, runs.filter(|run| run.at == at && labels.contains(&run.label.as_str())))
    }

    pub fn worst<'r>(self, group: Option<Group>, runs: impl Iterator<Item = &'r Run>) -> Option<String> {
        let too_short = runs.filter_map(|run| (self.too_short_of)(run, group));
        too_short.max_by(|one, other| one.option_s.total_cmp(&other.option_s)).map(|too_short| too_short.why)
    }
}

/// Returns, for each repetition of an experiment, the factor between the figures of two policies or modes;
/// `None` for a repetition that lacks a figure.
pub fn factors(pairs: &[Option<(f64, f64)>], factor: fn(f64, f64) -> f64) -> Vec<Option<f64>> {
    let of = |(one, other): (f64, f64)| factor(one.max(f64::MIN_POSITIVE), other.max(f64::MIN_POSITIVE));
    pairs.iter().map(|pair| pair.map(of)).collect()
}

/// Describes the medians of a figure of two policies or modes at a value of the parameter in words, for the report of an
/// experiment.
pub fn told(
    pairs: &[Option<(f64, f64)>],
    labels: [&str; 2],
    at: Option<f64>,
    shown: impl Fn(f64) -> String,
) -> String {
    let place = at.map_or("at the best place of each".to_owned(), |at| format!("at {at}"));
    told_at(pairs, labels, &place, shown)
}

/// Describes the medians of a figure of two kinds of runs in words. The text begins with `place`, which says at which
/// value of the parameter the runs were.
pub fn told_at(
    pairs: &[Option<(f64, f64)>],
    labels: [&str; 2],
    place: &str,
    shown: impl Fn(f64) -> String,
) -> String {
    let [first, second] = labels;
    let median = |of: fn(&(f64, f64)) -> f64| median(pairs.iter().flatten().map(of).collect());
    let (Some(one), Some(other)) = (median(|pair| pair.0), median(|pair| pair.1)) else {
        return "not measured".to_owned();
    };
    format!("{place}: {first} {}, {second} {}", shown(one), shown(other))
}
