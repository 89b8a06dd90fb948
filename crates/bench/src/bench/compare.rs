//! Comparison of runs: the figures of several policies, or several modes, under the same load; as CSV, as
//! JSON, and as one page with plots that works without a network.
//!
//! [`page`] writes the page, [`plots`] the plots on it, [`tables`] the CSV.

mod page;
mod plots;
mod tables;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::comparison::Comparison;

/// Writes `figures.csv`, `series.csv`, `queues.csv`, `comparison.json` and `index.html` into a folder, which is made if
/// it does not exist. If queries are not all alike, also writes `groups.csv`.
pub fn write(comparison: &Comparison, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("--out: the folder {} cannot be made", folder.display()))?;
    let json = serde_json::to_string_pretty(comparison).context("figures are numbers and names")?;
    let mut files = vec![
        ("figures.csv", tables::figures(&comparison.runs)),
        ("series.csv", tables::series(&comparison.runs)),
        ("queues.csv", tables::queues(&comparison.runs)),
        ("comparison.json", json),
        ("index.html", page::page(comparison)?),
    ];
    if !comparison.groups().is_empty() {
        files.push(("groups.csv", tables::groups(&comparison.runs)));
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("--out: {} cannot be written", path.display()))?;
    }
    Ok(())
}

/// Describes the machine of a run: its processor, its cores, and the seed.
pub fn machine(seed: u64) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // If `/proc/cpuinfo` does not name the processor, the name of its architecture is shown instead.
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{name}, {cores} cores; seed {seed}")
}

#[cfg(test)]
mod tests;
