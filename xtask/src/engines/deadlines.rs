//! `cargo xtask engines deadlines`: how much of what policies by deadlines gain inside our engine is left when they steer the
//! threads of an unmodified Flink.
//!
//! Two queries that must answer soon run beside six that want more than one core. All of it is one file of SQL, which Flink
//! and our own engine run as it is. Flink's task manager has core 0, and everything else core 1. Its jobs run from the begin to the
//! end, and `thalweg steer flink --sql FILE` steers them by one policy, form and period after the other. Then our own
//! engine runs the file on core 0 alone, with one worker. `--systems os,klink:rt,own:klink` runs some of them.
//!
//! | figure | meaning |
//! |---|---|
//! | latency | of a result of the urgent queries: from when the last of its rows was made until the result is made (Cameo, section 4.1). A result comes each second. Those that are missing count with their age, until the next one or the end |
//! | bulk | rows per second in the windows of the other six that have been shown |

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use chrono::NaiveDateTime;
use serde_json::json;

use super::tool::{Tool, end_of};
use super::verdict::median;
use super::{host, process, program, whole};
use crate::e2e::gateway::Session;
use crate::services::fetch;
use crate::services::flink::Flink;
use crate::services::processes::Lifetime;
use crate::workspace::Workspace;

/// The file of SQL, below the workspace.
const FILE: &str = "bench/steer/sql/deadlines.sql";
/// Names of the tables of the urgent queries, whose windows have one second, and begin of those of the others.
const URGENT: [&str; 2] = ["alerts_1", "alerts_2"];
const BULK: &str = "digests_";
/// Time between two results of an urgent query, in seconds: the size of its windows.
const RESULTS_EVERY_S: f64 = 1.0;
/// Policies over Flink, with their forms.
const POLICIES: [&str; 3] = ["congestion", "klink", "cameo_llf"];
const FORMS: [&str; 2] = ["nice", "rt"];
/// Policies of our own engine.
const OWN: [&str; 5] = ["fcfs", "congestion", "enjima", "klink", "cameo_llf"];
/// Default of the periods of steering.
const PERIODS: [&str; 3] = ["100ms", "1s", "5s"];
/// Most periods on the command line.
const PERIODS_MAX: usize = 5;
/// Defaults of the measured seconds, of those before, and of the repetitions.
const SECONDS: u32 = 20;
const WARMUP_S: u32 = 6;
const REPEAT: u32 = 2;
/// Time that Flink's jobs get before the first run, while the virtual machine compiles their operators.
const BEGIN_S: u64 = 30;
/// Longest time in seconds that our own engine may take to end after its time is up.
const OWN_END_MAX_S: u32 = 60;
/// Most rows that are read from an output.
const ROWS_MAX: usize = 1 << 20;

/// A command line of `engines deadlines`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    seconds: u32,
    warmup_s: u32,
    repeat: u32,
    periods: Vec<String>,
    /// Names of the systems that run: some of [`names`].
    systems: Vec<String>,
    /// Directory of the report; `None` for one below the target directory.
    out: Option<PathBuf>,
}

/// Reads the options of `engines deadlines`.
///
/// # Errors
///
/// Returns a message that shows the word that is wrong, and the words that are allowed in its place.
pub(crate) fn planned(words: &[&str]) -> Result<Plan, String> {
    let periods = PERIODS.map(str::to_owned).to_vec();
    let mut plan =
        Plan { seconds: SECONDS, warmup_s: WARMUP_S, repeat: REPEAT, periods, systems: names(), out: None };
    let mut options = words.iter();
    while let Some(&option) = options.next() {
        let value = *options.next().ok_or(format!("{option} needs a value"))?;
        match option {
            "--seconds" => plan.seconds = whole(option, value, 5, 600)?,
            "--warmup" => plan.warmup_s = whole(option, value, 0, 600)?,
            "--repeat" => plan.repeat = whole(option, value, 1, 20)?,
            "--periods" => {
                plan.periods = value.split(',').map(str::to_owned).collect();
                if PERIODS_MAX < plan.periods.len() || plan.periods.iter().any(String::is_empty) {
                    return Err(format!("--periods takes up to {PERIODS_MAX} spans, such as 100ms,1s"));
                }
            }
            "--systems" => plan.systems = systems(value)?,
            "--out" => plan.out = Some(value.into()),
            other => {
                return Err(format!(
                    "unknown option `{other}`: choose from --seconds, --warmup, --repeat, --periods, --systems, --out"
                ));
            }
        }
    }
    Ok(plan)
}

/// Returns the names of all systems on the command line: `os` for Flink alone, `POLICY:FORM` for a policy over Flink, and
/// `own:POLICY` for one in our own engine.
fn names() -> Vec<String> {
    let over_flink = POLICIES.iter().flat_map(|policy| FORMS.map(|form| format!("{policy}:{form}")));
    let own = OWN.map(|policy| format!("own:{policy}"));
    ["os".to_owned()].into_iter().chain(over_flink).chain(own).collect()
}

/// Reads a list of systems.
fn systems(value: &str) -> Result<Vec<String>, String> {
    let (known, chosen): (_, Vec<String>) = (names(), value.split(',').map(str::to_owned).collect());
    match chosen.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(format!("unknown system `{name}`: choose from {}", known.join(", "))),
        None => Ok(chosen),
    }
}

/// A system whose figures are compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct System {
    /// True for our own engine, false for Flink.
    is_own: bool,
    /// The policy; `os` stands for the operating system alone.
    policy: String,
    /// The form of priorities and the period of steering; empty in our own engine and without steering.
    form: String,
    period: String,
}

impl System {
    /// Returns its name on the command line, which leaves out the period.
    fn short_name(&self) -> String {
        let System { is_own, policy, form, .. } = self;
        match (is_own, form.is_empty()) {
            (true, _) => format!("own:{policy}"),
            (false, true) => "os".to_owned(),
            (false, false) => format!("{policy}:{form}"),
        }
    }

    fn name(&self) -> String {
        let System { is_own, policy, form, period } = self;
        match (is_own, form.is_empty()) {
            (true, _) => format!("own engine, {policy}"),
            (false, true) => "Flink, plain".to_owned(),
            (false, false) => format!("Flink, {policy}:{form} every {period}"),
        }
    }

    /// Returns the options of `thalweg steer flink`. Plain Flink is looked at by a dry run, so that all have one observer.
    fn options(&self, rest: &str, file: &Path) -> Vec<String> {
        let file = file.display().to_string();
        let mut words = vec!["flink", "--rest", rest, "--output", "json", "--sql", &file];
        if self.form.is_empty() {
            words.extend(["--policy", "congestion", "--period", "1s", "--dry-run"]);
        } else {
            let System { policy, form, period, .. } = self;
            words.extend(["--policy", policy, "--translator", form, "--period", period]);
        }
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Returns the systems over Flink that run, in their order.
fn steered(plan: &Plan) -> Vec<System> {
    let system = |policy: &str, form: &str, period: &str| System {
        is_own: false,
        policy: policy.to_owned(),
        form: form.to_owned(),
        period: period.to_owned(),
    };
    let mut systems = vec![system("os", "", "")];
    for policy in POLICIES {
        for form in FORMS {
            systems.extend(plan.periods.iter().map(|period| system(policy, form, period)));
        }
    }
    systems.retain(|system| plan.systems.contains(&system.short_name()));
    systems
}

/// A row that a query has shown.
#[derive(Clone, PartialEq, Debug)]
struct Row {
    table: String,
    /// The times at which the last row of the window and the result were made, in seconds since 1970.
    made_s: f64,
    shown_s: f64,
    /// Number of rows in the window.
    count: u64,
}

/// Reads a line such as `alerts_1> +I[2026-11-28T08:00:58, 954, ff9485, 2026-11-28T08:00:58.001Z]`; `None` if it is none.
fn row(line: &str) -> Option<Row> {
    let (table, rest) = line.split_once("> +I[")?;
    let mut values = rest.strip_suffix(']')?.split(", ");
    let made_s = seconds(values.next()?)?;
    let count = values.next()?.parse().ok()?;
    let shown_s = seconds(values.nth(1)?)?;
    Some(Row { table: table.to_owned(), made_s, shown_s, count })
}

/// Reads a time as Java writes it, which leaves out seconds that are 0.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim_end_matches('Z');
    let time = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?;
    Some(time.and_utc().timestamp_millis() as f64 / 1e3)
}

/// Figures of a run.
#[derive(Clone, PartialEq, Default, Debug)]
struct Figures {
    /// Latencies of results in ms, those that are missing with their age: mean, median and greatest.
    mean_ms: f64,
    median_ms: f64,
    max_ms: f64,
    /// Number of results, with those that are missing, and of these alone.
    due: usize,
    overdue: usize,
    bulk_per_s: f64,
    /// CPU time of the tool and its children, as a share of a core; `None` in our own engine.
    tool_share: Option<f64>,
}

/// Returns the figures of the time from `begin_s` to `end_s`.
fn figures(rows: &[Row], [begin_s, end_s]: [f64; 2]) -> Figures {
    let mut found = Figures::default();
    let mut latencies_ms = Vec::new();
    let is_in_time = |row: &&Row| begin_s < row.shown_s && row.shown_s <= end_s;
    for table in URGENT {
        let shown = || rows.iter().filter(|row| row.table == table).filter(is_in_time);
        latencies_ms.extend(shown().map(|row| (row.shown_s - row.made_s).max(0.0) * 1e3));
        // Also in the middle, since a source that does not run makes no rows. Of a gap the last result is the one that came.
        let mut moments: Vec<f64> = shown().map(|row| row.shown_s).collect();
        moments.sort_by(f64::total_cmp);
        let mut before_s = begin_s;
        for (next_s, is_end) in moments.into_iter().map(|shown_s| (shown_s, false)).chain([(end_s, true)]) {
            let last_s = if is_end { next_s } else { next_s - RESULTS_EVERY_S };
            let mut due_s = before_s + RESULTS_EVERY_S;
            while due_s <= last_s {
                latencies_ms.push((next_s - due_s) * 1e3);
                found.overdue += 1;
                due_s += RESULTS_EVERY_S;
            }
            before_s = next_s;
        }
    }
    found.due = latencies_ms.len();
    if let Some(median_ms) = median(&latencies_ms) {
        found.mean_ms = latencies_ms.iter().sum::<f64>() / latencies_ms.len() as f64;
        found.median_ms = median_ms;
        found.max_ms = latencies_ms.iter().copied().fold(0.0, f64::max);
    }
    let bulk = rows.iter().filter(|row| row.table.starts_with(BULK)).filter(is_in_time);
    // A sum of no numbers is -0.0.
    found.bulk_per_s = (0.0 + bulk.map(|row| row.count as f64).sum::<f64>()) / (end_s - begin_s);
    found
}

/// A run of a system, with its repetition, counted from 1.
struct Run {
    system: System,
    repetition: u32,
    figures: Figures,
}

/// Runs all systems, and writes the report.
///
/// # Errors
///
/// A program, an engine or a run that fails. Flink has ended then, and priorities are put back.
pub(crate) fn run(plan: &Plan) -> Result<()> {
    let workspace = Workspace::open()?;
    let program = program(&workspace)?;
    let file = workspace.root.join(FILE);
    let out = plan.out.clone().unwrap_or_else(|| workspace.target_directory.join("engines/deadlines"));
    fs::create_dir_all(&out).with_context(|| format!("could not make {}", out.display()))?;
    let out = out.canonicalize()?;
    process::pin(std::process::id(), process::OTHERS).context("Flink and the tool need a core each")?;
    host::restore(&program)?;
    let mut runs =
        if steered(plan).is_empty() { Vec::new() } else { over_flink(plan, &program, &file, &out)? };
    for repetition in 1..=plan.repeat {
        for policy in OWN {
            if !plan.systems.contains(&format!("own:{policy}")) {
                continue;
            }
            let name = format!("{repetition}-own-{policy}");
            let figures = in_own_engine(plan, &program, &file, policy, &out.join(name))?;
            let system = System {
                is_own: true,
                policy: policy.to_owned(),
                form: String::new(),
                period: String::new(),
            };
            eprintln!("{repetition}: {}", line(&system, &figures));
            runs.push(Run { system, repetition, figures });
        }
    }
    let page = page(plan, &runs);
    fs::write(out.join("report.md"), &page)?;
    fs::write(out.join("comparison.json"), format!("{:#}\n", figures_as_json(&runs)))?;
    print!("{page}");
    println!("\nAll figures: {}", out.join("comparison.json").display());
    Ok(())
}

/// Runs the jobs on a Flink, and all systems over it.
fn over_flink(plan: &Plan, program: &Path, file: &Path, out: &Path) -> Result<Vec<Run>> {
    let directory = fetch::cache()?.join(format!("run-deadlines-{}", std::process::id()));
    let flink = Flink::start(&directory, Lifetime::WithUs)?;
    let manager = flink.task_manager().context("Flink has no task manager")?;
    process::pin(manager, process::UNDER_TEST)?;
    let client = flink.gateway();
    let session = Session::open(&client)?;
    let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    for statement in statements(&text) {
        session.set_up(&statement)?;
    }
    thread::sleep(Duration::from_secs(BEGIN_S));
    let output = fs::read_link(format!("/proc/{manager}/fd/1")).context("the task manager has no output")?;
    let mut windows = Vec::new();
    for repetition in 1..=plan.repeat {
        let mut systems = steered(plan);
        let turn = (repetition as usize - 1) * systems.len() / plan.repeat as usize;
        systems.rotate_left(turn);
        for system in systems {
            process::pin(manager, process::UNDER_TEST)?;
            let name = format!("{repetition}-{}", system.name().replace([' ', ',', ':'], "-"));
            let (lines, log) = (out.join(format!("{name}.jsonl")), out.join(format!("{name}.log")));
            let mut tool = Tool::start(program, &system.options(&flink.jobs(), file), &lines, log)?;
            thread::sleep(Duration::from_secs(plan.warmup_s.into()));
            let (begin_s, cpu_s) = (process::now_s(), tool.cpu_s());
            thread::sleep(Duration::from_secs(plan.seconds.into()));
            tool.check()?;
            let end_s = process::now_s();
            let cpu_s = tool.cpu_s().zip(cpu_s).map(|(after, before)| after - before);
            tool.end()?;
            eprintln!("{repetition}: {} is done", system.name());
            windows.push((system, repetition, [begin_s, end_s], cpu_s));
        }
    }
    let rows = rows(&output)?;
    drop(flink);
    let _ = fs::remove_dir_all(&directory);
    if let Some(table) = URGENT.iter().find(|table| !rows.iter().any(|row| row.table == **table)) {
        bail!("Flink has shown no row of {table}");
    }
    let runs = windows.into_iter().map(|(system, repetition, window, cpu_s)| {
        let found = figures(&rows, window);
        let tool_share = cpu_s.map(|cpu_s| cpu_s / (window[1] - window[0]));
        let figures = Figures { tool_share, ..found };
        eprintln!("{repetition}: {}", line(&system, &figures));
        Run { system, repetition, figures }
    });
    Ok(runs.collect())
}

/// Runs the file in our own engine, on one core with one worker. `output` is the path of its output and its log, without their
/// endings.
fn in_own_engine(plan: &Plan, program: &Path, file: &Path, policy: &str, output: &Path) -> Result<Figures> {
    let with_ending = |ending: &str| PathBuf::from(format!("{}.{ending}", output.display()));
    let (rows_file, log) = (with_ending("out"), with_ending("log"));
    let length = format!("{}s", plan.warmup_s + plan.seconds + 1);
    let core = process::UNDER_TEST.to_string();
    // `timeout` of coreutils, since a wait for an engine that hangs would never end.
    let limit = (plan.warmup_s + plan.seconds + OWN_END_MAX_S).to_string();
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", &limit, "taskset", "-c", &core]).arg(program).arg("run").arg(file);
    command.args(["--workers", "1", "--policy", policy, "--for", &length]);
    command.stdin(Stdio::null()).stdout(File::create(&rows_file)?).stderr(File::create(&log)?);
    let (begin, begin_s) = (Instant::now(), process::now_s() + f64::from(plan.warmup_s));
    let status = command.status().context("could not start timeout")?;
    // 3 tells that the time was up before the end of the input, which has none.
    if begin.elapsed() < Duration::from_secs((plan.warmup_s + plan.seconds).into()) {
        bail!("thalweg run: {status}: {}", end_of(&log));
    }
    let rows = rows(&rows_file)?;
    Ok(figures(&rows, [begin_s, begin_s + f64::from(plan.seconds)]))
}

/// Returns the statements of a text, none of which has a semicolon within.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    let text = lines.join("\n");
    text.split(';').map(|statement| statement.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

fn rows(output: &Path) -> Result<Vec<Row>> {
    let text = fs::read(output).with_context(|| format!("could not read {}", output.display()))?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(row).take(ROWS_MAX).collect())
}

fn line(system: &System, figures: &Figures) -> String {
    let Figures { mean_ms, median_ms, max_ms, due, overdue, bulk_per_s, .. } = figures;
    format!(
        "{}: mean {mean_ms:.0} ms, median {median_ms:.0}, most {max_ms:.0}; {overdue} of {due} missing; bulk {:.0} k/s",
        system.name(),
        bulk_per_s / 1e3
    )
}

/// Returns the page: a row for each system, with all repetitions.
fn page(plan: &Plan, runs: &[Run]) -> String {
    let mut page = format!(
        "# Deadlines over an unmodified Flink\n\nTwo urgent queries beside six on one core; {} s after {} s of warm-up, {} \
         repetitions side by side. Latency is that of results of the urgent ones, in ms, from the last row that counts; missing ones count with \
         their age.\n\n| system | mean | median | most | missing | bulk, k rows/s | tool, % of a core |\n|---|---|---|---|---|---|---|\n",
        plan.seconds, plan.warmup_s, plan.repeat
    );
    let mut systems: Vec<&System> = runs.iter().map(|run| &run.system).collect();
    systems.sort_unstable();
    systems.dedup();
    for system in systems {
        let of: Vec<&Figures> =
            runs.iter().filter(|run| run.system == *system).map(|run| &run.figures).collect();
        let all = |value: &dyn Fn(&Figures) -> String| {
            of.iter().map(|figures| value(figures)).collect::<Vec<_>>().join(", ")
        };
        let cells = [
            system.name(),
            all(&|figures| format!("{:.0}", figures.mean_ms)),
            all(&|figures| format!("{:.0}", figures.median_ms)),
            all(&|figures| format!("{:.0}", figures.max_ms)),
            all(&|figures| format!("{} of {}", figures.overdue, figures.due)),
            all(&|figures| format!("{:.0}", figures.bulk_per_s / 1e3)),
            all(&|figures| {
                figures.tool_share.map_or("-".to_owned(), |share| format!("{:.1}", share * 100.0))
            }),
        ];
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page
}

fn figures_as_json(runs: &[Run]) -> serde_json::Value {
    let run = |Run { system, repetition, figures }: &Run| {
        let Figures { mean_ms, median_ms, max_ms, due, overdue, bulk_per_s, tool_share } = figures;
        json!({
            "system": system.name(), "repetition": repetition, "mean_ms": mean_ms, "median_ms": median_ms,
            "max_ms": max_ms, "due": due, "overdue": overdue, "bulk_per_s": bulk_per_s, "tool_share": tool_share,
        })
    };
    json!({ "runs": runs.iter().map(run).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_java_writes_them() {
        let text = "alerts_1> +I[2026-11-28T08:01, 989, ffc7498df727fdd7, 2026-11-28T08:00:59.999Z]";
        let read = row(text).unwrap();
        assert_eq!((&*read.table, read.count), ("alerts_1", 989));
        assert!((read.shown_s - read.made_s + 0.001).abs() < 1e-6);
        assert_eq!(seconds("1970-01-01T00:01:02.500Z"), Some(62.5));
        for line in ["", "alerts_1> -U[a]", "alerts_1> +I[x, 1, y, z]", "note: the time is up"] {
            assert_eq!(row(line), None, "{line}");
        }
    }

    /// Results that are missing at the end count with their age.
    #[test]
    fn missing_results_count_with_their_age() {
        let row = |table: &str, made_s: f64, shown_s: f64| Row {
            table: table.to_owned(),
            made_s,
            shown_s,
            count: 300,
        };
        let rows = [
            row("alerts_1", 9.0, 9.5),
            row("alerts_1", 10.0, 10.25),
            row("alerts_1", 11.0, 11.75),
            row("alerts_2", 10.5, 10.5),
            row("alerts_2", 12.0, 13.5),
            row("digests_4", 5.0, 10.5),
            row("digests_4", 10.0, 14.5),
        ];
        let found = figures(&rows, [10.0, 13.0]);
        // 250 and 750 ms; 0 ms, and two results that are missing since 11.5 s and 12.5 s; one since 12.75 s.
        assert_eq!((found.due, found.overdue, found.max_ms), (6, 3, 1500.0));
        assert!((found.mean_ms - (250.0 + 750.0 + 1500.0 + 500.0 + 250.0) / 6.0).abs() < 1e-6);
        assert_eq!((found.median_ms, found.bulk_per_s), (375.0, 100.0));
        // A gap in the middle: results were due at 11, 12 and 13 s, and the one of 14 s came.
        let rows = [row("alerts_1", 14.0, 14.0), row("alerts_2", 10.5, 10.5), row("alerts_2", 11.5, 11.5)];
        assert_eq!(
            (figures(&rows[..1], [10.0, 14.5]).overdue, figures(&rows, [10.0, 12.0]).overdue),
            (3 + 4, 2)
        );
        // A query of which nothing is shown is missing altogether.
        let found = figures(&[], [0.0, 2.0]);
        assert_eq!((found.due, found.overdue, found.mean_ms), (4, 4, 500.0));
        assert!(found.bulk_per_s.is_sign_positive(), "it is shown as 0, not -0");
    }

    #[test]
    fn lines_and_systems_are_what_they_say() {
        let plan = planned(&["--seconds", "9", "--periods", "1s,5s", "--repeat", "1"]).unwrap();
        assert_eq!((plan.seconds, plan.periods.len(), plan.warmup_s), (9, 2, WARMUP_S));
        assert_eq!(steered(&plan).len(), 1 + 3 * 2 * 2);
        let some = planned(&["--systems", "klink:rt,own:fcfs,os", "--periods", "1s"]).unwrap();
        let found: Vec<String> = steered(&some).iter().map(System::short_name).collect();
        assert_eq!(found, ["os", "klink:rt"]);
        assert!(steered(&planned(&["--systems", "own:klink"]).unwrap()).is_empty());
        let bad = [
            &["--seconds"][..],
            &["--seconds", "1"],
            &["--periods", "1s,"],
            &["--rates", "3"],
            &["--systems", "os,"],
            &["--systems", "own:rt"],
        ];
        for words in bad {
            assert!(planned(words).is_err(), "{words:?}");
        }
        let options: Vec<String> =
            steered(&plan).iter().map(|system| system.options("R", Path::new("F")).join(" ")).collect();
        assert!(options[0].ends_with("--dry-run") && options[0].contains("--sql F"), "{options:?}");
        assert!(options[1].ends_with("--policy congestion --translator nice --period 1s"), "{options:?}");
    }

    #[test]
    fn the_file_has_eight_queries() {
        let text = include_str!("../../../bench/steer/sql/deadlines.sql");
        let found = statements(text);
        assert_eq!(found.iter().filter(|text| text.starts_with("INSERT")).count(), 8);
        assert!(found.iter().all(|text| !text.starts_with("--")));
    }
}
