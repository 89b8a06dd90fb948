//! Enjima's Figures 5b, 9a and 9b: policies with more and more queries, and threads or workers over queues or blocks at
//! rising rates.
//!
//! Source: "Enjima", SIGMOD 2025, sections 5.2.1 and 5.2.5.

use thalweg_cli::show;
use thalweg_scheduling::policy::enjima;

use super::evidence::{Evidence, Plan, factors, told};
use super::mean_latency;
use crate::bench::args::BenchArgs;
use crate::bench::comparison::{Comparison, Run};
use crate::bench::modes::{ExecutionOption, MemoryOption};
use crate::bench::report::{Figures, KEPT_UP};
use crate::bench::verdict::Claim;
use crate::values::Rate;

/// The four modes of Enjima's ablation (threads or workers, queues or blocks) under its policy in the paper's
/// literal form, and modes that the paper does not have: queues that pass batches of records, and our own
/// form of the policy.
pub const MODES: [(&str, ExecutionOption, MemoryOption, &str); 7] = [
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
pub const OURS: &str = "Thalweg";

/// The policies of Enjima's Figure 5 under the paper's names, each in its literal form, and this project's
/// form of Enjima's policy.
pub const POLICIES: [(&str, &str); 7] = [
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
pub const RUN_S: f64 = 4.0;

/// Longest time between two adaptations of any policy that is measured, in seconds. Enjima's latency gradient
/// adapts this seldom.
pub const ADAPTATION_S: f64 = 0.1;

/// Label of the mode with which the paper compares the others: a thread for each operator, and queues.
const BASELINE: &str = "TQ";

/// Label of Enjima's own mode (workers and blocks), with its policy in the paper's literal form.
pub const ENJIMA: &str = "Enjima";

/// A figure of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panel {
    /// Figure 5b: policies, with more and more YSB queries.
    Policies,
    /// Figure 9a: modes, at rising rates of Linear Road.
    LinearRoad,
    /// Figure 9b: modes, at rising rates of YSB.
    Ysb,
}

impl Panel {
    /// Returns the seconds of event time that pass in one second of the clock.
    pub const fn time_scale(self) -> u64 {
        match self {
            // Windows have 10 s of event time, so one ends every 50 ms of the clock if all records offered
            // are read. At 1 M events/s a window has 50,000 events.
            Panel::Policies | Panel::Ysb => 200,
            // Windows have 60 s of event time, so one ends every 120 ms of the clock if all records offered
            // are read. An expressway has 1,000 reports a second of event time, which are 500,000 a second of
            // the clock.
            Panel::LinearRoad => 500,
        }
    }

    /// Returns the longest time between two firings of a window of the queries, in seconds of event time.
    pub const fn longest_firing_s(self) -> f64 {
        match self {
            Panel::Policies | Panel::Ysb => 10.0,
            Panel::LinearRoad => 60.0,
        }
    }

    /// Returns the plan of the runs from which the figure is drawn.
    pub fn plan(self, is_quick: bool) -> Plan {
        match self {
            Panel::Policies => Plan {
                title: "Enjima, Fig. 5b: policies under more and more YSB queries",
                about: "8 M events/s for each query, every operator a task of its own; TQ is a thread per operator with queues of \
                        single records. In the paper 12 M events/s for each query, on 24 cores. Enjima is the paper's policy to the \
                        letter, Thalweg our form of it. Event time runs 200 times as fast as the clock.",
                axis: "queries",
                places: if is_quick { &[2.0, 10.0] } else { &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0] },
                labels: POLICIES.iter().map(|(label, _)| *label).chain([BASELINE]).collect(),
            },
            Panel::LinearRoad => Plan {
                title: "Enjima, Fig. 9a: what memory and scheduling each give, LRB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have. Enjima is the paper's policy to the letter, Thalweg our form of it. Event time runs \
                        500 times as fast as the clock.",
                axis: "M events/s offered",
                places: if is_quick { &[0.5, 8.0] } else { &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
            Panel::Ysb => Plan {
                title: "Enjima, Fig. 9b: what memory and scheduling each give, YSB",
                about: "One query, every operator a task of its own. T: a thread per operator, S and Enjima: workers; Q: queues of \
                        single records, M and Enjima: blocks; batched: queues that hand over many records at once, which the \
                        paper does not have. Enjima is the paper's policy to the letter, Thalweg our form of it. Event time runs \
                        200 times as fast as the clock.",
                axis: "M events/s offered",
                places: if is_quick { &[1.0, 100.0] } else { &[1.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0] },
                labels: MODES.iter().map(|(label, ..)| *label).collect(),
            },
        }
    }

    /// Sets the mode or policy and the load of one run.
    pub fn choose(self, run: &mut BenchArgs, label: &str, at: f64) {
        match self {
            Panel::Policies => {
                (run.queries, run.rate) = (Some(at as u64), Rate::PerSecond(8_000_000));
                match POLICIES.iter().find(|(known, _)| *known == label) {
                    Some((_, policy)) => run.policy = vec![(*policy).to_owned()],
                    None => (run.execution, run.memory) = (ExecutionOption::Threads, MemoryOption::Queue),
                }
            }
            Panel::LinearRoad | Panel::Ysb => {
                run.rate = Rate::PerSecond((at * 1e6) as u64);
                if let Some((_, execution, memory, policy)) = MODES.iter().find(|(known, ..)| *known == label)
                {
                    (run.execution, run.memory) = (*execution, *memory);
                    run.policy = vec![(*policy).to_owned()];
                }
            }
        }
    }

    /// Returns the claims of the paper about the figure, with their verdicts.
    pub fn claims(self, runs: Evidence<'_>) -> Vec<Claim> {
        let found = runs.found;
        let most = found.places().last().copied().flatten();
        match self {
            Panel::Policies => vec![
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
            Panel::LinearRoad => {
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
            Panel::Ysb => {
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
        }
    }
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
