//! `thalweg explain`: the plans of a file of SQL, as text, as a graph for Graphviz, or as JSON.

use anyhow::Result;
use clap::Args;
use thalweg_sql::plan::explain::{Shown, quoted, shown};
use thalweg_sql::session::{Action, Job};

use super::script::ScriptArgs;
use crate::console;

/// What to explain, and how.
#[derive(Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    script: ScriptArgs,
    /// As a graph for Graphviz.
    #[arg(long, conflicts_with = "json")]
    dot: bool,
    /// As JSON, one line for each query.
    #[arg(long)]
    json: bool,
}

/// Shows the plans; nothing is opened or run.
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
        jobs.iter().map(|job| text(job, script.line(job.place))).collect::<Vec<_>>().join("\n")
    };
    console::out(&text)?;
    Ok(true)
}

/// Returns the target of each part's rows, and its plan.
fn parts(job: &Job) -> impl Iterator<Item = (&str, Shown)> {
    job.parts
        .iter()
        .map(|part| (part.into.as_ref().map_or("result", |table| table.name.as_str()), shown(&part.plan)))
}

/// Returns the plans of the job on this line as text.
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

/// Returns the plans of the job on this line as a JSON object.
pub fn json(job: &Job, line: usize) -> String {
    let part =
        |(into, plan): (&str, Shown)| format!("{{\"into\":{},\"plan\":{}}}", quoted(into), plan.json());
    let parts: Vec<String> = parts(job).map(part).collect();
    format!("{{\"job\":{},\"line\":{line},\"parts\":[{}]}}\n", quoted(&job.name), parts.join(","))
}
