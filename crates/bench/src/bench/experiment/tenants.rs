//! Cameo's Figure 8: four jobs whose results are due within 800 ms, beside bulk jobs that are offered more and
//! more (a), beside more and more bulk jobs (b), and with fewer and fewer workers (c).
//!
//! In the paper the bulk jobs' sources become faster, up to 50,000 tuples/s each on 32 machines, and overload
//! shows where latencies bend. Here the capacity of the bulk jobs alone, in records per second, is measured
//! first, and loads are multiples of this capacity. In (b) each bulk job is offered a twelfth of it, since up
//! to twelve bulk jobs all policies are alike in the paper; in (c) all bulk jobs together are offered the
//! whole.
//!
//! Latency is event latency (section 4.1 of the paper): from the arrival of the event whose watermark reaches the
//! end of a window until the results of the window are delivered. From the end of the window it would be longer
//! by up to 16 ms, the time until the next of 64 messages a second. This time differs from run to run and has
//! nothing to do with the policy. Windows that had ended before the measurement did, and whose results were not
//! delivered, count with their age; so a policy that leaves a job waiting does not look fast. Results are in time
//! by the same latency.
//!
//! Claims about latency and deadlines are about the latency-sensitive jobs, so three firings of their windows are
//! asked for. The claim about throughput is about all jobs, and asks for three firings of the bulk jobs' windows.

use anyhow::Result;

use thalweg_cli::console;
use thalweg_cli::show;
use thalweg_workloads::tenants::Group;

use thalweg_cli::interrupt::Interrupt;

use super::evidence::{Evidence, Plan, factors, told};
use crate::bench::args::BenchArgs;
use crate::bench::latency::Latency;
use crate::bench::report::{Figures, GroupFigures};
use crate::bench::tenants::capacity_per_s;
use crate::bench::verdict::{Claim, median};
use crate::values::Aggressor;

/// The name of the group of jobs whose latencies are compared.
const SENSITIVE: &str = Group::Sensitive.name();

/// Measured time of each run in seconds, if all records offered are read: three windows of bulk jobs and a
/// little more.
pub const RUN_S: f64 = 31.0;

/// Factor by which a run is longer if bulk jobs are offered just the rate that they reach when they run
/// alone. The other jobs need some of this capacity, and policies differ in how well they use the machine.
const MARGIN: f64 = 1.25;

/// The policies by the paper's names; the last two are not in the paper.
pub const POLICIES: [(&str, &str); 5] = [
    ("Cameo", "cameo_llf"),
    ("FIFO", "fifo"),
    ("Orleans", "orleans"),
    ("FCFS", "fcfs"),
    ("Thalweg", "enjima"),
];

/// Factor by which a latency must be higher to count as "penalised heavily", for which the paper gives no
/// factor.
const PENALISED: f64 = 2.0;

/// Two latencies count as comparable if one is at most this many times the other.
const ALIKE: f64 = 1.3;

/// Least ratio of Cameo's throughput to that of the other policies by which the paper's claim about
/// throughput holds.
const KEPT: f64 = 0.975;

/// Number of latency-sensitive jobs in every run of the experiment.
const SENSITIVE_JOBS: u64 = 4;

/// Number of bulk jobs that together are offered just the measured capacity, in the experiment with more and
/// more bulk jobs.
const BULK_JOBS: f64 = 12.0;

/// A panel of Cameo's Figure 8, by the parameter that it varies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panel {
    /// The panel varies the load offered to bulk jobs.
    Load,
    /// The panel varies the number of bulk jobs.
    Jobs,
    /// The panel varies the number of workers.
    Workers,
}

impl Panel {
    /// Returns the plan of the runs from which the panel of the figure is drawn.
    pub fn plan(self, is_quick: bool) -> Plan {
        let labels: Vec<&str> = POLICIES.iter().map(|(label, _)| *label).collect();
        // A quick experiment leaves out the last policy, which is not in the paper.
        let labels = if is_quick { labels[..4].to_vec() } else { labels };
        match self {
            Panel::Load => Plan {
                title: "Cameo, Fig. 8a: jobs that are to be in time, beside bulk that is offered more and more",
                about: "Four jobs with a latency target of 800 ms, each offered 64 messages of 1,000 events a second, beside eight \
                        bulk jobs with 7,200 s, every operator a task of its own. All sum up revenues, in windows of 1 s and \
                        of 10 s. In the paper on 32 machines. FCFS and Thalweg, which is enjima, are none of its baselines.",
                axis: "times what bulk alone takes",
                places: if is_quick { &[0.5, 2.0] } else { &[0.5, 0.9, 1.0, 1.1, 2.0] },
                labels,
            },
            Panel::Jobs => Plan {
                title: "Cameo, Fig. 8b: jobs that are to be in time, beside more and more bulk jobs",
                about: "Four jobs with a latency target of 800 ms, each offered 64 messages of 1,000 events a second, beside bulk \
                        jobs with 7,200 s, each of which is offered a twelfth of what they take alone. All sum up revenues, in \
                        windows of 1 s and of 10 s. In the paper on 32 machines. FCFS and Thalweg, which is enjima, are none of its baselines.",
                axis: "bulk jobs",
                places: if is_quick { &[4.0, 24.0] } else { &[4.0, 8.0, 12.0, 16.0, 24.0] },
                labels,
            },
            Panel::Workers => Plan {
                title: "Cameo, Fig. 8c: jobs that are to be in time, with fewer workers",
                about: "Four jobs with a latency target of 800 ms, each offered 64 messages of 1,000 events a second, beside eight \
                        bulk jobs with 7,200 s, which are offered what they take alone on two workers. All sum up revenues, \
                        in windows of 1 s and of 10 s. In the paper from four threads down to one. FCFS and Thalweg, which is enjima, are none of its \
                        baselines.",
                axis: "workers",
                places: &[1.0, 2.0],
                labels,
            },
        }
    }

    /// Sets the policy and the load of one run.
    pub fn choose(self, run: &mut BenchArgs, label: &str, at: f64) {
        if let Some((_, policy)) = POLICIES.iter().find(|(known, _)| *known == label) {
            run.policy = vec![(*policy).to_owned()];
        }
        match self {
            Panel::Load => {}
            Panel::Jobs => {
                (run.queries, run.sensitive_jobs) = (Some(SENSITIVE_JOBS + at as u64), Some(SENSITIVE_JOBS));
            }
            Panel::Workers => run.workers = at as u64,
        }
        if let Some(Aggressor::PerSecond(capacity_per_s)) = run.aggressor {
            run.aggressor = Some(Aggressor::PerSecond((capacity_per_s as f64 * self.load(at)) as u64));
        }
    }

    /// Returns the load offered to bulk jobs at a value of the parameter, as a multiple of the rate that they
    /// reach alone on two workers.
    fn load(self, at: f64) -> f64 {
        match self {
            Panel::Load => at,
            Panel::Jobs => at / BULK_JOBS,
            Panel::Workers => 1.0,
        }
    }

    /// Returns by which factor a run at a value of the parameter is longer, so that the windows of bulk jobs
    /// fire equally often in all runs. If twice as many records are offered as are read, only half of the
    /// event time passes.
    pub fn stretch(self, at: f64) -> f64 {
        let overload = match self {
            Panel::Load | Panel::Jobs => self.load(at),
            // Bulk jobs are offered the rate that they reach on two workers. So with `at` workers they are
            // offered `2 / at` times the rate at which they read.
            Panel::Workers => 2.0 / at,
        };
        (overload * MARGIN).max(1.0)
    }

    /// Returns the paper's claims about this panel, with their verdicts.
    pub fn claims(self, runs: Evidence<'_>) -> Vec<Claim> {
        let places = runs.found.places();
        let (least, most) = (places.first().copied().flatten(), places.last().copied().flatten());
        let rising = |[orleans, fifo]: [[f64; 2]; 2]| {
            let mut claims = vec![alike(runs, least)];
            for (label, claimed) in [("Orleans", orleans), ("FIFO", fifo)] {
                claims.extend(worse(runs, most, label, claimed));
            }
            claims.extend([stable(runs, most), throughput(runs, most)]);
            claims
        };
        match self {
            Panel::Load => rising([[1.6, 1.5], [2.0, 1.8]]),
            Panel::Jobs => rising([[2.2, 2.8], [4.6, 13.6]]),
            Panel::Workers => {
                let mut claims = vec![restrictive(runs, least)];
                // Section 6.2 of the paper says that both policies are penalised heavily and gives no factor.
                // Here this is read as a factor of two.
                claims.extend(worse(runs, least, "Orleans", [PENALISED; 2]));
                claims.extend(worse(runs, least, "FIFO", [PENALISED; 2]));
                claims
            }
        }
    }
}

/// Returns the options with the load of bulk jobs as a rate: the rate that bulk jobs reach when they run
/// alone, which is measured first.
pub fn resolved(args: BenchArgs, interrupt: Option<&Interrupt>) -> Result<BenchArgs> {
    let capacity_per_s = capacity_per_s(&args, interrupt)?;
    console::note(&format!("bulk alone takes {}", show::rate(capacity_per_s)));
    Ok(BenchArgs { aggressor: Some(Aggressor::PerSecond(capacity_per_s as u64)), ..args })
}

/// Quantiles of the event latency that the paper compares.
const QUANTILES: [(&str, fn(&Latency) -> f64); 2] =
    [("median", |latency| latency.p50), ("99th percentile", |latency| latency.p99)];

/// Returns a figure of the group of latency-sensitive jobs.
fn of_sensitive(figures: &Figures, figure: impl Fn(&GroupFigures) -> Option<f64>) -> Option<f64> {
    figures.groups.iter().find(|group| group.name == SENSITIVE).and_then(figure)
}

/// Returns a quantile of the event latency of the latency-sensitive jobs in microseconds. Results that are
/// due and not delivered are included with their age.
fn results(figures: &Figures, quantile: fn(&Latency) -> f64) -> Option<f64> {
    of_sensitive(figures, |group| group.events_us().as_ref().map(quantile))
}

fn shown(micros: f64) -> String {
    show::latency(micros * 1e3)
}

/// Returns the share of windows of the latency-sensitive jobs whose results were delivered within the latency
/// target, by event latency. Results that are due for longer and not delivered count as missed.
fn in_time(figures: &Figures) -> Option<f64> {
    of_sensitive(figures, |group| group.success_rate)
}

/// The three policies that the paper itself compares.
const PAPERS: [&str; 3] = ["Cameo", "Orleans", "FIFO"];

/// Returns a figure of all three policies of the paper in each repetition, in the order of [`PAPERS`]; `None`
/// where one of them lacks the figure.
fn of_three(orleans: &Pairs, fifo: &Pairs) -> Vec<Option<[f64; 3]>> {
    let of = |(orleans, fifo): (&Option<(f64, f64)>, &Option<(f64, f64)>)| match (*orleans, *fifo) {
        (Some((cameo, orleans)), Some((_, fifo))) => Some([cameo, orleans, fifo]),
        _ => None,
    };
    orleans.iter().zip(fifo).map(of).collect()
}

/// Values of a figure under two policies, as a pair for each repetition of an experiment.
type Pairs = [Option<(f64, f64)>];

fn alike(runs: Evidence<'_>, at: Option<f64>) -> Claim {
    let paper = format!("up to some load Cameo, Orleans and FIFO are comparable: within {ALIKE} times");
    let median = |figures: &Figures| results(figures, |latency| latency.p50);
    let of = |label| runs.found.pairs([("Cameo", at), (label, at)], median);
    let (orleans, fifo) = (of("Orleans"), of("FIFO"));
    let spread = |[cameo, orleans, fifo]: [f64; 3]| {
        let least = cameo.min(orleans).min(fifo);
        least / cameo.max(orleans).max(fifo).max(f64::MIN_POSITIVE)
    };
    let shares = of_three(&orleans, &fifo).into_iter().map(|three| three.map(spread)).collect();
    let text =
        told(&orleans, ["Cameo", "Orleans"], at, shown) + "; " + &told(&fifo, ["Cameo", "FIFO"], at, shown);
    Claim::at_least(paper, 1.0 / ALIKE, shares, text).unless(runs.too_short_for(
        Some(Group::Sensitive),
        &PAPERS,
        at,
    ))
}

/// Judges the claim that another policy's event latency is `claimed` times Cameo's, in the median and the
/// 99th percentile.
fn worse(runs: Evidence<'_>, at: Option<f64>, label: &str, claimed: [f64; 2]) -> Vec<Claim> {
    let of_quantile = |((name, quantile), claimed): ((&str, fn(&Latency) -> f64), f64)| {
        let pairs = runs.found.pairs([("Cameo", at), (label, at)], |figures| results(figures, quantile));
        let factors = factors(&pairs, |cameo, other| other / cameo);
        let paper = format!("{label} is worse by up to {claimed} times in the {name}");
        let claim = Claim::of_factors(paper, claimed, factors, told(&pairs, ["Cameo", label], at, shown));
        claim.unless(runs.too_short_for(Some(Group::Sensitive), &["Cameo", label], at))
    };
    QUANTILES.into_iter().zip(claimed).map(of_quantile).collect()
}

/// Judges the claim that with Cameo at least the share `bound` of the windows of the latency-sensitive jobs had their
/// results in time.
fn kept(paper: &str, runs: Evidence<'_>, at: Option<f64>, bound: f64) -> Claim {
    let pairs = runs.found.pairs([("Cameo", at), ("Cameo", at)], in_time);
    let shares: Vec<Option<f64>> = pairs.into_iter().map(|pair| Some(pair?.0)).collect();
    let median = median(shares.iter().copied().flatten().collect());
    let text = median.map_or("not measured".to_owned(), |share| {
        format!("at {}: {:.1} % in time", at.unwrap_or(0.0), share * 100.0)
    });
    Claim::at_least(paper.to_owned(), bound, shares, text).unless(runs.too_short_for(
        Some(Group::Sensitive),
        &["Cameo"],
        at,
    ))
}

fn stable(runs: Evidence<'_>, most: Option<f64>) -> Claim {
    let paper =
        "Cameo stays stable: 95 % of the sensitive jobs' windows are in time whatever bulk is offered";
    kept(paper, runs, most, 0.95)
}

fn restrictive(runs: Evidence<'_>, at: Option<f64>) -> Claim {
    kept("with one thread Cameo still meets 90 % of the deadlines", runs, at, 0.9)
}

fn throughput(runs: Evidence<'_>, at: Option<f64>) -> Claim {
    let paper = "Cameo's throughput is at most 2.5 % lower than that of Orleans and FIFO".to_owned();
    let per_s = |figures: &Figures| Some(figures.throughput_per_s);
    let of = |label| runs.found.pairs([("Cameo", at), (label, at)], per_s);
    let (orleans, fifo) = (of("Orleans"), of("FIFO"));
    let share = |[cameo, orleans, fifo]: [f64; 3]| cameo / orleans.max(fifo).max(f64::MIN_POSITIVE);
    let shares = of_three(&orleans, &fifo).into_iter().map(|three| three.map(share)).collect();
    let text = told(&orleans, ["Cameo", "Orleans"], at, show::rate)
        + "; "
        + &told(&fifo, ["Cameo", "FIFO"], at, show::rate);
    Claim::at_least(paper, KEPT, shares, text).unless(runs.too_short(&PAPERS, at))
}
