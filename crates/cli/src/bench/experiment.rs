//! Experiments of the papers, by name. The load is raised step by step, each mode or policy runs at each step,
//! and the paper's claims are shown with what was found.
//!
//! The papers' machines had more and different cores, so loads are chosen for two current cores. A claim is a
//! factor between two figures of the same machine, which [`verdict`] judges: it *holds*, is *weaker* or
//! *reversed*.
//!
//! * The literal form of a policy bears the paper's name; our form is run beside it under its own name.
//! * A run is long enough if, while it is measured, every window of its queries fires [`FIRINGS_MIN`] times and every
//!   mechanism that adapts does so [`ADAPTATIONS_MIN`] times. Otherwise all claims are *not tested*. Event time runs faster
//!   than the clock where windows are long ([`Experiment::time_scale`]).
//! * Results that were due and not delivered when the measurement ended count with their age.
//!
//! [`tenants`] is the experiment with Cameo's two groups.

mod tenants;
pub mod verdict;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use thalweg_scheduling::policy::enjima;
use thalweg_workloads::tenants::Group;

use self::tenants::Panel;
use self::verdict::Claim;
use super::args::BenchArgs;
use super::compare::{self, Comparison, Run};
use super::modes::{ExecutionOption, MemoryOption};
use super::observe::Observer;
use super::parallel::ParallelOption;
use super::report::Figures;
use super::target::KEPT_UP;
use super::workload::Workload;
use crate::console;
use crate::interrupt::Interrupt;
use crate::options::Rate;
use crate::show;

/// A workload or an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Workload(Workload),
    Experiment(Experiment),
}

/// Everything that can be run.
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
    Target::Workload(Workload::Join),
    Target::Workload(Workload::Ipq1),
    Target::Workload(Workload::Ipq2),
    Target::Workload(Workload::Ipq3),
    Target::Workload(Workload::Ipq4),
    Target::Workload(Workload::Mixed),
    Target::Workload(Workload::Tenants),
    Target::Experiment(Experiment::EnjimaFig5b),
    Target::Experiment(Experiment::EnjimaFig9a),
    Target::Experiment(Experiment::EnjimaFig9b),
    Target::Experiment(Experiment::CameoFig8),
    Target::Experiment(Experiment::CameoFig8b),
    Target::Experiment(Experiment::CameoFig8c),
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

/// An experiment of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Experiment {
    /// Enjima, Fig. 5b: policies, while more and more YSB queries run.
    #[value(name = "enjima-fig5b")]
    EnjimaFig5b,
    /// Enjima, Fig. 9a: threads or workers, queues or blocks, at rising rates of LRB.
    #[value(name = "enjima-fig9a")]
    EnjimaFig9a,
    /// Enjima, Fig. 9b: the same of YSB.
    #[value(name = "enjima-fig9b")]
    EnjimaFig9b,
    /// Cameo, Fig. 8a: jobs that are to be in time, beside bulk jobs that are offered more and more.
    #[value(name = "cameo-fig8")]
    CameoFig8,
    /// Cameo, Fig. 8b: the same beside more and more bulk jobs.
    #[value(name = "cameo-fig8b")]
    CameoFig8b,
    /// Cameo, Fig. 8c: the same with fewer and fewer workers.
    #[value(name = "cameo-fig8c")]
    CameoFig8c,
}

/// The four modes of Enjima's ablation under its literal policy, and modes that the paper does not have: queues
/// that pass batches, and our own form of the policy.
const MODES: [(&str, ExecutionOption, MemoryOption, &str); 7] = [
    ("TQ", ExecutionOption::Threads, MemoryOption::Queue, enjima::STRICT_NAME),
    ("SQ", ExecutionOption::Workers, MemoryOption::Queue, enjima::STRICT_NAME),
    ("TQ batched", ExecutionOption::Threads, MemoryOption::QueueBatched, enjima::STRICT_NAME),
    ("SQ batched", ExecutionOption::Workers, MemoryOption::QueueBatched, enjima::STRICT_NAME),
    ("TM", ExecutionOption::Threads, MemoryOption::Blocks, enjima::STRICT_NAME),
    ("Enjima", ExecutionOption::Workers, MemoryOption::Blocks, enjima::STRICT_NAME),
    (OURS, ExecutionOption::Workers, MemoryOption::Blocks, enjima::NAME),
];

/// Label of our own form of Enjima's policy, with even shares and ageing, and with a work-conserving pool.
const OURS: &str = "Thalweg";

/// The policies of Fig. 5 by the paper's names, each in its literal form, and our own.
const POLICIES: [(&str, &str); 7] = [
    ("Enjima", enjima::STRICT_NAME),
    (OURS, enjima::NAME),
    ("FCFS", "fcfs"),
    ("RR", "round_robin"),
    ("MC", "min_cost"),
    ("ML", "min_latency"),
    ("HR", "highest_rate"),
];

/// Measured seconds of each run of Enjima's experiments, quick or not: thirty adaptations of its latency
/// gradient, and three firings of the longest window at the time scale.
const RUN_S: f64 = 4.0;

/// Least number of firings of every window in each run.
const FIRINGS_MIN: f64 = 3.0;

/// Least number of adaptations of every mechanism in each run.
const ADAPTATIONS_MIN: f64 = 30.0;

/// Longest time in seconds between two adaptations of a policy that is measured: that of Enjima's latency
/// gradient.
const ADAPTATION_S: f64 = 0.1;

/// The baseline of Fig. 5.
const BASELINE: &str = "TQ";

/// Runs of an experiment.
struct Plan {
    title: &'static str,
    about: &'static str,
    axis: &'static str,
    places: &'static [f64],
    labels: Vec<&'static str>,
}

impl Experiment {
    /// Returns the workload whose options the experiment takes.
    pub const fn workload(self) -> Workload {
        match self {
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => Workload::Ysb,
            Experiment::EnjimaFig9a => Workload::Lrb,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => Workload::Tenants,
        }
    }

    /// Returns the panel of Cameo's Figure 8, if the experiment is one.
    const fn panel(self) -> Option<Panel> {
        match self {
            Experiment::CameoFig8 => Some(Panel::Load),
            Experiment::CameoFig8b => Some(Panel::Jobs),
            Experiment::CameoFig8c => Some(Panel::Workers),
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9a | Experiment::EnjimaFig9b => None,
        }
    }

    /// Returns the measured time of each run in seconds. A quick experiment has fewer runs of the same length.
    pub const fn seconds(self) -> f64 {
        if self.panel().is_some() { tenants::RUN_S } else { RUN_S }
    }

    /// Returns the seconds of event time in one second of the clock.
    const fn time_scale(self) -> u64 {
        match self {
            // Windows of 10 s: one per second.
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => 10,
            // Windows of 60 s: one per 1.2 s.
            Experiment::EnjimaFig9a => 50,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => 1,
        }
    }

    /// Returns the longest time between two firings of a window of the queries, in seconds of event time.
    fn longest_firing_s(self) -> f64 {
        match self {
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => 10.0,
            Experiment::EnjimaFig9a => 60.0,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => {
                Group::Bulk.window().as_micros() as f64 / 1e6
            }
        }
    }

    /// Returns the reason why runs are too short, if the shortest was measured for `seconds`; `None` if they
    /// are long enough.
    fn too_short(self, seconds: f64) -> Option<String> {
        let firings = seconds * self.time_scale() as f64 / self.longest_firing_s();
        let adaptations = seconds / ADAPTATION_S;
        let needed_s = (FIRINGS_MIN * self.longest_firing_s() / self.time_scale() as f64)
            .max(ADAPTATIONS_MIN * ADAPTATION_S);
        if firings < FIRINGS_MIN {
            return Some(format!(
                "the longest window fires {firings:.1} times in {seconds:.1} s and must fire {FIRINGS_MIN:.0} times; \
                 give at least --seconds {needed_s:.0}"
            ));
        }
        (adaptations < ADAPTATIONS_MIN).then(|| {
            format!(
                "policies adapt {adaptations:.0} times in {seconds:.1} s and must adapt {ADAPTATIONS_MIN:.0} times; \
                 give at least --seconds {needed_s:.0}"
            )
        })
    }

    fn plan(self, is_quick: bool) -> Plan {
        match self {
            Experiment::EnjimaFig5b => Plan {
                title: "Enjima, Fig. 5b: policies under more and more YSB queries",
                about: "8 M events/s for each query, every operator a task of its own; TQ is a thread per operator with queues of \
                        single records. In the paper 12 M events/s for each query, on 24 cores. Enjima is the paper's policy to the \
                        letter, Thalweg our form of it. Event time runs ten times as fast as the clock.",
                axis: "queries",
                places: if is_quick { &[2.0, 10.0] } else { &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0] },
                labels: POLICIES.iter().map(|(label, _)| *label).chain([BASELINE]).collect(),
            },
            Experiment::EnjimaFig9a => Plan {
                title: "Enjima, Fig. 9a: what memory and scheduling each give, LRB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have. Enjima is the paper's policy to the letter, Thalweg our form of it. Event time runs \
                        fifty times as fast as the clock.",
                axis: "M events/s offered",
                places: if is_quick { &[0.5, 8.0] } else { &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Experiment::EnjimaFig9b => Plan {
                title: "Enjima, Fig. 9b: what memory and scheduling each give, YSB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have. Enjima is the paper's policy to the letter, Thalweg our form of it. Event time runs \
                        ten times as fast as the clock.",
                axis: "M events/s offered",
                places: if is_quick { &[1.0, 100.0] } else { &[1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Experiment::CameoFig8 => Panel::Load.plan(is_quick),
            Experiment::CameoFig8b => Panel::Jobs.plan(is_quick),
            Experiment::CameoFig8c => Panel::Workers.plan(is_quick),
        }
    }

    /// Returns the options common to all runs.
    fn resolved(self, args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<BenchArgs> {
        let args = BenchArgs {
            target: Target::Workload(self.workload()),
            isolate: true,
            parallel: Some(ParallelOption::Serial),
            time_scale: self.time_scale(),
            ..args.clone()
        };
        if self.panel().is_some() { tenants::resolved(args, interrupt) } else { Ok(args) }
    }

    /// Returns the options of one run.
    fn run_of(self, label: &str, at: f64, args: &BenchArgs) -> BenchArgs {
        let mut run = BenchArgs { observer: Some(Observer::new()), ..args.clone() };
        match self {
            Experiment::EnjimaFig5b => {
                (run.queries, run.rate) = (Some(at as u64), Rate::PerSecond(8_000_000));
                match POLICIES.iter().find(|(known, _)| *known == label) {
                    Some((_, policy)) => run.policy = vec![(*policy).to_owned()],
                    None => (run.execution, run.memory) = (ExecutionOption::Threads, MemoryOption::Queue),
                }
            }
            Experiment::EnjimaFig9a | Experiment::EnjimaFig9b => {
                run.rate = Rate::PerSecond((at * 1e6) as u64);
                if let Some((_, execution, memory, policy)) = MODES.iter().find(|(known, ..)| *known == label)
                {
                    (run.execution, run.memory) = (*execution, *memory);
                    run.policy = vec![(*policy).to_owned()];
                }
            }
            Experiment::CameoFig8 => Panel::Load.choose(&mut run, label, at),
            Experiment::CameoFig8b => Panel::Jobs.choose(&mut run, label, at),
            Experiment::CameoFig8c => Panel::Workers.choose(&mut run, label, at),
        }
        run
    }

    /// Returns the paper's claims, judged by the runs; they are not tested if a run was too short.
    fn judged(self, found: &Comparison) -> Vec<Claim> {
        let shortest_s = found.runs.iter().map(|run| run.figures.seconds).reduce(f64::min).unwrap_or(0.0);
        let is_interrupted = found.runs.iter().any(|run| run.figures.interrupted);
        let interrupted = is_interrupted.then(|| "it was interrupted".to_owned());
        let claims = self.claims(found);
        match interrupted.or_else(|| self.too_short(shortest_s)) {
            Some(why) => claims.into_iter().map(|claim| claim.not_tested(&why)).collect(),
            None => claims,
        }
    }

    /// Returns the paper's claims, judged by the runs.
    fn claims(self, found: &Comparison) -> Vec<Claim> {
        let most = found.places().last().copied().flatten();
        match self {
            Experiment::EnjimaFig5b => vec![
                throughput(
                    found,
                    most,
                    "Enjima's throughput at most queries is 2.1 times that of TQ",
                    2.1,
                    BASELINE,
                ),
                throughput(found, most, "it is 1.4 times that of HR (94.5 to 67.4 M/s)", 94.5 / 67.4, "HR"),
                latency(
                    found,
                    most,
                    "Enjima's mean latency at most queries is 1,986 times lower than that of TQ",
                    1_986.0,
                    BASELINE,
                ),
                latency(
                    found,
                    most,
                    "it is at least 1,250 times lower than that of HR (1.2 ms to 1,500)",
                    1_250.0,
                    "HR",
                ),
            ],
            Experiment::EnjimaFig9a => {
                // Corresponds to the paper's rate with the largest difference, in the middle of its range.
                let middle = middle(found);
                vec![
                    latency(
                        found,
                        middle,
                        "at 3 of 6 M/s Enjima's mean latency is 536 times lower than that of TQ",
                        536.0,
                        "TQ",
                    ),
                    latency(found, middle, "it is 286 times lower than that of SQ", 286.0, "SQ"),
                    latency(found, middle, "it is 267 times lower than that of TM", 267.0, "TM"),
                    throughput(found, None, "Enjima's highest throughput is 2.2 times that of SQ", 2.2, "SQ"),
                    latency(
                        found,
                        most,
                        "at peak load its mean latency is 2.2 times lower than that of SQ",
                        2.2,
                        "SQ",
                    ),
                ]
            }
            Experiment::EnjimaFig9b => {
                let middle = middle(found);
                vec![
                    throughput(found, None, "Enjima's highest throughput is 6.3 times that of TQ", 6.3, "TQ"),
                    throughput(found, None, "TM is next, and Enjima's is 2.7 times as high", 2.7, "TM"),
                    factor_of_highest(
                        found,
                        "SQ",
                        "TQ",
                        "SQ is 1.2 times as high as TQ (20 % of Enjima's to 17 %)",
                        20.0 / 17.0,
                    ),
                    factor_of_highest(found, "TM", "SQ", "blocks make TM 2.8 times as high as SQ", 2.8),
                    latency(
                        found,
                        middle,
                        "below 30 M/s Enjima's mean latency is 1,000 times lower than that of TQ",
                        1_000.0,
                        "TQ",
                    ),
                    latency(found, middle, "it is 1,000 times lower than that of TM", 1_000.0, "TM"),
                ]
            }
            Experiment::CameoFig8 => Panel::Load.claims(found),
            Experiment::CameoFig8b => Panel::Jobs.claims(found),
            Experiment::CameoFig8c => Panel::Workers.claims(found),
        }
    }
}

/// Returns the highest place at which Enjima keeps up with the offered load; the lowest place if there is none.
/// In the paper the difference to the others is largest there.
fn middle(found: &Comparison) -> Option<f64> {
    let keeps_up = |at: &&Option<f64>| {
        let share = |figures: &Figures| Some(figures.throughput_per_s / figures.offered_per_s? as f64);
        found.median(ENJIMA, **at, share).is_some_and(|share| KEPT_UP < share)
    };
    let places = found.places();
    places.iter().rev().find(keeps_up).or(places.first()).copied().flatten()
}

/// Label of the paper's system, in its literal form.
const ENJIMA: &str = "Enjima";

/// Returns the mean latency of markers in microseconds, including those that were due and not delivered.
fn mean_latency(figures: &Figures) -> Option<f64> {
    figures.overdue?.latency_us.map(|latency| latency.mean)
}

/// Judges that Enjima's throughput is `claimed` times another's, at a place or at the best place of each.
fn throughput(found: &Comparison, at: Option<f64>, paper: &str, claimed: f64, other: &str) -> Claim {
    if at.is_none() {
        return factor_of_highest(found, ENJIMA, other, paper, claimed);
    }
    let figure = |figures: &Figures| Some(figures.throughput_per_s);
    let pairs = found.pairs([(ENJIMA, at), (other, at)], figure);
    let factors = pairs.iter().map(|(ours, other)| ours / other.max(f64::MIN_POSITIVE)).collect();
    let text = told(&pairs, [ENJIMA, other], at, show::rate);
    Claim::of_factors(paper.to_owned(), claimed, factors, text)
}

/// Judges that the highest throughput of one label, over all places, is `claimed` times that of another.
fn factor_of_highest(found: &Comparison, winner: &str, other: &str, paper: &str, claimed: f64) -> Claim {
    let highest = |label: &str, repetition: u32| {
        let runs = found.runs.iter().filter(|run| run.label == label && run.repetition == repetition);
        runs.map(|run| run.figures.throughput_per_s).reduce(f64::max)
    };
    let pairs: Vec<(f64, f64)> = found
        .repetitions()
        .filter_map(|repetition| Some((highest(winner, repetition)?, highest(other, repetition)?)))
        .collect();
    let factors = pairs.iter().map(|(won, lost)| won / lost.max(f64::MIN_POSITIVE)).collect();
    let text = told(&pairs, [winner, other], None, show::rate);
    Claim::of_factors(paper.to_owned(), claimed, factors, text)
}

/// Judges that Enjima's mean latency is `claimed` times lower than another's.
fn latency(found: &Comparison, at: Option<f64>, paper: &str, claimed: f64, other: &str) -> Claim {
    let pairs = found.pairs([(ENJIMA, at), (other, at)], mean_latency);
    let factors = pairs.iter().map(|(ours, other)| other / ours.max(f64::MIN_POSITIVE)).collect();
    let text = told(&pairs, [ENJIMA, other], at, |micros| show::latency(micros * 1e3));
    Claim::of_factors(paper.to_owned(), claimed, factors, text)
}

/// Describes the medians of two labels.
fn told(pairs: &[(f64, f64)], labels: [&str; 2], at: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    let [first, second] = labels;
    let median = |of: fn(&(f64, f64)) -> f64| compare::median(pairs.iter().map(of).collect());
    let (Some(one), Some(other)) = (median(|pair| pair.0), median(|pair| pair.1)) else {
        return "not measured".to_owned();
    };
    let place = at.map_or("at the best place of each".to_owned(), |at| format!("at {at}"));
    format!("{place}: {first} {}, {second} {}", shown(one), shown(other))
}

/// Runs an experiment and writes its page; returns `false` if a result is wrong.
pub fn run(
    experiment: Experiment,
    args: &BenchArgs,
    folder: &Path,
    interrupt: Option<&Interrupt>,
    mut run_once: impl FnMut(&BenchArgs) -> Result<Figures>,
) -> Result<bool> {
    let (plan, args) = (experiment.plan(args.quick), &experiment.resolved(args, interrupt)?);
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut found = Comparison {
        title: plan.title.to_owned(),
        about: format!("{} Each for {} s, {} by turns.", plan.about, args.seconds, times(args.repeat)),
        command: format!("thalweg {}", command.join(" ")),
        machine: compare::machine(args.seed),
        claims: Vec::new(),
        axis: Some(plan.axis.to_owned()),
        runs: Vec::new(),
    };
    'all: for round in 0..args.repeat as usize {
        for &at in plan.places {
            for turn in 0..plan.labels.len() {
                let label = plan.labels[(round + turn) % plan.labels.len()];
                let run = experiment.run_of(label, at, args);
                let figures = run_once(&run)?;
                let latency =
                    figures.latency_us.map_or("-".to_owned(), |latency| show::latency(latency.mean * 1e3));
                let throughput = show::rate(figures.throughput_per_s);
                console::out(&format!(
                    "{label:10} at {at:5} {}: {throughput}, mean latency {latency}\n",
                    plan.axis
                ))?;
                for group in &figures.groups {
                    console::out(&group.text())?;
                }
                let series = run.observer.map(Observer::finish).unwrap_or_default();
                let repetition = round as u32;
                found.runs.push(Run { label: label.to_owned(), at: Some(at), repetition, figures, series });
                if interrupt.is_some_and(Interrupt::is_pressed) {
                    break 'all;
                }
            }
        }
    }
    found.claims = experiment.judged(&found);
    for Claim { paper, found, repetitions, verdict, .. } in &found.claims {
        let each: Vec<String> = repetitions.iter().map(|value| format!("{value:.2}")).collect();
        let each = if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) };
        console::out(&format!("\npaper: {paper}\nhere:  {found}{each}\n       {}\n", verdict.text()))?;
    }
    found.write(folder)?;
    console::note(&format!("wrote {}", folder.join("index.html").display()));
    Ok(found.runs.iter().all(|run| run.figures.ok))
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a plan names can be run: each label is a mode or a policy, and each place is above zero.
    #[test]
    fn plans_name_what_there_is() {
        for experiment in Experiment::value_variants() {
            for is_quick in [false, true] {
                let Plan { places, labels, .. } = experiment.plan(is_quick);
                assert!(places.is_sorted() && places.iter().all(|at| *at > 0.0));
                let is_mode = |label: &&str| MODES.iter().any(|(known, ..)| known == label);
                let policies = || POLICIES.iter().chain(&tenants::POLICIES);
                let is_policy = |label: &&str| policies().any(|(known, _)| known == label);
                assert!(labels.iter().all(|label| is_mode(label) || is_policy(label)));
                assert!(labels.contains(&ENJIMA) || experiment.panel().is_some());
            }
        }
        let known = thalweg_scheduling::policy::names();
        assert!(POLICIES.iter().chain(&tenants::POLICIES).all(|(_, policy)| known.contains(policy)));
    }

    /// The paper's name denotes the literal form.
    #[test]
    fn the_literal_form_bears_the_name_of_the_paper() {
        let policy = |label| POLICIES.iter().find(|(known, _)| *known == label).unwrap().1;
        assert_eq!((policy(ENJIMA), policy(OURS)), ("enjima_strict", "enjima"));
        let mode = |label| MODES.iter().find(|(known, ..)| *known == label).unwrap().3;
        assert_eq!((mode(ENJIMA), mode("SQ"), mode(OURS)), ("enjima_strict", "enjima_strict", "enjima"));
    }

    /// Every experiment is long enough as it is; a shortened one is not tested, and says how long it must be.
    #[test]
    fn what_is_too_short_is_not_tested() {
        for experiment in Experiment::value_variants() {
            assert_eq!(experiment.too_short(experiment.seconds() - 0.1), None, "{experiment:?}");
            assert!(experiment.too_short(0.7).is_some());
        }
        let why = Experiment::CameoFig8.too_short(11.0).unwrap();
        assert!(
            why.ends_with("fires 1.1 times in 11.0 s and must fire 3 times; give at least --seconds 30"),
            "{why}"
        );
        let why = Experiment::EnjimaFig9b.too_short(2.0).unwrap();
        assert!(why.contains("fires 2.0 times"), "{why}");
    }

    #[test]
    fn workloads_and_experiments_have_names_of_their_own() {
        let mut names: Vec<String> =
            ALL.iter().filter_map(|target| Some(target.to_possible_value()?.get_name().to_owned())).collect();
        assert_eq!(names.len(), Workload::value_variants().len() + Experiment::value_variants().len());
        names.sort();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
