//! `cargo xtask figures`: the table of speeds in the README, measured anew.
//!
//! Machines drift, so the sides of a comparison run interleaved, each as often as the others, and what counts are
//! medians and their ratio to the ceiling: the same job as one hand-written loop, run beside it. Every run checks
//! its own results; one wrong result ends the whole.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::steps::{self, StepCommand};
use crate::workspace::Workspace;

/// Interleaved runs of every side.
const ROUNDS: usize = 5;

/// A line of the table: what it is, the options of `bench ysb`, and the line that is its ceiling.
struct Side {
    title: &'static str,
    options: &'static [&'static str],
    ceiling: Option<usize>,
}

const SIDES: [Side; 6] = [
    Side {
        title: "hand-written, a loop per operator (`--api loop-blocks`)",
        options: &["--api", "loop-blocks"],
        ceiling: None,
    },
    Side { title: "engine, a task per operator (`--isolate`)", options: &["--isolate"], ceiling: Some(0) },
    Side {
        title: "hand-written, two chains (`--api loop-chains`)",
        options: &["--api", "loop-chains"],
        ceiling: None,
    },
    Side { title: "engine, default chains", options: &[], ceiling: Some(2) },
    Side {
        title: "hand-written, one loop (`--api loop-fused`)",
        options: &["--api", "loop-fused"],
        ceiling: None,
    },
    Side { title: "engine, default chains, two workers", options: &["--workers", "2"], ceiling: Some(2) },
];

/// Builds the release binary, measures, and prints the table as Markdown.
///
/// # Errors
///
/// A build or a run that fails, or a result that is wrong.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::open()?;
    steps::run(&StepCommand::cargo(
        "build",
        &workspace,
        &["build", "--release", "--package", "thalweg-cli"],
    ))?;
    let binary = workspace.target_directory.join("release").join("thalweg");
    let mut speeds = vec![Vec::new(); SIDES.len()];
    for round in 1..=ROUNDS {
        eprintln!("== round {round} of {ROUNDS}");
        for (side, speeds) in SIDES.iter().zip(&mut speeds) {
            speeds.push(throughput(&binary, side.options)?);
        }
    }
    print!("{}", table(&speeds));
    Ok(())
}

/// Million events per second of one run.
fn throughput(binary: &Path, options: &[&str]) -> Result<f64> {
    let base = ["bench", "ysb", "--workers", "1", "--rate", "max", "--seconds", "5", "--output", "json"];
    // A later `--workers` would be refused as a repetition, so the side's own replaces the base's.
    let base = if options.contains(&"--workers") { [&base[..2], &base[4..]].concat() } else { base.to_vec() };
    let output =
        Command::new(binary).args(base).args(options).output().context("could not start the binary")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures: Value = serde_json::from_str(text.trim()).with_context(|| format!("not JSON: {text}"))?;
    if figures["ok"] != Value::Bool(true) {
        bail!("a run of {options:?} is not ok: {text}");
    }
    figures["throughput_per_s"].as_f64().map(|per_s| per_s / 1e6).context("no throughput in the figures")
}

/// Medians, spreads and ratios as a Markdown table.
fn table(speeds: &[Vec<f64>]) -> String {
    let medians: Vec<f64> = speeds.iter().map(|speeds| sorted(speeds)[speeds.len() / 2]).collect();
    let mut page =
        String::from("| YSB, M events/s | median | least..most | of its ceiling |\n|---|---|---|---|\n");
    for (number, side) in SIDES.iter().enumerate() {
        let all = sorted(&speeds[number]);
        let ratio = side
            .ceiling
            .map_or("-".to_owned(), |ceiling| format!("{:.2}", medians[number] / medians[ceiling]));
        let (least, most) = (all[0], all[all.len() - 1]);
        page += &format!("| {} | {:.0} | {least:.0}..{most:.0} | {ratio} |\n", side.title, medians[number]);
    }
    page
}

fn sorted(speeds: &[f64]) -> Vec<f64> {
    let mut speeds = speeds.to_vec();
    speeds.sort_by(f64::total_cmp);
    speeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_medians_and_their_ratio_to_the_ceiling() {
        let speeds = [[200.0, 100.0, 900.0], [60.0, 50.0, 70.0], [4.0; 3], [3.0; 3], [1.0; 3], [2.0; 3]];
        let page = table(&speeds.map(|speeds| speeds.to_vec()));
        assert!(
            page.contains("| hand-written, a loop per operator (`--api loop-blocks`) | 200 | 100..900 | - |"),
            "{page}"
        );
        assert!(
            page.contains("| engine, a task per operator (`--isolate`) | 60 | 50..70 | 0.30 |"),
            "{page}"
        );
        assert!(page.contains("| engine, default chains | 3 | 3..3 | 0.75 |"), "{page}");
    }

    /// Every ceiling is a hand-written side.
    #[test]
    fn ceilings_are_loops() {
        for side in SIDES {
            assert!(
                side.ceiling.is_none_or(|ceiling| SIDES[ceiling].options.contains(&"--api")),
                "{}",
                side.title
            );
        }
    }
}
