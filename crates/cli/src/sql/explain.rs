//! `thalweg explain`: the plans of a file of SQL, as text, as a graph for Graphviz, or as JSON.

use anyhow::Result;
use clap::Args;
use thalweg_cli::{console, options};
use thalweg_runtime::limits;
use thalweg_sql::plan::explain::{Shown, quoted, shown};
use thalweg_sql::session::{Action, Job};

use super::run::tasks;
use super::script::ScriptArgs;

/// Options of `thalweg explain`.
#[derive(Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    script: ScriptArgs,
    /// Show the plans as a graph for Graphviz.
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    /// Show the plans as JSON, one line for each query.
    #[arg(long)]
    json: bool,
    /// Show the tasks and links that each query becomes, too. To plan them, the files that a query would read
    /// are counted; nothing is written.
    #[arg(long, conflicts_with_all = ["dot", "json"])]
    tasks: bool,
    /// Number of workers for which --tasks plans.
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "tasks")]
    #[arg(value_parser = options::within(&limits::WORKERS), default_value_t = limits::WORKERS.default)]
    workers: u64,
}

/// Shows the plans of the SQL of the command line; nothing is run.
pub fn run(args: &ExplainArgs) -> Result<bool> {
    let script = args.script.read()?;
    let (_, actions) = script.plan()?;
    let jobs: Vec<&Job> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Run(job) | Action::Explain(job) => Some(job),
            Action::Show(_) => None,
        })
        .collect();
    let text = if args.dot {
        dot(&jobs)
    } else if args.json {
        jobs.iter().map(|job| json(job, script.line(job.place))).collect()
    } else {
        let mut texts = Vec::new();
        for job in &jobs {
            let mut text = text(job, script.line(job.place));
            if args.tasks {
                text += &format!("tasks\n{}", tasks(&script, job, args.workers)?);
            }
            texts.push(text);
        }
        texts.join("\n")
    };
    console::out(&text)?;
    for warning in jobs.iter().flat_map(|job| &job.warnings) {
        console::warning(&script.shown(warning).to_string());
    }
    Ok(true)
}

/// Returns, for each part of a job (one of its INSERTs, or a query), the target of the part's rows and its
/// plan.
fn parts(job: &Job) -> impl Iterator<Item = (&str, Shown)> {
    job.parts
        .iter()
        .map(|part| (part.into.as_ref().map_or("result", |table| table.name.as_str()), shown(&part.plan)))
}

/// Returns the plans of a job as text. `line` is the line of the SQL on which the job stands, from 1 on.
pub fn text(job: &Job, line: usize) -> String {
    let part = |(into, plan): (&str, Shown)| format!("-> {into}\n{}", plan.text());
    format!("{} (line {line})\n{}", job.name, parts(job).map(part).collect::<String>())
}

fn dot(jobs: &[&Job]) -> String {
    let mut text = String::from("digraph plans {\n  rankdir=LR;\n  node [shape=box];\n");
    let mut next = 0;
    for job in jobs {
        for (into, plan) in parts(job) {
            let from = plan.dot(&mut next, &mut text);
            text += &format!("  n{next} [label={}, shape=cylinder];\n  n{from} -> n{next};\n", quoted(into));
            next += 1;
        }
    }
    text + "}\n"
}

/// Returns the plans of a job as a JSON object. `line` is the line of the SQL on which the job stands, from 1
/// on.
pub fn json(job: &Job, line: usize) -> String {
    let part =
        |(into, plan): (&str, Shown)| format!("{{\"into\":{},\"plan\":{}}}", quoted(into), plan.json());
    let parts: Vec<String> = parts(job).map(part).collect();
    format!("{{\"job\":{},\"line\":{line},\"parts\":[{}]}}\n", quoted(&job.name), parts.join(","))
}
