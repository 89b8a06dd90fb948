//! The claims of the paper about a query, and their verdicts.
//!
//! **Which metric is to gain** was written down before the first run: end-to-end latency, in all three queries, as in the paper.
//! Throughput is the rate of results for ETL and STATS, since Storm's long queues take records that never reach the sink. For
//! Linear Road, whose results come once in a window, it is the rate of records that the source takes: Flink's queues are short.
//!
//! | rates | those |
//! |---|---|
//! | beyond saturation | above the measured capacity; with `--rates`, those at which the engine keeps its core busy for at least [`BUSY_MIN`] under the operating system alone |
//! | saturation | the rate at the capacity; with `--rates`, the lowest one beyond saturation |
//! | the highest | the highest rate |
//!
//! A claim about latency is *not tested* where records that wait have no latency (STATS, Linear Road) and the better system
//! delivered less than [`DELIVERED_MIN`] of the other's results. All claims are *not tested* without a warm-up, and those of steered
//! systems with fewer than [`ROUNDS_MIN`] rounds.

use serde_json::{Value, json};

use super::query::Query;
use super::report::{Evidence, Place};
use super::system::System;
use super::trial::{Figures, Trial};
use super::verdict::{Verdict, judged, median};

/// Share of the core that the engine uses from which on a rate counts as beyond saturation, if no capacity was measured.
pub(super) const BUSY_MIN: f64 = 0.95;
/// Least share of the other system's results with which a system's latency is compared.
const DELIVERED_MIN: f64 = 0.95;
/// Least number of rounds of steering in a run.
const ROUNDS_MIN: u32 = 30;
/// Largest share of a core that the tool may take: "less than 1 %" in section 5.4.2 of the paper.
const TOOL_SHARE_MAX: f64 = 0.01;

/// A figure by which two systems are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Metric {
    /// Throughput: more is better.
    Throughput,
    /// Mean end-to-end latency: less is better.
    Latency,
    /// Coefficient of variation of the lengths of queues: less is better.
    Variation,
}

/// A claim that one system is better than another.
#[derive(Clone, Copy, Debug)]
struct Compared {
    paper: &'static str,
    metric: Metric,
    better: System,
    other: System,
    place: Place,
    /// The claimed factor, above 1; `None` if only the direction is claimed.
    claimed: Option<f64>,
}

/// A claim with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Claim {
    /// The claim in words.
    pub(super) paper: String,
    /// The figures on which the verdict stands.
    pub(super) found: String,
    pub(super) claimed: Option<f64>,
    /// Factor of each repetition that has the figures.
    pub(super) repetitions: Vec<f64>,
    pub(super) verdict: Verdict,
}

impl Claim {
    /// Returns the claim as an object of JSON.
    pub(super) fn json(&self) -> Value {
        json!({
            "paper": self.paper,
            "found": self.found,
            "claimed": self.claimed,
            "repetitions": self.repetitions,
            "verdict": self.verdict.text(),
        })
    }
}

/// Makes a claim of the paper: `percent` more throughput, or less latency.
const fn compared(
    paper: &'static str,
    metric: Metric,
    [better, other]: [System; 2],
    place: Place,
    percent: f64,
) -> Compared {
    let claimed = match metric {
        Metric::Throughput => 1.0 + percent / 100.0,
        Metric::Latency | Metric::Variation => 1.0 / (1.0 - percent / 100.0),
    };
    Compared { paper, metric, better, other, place, claimed: Some(claimed) }
}

/// Makes a claim of the paper that names no number.
const fn directed(
    paper: &'static str,
    metric: Metric,
    [better, other]: [System; 2],
    place: Place,
) -> Compared {
    Compared { paper, metric, better, other, place, claimed: None }
}

const RT_TO_OS: [System; 2] = [System::RealTime, System::Os];
const RT_TO_V1: [System; 2] = [System::RealTime, System::Earlier];
const RT_TO_NICE: [System; 2] = [System::RealTime, System::Nice];
const NICE_TO_V1: [System; 2] = [System::Nice, System::Earlier];
const NICE_TO_OS: [System; 2] = [System::Nice, System::Os];

/// Returns the claims of Table 1 about a query: the percentages of throughput and latency, of real-time threads against the
/// operating system, the earlier Lachesis and Lachesis-Mod.
fn table([to_os, to_v1, to_nice]: [[f64; 2]; 3]) -> Vec<Compared> {
    let rows = [
        (RT_TO_OS, to_os, ["Table 1: rt to os, throughput", "Table 1: rt to os, end-to-end latency"]),
        (RT_TO_V1, to_v1, ["Table 1: rt to v1, throughput", "Table 1: rt to v1, end-to-end latency"]),
        (RT_TO_NICE, to_nice, ["Table 1: rt to nice, throughput", "Table 1: rt to nice, end-to-end latency"]),
    ];
    let claims =
        rows.into_iter().flat_map(|(systems, [throughput, latency], [of_throughput, of_latency])| {
            [
                compared(of_throughput, Metric::Throughput, systems, Place::Beyond, throughput),
                compared(of_latency, Metric::Latency, systems, Place::Beyond, latency),
            ]
        });
    claims.collect()
}

/// Returns the claims of the paper about a query.
fn claims(query: Query) -> Vec<Compared> {
    use Metric::{Latency, Throughput, Variation};
    let (mut claims, figures) = match query {
        Query::Etl => (
            table([[38.0, 71.0], [19.0, 31.0], [7.0, 14.0]]),
            vec![
                compared(
                    "Fig. 5: nice to os at saturation, throughput",
                    Throughput,
                    NICE_TO_OS,
                    Place::Saturation,
                    39.0,
                ),
                compared(
                    "Fig. 5: nice to v1 at saturation, throughput",
                    Throughput,
                    NICE_TO_V1,
                    Place::Saturation,
                    4.5,
                ),
                compared(
                    "Fig. 5: nice to v1 at saturation, end-to-end latency",
                    Latency,
                    NICE_TO_V1,
                    Place::Saturation,
                    98.0,
                ),
                directed("Fig. 5: nice to os, variation of queues", Variation, NICE_TO_OS, Place::Beyond),
                compared(
                    "Fig. 10: rt to nice at the highest rate, throughput",
                    Throughput,
                    RT_TO_NICE,
                    Place::Highest,
                    28.0,
                ),
                compared(
                    "Fig. 10: rt to nice at the highest rate, end-to-end latency",
                    Latency,
                    RT_TO_NICE,
                    Place::Highest,
                    15.0,
                ),
            ],
        ),
        Query::Stats => (
            table([[29.0, 52.0], [11.0, 13.0], [6.38, 5.49]]),
            vec![
                compared(
                    "Fig. 6: nice to v1 at the highest rate, throughput",
                    Throughput,
                    NICE_TO_V1,
                    Place::Highest,
                    22.0,
                ),
                compared(
                    "Fig. 6: nice to v1 at the highest rate, end-to-end latency",
                    Latency,
                    NICE_TO_V1,
                    Place::Highest,
                    9.0,
                ),
                directed(
                    "Fig. 6: nice to os at the highest rate, end-to-end latency",
                    Latency,
                    NICE_TO_OS,
                    Place::Highest,
                ),
                directed("ours: nice to os, variation of queues", Variation, NICE_TO_OS, Place::Beyond),
            ],
        ),
        Query::LinearRoad => (
            table([[5.7, 73.0], [2.8, 40.0], [1.1, 27.0]]),
            vec![
                compared(
                    "Fig. 9: nice to v1 at saturation, throughput",
                    Throughput,
                    NICE_TO_V1,
                    Place::Saturation,
                    4.0,
                ),
                compared(
                    "Fig. 9: nice to v1 at saturation, end-to-end latency",
                    Latency,
                    NICE_TO_V1,
                    Place::Saturation,
                    42.0,
                ),
                directed(
                    "Fig. 13: rt to nice at every rate, end-to-end latency",
                    Latency,
                    RT_TO_NICE,
                    Place::Every,
                ),
                directed("ours: nice to os, variation of queues", Variation, NICE_TO_OS, Place::Beyond),
            ],
        ),
    };
    claims.extend(figures);
    claims.push(directed("ours: rt to os, variation of queues", Variation, RT_TO_OS, Place::Beyond));
    claims
}

/// Judges all claims about the query of some runs.
pub(super) fn judge(evidence: &Evidence) -> Vec<Claim> {
    let mut judged: Vec<Claim> = claims(evidence.query).iter().map(|claim| claim.judge(evidence)).collect();
    judged.push(tool(evidence));
    judged
}

/// Judges the claim that the tool takes less than 1 % of a core.
fn tool(evidence: &Evidence) -> Claim {
    let is_steered = |trial: &&Trial| trial.order.system.is_steered();
    let shares: Vec<Option<f64>> =
        evidence.trials.iter().filter(is_steered).map(|trial| trial.figures.tool_share).collect();
    let known: Vec<f64> = shares.iter().copied().flatten().collect();
    let most = known.iter().copied().reduce(f64::max);
    // A share of 0, which is less than the kernel counts, is not to divide by.
    let factors: Vec<Option<f64>> =
        shares.iter().map(|share| share.map(|share| TOOL_SHARE_MAX / share.max(1e-6))).collect();
    Claim {
        paper: "Section 5.4.2: the tool takes less than 1 % of a core with a round each second".to_owned(),
        found: most.map_or("-".to_owned(), |most| format!("at most {:.2} %", 100.0 * most)),
        claimed: None,
        repetitions: factors.iter().copied().flatten().collect(),
        verdict: judged(None, &factors),
    }
}

impl Metric {
    fn of(self, figures: &Figures, query: Query) -> Option<f64> {
        match self {
            Metric::Throughput => Some(throughput_per_s(figures, query)),
            Metric::Latency => figures.latency_s,
            Metric::Variation => figures.queue_cv,
        }
    }

    /// Returns by which factor the first figure is better than the second.
    fn factor(self, better: f64, other: f64) -> Option<f64> {
        let factor = if self == Metric::Throughput { better / other } else { other / better };
        (factor.is_finite() && 0.0 < factor).then_some(factor)
    }

    /// Returns the factor over several rates: for throughput the mean of the gains, and otherwise that of the mean of the
    /// reductions. "The average improvement (throughput) and reduction (e2e latency) over the input rates beyond the
    /// saturation limit": the paper, section 5.5.
    fn mean(self, factors: &[f64]) -> f64 {
        let count = factors.len() as f64;
        if self == Metric::Throughput {
            factors.iter().sum::<f64>() / count
        } else {
            count / factors.iter().map(|factor| 1.0 / factor).sum::<f64>()
        }
    }
}

/// Returns the throughput of a run in records or results per second: see the head of this module.
pub(super) fn throughput_per_s(figures: &Figures, query: Query) -> f64 {
    match query {
        Query::Etl | Query::Stats => figures.results_per_s,
        Query::LinearRoad => figures.taken_per_s,
    }
}

impl Compared {
    fn judge(&self, evidence: &Evidence) -> Claim {
        let rates = evidence.rates_at(self.place);
        let factors: Vec<Option<f64>> =
            evidence.repetitions().map(|repetition| self.factor(evidence, &rates, repetition)).collect();
        let known: Vec<f64> = factors.iter().copied().flatten().collect();
        let verdict = match self.reason(evidence, &rates) {
            Some(why) => Verdict::NotTested(why),
            None => judged(self.claimed, &factors),
        };
        let percent = self.claimed.map_or(String::new(), |claimed| format!(" {}", self.percent(claimed)));
        Claim {
            paper: format!("{}{percent}", self.paper),
            found: median(&known).map_or("-".to_owned(), |found| self.percent(found)),
            claimed: self.claimed,
            repetitions: known,
            verdict,
        }
    }

    /// Returns a factor as the paper tells it: percent more or less than the other system has.
    fn percent(&self, factor: f64) -> String {
        let change = if self.metric == Metric::Throughput { factor - 1.0 } else { 1.0 / factor - 1.0 };
        let digits = usize::from((100.0 * change).abs() < 9.95);
        format!("{:+.digits$} %", 100.0 * change)
    }

    fn factor(&self, evidence: &Evidence, rates: &[f64], repetition: u32) -> Option<f64> {
        let at = |&rate: &f64| {
            let of =
                |system| self.metric.of(&evidence.trial(system, rate, repetition)?.figures, evidence.query);
            self.metric.factor(of(self.better)?, of(self.other)?)
        };
        let factors: Vec<f64> = rates.iter().map(at).collect::<Option<_>>()?;
        match self.place {
            // What is claimed of every rate is judged by the worst one.
            Place::Every => factors.into_iter().reduce(f64::min),
            _ if factors.is_empty() => None,
            _ => Some(self.metric.mean(&factors)),
        }
    }

    /// Returns why the runs cannot tell whether the claim holds; `None` if they can.
    fn reason(&self, evidence: &Evidence, rates: &[f64]) -> Option<String> {
        let is_missing = |system: &System| !evidence.systems.contains(system);
        if let Some(missing) = [self.better, self.other].into_iter().find(is_missing) {
            return Some(format!("{} was not run", missing.name()));
        }
        if rates.is_empty() {
            return Some("no rate is as high".to_owned());
        }
        let runs = |system| {
            let is_meant =
                move |trial: &&Trial| trial.order.system == system && rates.contains(&trial.order.rate);
            evidence.trials.iter().filter(is_meant)
        };
        for trial in runs(self.better).chain(runs(self.other)) {
            if trial.order.lengths.warmup_s == 0 {
                return Some("there was no warm-up".to_owned());
            }
            let rounds = trial.figures.rounds;
            if rounds < ROUNDS_MIN && (trial.order.system.is_steered() || self.metric == Metric::Variation) {
                let name = trial.order.system.name();
                return Some(format!(
                    "{rounds} rounds were used in a run of {name}, and {ROUNDS_MIN} are asked for"
                ));
            }
        }
        if self.metric != Metric::Latency {
            return None;
        }
        for trial in runs(self.better).filter(|trial| trial.figures.overdue.is_none()) {
            let other = evidence.trial(self.other, trial.order.rate, trial.repetition)?;
            let share = trial.figures.results_per_s / other.figures.results_per_s;
            if share < DELIVERED_MIN {
                return Some(format!(
                    "at {:.0}/s {} delivered {share:.2} of the results of {}, and what waits has no latency",
                    trial.order.rate,
                    self.better.name(),
                    self.other.name()
                ));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Lengths;
    use crate::engines::trial::Order;

    /// Makes runs of the operating system and of real-time threads at two rates, of which the second is beyond saturation: the
    /// results per second, the latency and the overdue records of each repetition.
    fn evidence(query: Query, of_os: &[(f64, f64)], of_rt: &[(f64, f64)], overdue: Option<u64>) -> Evidence {
        let mut evidence = Evidence::empty(query, vec![400.0, 480.0], Some(400.0));
        for (system, runs) in [(System::Os, of_os), (System::RealTime, of_rt)] {
            for (repetition, (results_per_s, latency_s)) in (1..).zip(runs) {
                for rate in [400.0, 480.0] {
                    let figures = Figures {
                        results_per_s: *results_per_s,
                        taken_per_s: *results_per_s,
                        latency_s: Some(*latency_s),
                        rounds: 33,
                        queue_cv: Some(2.0),
                        tool_share: Some(0.004),
                        overdue,
                        ..Figures::default()
                    };
                    let order = Order {
                        system,
                        rate,
                        lengths: Lengths { warmup_s: 20, seconds: 35 },
                        is_probe: false,
                    };
                    evidence.trials.push(Trial { repetition, order, figures });
                }
            }
        }
        evidence
    }

    fn found(evidence: &Evidence, paper: &str) -> [String; 3] {
        let claim = judge(evidence).into_iter().find(|claim| claim.paper.starts_with(paper)).unwrap();
        [claim.paper, claim.found, claim.verdict.text()]
    }

    #[test]
    fn table_1_is_judged() {
        let evidence =
            evidence(Query::Etl, &[(200.0, 10.0), (200.0, 8.0)], &[(280.0, 2.0), (300.0, 2.0)], Some(9));
        let throughput = "Table 1: rt to os, throughput";
        assert_eq!(found(&evidence, throughput), [&format!("{throughput} +38 %"), "+45 %", "holds"]);
        let latency = "Table 1: rt to os, end-to-end latency";
        assert_eq!(found(&evidence, latency), [&format!("{latency} -71 %"), "-78 %", "holds"]);
        assert_eq!(
            found(&evidence, "Table 1: rt to v1, throughput")[2],
            "not tested: no repetition has the figures"
        );
        assert_eq!(found(&evidence, "ours: rt to os, variation")[1..], ["+0.0 %", "reversed"]);
        assert_eq!(found(&evidence, "Section 5.4.2")[1..], ["at most 0.40 %", "holds"]);
    }

    #[test]
    fn latency_is_judged_at_as_many_results() {
        let fewer = evidence(Query::Stats, &[(200.0, 10.0)], &[(100.0, 2.0)], None);
        assert_eq!(
            found(&fewer, "Table 1: rt to os, end-to-end latency")[2],
            "not tested: at 480/s rt delivered 0.50 of the results of os, and what waits has no latency"
        );
        // Records that wait count with their age here.
        let told = evidence(Query::Etl, &[(200.0, 10.0)], &[(100.0, 2.0)], Some(7));
        assert_eq!(found(&told, "Table 1: rt to os, end-to-end latency")[2], "holds");
    }

    #[test]
    fn short_runs_tell_nothing() {
        let mut short = evidence(Query::Etl, &[(200.0, 10.0)], &[(300.0, 2.0)], Some(0));
        short.trials.iter_mut().for_each(|trial| trial.figures.rounds = 9);
        let told = found(&short, "Table 1: rt to os, throughput");
        assert_eq!(told[2], "not tested: 9 rounds were used in a run of rt, and 30 are asked for");
        short.trials.iter_mut().for_each(|trial| trial.order.lengths.warmup_s = 0);
        assert_eq!(found(&short, "Table 1: rt to os, throughput")[2], "not tested: there was no warm-up");
        short.capacity_per_s = Some(500.0);
        assert_eq!(found(&short, "Table 1: rt to os, throughput")[2], "not tested: no rate is as high");
    }

    #[test]
    fn reductions_are_averaged_and_not_their_ratios() {
        // A latency lower by 99 % and one by 33 % are lower by 66 % on average.
        assert!((Metric::Latency.mean(&[100.0, 1.0 / 0.67]) - 1.0 / 0.34).abs() < 1e-9);
        assert_eq!(Metric::Throughput.mean(&[1.0, 2.0]), 1.5);
        assert_eq!(Metric::Latency.factor(0.0, 2.0), None);
    }
}
