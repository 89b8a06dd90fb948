//! `bench mixed`: YSB, Linear Road in short form and New York's taxis at once, with equal numbers of queries.
//!
//! Source: the Enjima paper, section 5.2.4, "Mixed Workload": equal numbers of all three, 6 to 15 in all, each
//! at its own rate, which section 5.2.1 states.

use std::sync::Arc;

use anyhow::Result;
use thalweg::{Clock, SystemClock};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RateStep;
use thalweg_workloads::nyt::NytGenerator;

use super::args::BenchArgs;
use super::offered::Offered;
use super::part::run_by_turns;
use super::report::Figures;
use super::target::Target;
use super::workload::Workload;
use super::{linear_road, load, lrb, nyt, ysb};
use crate::values::Rate;
use crate::values::load::Steps;

/// The workloads, with each one's share of the rate of three queries: in the paper 12, 3 and 8 million events
/// per second.
const KINDS: [(Workload, u64); 3] = [(Workload::Ysb, 12), (Workload::Lrb, 3), (Workload::Nyt, 8)];

const SHARES: u64 = KINDS[0].1 + KINDS[1].1 + KINDS[2].1;

/// Returns the options of each of the three workloads, with its share of the queries and of the rate.
pub fn parts(args: &BenchArgs) -> Vec<BenchArgs> {
    let part = |(workload, share)| {
        let of_rate = |rate_per_s: u64| {
            let of_three = u128::from(rate_per_s) * KINDS.len() as u128 * u128::from(share);
            u64::try_from(of_three / u128::from(SHARES)).unwrap_or(u64::MAX).max(1)
        };
        let step = |step: &RateStep| RateStep { from: step.from, rate_per_s: of_rate(step.rate_per_s) };
        BenchArgs {
            target: Target::Workload(workload),
            queries: Some(args.queries() / KINDS.len() as u64),
            rate: match args.rate {
                Rate::Max => Rate::Max,
                Rate::PerSecond(rate_per_s) => Rate::PerSecond(of_rate(rate_per_s)),
            },
            rate_steps: args.rate_steps.as_ref().map(|steps| Steps(steps.0.iter().map(step).collect())),
            // Each workload draws its own bursts, so it has a seed of its own.
            seed: args.seed.wrapping_add(share),
            ..args.clone()
        }
    };
    KINDS.map(part).into()
}

/// Runs the queries of YSB, Linear Road and NYC taxis at the same time, all in one engine.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let parts = parts(args);
    let [ysb_args, lrb_args, nyt_args] = &parts[..] else { unreachable!("there are three kinds") };
    // Generators are made first, which takes a while, because the first records of all queries are to be sent
    // at the same instant.
    let (ads, roads) = (ysb::generator(ysb_args), Arc::new(linear_road::generator(lrb_args)));
    let taxis = Arc::new(NytGenerator::new(nyt_args.seed));
    let (now, instants) = (SystemClock::default().now(), load::deployments(args));
    let turns: Vec<usize> = (0..instants.len()).map(|place| place % KINDS.len()).collect();
    let offered = |kind: usize| {
        let own: Vec<_> = instants.iter().skip(kind).step_by(KINDS.len()).copied().collect();
        Offered::of_deployed(&parts[kind], now, &own)
    };
    let queries = vec![
        ysb::part(ysb_args, &engine, &ads, offered(0))?,
        lrb::part(lrb_args, &engine, &roads, offered(1))?,
        nyt::part(nyt_args, &engine, &taxis, offered(2))?,
    ];
    run_by_turns(args, &engine, queries, &turns, interrupt)
}
