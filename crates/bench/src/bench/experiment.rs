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
//! [`tenants`] has the experiments with Cameo's two groups of jobs.

mod evidence;
mod tenants;

use std::path::Path;

use anyhow::Result;
use thalweg::Span;
use thalweg_cli::console;
use thalweg_cli::interrupt::Interrupt;
use thalweg_cli::show;
use thalweg_scheduling::policy::enjima;
use thalweg_workloads::tenants::Group;

use self::evidence::{Evidence, Plan, TooShort, factors, told};
use self::tenants::Panel;
use super::args::BenchArgs;
use super::compare;
use super::comparison::{Comparison, Run};
use super::modes::{ExecutionOption, MemoryOption};
use super::observe::Observer;
use super::parallel::ParallelOption;
use super::report::{Figures, GroupFigures, KEPT_UP};
use super::target::{Experiment, Target};
use super::verdict::Claim;
use crate::values::Rate;

/// The four modes of Enjima's ablation (threads or workers, queues or blocks) under its policy in the paper's
/// literal form, and modes that the paper does not have: queues that pass batches of records, and our own
/// form of the policy.
const MODES: [(&str, ExecutionOption, MemoryOption, &str); 7] = [
    ("TQ", ExecutionOption::Threads, MemoryOption::Queue, enjima::STRICT_NAME),
    ("SQ", ExecutionOption::Workers, MemoryOption::Queue, enjima::STRICT_NAME),
    ("TQ batched", ExecutionOption::Threads, MemoryOption::QueueBatched, enjima::STRICT_NAME),
    ("SQ batched", ExecutionOption::Workers, MemoryOption::QueueBatched, enjima::STRICT_NAME),
    ("TM", ExecutionOption::Threads, MemoryOption::Blocks, enjima::STRICT_NAME),
    ("Enjima", ExecutionOption::Workers, MemoryOption::Blocks, enjima::STRICT_NAME),
    (OURS, ExecutionOption::Workers, MemoryOption::Blocks, enjima::NAME),
];

/// Label of this project's form of Enjima's policy, in which queries of about equal priority share evenly, no
/// operator starves, and no worker idles while an operator could run.
const OURS: &str = "Thalweg";

/// The policies of Enjima's Figure 5 under the paper's names, each in its literal form, and this project's
/// form of Enjima's policy.
const POLICIES: [(&str, &str); 7] = [
    ("Enjima", enjima::STRICT_NAME),
    (OURS, enjima::NAME),
    ("FCFS", "fcfs"),
    ("RR", "round_robin"),
    ("MC", "min_cost"),
    ("ML", "min_latency"),
    ("HR", "highest_rate"),
];

/// Measured seconds of each run of Enjima's experiments, quick or not. This is time for 30 adaptations of
/// Enjima's latency gradient, and for 3 firings of the longest window even if queries read only 1/10 of the
/// records offered.
const RUN_S: f64 = 4.0;

/// Least number of firings that every window needs in each run of an experiment.
const FIRINGS_MIN: f64 = 3.0;

/// Least number of adaptations that every adaptive mechanism needs in each run of an experiment.
const ADAPTATIONS_MIN: f64 = 30.0;

/// Longest time between two adaptations of any policy that is measured, in seconds. Enjima's latency gradient
/// adapts this seldom.
const ADAPTATION_S: f64 = 0.1;

/// The mode with which Enjima's Figure 5 compares: threads and queues.
const BASELINE: &str = "TQ";

impl Experiment {
    /// Returns the panel of Cameo's Figure 8 that the experiment repeats, if it is one of them.
    const fn panel(self) -> Option<Panel> {
        match self {
            Experiment::CameoFig8 => Some(Panel::Load),
            Experiment::CameoFig8b => Some(Panel::Jobs),
            Experiment::CameoFig8c => Some(Panel::Workers),
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9a | Experiment::EnjimaFig9b => None,
        }
    }

    /// Returns the measured time of each run of the experiment, in seconds. A quick experiment has fewer runs
    /// of the same length.
    pub const fn seconds(self) -> f64 {
        if self.panel().is_some() { tenants::RUN_S } else { RUN_S }
    }

    /// Returns the seconds of event time that pass in one second of the clock.
    const fn time_scale(self) -> u64 {
        match self {
            // Windows have 10 s of event time, so one ends every 50 ms of the clock if all records offered
            // are read. At 1 M events/s a window has 50,000 events.
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => 200,
            // Windows have 60 s of event time, so one ends every 120 ms of the clock if all records offered
            // are read. An expressway has 1,000 reports a second of event time, which are 500,000 a second of
            // the clock.
            Experiment::EnjimaFig9a => 500,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => 1,
        }
    }

    /// Returns the longest time between two firings of a window of the experiment's queries, in seconds of
    /// event time.
    fn longest_firing_s(self) -> f64 {
        match self {
            Experiment::EnjimaFig5b | Experiment::EnjimaFig9b => 10.0,
            Experiment::EnjimaFig9a => 60.0,
            Experiment::CameoFig8 | Experiment::CameoFig8b | Experiment::CameoFig8c => {
                Group::Bulk.window().as_micros() as f64 / 1e6
            }
        }
    }

    /// Returns by which factor a run at the given value of the parameter is longer than `--seconds`. Runs are
    /// longer where more records are offered than the queries read.
    fn stretch(self, at: f64) -> f64 {
        self.panel().map_or(1.0, |panel| panel.stretch(at))
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
        let (firings, adaptations) = (seconds * per_s, seconds / ADAPTATION_S);
        let needed_s = (FIRINGS_MIN / per_s).max(ADAPTATIONS_MIN * ADAPTATION_S);
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
        match self {
            Experiment::EnjimaFig5b => Plan {
                title: "Enjima, Fig. 5b: policies under more and more YSB queries",
                about: "8 M events/s for each query, every operator a task of its own; TQ is a thread per operator with queues of \
                        single records. In the paper 12 M events/s for each query, on 24 cores. Enjima is the paper's policy to the \
                        letter, Thalweg our form of it. Event time runs 200 times as fast as the clock.",
                axis: "queries",
                places: if is_quick { &[2.0, 10.0] } else { &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0] },
                labels: POLICIES.iter().map(|(label, _)| *label).chain([BASELINE]).collect(),
            },
            Experiment::EnjimaFig9a => Plan {
                title: "Enjima, Fig. 9a: what memory and scheduling each give, LRB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have. Enjima is the paper's policy to the letter, Thalweg our form of it. Event time runs \
                        500 times as fast as the clock.",
                axis: "M events/s offered",
                places: if is_quick { &[0.5, 8.0] } else { &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Experiment::EnjimaFig9b => Plan {
                title: "Enjima, Fig. 9b: what memory and scheduling each give, YSB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have. Enjima is the paper's policy to the letter, Thalweg our form of it. Event time runs \
                        200 times as fast as the clock.",
                axis: "M events/s offered",
                places: if is_quick { &[1.0, 100.0] } else { &[1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Experiment::CameoFig8 => Panel::Load.plan(is_quick),
            Experiment::CameoFig8b => Panel::Jobs.plan(is_quick),
            Experiment::CameoFig8c => Panel::Workers.plan(is_quick),
        }
    }

    /// Returns the options that all runs of the experiment have in common.
    fn resolved(self, args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<BenchArgs> {
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
        if self.panel().is_some() { tenants::resolved(args, interrupt) } else { Ok(args) }
    }

    /// Returns the options of one run of the experiment.
    fn run_of(self, label: &str, at: f64, args: &BenchArgs) -> BenchArgs {
        let mut run = BenchArgs { observer: Some(Observer::new()), ..args.clone() };
        run.seconds *= self.stretch(at);
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
        let found = runs.found;
        let most = found.places().last().copied().flatten();
        match self {
            Experiment::EnjimaFig5b => vec![
                throughput(
                    runs,
                    most,
                    "Enjima's throughput at most queries is 2.1 times that of TQ",
                    2.1,
                    BASELINE,
                ),
                throughput(runs, most, "it is 1.4 times that of HR (94.5 to 67.4 M/s)", 94.5 / 67.4, "HR"),
                latency(
                    runs,
                    most,
                    "Enjima's mean latency at most queries is 1,986 times lower than that of TQ",
                    1_986.0,
                    BASELINE,
                ),
                latency(
                    runs,
                    most,
                    "it is at least 1,250 times lower than that of HR (1.2 ms to 1,500)",
                    1_250.0,
                    "HR",
                ),
            ],
            Experiment::EnjimaFig9a => {
                // The claims are judged at the highest load with which Enjima keeps up. In the paper the
                // difference to the other modes is largest there, in the middle of the range.
                let middle = middle(found);
                vec![
                    latency(
                        runs,
                        middle,
                        "at 3 of 6 M/s Enjima's mean latency is 536 times lower than that of TQ",
                        536.0,
                        "TQ",
                    ),
                    latency(runs, middle, "it is 286 times lower than that of SQ", 286.0, "SQ"),
                    latency(runs, middle, "it is 267 times lower than that of TM", 267.0, "TM"),
                    throughput(runs, None, "Enjima's highest throughput is 2.2 times that of SQ", 2.2, "SQ"),
                    latency(
                        runs,
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
                    throughput(runs, None, "Enjima's highest throughput is 6.3 times that of TQ", 6.3, "TQ"),
                    // The paper's text also says "2.7 times". This contradicts its own figures, 17.2 M
                    // events/s for TM (the mode of threads and blocks) and 12.7 M events/s more for Enjima,
                    // by which the claim is judged.
                    throughput(
                        runs,
                        None,
                        "TM is next with 17.2 M/s, and Enjima takes 12.7 M/s more (1.7 times)",
                        (17.2 + 12.7) / 17.2,
                        "TM",
                    ),
                    factor_of_highest(
                        runs,
                        "SQ",
                        "TQ",
                        "SQ is 1.2 times as high as TQ (20 % of Enjima's to 17 %)",
                        20.0 / 17.0,
                    ),
                    factor_of_highest(runs, "TM", "SQ", "blocks make TM 2.8 times as high as SQ", 2.8),
                    latency(
                        runs,
                        middle,
                        "below 30 M/s Enjima's mean latency is 1,000 times lower than that of TQ",
                        1_000.0,
                        "TQ",
                    ),
                    latency(runs, middle, "it is 1,000 times lower than that of TM", 1_000.0, "TM"),
                ]
            }
            Experiment::CameoFig8 => Panel::Load.claims(runs),
            Experiment::CameoFig8b => Panel::Jobs.claims(runs),
            Experiment::CameoFig8c => Panel::Workers.claims(runs),
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

/// Returns the highest load at which Enjima reads nearly all records offered, or the lowest load if it never
/// does. In the paper the difference to the other modes is largest there.
fn middle(found: &Comparison) -> Option<f64> {
    let keeps_up = |at: &&Option<f64>| {
        let share = |figures: &Figures| Some(figures.throughput_per_s / figures.offered_per_s? as f64);
        found.median(ENJIMA, **at, share).is_some_and(|share| KEPT_UP < share)
    };
    let places = found.places();
    places.iter().rev().find(keeps_up).or(places.first()).copied().flatten()
}

/// Label of Enjima's own mode, in its literal form.
const ENJIMA: &str = "Enjima";

/// Returns the mean latency of markers in microseconds, including those that were due and not delivered.
fn mean_latency(figures: &Figures) -> Option<f64> {
    figures.overdue?.latency_us.map(|latency| latency.mean)
}

/// Judges the claim that Enjima's throughput is `claimed` times that of another mode or policy: at one load,
/// or at the best load of each.
fn throughput(runs: Evidence<'_>, at: Option<f64>, paper: &str, claimed: f64, other: &str) -> Claim {
    if at.is_none() {
        return factor_of_highest(runs, ENJIMA, other, paper, claimed);
    }
    let labels = [ENJIMA, other];
    let figure = |figures: &Figures| Some(figures.throughput_per_s);
    let pairs = runs.found.pairs(labels.map(|label| (label, at)), figure);
    let text = told(&pairs, labels, at, show::rate);
    let claim =
        Claim::of_factors(paper.to_owned(), claimed, factors(&pairs, |ours, other| ours / other), text);
    claim.unless(runs.too_short(&labels, at))
}

/// Judges the claim that the highest throughput of one mode or policy, over all loads, is `claimed` times the
/// highest throughput of another. Only the runs with the highest throughput have to be long enough.
fn factor_of_highest(runs: Evidence<'_>, winner: &str, other: &str, paper: &str, claimed: f64) -> Claim {
    let per_s = |run: &Run| run.figures.throughput_per_s;
    let highest = |label: &str, repetition: u32| {
        let runs = runs.found.runs.iter();
        let runs = runs.filter(|run| run.label == label && run.repetition == repetition);
        runs.max_by(|one, other| per_s(one).total_cmp(&per_s(other)))
    };
    let best: Vec<_> = runs
        .found
        .repetitions()
        .map(|repetition| Some((highest(winner, repetition)?, highest(other, repetition)?)))
        .collect();
    let pairs: Vec<_> = best.iter().map(|best| best.map(|(won, lost)| (per_s(won), per_s(lost)))).collect();
    let text = told(&pairs, [winner, other], None, show::rate);
    let claim = Claim::of_factors(paper.to_owned(), claimed, factors(&pairs, |won, lost| won / lost), text);
    claim.unless(runs.worst(None, best.into_iter().flatten().flat_map(|(won, lost)| [won, lost])))
}

/// Judges the claim that Enjima's mean latency is `claimed` times lower than that of another mode or policy.
fn latency(runs: Evidence<'_>, at: Option<f64>, paper: &str, claimed: f64, other: &str) -> Claim {
    let labels = [ENJIMA, other];
    let pairs = runs.found.pairs(labels.map(|label| (label, at)), mean_latency);
    let text = told(&pairs, labels, at, |micros| show::latency(micros * 1e3));
    let claim =
        Claim::of_factors(paper.to_owned(), claimed, factors(&pairs, |ours, other| other / ours), text);
    claim.unless(runs.too_short(&labels, at))
}

/// Runs an experiment and writes its page of results. Returns `false` if a result of a run is wrong.
pub fn run(
    experiment: Experiment,
    args: &BenchArgs,
    folder: &Path,
    interrupt: Option<&Interrupt>,
    mut run_once: impl FnMut(&BenchArgs) -> Result<Figures>,
) -> Result<bool> {
    let (plan, args) = (experiment.plan(args.quick), &experiment.resolved(args, interrupt)?);
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
