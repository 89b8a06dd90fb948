//! Experiments of the papers, by name: the load is raised step by step, each mode or policy runs at each step, and the
//! paper's claims stand beside what was found.
//!
//! What is repeated is the shape: who wins, and where it bends. The papers' machines had more and other cores, so loads are
//! chosen for two of today's, and amounts are told without being asked for.
//!
//! [`tenants`] is that of Cameo's two groups.

mod tenants;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;

use self::tenants::Panel;
use super::args::BenchArgs;
use super::compare::{Claim, Comparison, Run};
use super::modes::{ExecutionOption, MemoryOption};
use super::observe::Observer;
use super::parallel::ParallelOption;
use super::report::Figures;
use super::workload::Workload;
use crate::console;
use crate::interrupt::Interrupt;
use crate::options::Rate;
use crate::show;

/// What is run.
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

/// The four modes of Enjima's ablation, and the one with queues that hand over batches.
const MODES: [(&str, ExecutionOption, MemoryOption); 6] = [
    ("TQ", ExecutionOption::Threads, MemoryOption::Queue),
    ("SQ", ExecutionOption::Workers, MemoryOption::Queue),
    ("TQ batched", ExecutionOption::Threads, MemoryOption::QueueBatched),
    ("SQ batched", ExecutionOption::Workers, MemoryOption::QueueBatched),
    ("TM", ExecutionOption::Threads, MemoryOption::Blocks),
    ("Enjima", ExecutionOption::Workers, MemoryOption::Blocks),
];

/// The policies of Fig. 5, by the paper's names.
const POLICIES: [(&str, &str); 6] = [
    ("Enjima", "enjima"),
    ("FCFS", "fcfs"),
    ("RR", "round_robin"),
    ("MC", "min_cost"),
    ("ML", "min_latency"),
    ("HR", "highest_rate"),
];

/// Seconds of each run unless somebody or the experiment says otherwise; of a quick one.
const RUN_S: f64 = 3.0;
const QUICK_S: f64 = 0.7;

/// The baseline of Fig. 5.
const BASELINE: &str = "TQ";

/// What is run of an experiment.
struct Plan {
    title: &'static str,
    about: &'static str,
    axis: &'static str,
    places: &'static [f64],
    labels: Vec<&'static str>,
}

impl Experiment {
    /// The workload whose options it takes.
    pub const fn workload(self) -> Workload {
        match self {
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => Workload::Ysb,
            Experiment::EnjimaFig9a => Workload::Lrb,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => Workload::Tenants,
        }
    }

    /// Which part of Cameo's Figure 8 it is, if it is one.
    const fn panel(self) -> Option<Panel> {
        match self {
            Experiment::CameoFig8 => Some(Panel::Load),
            Experiment::CameoFig8b => Some(Panel::Jobs),
            Experiment::CameoFig8c => Some(Panel::Workers),
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9a | Experiment::EnjimaFig9b => None,
        }
    }

    /// How long each run is measured, in seconds.
    pub const fn seconds(self, is_quick: bool) -> f64 {
        match (self.panel(), is_quick) {
            (Some(_), true) => tenants::QUICK_S,
            (Some(_), false) => tenants::RUN_S,
            (None, true) => QUICK_S,
            (None, false) => RUN_S,
        }
    }

    fn plan(self, is_quick: bool) -> Plan {
        match self {
            Experiment::EnjimaFig5b => Plan {
                title: "Enjima, Fig. 5b: policies under more and more YSB queries",
                about: "8 M events/s for each query, every operator a task of its own; TQ is a thread per operator with queues of \
                        single records. In the paper 12 M events/s for each query, on 24 cores.",
                axis: "queries",
                places: if is_quick { &[2.0, 10.0] } else { &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0] },
                labels: POLICIES.iter().map(|(label, _)| *label).chain([BASELINE]).collect(),
            },
            Experiment::EnjimaFig9a => Plan {
                title: "Enjima, Fig. 9a: what memory and scheduling each give, LRB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have.",
                axis: "M events/s offered",
                places: if is_quick { &[0.5, 8.0] } else { &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Experiment::EnjimaFig9b => Plan {
                title: "Enjima, Fig. 9b: what memory and scheduling each give, YSB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have.",
                axis: "M events/s offered",
                places: if is_quick { &[1.0, 100.0] } else { &[1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Experiment::CameoFig8 => Panel::Load.plan(is_quick),
            Experiment::CameoFig8b => Panel::Jobs.plan(is_quick),
            Experiment::CameoFig8c => Panel::Workers.plan(is_quick),
        }
    }

    /// The options of all runs.
    fn resolved(self, args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<BenchArgs> {
        let args = BenchArgs {
            target: Target::Workload(self.workload()),
            isolate: true,
            parallel: Some(ParallelOption::Serial),
            ..args.clone()
        };
        if self.panel().is_some() { tenants::resolved(args, interrupt) } else { Ok(args) }
    }

    /// The options of a run.
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
                if let Some((_, execution, memory)) = MODES.iter().find(|(known, ..)| *known == label) {
                    (run.execution, run.memory) = (*execution, *memory);
                }
            }
            Experiment::CameoFig8 => Panel::Load.choose(&mut run, label, at),
            Experiment::CameoFig8b => Panel::Jobs.choose(&mut run, label, at),
            Experiment::CameoFig8c => Panel::Workers.choose(&mut run, label, at),
        }
        run
    }

    /// What the paper claims of it, beside what was found.
    fn claims(self, found: &Comparison) -> Vec<Claim> {
        match self {
            Experiment::EnjimaFig5b => vec![
                at_most(
                    found,
                    "FCFS",
                    "at most queries, Enjima's throughput is the highest: 94.5 M/s, and HR's 67.4",
                    &["RR", "MC", "ML", "HR", "TQ"],
                ),
                latency(
                    found,
                    "at most queries, Enjima's mean latency is the lowest: 1.2 ms, and HR's 1,500",
                ),
                ratio(found, "Enjima's throughput is 2.1 times that of TQ at most load", "Enjima", BASELINE),
            ],
            Experiment::EnjimaFig9a => vec![
                at_most(
                    found,
                    "TM",
                    "Enjima's highest throughput is 2.2 times that of SQ and above that of all",
                    &["SQ", "TQ"],
                ),
                latency(
                    found,
                    "beyond the lowest rate Enjima's mean latency is the lowest, by an order of magnitude",
                ),
            ],
            Experiment::EnjimaFig9b => vec![
                ratio(found, "Enjima's highest throughput is 6.3 times that of TQ", "Enjima", "TQ"),
                ratio(found, "TM is next, and Enjima's is 2.7 times as high", "Enjima", "TM"),
                ratio(found, "SQ is 1.2 times as high as TQ (20 % of Enjima's to 17 %)", "SQ", "TQ"),
                ratio(found, "blocks make TM 2.8 times SQ", "TM", "SQ"),
                latency(
                    found,
                    "Enjima's mean latency is the lowest, by three orders of magnitude at rates below 30 M/s",
                ),
            ],
            Experiment::CameoFig8 => Panel::Load.claims(found),
            Experiment::CameoFig8b => Panel::Jobs.claims(found),
            Experiment::CameoFig8c => Panel::Workers.claims(found),
        }
    }
}

/// The highest throughput of a label, over all places.
fn highest(found: &Comparison, label: &str) -> Option<f64> {
    let throughput = |figures: &Figures| Some(figures.throughput_per_s);
    found.places().into_iter().filter_map(|at| found.median(label, at, throughput)).reduce(f64::max)
}

/// Of two throughputs one is higher if it is so many times the other: less is noise.
const CLEARLY: f64 = 1.05;

/// That one has a higher throughput than the other.
fn ratio(found: &Comparison, paper: &str, winner: &str, other: &str) -> Claim {
    let (Some(won), Some(lost)) = (highest(found, winner), highest(found, other)) else {
        return Claim { paper: paper.to_owned(), found: "not measured".to_owned(), holds: false };
    };
    let text = format!(
        "{winner} {}, {other} {}: {:.1} times",
        show::rate(won),
        show::rate(lost),
        won / lost.max(f64::MIN_POSITIVE)
    );
    Claim { paper: paper.to_owned(), found: text, holds: lost * CLEARLY < won }
}

/// That Enjima has the highest throughput.
fn at_most(found: &Comparison, first: &str, paper: &str, others: &[&str]) -> Claim {
    let ours = highest(found, "Enjima").unwrap_or(0.0);
    let rest =
        std::iter::once(&first).chain(others).filter_map(|label| Some((*label, highest(found, label)?)));
    let best = rest.reduce(|best, next| if best.1 < next.1 { next } else { best });
    let (label, best) = best.unwrap_or(("none", 0.0));
    let text = format!("Enjima {}, the best of the others, {label}, {}", show::rate(ours), show::rate(best));
    Claim { paper: paper.to_owned(), found: text, holds: best < ours }
}

/// That Enjima's mean latency is the lowest at the highest load at which it keeps up, or at the highest of all.
fn latency(found: &Comparison, paper: &str) -> Claim {
    let places = found.places();
    let keeps_up = |at: &Option<f64>| {
        let share = |figures: &Figures| Some(figures.throughput_per_s / figures.offered_per_s? as f64);
        found.median("Enjima", *at, share).is_some_and(|share| 0.98 < share)
    };
    let at = places.iter().rev().find(|at| keeps_up(at)).or(places.last()).copied().flatten();
    let mean =
        |label: &str| found.median(label, at, |figures| figures.latency_us.map(|latency| latency.mean));
    let ours = mean("Enjima").unwrap_or(f64::INFINITY);
    let others = found.labels().into_iter().filter(|label| *label != "Enjima");
    let best = others
        .filter_map(|label| Some((label, mean(label)?)))
        .reduce(|best, next| if next.1 < best.1 { next } else { best });
    let (label, best) = best.unwrap_or(("none", f64::INFINITY));
    let text = format!(
        "at {}: Enjima {}, the best of the others, {label}, {}",
        at.unwrap_or(0.0),
        show::latency(ours * 1e3),
        show::latency(best * 1e3)
    );
    Claim { paper: paper.to_owned(), found: text, holds: ours <= best }
}

/// Runs an experiment and writes what came of it; `false` if a result is wrong.
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
                found.runs.push(Run { label: label.to_owned(), at: Some(at), figures, series });
                if interrupt.is_some_and(Interrupt::is_pressed) {
                    break 'all;
                }
            }
        }
    }
    found.claims = experiment.claims(&found);
    for Claim { paper, found, holds } in &found.claims {
        let verdict = if *holds { "holds" } else { "does not hold" };
        console::out(&format!("\npaper: {paper}\nhere:  {found}\n       {verdict}\n"))?;
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

    /// Whatever a plan names can be run: each label of each experiment is a mode or a policy, and each place is above zero.
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
                assert!(labels.contains(&"Enjima") || experiment.panel().is_some());
            }
        }
        let known = thalweg_scheduling::policy::names();
        assert!(POLICIES.iter().chain(&tenants::POLICIES).all(|(_, policy)| known.contains(policy)));
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
