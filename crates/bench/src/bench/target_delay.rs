//! The option `--target-delay`: finds the highest rate at which the mean output delay stays within a bound
//! (StreamBox, section 9: throughput at a target output delay).
//!
//! The mean is bounded, as in the paper, and because a short run closes too few windows for a quantile. The
//! first run takes records as fast as it can, which gives an upper bound of the rate. Then the rate is
//! bisected by further runs, the probes. A probe is met if the whole load is taken and the mean delay is
//! within the bound. The last probe that was met is the result.

use anyhow::{Result, bail};
use thalweg::Span;
use thalweg_cli::console;
use thalweg_cli::show;

use super::args::BenchArgs;
use super::report::{Figures, KEPT_UP};
use crate::values::Rate;

/// Largest number of runs that probe a rate for `--target-delay`. After 8 probes the rate is known to 0.5 %
/// of the highest rate at which the engine reads records.
const PROBES_MAX: u32 = 8;

/// Finds the highest rate at which the mean output delay is within the target, by repeated calls of `run`,
/// which runs the queries at a given rate and returns the measurements. Returns those of the run at the rate
/// found.
pub fn find(
    args: &BenchArgs,
    target: Span,
    mut run: impl FnMut(&BenchArgs) -> Result<Figures>,
) -> Result<Figures> {
    let streams = args.workload().facts().streams;
    let drained = run(args)?;
    if drained.interrupted || !drained.ok {
        return Ok(drained);
    }
    let most = (drained.throughput_per_s / args.queries() as f64) as u64;
    let most = args.workload().facts().rate_per_s_max.map_or(most, |max| most.min(max)) / streams;
    let (mut met, mut missed, mut best) = (0, most + 1, None);
    for _ in 0..PROBES_MAX {
        let rate_per_s = (met + missed) / 2;
        if rate_per_s == met {
            break;
        }
        let probe = BenchArgs { rate: Rate::PerSecond(rate_per_s * streams), ..args.clone() };
        let figures = run(&probe)?;
        if figures.interrupted || !figures.ok {
            return Ok(figures);
        }
        let Some(delay) = figures.output_delay_us else {
            bail!(
                "--target-delay: nothing was closed in {} s; take a longer --seconds or a shorter --window",
                args.seconds
            );
        };
        let offered_per_s = figures.offered_per_s.unwrap_or(0) as f64;
        let has_kept_up = KEPT_UP * offered_per_s <= figures.throughput_per_s;
        let is_met = has_kept_up && delay.mean <= target.as_micros() as f64;
        let verdict = match (has_kept_up, is_met) {
            (_, true) => "met",
            (true, false) => "missed",
            (false, _) => "missed, for not all was taken",
        };
        let (offered, mean) = (show::rate(offered_per_s), show::latency(delay.mean * 1e3));
        console::note(&format!("{offered} offered: output delay {mean} on average, {verdict}"));
        if is_met {
            (met, best) = (rate_per_s, Some(figures));
        } else {
            missed = rate_per_s;
        }
    }
    match best {
        Some(figures) => Ok(Figures { target_delay_us: Some(target.as_micros()), ..figures }),
        None => bail!(
            "--target-delay: not met at {} records/s either, the least that was tried",
            missed * streams
        ),
    }
}
