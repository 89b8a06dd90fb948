//! Experiments of the papers, by name: the load is raised step by step, each mode or policy runs at each step, and the
//! paper's claims stand beside what was found.
//!
//! The papers' machines had more and other cores than ours. So loads are chosen for two cores of today, and a
//! claim is a factor between two figures of the same machine. The module [`verdict`](super::verdict) judges
//! each claim: it *holds*, is *weaker* or *reversed*.
//!
//! * A policy in the paper's literal form bears the paper's name. Our own form of the policy runs beside it
//!   under its own name.
//! * A run is long enough if every window of its queries fires [`FIRINGS_MIN`] times and every mechanism that adapts does so
//!   [`ADAPTATIONS_MIN`] times while it is measured. Claims that stand on a shorter run are *not tested*. Event time runs faster
//!   than the clock where windows are long ([`Experiment::time_scale`]), and only as fast as records are taken: a query that takes
//!   half of what it is offered needs twice the time, and one that gets nothing is never measured for long enough.
//! * All claims are *not tested* if a run was interrupted, is missing or had wrong results, and without a warm-up.
//! * Results and latency markers that were due and had not arrived when the measurement ended count with
//!   their age.
//!
//! [`enjima`] has the experiments of Enjima, [`tenants`] those with Cameo's two groups of jobs, and [`lachesis`] those with
//! steered threads.

mod enjima;
mod evidence;
mod lachesis;
mod tenants;

use std::path::Path;

use anyhow::Result;
use thalweg::Span;
use thalweg_cli::console;
use thalweg_cli::interrupt::Interrupt;
use thalweg_cli::show;
use thalweg_workloads::tenants::Group;

use self::evidence::{Evidence, Plan, TooShort};
use super::args::BenchArgs;
use super::compare;
use super::comparison::{Comparison, Run};
use super::observe::Observer;
use super::parallel::ParallelOption;
use super::report::{Figures, GroupFigures};
use super::target::{Experiment, Target};
use super::verdict::Claim;

/// Least number of firings that every window needs in each run of an experiment.
const FIRINGS_MIN: f64 = 3.0;

/// Least number of adaptations that every adaptive mechanism needs in each run of an experiment.
const ADAPTATIONS_MIN: f64 = 30.0;

/// A figure of a paper that an experiment repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Figure {
    Enjima(enjima::Panel),
    Cameo(tenants::Panel),
    Lachesis(lachesis::Panel),
}

impl Experiment {
    const fn figure(self) -> Figure {
        match self {
            Experiment::EnjimaFig5b => Figure::Enjima(enjima::Panel::Policies),
            Experiment::EnjimaFig9a => Figure::Enjima(enjima::Panel::LinearRoad),
            Experiment::EnjimaFig9b => Figure::Enjima(enjima::Panel::Ysb),
            Experiment::CameoFig8 => Figure::Cameo(tenants::Panel::Load),
            Experiment::CameoFig8b => Figure::Cameo(tenants::Panel::Jobs),
            Experiment::CameoFig8c => Figure::Cameo(tenants::Panel::Workers),
            Experiment::LachesisFig5 => Figure::Lachesis(lachesis::Panel::Etl),
            Experiment::LachesisFig6 => Figure::Lachesis(lachesis::Panel::Stats),
            Experiment::LachesisFig10 => Figure::Lachesis(lachesis::Panel::EtlRealTime),
            Experiment::LachesisFig11 => Figure::Lachesis(lachesis::Panel::StatsRealTime),
            Experiment::LachesisFig14 => Figure::Lachesis(lachesis::Panel::Queues),
            Experiment::LachesisFig15 => Figure::Lachesis(lachesis::Panel::Priorities),
            Experiment::LachesisFig16 => Figure::Lachesis(lachesis::Panel::Period),
        }
    }

    /// Returns the measured time of each run of the experiment, in seconds. A quick experiment has fewer runs
    /// of the same length.
    pub const fn seconds(self) -> f64 {
        match self.figure() {
            Figure::Enjima(_) => enjima::RUN_S,
            Figure::Cameo(_) => tenants::RUN_S,
            Figure::Lachesis(_) => lachesis::RUN_S,
        }
    }

    /// Returns the seconds of event time that pass in one second of the clock.
    const fn time_scale(self) -> u64 {
        match self.figure() {
            Figure::Enjima(panel) => panel.time_scale(),
            Figure::Cameo(_) | Figure::Lachesis(_) => 1,
        }
    }

    /// Returns the longest time between two firings of a window of the experiment's queries, in seconds of
    /// event time.
    fn longest_firing_s(self) -> f64 {
        match self.figure() {
            Figure::Enjima(panel) => panel.longest_firing_s(),
            Figure::Cameo(_) => Group::Bulk.window().as_micros() as f64 / 1e6,
            Figure::Lachesis(_) => lachesis::FIRING_S,
        }
    }

    /// Returns the longest time between two adaptations of anything that adapts, in seconds, at a value of the parameter.
    fn adaptation_s(self, at: Option<f64>) -> f64 {
        match self.figure() {
            Figure::Enjima(_) | Figure::Cameo(_) => enjima::ADAPTATION_S,
            Figure::Lachesis(panel) => panel.period_s(at.unwrap_or(1.0)),
        }
    }

    /// Returns by which factor a run at the given value of the parameter is longer than `--seconds`: longer where more
    /// records are offered than the queries read, or where rounds of steering are rarer.
    fn stretch(self, at: f64) -> f64 {
        match self.figure() {
            Figure::Enjima(_) => 1.0,
            Figure::Cameo(panel) => panel.stretch(at),
            Figure::Lachesis(panel) => panel.stretch(),
        }
    }

    /// Returns why a run is too short to judge a claim about the queries of `group`, or about all queries if it is
    /// `None`; returns `None` if the run is long enough.
    fn too_short(self, run: &Run, group: Option<Group>) -> Option<TooShort> {
        let seconds = run.figures.seconds;
        let taken = share_taken(&run.figures, group);
        let longest_s =
            group.map_or(self.longest_firing_s(), |group| group.window().as_micros() as f64 / 1e6);
        // `per_s` is the number of firings of the longest window per second of the clock. Event time advances
        // only with the records that queries read, so `per_s` is proportional to the share of offered records
        // that they read.
        let per_s = taken * self.time_scale() as f64 / longest_s;
        let adaptation_s = self.adaptation_s(run.at);
        let (firings, adaptations) = (seconds * per_s, seconds / adaptation_s);
        let needed_s = (FIRINGS_MIN / per_s).max(ADAPTATIONS_MIN * adaptation_s);
        let option_s = needed_s / run.at.map_or(1.0, |at| self.stretch(at));
        let why = if firings < FIRINGS_MIN {
            let place = run.at.map_or(String::new(), |at| format!(" at {at}"));
            let slowest = if taken < 1.0 {
                let taken = taken * 100.0;
                format!(
                    " under {}{place}, where a query takes {taken:.1} % of what it is offered,",
                    run.label
                )
            } else {
                String::new()
            };
            format!(
                "the longest window fires {firings:.1} times in {seconds:.1} s{slowest} and must fire {FIRINGS_MIN:.0} times"
            )
        } else if adaptations < ADAPTATIONS_MIN {
            format!(
                "policies adapt {adaptations:.0} times in {seconds:.1} s and must adapt {ADAPTATIONS_MIN:.0} times"
            )
        } else {
            return None;
        };
        let why = if option_s.is_finite() {
            format!("{why}; give at least --seconds {:.0}", option_s.ceil())
        } else {
            format!("{why}; no --seconds is enough")
        };
        Some(TooShort { option_s, why })
    }

    fn plan(self, is_quick: bool) -> Plan {
        match self.figure() {
            Figure::Enjima(panel) => panel.plan(is_quick),
            Figure::Cameo(panel) => panel.plan(is_quick),
            Figure::Lachesis(panel) => panel.plan(is_quick),
        }
    }

    /// Returns the options that all runs of the experiment have in common. The capacity of the machine is measured first
    /// where loads are multiples of it; `run_once` runs a workload.
    fn resolved(
        self,
        args: &BenchArgs,
        interrupt: Option<&Interrupt>,
        run_once: &mut dyn FnMut(&BenchArgs) -> Result<Figures>,
    ) -> Result<BenchArgs> {
        let scale = i64::try_from(self.time_scale()).expect("a time scale is a small number");
        let args = BenchArgs {
            target: Target::Workload(self.workload()),
            isolate: true,
            parallel: Some(ParallelOption::Serial),
            time_scale: self.time_scale(),
            // The step of watermarks grows with the time scale, so that by the clock there are as many as at
            // a scale of 1. A watermark for every few records would be a load of its own.
            watermark_step: Span::from_micros(args.watermark_step.as_micros().saturating_mul(scale)),
            ..args.clone()
        };
        match self.figure() {
            Figure::Enjima(_) => Ok(args),
            Figure::Cameo(_) => tenants::resolved(args, interrupt),
            Figure::Lachesis(_) => lachesis::resolved(args, run_once),
        }
    }

    /// Returns the options of the run of the experiment with this policy or mode, `label`, and this value of the varied
    /// parameter, `at`.
    fn run_of(self, label: &str, at: f64, args: &BenchArgs) -> BenchArgs {
        let mut run = BenchArgs { observer: Some(Observer::new()), ..args.clone() };
        run.seconds *= self.stretch(at);
        match self.figure() {
            Figure::Enjima(panel) => panel.choose(&mut run, label, at),
            Figure::Cameo(panel) => panel.choose(&mut run, label, at),
            Figure::Lachesis(panel) => panel.choose(&mut run, label, at),
        }
        run
    }

    /// Returns the paper's claims with their verdicts. The claims are not tested if fewer runs were found
    /// than planned, or if the warm-up was missing.
    fn judged(self, found: &Comparison, planned_runs: usize, warmup_s: f64) -> Vec<Claim> {
        let any = |is: fn(&Figures) -> bool| found.runs.iter().any(|run| is(&run.figures));
        let why = if found.runs.len() < planned_runs || any(|figures| figures.interrupted) {
            Some("it was interrupted")
        } else if any(|figures| !figures.ok) {
            Some("a run had wrong results")
        } else if warmup_s <= 0.0 {
            Some("there was no warm-up; leave --warmup away")
        } else {
            None
        };
        let claims = self
            .claims(Evidence { found, too_short_of: &|run, group| self.too_short(run, group) })
            .into_iter();
        claims.map(|claim| claim.unless(why.map(str::to_owned))).collect()
    }

    /// Returns the paper's claims with their verdicts, by runs of which none is missing.
    fn claims(self, runs: Evidence<'_>) -> Vec<Claim> {
        match self.figure() {
            Figure::Enjima(panel) => panel.claims(runs),
            Figure::Cameo(panel) => panel.claims(runs),
            Figure::Lachesis(panel) => panel.claims(runs),
        }
    }
}

/// Returns the share of its offered records that the slowest query of a run has read, at most 1; if a group is given,
/// the slowest query of this group. Event time advances with the records that are read, so this is also the speed of
/// event time. Returns 1 if nothing was offered at a rate.
fn share_taken(figures: &Figures, group: Option<Group>) -> f64 {
    let of = |slowest_and_fastest: Option<[f64; 2]>, all: f64, queries: u64, offered_per_s: Option<u64>| {
        let taken_per_s = slowest_and_fastest.map_or(all, |[slowest, _]| slowest * queries as f64);
        offered_per_s.map_or(1.0, |offered_per_s| (taken_per_s / offered_per_s.max(1) as f64).min(1.0))
    };
    let Figures { query_throughput_per_s, throughput_per_s, queries, offered_per_s, groups, .. } = figures;
    let of_group = |group: &GroupFigures| {
        of(group.query_throughput_per_s, group.throughput_per_s, group.queries, group.offered_per_s)
    };
    let of_all = || of(*query_throughput_per_s, *throughput_per_s, *queries, *offered_per_s);
    let is_meant = |each: &&GroupFigures| group.is_none_or(|group| group.name() == each.name);
    groups.iter().filter(is_meant).map(of_group).reduce(f64::min).unwrap_or_else(of_all)
}

/// Returns the mean latency of markers in microseconds, including those that were due and not delivered.
fn mean_latency(figures: &Figures) -> Option<f64> {
    figures.overdue?.latency_us.map(|latency| latency.mean)
}

/// Runs an experiment and writes its page of results. Returns `false` if a result of a run is wrong.
pub fn run(
    experiment: Experiment,
    args: &BenchArgs,
    folder: &Path,
    interrupt: Option<&Interrupt>,
    mut run_once: impl FnMut(&BenchArgs) -> Result<Figures>,
) -> Result<bool> {
    let plan = experiment.plan(args.quick);
    let args = &experiment.resolved(args, interrupt, &mut run_once)?;
    let command: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let seconds = |at: &f64| args.seconds * experiment.stretch(*at);
    let shortest_s = plan.places.iter().map(seconds).fold(f64::INFINITY, f64::min);
    let longest_s = plan.places.iter().map(seconds).fold(0.0, f64::max);
    let length = if shortest_s < longest_s {
        format!("{shortest_s:.0} to {longest_s:.0} s, the longer the more is offered")
    } else {
        format!("{} s", args.seconds)
    };
    let mut found = Comparison {
        title: plan.title.to_owned(),
        about: format!("{} Each for {length}, {} by turns.", plan.about, times(args.repeat)),
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
                // Results and latency markers that were due and not delivered count with their age, as in the verdicts.
                let latency =
                    mean_latency(&figures).map_or("-".to_owned(), |micros| show::latency(micros * 1e3));
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
    let planned_runs = plan.places.len() * plan.labels.len() * args.repeat as usize;
    found.claims = experiment.judged(&found, planned_runs, args.warmup);
    for claim in &found.claims {
        let Claim { paper, found, repetitions, .. } = claim;
        let each: Vec<String> = repetitions.iter().map(|value| format!("{value:.2}")).collect();
        let each = if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) };
        console::out(&format!("\npaper: {paper}\nhere:  {found}{each}\n       {}\n", claim.verdict_text()))?;
    }
    compare::write(&found, folder)?;
    console::note(&format!("wrote {}", folder.join("index.html").display()));
    Ok(found.runs.iter().all(|run| run.figures.ok))
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests;
