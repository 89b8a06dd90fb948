//! The report: a page of Markdown, and `comparison.json` with every figure of every run.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::claims::{self, BUSY_MIN, Claim};
use super::query::{Engine, Query};
use super::system::System;
use super::trial::{Figures, Order, Trial};
use super::verdict::median;
use super::{LOADS, Plan, process};

/// The runs of a command, and what they have in common.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) query: Query,
    /// Offered records per second, in rising order.
    pub(super) rates: Vec<f64>,
    /// Records per second that one core takes; `None` if rates were given and it was not measured.
    pub(super) capacity_per_s: Option<f64>,
    pub(super) systems: Vec<System>,
    /// Command line, without the options that have their defaults.
    command: String,
    about: String,
    /// All runs that were made, in their order.
    pub(super) trials: Vec<Trial>,
}

/// Rates about which a claim is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The rate at the saturation point.
    Saturation,
    /// The highest rate.
    Highest,
    /// All rates beyond saturation, on average.
    Beyond,
    /// Each rate alone.
    Every,
}

impl Evidence {
    /// Makes the evidence of a plan, which has no runs yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let lengths = plan.lengths;
        let systems: Vec<&str> = plan.systems.iter().map(|system| system.name()).collect();
        let mut command = format!(
            "cargo xtask engines {} --warmup {} --seconds {} --repeat {} --systems {}",
            plan.query.name(),
            lengths.warmup_s,
            lengths.seconds,
            plan.repeat,
            systems.join(",")
        );
        if !plan.rates.is_empty() {
            let rates: Vec<String> = plan.rates.iter().map(f64::to_string).collect();
            command += &format!(" --rates {}", rates.join(","));
        }
        let engine = match plan.query.engine() {
            Engine::Storm => "The worker of an unmodified Storm 2.8",
            Engine::Flink => "The task manager of an unmodified Flink 2.3",
        };
        let about = format!(
            "{engine} has core {}, and everything else core {}. Each run starts the query anew, and measures {} s after a \
             warm-up of {} s; operators take CPU time by `--spin-us {}`. {} repetitions, interleaved. {}.",
            process::UNDER_TEST,
            process::OTHERS,
            lengths.seconds,
            lengths.warmup_s,
            plan.query.spins(),
            plan.repeat,
            machine()
        );
        Evidence {
            query: plan.query,
            rates: plan.rates.clone(),
            capacity_per_s: None,
            systems: plan.systems.clone(),
            command,
            about,
            trials: Vec::new(),
        }
    }

    /// Makes evidence without runs, for tests.
    #[cfg(test)]
    pub(super) fn empty(query: Query, rates: Vec<f64>, capacity_per_s: Option<f64>) -> Self {
        let plan = super::planned(&[query.name()]).unwrap();
        Evidence { rates, capacity_per_s, about: "Two cores.".to_owned(), ..Self::new(&plan) }
    }

    /// Sets the rates by the measured capacity, in records per second.
    pub(super) fn calibrated(&mut self, capacity_per_s: f64) {
        self.capacity_per_s = Some(capacity_per_s);
        self.rates = LOADS.map(|load| (load * capacity_per_s * 10.0).round() / 10.0).to_vec();
    }

    /// Returns the numbers of the repetitions that have begun.
    pub(super) fn repetitions(&self) -> impl Iterator<Item = u32> {
        1..=self.trials.iter().map(|trial| trial.repetition).max().unwrap_or(0)
    }

    /// Returns the run of a system at a rate in a repetition, if it was made.
    pub(super) fn trial(&self, system: System, rate: f64, repetition: u32) -> Option<&Trial> {
        let is_sought = |trial: &&Trial| {
            trial.order.system == system && trial.order.rate == rate && trial.repetition == repetition
        };
        self.trials.iter().find(is_sought)
    }

    /// Returns the rates that a claim is about; none if no rate is beyond saturation and the claim needs one.
    pub(super) fn rates_at(&self, place: Place) -> Vec<f64> {
        let (beyond, saturation) = match self.capacity_per_s {
            Some(capacity_per_s) => {
                // Rates have one decimal, so a load of 1 may lie a little above the capacity.
                let is_beyond = |rate: &&f64| 1.05 * capacity_per_s < **rate;
                let is_saturated = |rate: &&f64| (0.95..=1.05).contains(&(**rate / capacity_per_s));
                let of = |is_meant: &dyn Fn(&&f64) -> bool| {
                    self.rates.iter().filter(is_meant).copied().collect::<Vec<_>>()
                };
                (of(&is_beyond), of(&is_saturated))
            }
            None => {
                let is_busy = |rate: &&f64| {
                    let shares = self.each(System::Os, **rate, |figures| figures.engine_share);
                    median(&shares).is_some_and(|share| BUSY_MIN <= share)
                };
                let beyond: Vec<f64> = self.rates.iter().filter(is_busy).copied().collect();
                let saturation = beyond.first().copied().into_iter().collect();
                (beyond, saturation)
            }
        };
        match place {
            Place::Saturation => saturation,
            Place::Beyond => beyond,
            // The highest rate of the paper is one beyond saturation.
            Place::Highest => beyond.last().copied().into_iter().collect(),
            Place::Every => self.rates.clone(),
        }
    }

    /// Returns a figure of each repetition of a system at a rate; repetitions without the figure are left out.
    fn each(&self, system: System, rate: f64, figure: impl Fn(&Figures) -> Option<f64>) -> Vec<f64> {
        let of = |repetition| figure(&self.trial(system, rate, repetition)?.figures);
        self.repetitions().filter_map(of).collect()
    }
}

/// A column of the table of figures: its head, its figure, and the number of decimals.
type Column = (&'static str, fn(&Figures, Query) -> Option<f64>, usize);

/// Columns of the table of figures.
const COLUMNS: [Column; 10] = [
    ("taken/s", |figures, _| Some(figures.taken_per_s), 0),
    ("results/s", |figures, _| Some(figures.results_per_s), 1),
    ("latency, s", |figures, _| figures.latency_s, 3),
    ("p99, s", |figures, _| figures.latency_s_p99, 2),
    ("inside, s", |figures, _| figures.inside_s, 3),
    (
        "left at the end",
        |figures, _| Some(figures.overdue.map_or(figures.waiting_end, |overdue| overdue as f64)),
        0,
    ),
    ("variation", |figures, _| figures.queue_cv, 2),
    ("engine, of its core", |figures, _| figures.engine_share, 2),
    ("tool, % of a core", |figures, _| figures.tool_share.map(|share| 100.0 * share), 2),
    ("rounds renewed", |figures, _| Some(f64::from(figures.renewed)), 0),
];

/// Returns the page: figures, claims, and how to read them.
pub(super) fn page(evidence: &Evidence) -> String {
    let mut page = format!("## {}\n\n{}\n\n", evidence.query.title(), evidence.about);
    page += &format!("Command: `{}`", evidence.command);
    page += &match evidence.capacity_per_s {
        Some(capacity_per_s) => format!("; one core takes {capacity_per_s:.0} records/s.\n\n"),
        None => ".\n\n".to_owned(),
    };
    page += &figures_table(evidence);
    page += "\nEach cell has the median, and each repetition in parentheses. Latency is the mean from when a record was due to its \
             result";
    page += match evidence.query {
        Query::Etl => {
            ", with overdue records by their age; `left at the end` are overdue records, wherever they waited."
        }
        Query::Stats | Query::LinearRoad => {
            ". Records that wait have no latency; `left at the end` are those in front of the source."
        }
    };
    page += " `inside` is from the source to the result, of results alone. `variation` is the coefficient of variation of the \
             queues of main threads. `rounds renewed` are those in which the tool saw other lengths of queues than a round before.";
    if evidence.query == Query::LinearRoad {
        page += " Flink tells buffers, and records in front of its source.";
    }
    page += "\n\n| claim of the paper | found | each repetition | verdict |\n|---|---|---|---|\n";
    for Claim { paper, found, repetitions, verdict, .. } in claims::judge(evidence) {
        let each: Vec<String> = repetitions.iter().map(|factor| format!("{factor:.2}")).collect();
        let each = if each.is_empty() { "-".to_owned() } else { each.join(", ") };
        page += &format!("| {paper} | {found} | {each} | {} |\n", verdict.text());
    }
    page += "\nRepetitions are factors in favour of the first system.\n";
    page
}

fn figures_table(evidence: &Evidence) -> String {
    let heads = COLUMNS.map(|(head, _, _)| head).join(" | ");
    let mut table = format!("| offered/s | system | {heads} |\n|---|---|{}\n", "---|".repeat(COLUMNS.len()));
    for &rate in &evidence.rates {
        let load =
            evidence.capacity_per_s.map_or(String::new(), |capacity| format!(" ({:.2})", rate / capacity));
        for &system in &evidence.systems {
            let cells = COLUMNS.map(|(_, figure, digits)| {
                cell(&evidence.each(system, rate, |figures| figure(figures, evidence.query)), digits)
            });
            table += &format!("| {rate:.0}{load} | {} | {} |\n", system.name(), cells.join(" | "));
        }
    }
    table
}

/// Returns the median of the repetitions, and each of them if there are several.
fn cell(each: &[f64], digits: usize) -> String {
    let Some(middle) = median(each) else { return "-".to_owned() };
    match each {
        [_] => format!("{middle:.digits$}"),
        _ => {
            let each: Vec<String> = each.iter().map(|figure| format!("{figure:.digits$}")).collect();
            format!("{middle:.digits$} ({})", each.join(", "))
        }
    }
}

/// Returns the figures of one run in a line.
pub(super) fn line(order: Order, figures: &Figures) -> String {
    let told = |figure: Option<f64>, digits: usize| {
        figure.map_or("-".to_owned(), |figure| format!("{figure:.digits$}"))
    };
    format!(
        "{} at {:.0}/s: {:.1} taken/s, {:.1} results/s, latency {} s, inside {} s, variation {}, engine {} and tool {} of a core, \
         {} rounds, {} of them renewed",
        order.system.name(),
        order.rate,
        figures.taken_per_s,
        figures.results_per_s,
        told(figures.latency_s, 3),
        told(figures.inside_s, 3),
        told(figures.queue_cv, 2),
        told(figures.engine_share, 2),
        told(figures.tool_share, 4),
        figures.rounds,
        figures.renewed
    )
}

/// Returns everything as an object of JSON.
fn comparison(evidence: &Evidence) -> Value {
    let claims: Vec<Value> = claims::judge(evidence).iter().map(Claim::json).collect();
    let trial = |Trial { repetition, order, figures }: &Trial| {
        let mut run = run_json(figures);
        run.extend([
            ("system".to_owned(), json!(order.system.name())),
            ("offered_per_s".to_owned(), json!(order.rate)),
            ("load".to_owned(), json!(evidence.capacity_per_s.map(|capacity| order.rate / capacity))),
            ("repetition".to_owned(), json!(repetition)),
            ("warmup_s".to_owned(), json!(order.lengths.warmup_s)),
            ("seconds".to_owned(), json!(order.lengths.seconds)),
        ]);
        Value::Object(run)
    };
    let mut medians = Vec::new();
    for &rate in &evidence.rates {
        for &system in &evidence.systems {
            let mut row = Map::new();
            row.insert("system".to_owned(), json!(system.name()));
            row.insert("offered_per_s".to_owned(), json!(rate));
            for (head, figure, _) in COLUMNS {
                let each = evidence.each(system, rate, |figures| figure(figures, evidence.query));
                row.insert(head.to_owned(), json!(median(&each)));
            }
            medians.push(Value::Object(row));
        }
    }
    json!({
        "title": evidence.query.title(),
        "about": evidence.about,
        "command": evidence.command,
        "capacity_per_s": evidence.capacity_per_s,
        "claims": claims,
        "medians": medians,
        "runs": evidence.trials.iter().map(trial).collect::<Vec<_>>(),
    })
}

fn run_json(figures: &Figures) -> Map<String, Value> {
    let operators: Map<String, Value> = figures
        .operators
        .iter()
        .map(|(name, means)| {
            let means = json!({ "pending": means.pending, "nice": means.nice, "priority": means.priority });
            (name.clone(), means)
        })
        .collect();
    let run = json!({
        "taken_per_s": figures.taken_per_s,
        "results_per_s": figures.results_per_s,
        "latency_s": figures.latency_s,
        "latency_s_p99": figures.latency_s_p99,
        "inside_latency_s": figures.inside_s,
        "overdue": figures.overdue,
        "waiting_end": figures.waiting_end,
        "queue_cv": figures.queue_cv,
        "rounds": figures.rounds,
        "rounds_renewed": figures.renewed,
        "tool_share": figures.tool_share,
        "engine_share": figures.engine_share,
        "operators": operators,
    });
    match run {
        Value::Object(run) => run,
        _ => Map::new(),
    }
}

/// Writes the page and the file of figures into a directory.
///
/// # Errors
///
/// A file that cannot be written.
pub(super) fn write(evidence: &Evidence, out: &Path) -> Result<()> {
    let files = [("report.md", page(evidence)), ("comparison.json", format!("{:#}\n", comparison(evidence)))];
    for (name, text) in files {
        let file = out.join(name);
        fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
    }
    Ok(())
}

/// Returns the processor and the kernel in words.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = kernel.split('-').next().unwrap_or_default().trim();
    format!("{model}, Linux {release}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Lengths;

    /// Makes a report of one system at one rate in two repetitions.
    fn evidence() -> Evidence {
        let mut evidence = Evidence::empty(Query::Etl, vec![480.0], Some(400.0));
        evidence.systems = vec![System::Os];
        for repetition in [1, 2] {
            let figures = Figures {
                taken_per_s: 400.0 + f64::from(repetition),
                results_per_s: 300.0,
                latency_s: (repetition == 1).then_some(2.5),
                overdue: Some(1_234),
                rounds: 34,
                ..Figures::default()
            };
            let order = Order {
                system: System::Os,
                rate: 480.0,
                lengths: Lengths { warmup_s: 20, seconds: 35 },
                is_probe: false,
            };
            evidence.trials.push(Trial { repetition, order, figures });
        }
        evidence
    }

    #[test]
    fn tables_have_medians_and_repetitions() {
        let page = page(&evidence());
        let row = "| 480 (1.20) | os | 402 (401, 402) | 300.0 (300.0, 300.0) | 2.500 | - | - | 1234 (1234, 1234) | - | - | - | 0 (0, 0) |\n";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| Table 1: rt to os, throughput +38 % | - | - | not tested: "), "{page}");
    }

    #[test]
    fn all_figures_are_in_the_file() {
        let found = comparison(&evidence());
        assert_eq!(found["runs"][1]["overdue"], 1_234);
        assert_eq!(found["runs"][0]["load"], 1.2);
        assert_eq!(found["medians"][0]["taken/s"], 401.5);
        assert_eq!(found["claims"][0]["verdict"], "not tested: rt was not run");
    }

    #[test]
    fn rates_are_told_by_capacity_or_by_a_busy_core() {
        let mut found = evidence();
        found.calibrated(400.0);
        assert_eq!(found.rates, [360.0, 400.0, 480.0]);
        let of = |found: &Evidence| {
            [Place::Saturation, Place::Highest, Place::Beyond].map(|place| found.rates_at(place))
        };
        assert_eq!(of(&found), [vec![400.0], vec![480.0], vec![480.0]]);
        found.capacity_per_s = None;
        assert_eq!(of(&found), [(); 3].map(|()| Vec::<f64>::new()));
        found.trials.iter_mut().for_each(|trial| trial.figures.engine_share = Some(0.96));
        assert_eq!(of(&found), [vec![480.0], vec![480.0], vec![480.0]]);
    }
}
