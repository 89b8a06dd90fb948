//! The experiments of Lachesis on our own threads: ETL and STATS with a thread for each operator, all on one core.
//!
//! | system | here |
//! |---|---|
//! | OS | a thread for each operator, scheduled by the operating system alone |
//! | Lachesis | the earlier form: nice values by `congestion_v1`, to which a source is a queue of one |
//! | Lachesis-Mod | nice values by `congestion` |
//! | Lachesis-Mod-RT | SCHED_RR by `congestion` |
//! | EdgeWise | no threads for operators: one worker under `congestion` |
//!
//! In the paper the engine is Storm on four slow cores, and the tool runs on four others. Here the threads of the
//! operators share one core, and the steering thread may use the other ones. Each operator takes [`OPERATOR_COST`] of CPU
//! time for a record, times its weight, as an operator of Storm does on the paper's boards. So a queue holds at least ten
//! seconds of input.
//!
//! Loads are multiples of what one core can take, which is measured first: the inverse of the CPU time of a record, at nine
//! tenths of that load.
//!
//! **Which metric is to gain** was written down before the first run: end-to-end latency, in both workloads, with what was
//! not delivered at the end counted with its age. Throughput is the rate at which records reach the sink; it cannot rise
//! beyond the capacity of the core, so below a load of 1 it is what is offered.
//!
//! Two things differ from the paper's system: a policy takes the mean of a queue's lengths at the rounds of the last ten seconds,
//! which are two at a period of 5 s, where the paper has ten; and records that are due but not read count as the queue of the
//! source.
//!
//! Source: Frasca et al., "Accelerating Stream Processing Queries with Congestion-aware Scheduling and Real-time Linux
//! Threads", CF 2023, section 5.

use anyhow::{Result, bail};
use thalweg::Span;
use thalweg_cli::{console, show};

use super::evidence::{Evidence, Plan, factors, told, told_at};
use super::mean_latency;
use crate::bench::args::BenchArgs;
use crate::bench::comparison::Run;
use crate::bench::modes::ExecutionOption;
use crate::bench::report::Figures;
use crate::bench::steer::SteerOption;
use crate::bench::target::Target;
use crate::bench::verdict::{Claim, median};
use crate::values::Rate;

/// Measured time of each run in seconds: time for thirty rounds of steering, one a second.
pub const RUN_S: f64 = 31.0;

/// CPU time that an operator of weight 1 takes for a record.
const OPERATOR_COST: Span = Span::from_micros(100);

/// Least warm-up of every run in seconds. In this time each sensor sends the ten readings that predictions of STATS
/// need.
const WARMUP_S: f64 = 25.0;

/// Records per second that are offered in the first run that measures the capacity of one core, which certainly keeps
/// up with them.
const PROBE_PER_S: f64 = 100.0;

/// Rate of the second run that measures the capacity, as a share of the capacity that the first run has found.
const NEAR: f64 = 0.9;

/// Measured time of each run that measures the capacity, in seconds.
const PROBE_S: f64 = 5.0;

/// Time in seconds that stands for the time between two firings of a window. The queries have no windows of time; after
/// the warm-up each of their operators emits results far more often.
pub const FIRING_S: f64 = 1.0;

/// Time between two rounds of steering, unless the experiment varies it.
const PERIOD_S: f64 = 1.0;

/// Load at which claims about the point of saturation are judged, as a multiple of the capacity.
const SATURATION: f64 = 1.0;

/// Load, as a multiple of the capacity, at which claims about the highest rate are judged, and at which the experiments
/// on queues and on the time between rounds run. In the paper the highest rate is 1.2 times the one at which its best
/// form saturates.
const BEYOND: f64 = 1.2;

/// Name of the task that makes the records.
const SOURCE: &str = "source";

const OS: &str = "OS";
const EARLIER: &str = "Lachesis";
const MOD: &str = "Lachesis-Mod";
const MOD_RT: &str = "Lachesis-Mod-RT";
const EDGEWISE: &str = "EdgeWise";

/// The systems whose threads are steered, each with its value of the option `--steer`.
const STEERED: [(&str, &str); 3] =
    [(EARLIER, "congestion_v1:nice"), (MOD, "congestion:nice"), (MOD_RT, "congestion:rt")];

/// All systems, for tests of the plans.
#[cfg(test)]
pub const SYSTEMS: [&str; 5] = [OS, EARLIER, MOD, MOD_RT, EDGEWISE];

/// A figure of the paper on Lachesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panel {
    /// Figure 5: ETL, nice values.
    Etl,
    /// Figure 6: STATS, nice values.
    Stats,
    /// Figure 10: ETL, real-time threads.
    EtlRealTime,
    /// Figure 11: STATS, real-time threads.
    StatsRealTime,
    /// Figure 14: mean length of the queue of each operator.
    Queues,
    /// Figure 15: mean priority of each operator.
    Priorities,
    /// Figure 16: the period.
    Period,
}

impl Panel {
    /// Returns the plan of the runs from which the panel, a figure of the paper, is drawn.
    pub fn plan(self, is_quick: bool) -> Plan {
        let loads: &[f64] = if is_quick { &[0.9, 1.0, 1.2] } else { &[0.7, 0.9, 1.0, 1.1, 1.2, 2.0] };
        let about = "A thread for each operator, all on one core, and an operator takes 0.1 ms of CPU time for a record, times its \
                     weight. Lachesis is its earlier form, Mod has nice values by the length of queues and Mod-RT real-time \
                     priorities, all once a second; EdgeWise is one worker under `congestion`. In the paper on Storm, on four \
                     cores of a board.";
        let of_loads = |title, labels: &[&'static str]| Plan {
            title,
            about,
            axis: "times what one core takes",
            places: loads,
            labels: labels.to_vec(),
        };
        let at_one = |title, labels: &[&'static str]| Plan {
            title,
            about,
            axis: "times what one core takes",
            places: &[BEYOND],
            labels: labels.to_vec(),
        };
        match self {
            Panel::Etl => of_loads("Lachesis, Fig. 5: ETL with nice values", &[OS, EARLIER, MOD, EDGEWISE]),
            Panel::Stats => {
                of_loads("Lachesis, Fig. 6: STATS with nice values", &[OS, EARLIER, MOD, EDGEWISE])
            }
            Panel::EtlRealTime => of_loads(
                "Lachesis, Fig. 10 and Table 1: ETL with real-time threads",
                &[OS, EARLIER, MOD, MOD_RT],
            ),
            Panel::StatsRealTime => of_loads(
                "Lachesis, Fig. 11 and Table 1: STATS with real-time threads",
                &[OS, EARLIER, MOD, MOD_RT],
            ),
            Panel::Queues => at_one("Lachesis, Fig. 14: mean length of each queue, ETL", &[OS, MOD, MOD_RT]),
            Panel::Priorities => {
                at_one("Lachesis, Fig. 15: mean priority of each thread, ETL", &[MOD, MOD_RT])
            }
            Panel::Period => Plan {
                title: "Lachesis, Fig. 16: time between two rounds, ETL",
                about: "Real-time priorities, at 1.2 times what one core takes; everything else as in Fig. 10. In the paper \
                        Linear Road on Flink.",
                axis: "s between rounds",
                places: if is_quick { &[1.0, 5.0] } else { &[1.0, 2.0, 5.0] },
                labels: vec![MOD_RT],
            },
        }
    }

    /// Returns the time between two rounds of steering in a run at the given value of the parameter, in seconds.
    pub const fn period_s(self, at: f64) -> f64 {
        match self {
            Panel::Period => at,
            _ => PERIOD_S,
        }
    }

    /// Returns by which factor a run is longer than [`RUN_S`]. Runs that differ only in the time between two rounds are
    /// all as long as the longest such time requires, since latency beyond saturation grows with the length of a run.
    pub const fn stretch(self) -> f64 {
        match self {
            Panel::Period => 5.0,
            _ => 1.0,
        }
    }

    /// Sets the system and the load of one run, whose options have the capacity as their rate.
    pub fn choose(self, run: &mut BenchArgs, label: &str, at: f64) {
        if let Rate::PerSecond(capacity_per_s) = run.rate {
            let load = if self == Panel::Period { BEYOND } else { at };
            run.rate = Rate::PerSecond((capacity_per_s as f64 * load).max(1.0) as u64);
        }
        run.execution = ExecutionOption::Threads;
        if label == EDGEWISE {
            (run.execution, run.policy) = (ExecutionOption::Workers, vec!["congestion".to_owned()]);
        }
        let option = STEERED.iter().find(|(known, _)| *known == label).map(|(_, option)| *option);
        run.steer = option.map(|option| SteerOption::parsed(option).expect("a test parses each option"));
        run.period = Span::from_micros((self.period_s(at) * 1e6) as i64);
        run.steer_mean = option.is_some();
    }

    /// Returns the claims of the paper about this figure of it, with their verdicts. Claims about saturation are judged
    /// at [`SATURATION`], and those about the highest rate at [`BEYOND`].
    pub fn claims(self, runs: Evidence<'_>) -> Vec<Claim> {
        let (saturation, beyond) = (Some(SATURATION), Some(BEYOND));
        let ours = "ours: queues are of more equal length than those of the OS";
        match self {
            Panel::Etl => vec![
                more(
                    runs,
                    "at saturation Lachesis-Mod's throughput is 1.39 times that of the OS",
                    1.39,
                    [MOD, OS],
                    saturation,
                ),
                more(runs, "and 1.045 times that of the earlier Lachesis", 1.045, [MOD, EARLIER], saturation),
                lower(
                    runs,
                    "its end-to-end latency there is 98 % lower than that of the earlier Lachesis",
                    50.0,
                    [MOD, EARLIER],
                    saturation,
                ),
                evener(
                    runs,
                    "queues are of more equal length than under the OS (the plot of the policy goal)",
                    [MOD, OS],
                    beyond,
                ),
                at_least(runs, "it has lower end-to-end latency than EdgeWise", [MOD, EDGEWISE], saturation),
            ],
            Panel::Stats => vec![
                more(
                    runs,
                    "at the highest rate Lachesis-Mod's throughput is 1.22 times that of the earlier Lachesis",
                    1.22,
                    [MOD, EARLIER],
                    beyond,
                ),
                lower(runs, "and its end-to-end latency is 9 % lower", 1.0 / 0.91, [MOD, EARLIER], beyond),
                at_least(runs, "the OS has higher end-to-end latency", [MOD, OS], beyond),
                evener(runs, ours, [MOD, OS], beyond),
            ],
            Panel::EtlRealTime => {
                let mut claims = vec![
                    more(
                        runs,
                        "at the highest rate real-time threads have 1.28 times the throughput of Lachesis-Mod",
                        1.28,
                        [MOD_RT, MOD],
                        beyond,
                    ),
                    lower(runs, "and 15 % lower end-to-end latency", 1.0 / 0.85, [MOD_RT, MOD], beyond),
                ];
                claims.extend(table(runs, [(OS, 38.0, 71.0), (EARLIER, 19.0, 31.0), (MOD, 7.0, 14.0)]));
                claims.push(evener(runs, ours, [MOD_RT, OS], beyond));
                claims
            }
            Panel::StatsRealTime => {
                let mut claims = table(runs, [(OS, 29.0, 52.0), (EARLIER, 11.0, 13.0), (MOD, 6.38, 5.49)]);
                claims.push(evener(runs, ours, [MOD_RT, OS], beyond));
                claims
            }
            Panel::Queues => vec![
                flatter(
                    runs,
                    "Lachesis-Mod makes the mean lengths of queues more equal than the OS",
                    [MOD, OS],
                    beyond,
                ),
                flatter(runs, "and real-time threads still more", [MOD_RT, MOD], beyond),
            ],
            Panel::Priorities => vec![
                follows(runs, "nice values follow the lengths of queues", MOD, beyond),
                follows(runs, "real-time priorities follow the lengths of queues", MOD_RT, beyond),
            ],
            Panel::Period => {
                let (least, most) = (Some(1.0), Some(5.0));
                let of = |figure: fn(&Figures) -> Option<f64>| {
                    runs.found.pairs([(MOD_RT, least), (MOD_RT, most)], figure)
                };
                let place = format!("at a load of {BEYOND}");
                let told = |pairs: &[Option<(f64, f64)>], shown: fn(f64) -> String| {
                    told_at(pairs, ["every second", "every 5 s"], &place, shown)
                };
                let (latency, throughput) = (of(mean_latency), of(processed_per_s));
                let judged = |paper: &str, factors, text| {
                    Claim::at_least(paper.to_owned(), 1.0, factors, text)
                        .unless(runs.too_short(&[MOD_RT], most))
                };
                vec![
                    judged(
                        "every 5 s end-to-end latency is higher than every second",
                        factors(&latency, |every_1, every_5| every_5 / every_1),
                        told(&latency, shown),
                    ),
                    judged(
                        "and throughput is lower",
                        factors(&throughput, |every_1, every_5| every_1 / every_5),
                        told(&throughput, show::rate),
                    ),
                ]
            }
        }
    }
}

/// Returns the options of all runs, with the capacity of one core as their rate. Two runs measure it: one at a low
/// rate, and one at [`NEAR`] times the capacity that the first one finds. At a higher rate records are read in larger
/// blocks, and cost less.
pub fn resolved(
    args: BenchArgs,
    run_once: &mut dyn FnMut(&BenchArgs) -> Result<Figures>,
) -> Result<BenchArgs> {
    // If no warm-up is asked for, none is added, so that the claims of the experiment count as not tested.
    let warmup = if args.warmup > 0.0 { args.warmup.max(WARMUP_S) } else { 0.0 };
    let args = BenchArgs { workers: 1, operator_cost: OPERATOR_COST, warmup, ..args };
    let probe = BenchArgs {
        target: Target::Workload(args.workload()),
        execution: ExecutionOption::Threads,
        seconds: PROBE_S,
        ..args.clone()
    };
    let mut taken_per_s = |offered_per_s: f64| {
        let rate = Rate::PerSecond(offered_per_s.max(1.0) as u64);
        let figures = run_once(&BenchArgs { rate, ..probe.clone() })?;
        let records = figures.throughput_per_s * figures.seconds;
        if !figures.ok {
            bail!("the run that measures what one core takes had wrong results");
        }
        if figures.interrupted || figures.cpu_s <= 0.0 || records < 1.0 {
            bail!("the experiment ended before it was known what one core takes");
        }
        Ok(records / figures.cpu_s)
    };
    let about_per_s = taken_per_s(PROBE_PER_S)?;
    let capacity_per_s = taken_per_s(NEAR * about_per_s)?;
    console::note(&format!("one core takes {}", show::rate(capacity_per_s)));
    Ok(BenchArgs { rate: Rate::PerSecond(capacity_per_s.max(1.0) as u64), ..args })
}

/// Returns the number of records per second that reached the sink. Each record has a latency marker, so markers are
/// counted.
fn processed_per_s(figures: &Figures) -> Option<f64> {
    Some(figures.latency_us?.count as f64 / figures.seconds)
}

fn shown(micros: f64) -> String {
    show::latency(micros * 1e3)
}

fn shown_ratio(ratio: f64) -> String {
    format!("{ratio:.2}")
}

type Pair = [&'static str; 2];

/// Judges the claim that the first system has `claimed` times the throughput of the second.
fn more(runs: Evidence<'_>, paper: &str, claimed: f64, labels: Pair, at: Option<f64>) -> Claim {
    let pairs = runs.found.pairs(labels.map(|label| (label, at)), processed_per_s);
    let text = told(&pairs, labels, at, show::rate);
    let claim = Claim::of_factors(paper.to_owned(), claimed, factors(&pairs, |one, other| one / other), text);
    claim.unless(runs.too_short(&labels, at))
}

/// Judges the claim that the end-to-end latency of the second system is `claimed` times that of the first.
fn lower(runs: Evidence<'_>, paper: &str, claimed: f64, labels: Pair, at: Option<f64>) -> Claim {
    let pairs = runs.found.pairs(labels.map(|label| (label, at)), mean_latency);
    let text = told(&pairs, labels, at, shown);
    let claim = Claim::of_factors(paper.to_owned(), claimed, factors(&pairs, |one, other| other / one), text);
    claim.unless(runs.too_short(&labels, at))
}

/// Judges the claim that the end-to-end latency of the second system is at least that of the first.
fn at_least(runs: Evidence<'_>, paper: &str, labels: Pair, at: Option<f64>) -> Claim {
    let pairs = runs.found.pairs(labels.map(|label| (label, at)), mean_latency);
    let text = told(&pairs, labels, at, shown);
    let claim = Claim::at_least(paper.to_owned(), 1.0, factors(&pairs, |one, other| other / one), text);
    claim.unless(runs.too_short(&labels, at))
}

/// Judges the claim that the coefficient of variation of queue lengths of the second system is at least that of the first.
fn evener(runs: Evidence<'_>, paper: &str, labels: Pair, at: Option<f64>) -> Claim {
    let pairs = runs.found.pairs(labels.map(|label| (label, at)), |figures| figures.queue_cv);
    let text = told(&pairs, labels, at, shown_ratio);
    let claim = Claim::at_least(paper.to_owned(), 1.0, factors(&pairs, |one, other| other / one), text);
    claim.unless(runs.too_short(&labels, at))
}

fn run_of<'a>(runs: Evidence<'a>, label: &str, at: Option<f64>, repetition: u32) -> Option<&'a Run> {
    runs.found.runs.iter().find(|run| run.label == label && run.at == at && run.repetition == repetition)
}

/// Judges the claim that the mean lengths of queues of the second system vary at least as much as those of the first.
fn flatter(runs: Evidence<'_>, paper: &str, labels: Pair, at: Option<f64>) -> Claim {
    let of = |label, repetition| {
        let series = &run_of(runs, label, at, repetition)?.series;
        // The records that wait in front of a source are not part of the series, so the source is left out.
        let queues = series.tasks.iter().zip(&series.mean_pending).filter(|(task, _)| *task != SOURCE);
        variation(&queues.map(|(_, mean)| *mean).collect::<Vec<_>>())
    };
    let [one, other] = labels;
    let pair = |repetition| Some((of(one, repetition)?, of(other, repetition)?));
    let pairs: Vec<_> = runs.found.repetitions().map(pair).collect();
    let text = told(&pairs, labels, at, shown_ratio);
    let claim = Claim::at_least(paper.to_owned(), 1.0, factors(&pairs, |one, other| other / one), text);
    claim.unless(runs.too_short(&labels, at))
}

/// Returns the coefficient of variation of some numbers; `None` if their mean is not above zero.
fn variation(of: &[f64]) -> Option<f64> {
    let mean = of.iter().sum::<f64>() / of.len() as f64;
    let variance = of.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / of.len() as f64;
    (0.0 < mean).then(|| variance.sqrt() / mean)
}

/// Least rank correlation of the mean queue lengths and mean priorities of operators with which the paper's claim that
/// priorities follow queues holds. The paper shows bars, and gives no number.
const FOLLOWS: f64 = 0.5;

/// Judges the claim that the mean priorities of a system follow the mean lengths of queues: by the rank correlation.
fn follows(runs: Evidence<'_>, paper: &str, label: &str, at: Option<f64>) -> Claim {
    let of = |repetition| {
        let steered = run_of(runs, label, at, repetition)?.figures.steer.as_ref()?;
        // A lower nice value is more urgent, and a higher real-time priority.
        let of = |operator: &crate::bench::steer::SteeredOperator| {
            (operator.pending, operator.priority - operator.nice)
        };
        rank_correlation(&steered.operators.iter().map(of).collect::<Vec<_>>())
    };
    let found: Vec<Option<f64>> = runs.found.repetitions().map(of).collect();
    let text = median(found.iter().copied().flatten().collect())
        .map_or("not measured".to_owned(), |found| format!("{label}: a rank correlation of {found:.2}"));
    Claim::at_least(paper.to_owned(), FOLLOWS, found, text).unless(runs.too_short(&[label], at))
}

/// Returns Spearman's rank correlation of pairs; `None` if one side is constant. Equal values share their mean rank.
fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let ranks = |of: &dyn Fn(&(f64, f64)) -> f64| -> Vec<f64> {
        let values: Vec<f64> = pairs.iter().map(of).collect();
        let rank = |value: &f64| {
            let less = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            less as f64 + (equal as f64 - 1.0) / 2.0
        };
        values.iter().map(rank).collect()
    };
    let (ones, others) = (ranks(&|pair| pair.0), ranks(&|pair| pair.1));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let squares = |ranks: &[f64]| ranks.iter().map(|rank| (rank - mean).powi(2)).sum::<f64>();
    let products: f64 = ones.iter().zip(&others).map(|(one, other)| (one - mean) * (other - mean)).sum();
    let spread = (squares(&ones) * squares(&others)).sqrt();
    (0.0 < spread).then(|| products / spread)
}

/// A function that returns the ratio of a figure of two runs. A ratio above 1 is in favour of the first run.
type Ratio = fn(&Figures, &Figures) -> Option<f64>;

fn processed_ratio(ours: &Figures, other: &Figures) -> Option<f64> {
    Some(processed_per_s(ours)? / processed_per_s(other)?.max(f64::MIN_POSITIVE))
}

fn latency_ratio(ours: &Figures, other: &Figures) -> Option<f64> {
    Some(mean_latency(other)? / mean_latency(ours)?.max(f64::MIN_POSITIVE))
}

/// Judges the claims of Table 1: how much more throughput and how much less end-to-end latency real-time threads have
/// than another system, in per cent, on average over the loads beyond what one core takes, up to [`BEYOND`].
fn table<const N: usize>(runs: Evidence<'_>, others: [(&'static str, f64, f64); N]) -> Vec<Claim> {
    let of_other = |(other, more, less): (&'static str, f64, f64)| {
        let throughput = format!("Table 1: beyond saturation {more} % more throughput than {other}");
        let latency = format!("Table 1: and {less} % less end-to-end latency");
        [
            tabled(runs, throughput, 1.0 + more / 100.0, other, (processed_ratio, mean)),
            // The paper averages reductions of latency in per cent. Hence the inverse ratios are averaged here: the
            // harmonic mean.
            tabled(runs, latency, 1.0 / (1.0 - less / 100.0), other, (latency_ratio, harmonic_mean)),
        ]
    };
    others.into_iter().flat_map(of_other).collect()
}

/// Judges the claim that real-time threads are `claimed` times as good as another system: by `ratio` at each load
/// beyond what one core takes, and by `mean` of these ratios.
fn tabled(
    runs: Evidence<'_>,
    paper: String,
    claimed: f64,
    other: &'static str,
    (ratio, mean): (Ratio, fn(&[f64]) -> f64),
) -> Claim {
    let is_beyond = |at: &Option<f64>| at.is_some_and(|at| SATURATION < at && at <= BEYOND);
    let beyond: Vec<Option<f64>> = runs.found.places().into_iter().filter(is_beyond).collect();
    let of = |repetition| {
        let of_load = |at: &Option<f64>| {
            let [ours, other] = [MOD_RT, other].map(|label| run_of(runs, label, *at, repetition));
            ratio(&ours?.figures, &other?.figures)
        };
        let ratios: Option<Vec<f64>> = beyond.iter().map(of_load).collect();
        ratios.filter(|ratios| !ratios.is_empty()).map(|ratios| mean(&ratios))
    };
    let found: Vec<Option<f64>> = runs.found.repetitions().map(of).collect();
    let text = median(found.iter().copied().flatten().collect()).map_or("not measured".to_owned(), |found| {
        format!("{MOD_RT} against {other}: {found:.2} times as good")
    });
    let too_short = beyond.iter().find_map(|at| runs.too_short(&[MOD_RT, other], *at));
    Claim::of_factors(paper, claimed, found, text).unless(too_short)
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

fn harmonic_mean(of: &[f64]) -> f64 {
    of.len() as f64 / of.iter().map(|value| 1.0 / value).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_steered_system_is_an_option() {
        for (_, option) in STEERED {
            assert!(SteerOption::parsed(option).is_ok(), "{option}");
        }
    }

    #[test]
    fn reductions_are_averaged_and_not_their_ratios() {
        // Latency lower by 99 % and by 33 % is lower by 66 % on average.
        assert!((harmonic_mean(&[100.0, 1.0 / 0.67]) - 1.0 / 0.34).abs() < 1e-9);
        assert_eq!(mean(&[1.0, 2.0]), 1.5);
    }

    #[test]
    fn variation_is_of_the_means() {
        assert_eq!(variation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(0.4));
        assert_eq!(variation(&[0.0, 0.0]), None);
        assert_eq!(variation(&[]), None);
    }

    #[test]
    fn ranks_are_correlated() {
        let of = |pairs: &[(f64, f64)]| rank_correlation(pairs).map(|found| (found * 1e6).round() / 1e6);
        assert_eq!(of(&[(1.0, 10.0), (2.0, 20.0), (9.0, 21.0)]), Some(1.0));
        assert_eq!(of(&[(1.0, 3.0), (2.0, 2.0), (9.0, 1.0)]), Some(-1.0));
        // By hand: ranks 0, 1, 2, 3 and 0, 2, 1, 3 differ by 0, 1, 1, 0, so 1 - 6 * 2 / (4 * 15).
        assert_eq!(of(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]), Some(0.8));
        assert_eq!(of(&[(1.0, 5.0), (2.0, 5.0)]), None);
        assert_eq!(of(&[]), None);
    }
}
