//! Cameo's Figure 8: four jobs whose results are to be out in 800 ms, beside bulk jobs that are offered more and more (a), or
//! become more (b), and with fewer and fewer workers (c).
//!
//! In the paper the bulk jobs' sources become faster, up to 50,000 tuples/s each on 32 machines, and what is too much is told
//! by where latencies bend. Here what bulk alone takes is measured first, and loads are multiples of that: in (b) each
//! bulk job is offered a twelfth of it, since up to twelve all are alike in the paper; in (c) all are offered the whole.
//!
//! Latency is that of markers, from when a record was to be sent to the sink: under a policy that leaves a source waiting, the
//! time from a closing watermark to its results says nothing of that.

use anyhow::Result;

use thalweg_workloads::tenants::Group;

use super::{BenchArgs, Claim, Comparison, Interrupt, Plan};
use crate::bench::part::GroupFigures;
use crate::bench::tenants::capacity_per_s;
use crate::console;
use crate::options::Aggressor;
use crate::show;

/// The group that is looked at.
const SENSITIVE: &str = Group::Sensitive.name();

/// How long each run is measured, in seconds: longer than bulk's windows; of a quick one, than the others'.
pub const RUN_S: f64 = 11.0;
pub const QUICK_S: f64 = 3.0;

/// The policies, by the paper's names; the last two are none of its.
pub const POLICIES: [(&str, &str); 5] = [
    ("Cameo", "cameo_llf"),
    ("FIFO", "fifo"),
    ("Orleans", "orleans"),
    ("FCFS", "fcfs"),
    ("Enjima", "enjima"),
];

/// Latencies of which one is at most so many times the other are alike.
const ALIKE: f64 = 1.3;

/// Of the throughput of the others, what Cameo has at least if it gives up no more than the paper says.
const KEPT: f64 = 0.975;

/// The jobs that are to be in time, in every run.
const SENSITIVE_JOBS: u64 = 4;

/// Bulk jobs up to which what they are offered is not too much, where more and more of them run.
const BULK_JOBS: f64 = 12.0;

/// A part of the figure, by what changes in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Panel {
    /// What bulk is offered.
    Load,
    /// How many bulk jobs there are.
    Jobs,
    /// How many workers there are.
    Workers,
}

impl Panel {
    /// What is run.
    pub fn plan(self, is_quick: bool) -> Plan {
        let labels: Vec<&str> = POLICIES.iter().map(|(label, _)| *label).collect();
        // Of a quick one all but the last, which is none of the paper's.
        let labels = if is_quick { labels[..4].to_vec() } else { labels };
        match self {
            Panel::Load => Plan {
                title: "Cameo, Fig. 8a: jobs that are to be in time, beside bulk that is offered more and more",
                about: "Four jobs with a latency target of 800 ms, each offered 64 messages of 1,000 events a second, beside eight \
                        bulk jobs with 7,200 s, every operator a task of its own. All sum up revenues, in windows of 1 s and \
                        of 10 s. In the paper on 32 machines. FCFS and Enjima are none of its baselines.",
                axis: "times what bulk alone takes",
                places: if is_quick { &[0.5, 2.0] } else { &[0.5, 0.75, 1.0, 1.5, 2.0] },
                labels,
            },
            Panel::Jobs => Plan {
                title: "Cameo, Fig. 8b: jobs that are to be in time, beside more and more bulk jobs",
                about: "Four jobs with a latency target of 800 ms, each offered 64 messages of 1,000 events a second, beside bulk \
                        jobs with 7,200 s, each of which is offered a twelfth of what they take alone. All sum up revenues, in \
                        windows of 1 s and of 10 s. In the paper on 32 machines. FCFS and Enjima are none of its baselines.",
                axis: "bulk jobs",
                places: if is_quick { &[4.0, 24.0] } else { &[4.0, 8.0, 12.0, 16.0, 24.0] },
                labels,
            },
            Panel::Workers => Plan {
                title: "Cameo, Fig. 8c: jobs that are to be in time, with fewer workers",
                about: "Four jobs with a latency target of 800 ms, each offered 64 messages of 1,000 events a second, beside eight \
                        bulk jobs with 7,200 s, which are offered what they take alone on two workers. All sum up revenues, \
                        in windows of 1 s and of 10 s. In the paper from four threads down to one. FCFS and Enjima are none of its \
                        baselines.",
                axis: "workers",
                places: &[1.0, 2.0],
                labels,
            },
        }
    }

    /// Chooses policy and load of a run.
    pub fn choose(self, run: &mut BenchArgs, label: &str, at: f64) {
        if let Some((_, policy)) = POLICIES.iter().find(|(known, _)| *known == label) {
            run.policy = vec![(*policy).to_owned()];
        }
        let times = match self {
            Panel::Load => at,
            Panel::Jobs => {
                (run.queries, run.sensitive_jobs) = (Some(SENSITIVE_JOBS + at as u64), Some(SENSITIVE_JOBS));
                at / BULK_JOBS
            }
            Panel::Workers => {
                run.workers = at as u64;
                1.0
            }
        };
        if let Some(Aggressor::PerSecond(capacity_per_s)) = run.aggressor {
            run.aggressor = Some(Aggressor::PerSecond((capacity_per_s as f64 * times) as u64));
        }
    }

    /// What the paper claims, beside what was found.
    pub fn claims(self, found: &Comparison) -> Vec<Claim> {
        let places = found.places();
        let (least, most) = (places.first().copied().flatten(), places.last().copied().flatten());
        let beyond = |label: &str, times: &str| {
            format!(
                "beyond it {label} is worse by up to {times} times, in the median and the 99th percentile"
            )
        };
        let rising = |orleans: &str, fifo: &str| {
            vec![
                alike(found, least),
                worse(beyond("Orleans", orleans), found, most, "Orleans"),
                worse(beyond("FIFO", fifo), found, most, "FIFO"),
                stable(found, least, most),
                throughput(found, most),
            ]
        };
        match self {
            Panel::Load => rising("1.6 and 1.5", "2 and 1.8"),
            Panel::Jobs => rising("2.2 and 2.8", "4.6 and 13.6"),
            Panel::Workers => vec![
                restrictive(found, least),
                worse("with few workers Orleans is penalised heavily".to_owned(), found, least, "Orleans"),
                worse("with few workers FIFO is penalised heavily".to_owned(), found, least, "FIFO"),
            ],
        }
    }
}

/// The options with what bulk is offered at 1.
pub fn resolved(args: BenchArgs, interrupt: Option<&Interrupt>) -> Result<BenchArgs> {
    let capacity_per_s = capacity_per_s(&args, interrupt)?;
    console::note(&format!("bulk alone takes {}", show::rate(capacity_per_s)));
    Ok(BenchArgs { aggressor: Some(Aggressor::PerSecond(capacity_per_s as u64)), ..args })
}

/// Median and 99th percentile of the latency of the jobs that are to be in time, in microseconds.
fn latency(found: &Comparison, label: &str, at: Option<f64>) -> Option<(f64, f64)> {
    let of = |figure: fn(&GroupFigures) -> Option<f64>| found.median_of_group(label, at, SENSITIVE, figure);
    let p50 = of(|group| group.latency_us.map(|latency| latency.p50))?;
    Some((p50, of(|group| group.latency_us.map(|latency| latency.p99))?))
}

fn shown(micros: f64) -> String {
    show::latency(micros * 1e3)
}

fn claim(paper: String, found: Option<(String, bool)>) -> Claim {
    let (found, holds) = found.unwrap_or(("not measured".to_owned(), false));
    Claim { paper, found, holds }
}

fn alike(found: &Comparison, at: Option<f64>) -> Claim {
    let paper = "up to some load Cameo, Orleans and FIFO are comparable".to_owned();
    let medians = || {
        let of = |label| Some(latency(found, label, at)?.0);
        let [cameo, orleans, fifo] = [of("Cameo")?, of("Orleans")?, of("FIFO")?];
        let text = format!(
            "at {}: median of the sensitive jobs {} under Cameo, {} under Orleans, {} under FIFO",
            at.unwrap_or(0.0),
            shown(cameo),
            shown(orleans),
            shown(fifo)
        );
        let best = cameo.min(orleans).min(fifo);
        Some((text, cameo.max(orleans).max(fifo) <= ALIKE * best))
    };
    claim(paper, medians())
}

fn worse(paper: String, found: &Comparison, at: Option<f64>, label: &str) -> Claim {
    let compared = || {
        let (cameo, other) = (latency(found, "Cameo", at)?, latency(found, label, at)?);
        let text = format!(
            "at {}: {label} {} and {}, Cameo {} and {}: {:.1} and {:.1} times",
            at.unwrap_or(0.0),
            shown(other.0),
            shown(other.1),
            shown(cameo.0),
            shown(cameo.1),
            other.0 / cameo.0.max(f64::MIN_POSITIVE),
            other.1 / cameo.1.max(f64::MIN_POSITIVE)
        );
        Some((text, cameo.0 < other.0 && cameo.1 < other.1))
    };
    claim(paper, compared())
}

fn stable(found: &Comparison, least: Option<f64>, most: Option<f64>) -> Claim {
    let paper =
        "Cameo stays stable: what bulk is offered does not keep the others from being in time".to_owned();
    let compared = || {
        let in_time = |at| found.median_of_group("Cameo", at, SENSITIVE, |group| group.in_time);
        let (before, behind) = (in_time(least)?, in_time(most)?);
        let p99 = latency(found, "Cameo", most)?.1;
        let text = format!(
            "{:.1} % in time at {}, {:.1} % at {}, where the 99th percentile is {}",
            before * 100.0,
            least.unwrap_or(0.0),
            behind * 100.0,
            most.unwrap_or(0.0),
            shown(p99)
        );
        Some((text, 0.95 <= behind))
    };
    claim(paper, compared())
}

fn restrictive(found: &Comparison, at: Option<f64>) -> Claim {
    let paper = "with one thread Cameo still meets 90 % of the deadlines".to_owned();
    let compared = || {
        let in_time = found.median_of_group("Cameo", at, SENSITIVE, |group| group.in_time)?;
        let p99 = latency(found, "Cameo", at)?.1;
        let text = format!(
            "with {}: {:.1} % in time, the 99th percentile is {}",
            at.unwrap_or(0.0),
            in_time * 100.0,
            shown(p99)
        );
        Some((text, 0.9 <= in_time))
    };
    claim(paper, compared())
}

fn throughput(found: &Comparison, at: Option<f64>) -> Claim {
    let paper = "Cameo's throughput is at most 2.5 % lower".to_owned();
    let compared = || {
        let of = |label| found.median(label, at, |figures| Some(figures.throughput_per_s));
        let (cameo, other) = (of("Cameo")?, of("FIFO")?.max(of("Orleans")?));
        let text = format!(
            "at {}: Cameo {}, the best of both others {}",
            at.unwrap_or(0.0),
            show::rate(cameo),
            show::rate(other)
        );
        Some((text, KEPT * other <= cameo))
    };
    claim(paper, compared())
}
