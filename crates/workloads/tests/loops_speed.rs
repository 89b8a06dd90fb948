//! Speed of the hand-written loops of YSB and of Linear Road on this machine, in million events per second
//! (M/s), on one core and two. The kinds are run alternately, so that the machine's drift affects all of them,
//! and the median is shown. The figures guard against regressions; a claim about an engine quotes the ceiling
//! measured in its own run.
//!
//! `cargo test --release -p thalweg-workloads --test loops_speed -- --ignored --nocapture`

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use thalweg_model::EventTime;
use thalweg_workloads::lrb::{self, LrbGenerator, LrbOptions};
use thalweg_workloads::ysb::loops::{LoopKind, LoopOptions, LoopStop, run};
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions};

const REPEATS: usize = 7;

#[test]
#[ignore = "takes a minute and reads the clock"]
fn ysb_loops_speed() {
    let generator = YsbGenerator::new(YsbOptions::default());
    let cases: Vec<(LoopKind, usize, usize)> = [1, 2]
        .into_iter()
        .flat_map(|workers| LoopKind::ALL.into_iter().map(move |kind| (workers, kind)))
        .flat_map(|(workers, kind)| [384, 1_024].into_iter().map(move |block| (kind, workers, block)))
        .filter(|&(kind, _, block)| kind != LoopKind::Fused || block == 384)
        .collect();
    let mut speeds = vec![Vec::new(); cases.len()];
    for _ in 0..REPEATS {
        for (&(kind, workers, block_records), speeds) in cases.iter().zip(&mut speeds) {
            let report = run(LoopOptions {
                kind,
                workers: NonZeroUsize::new(workers).unwrap(),
                block_records: NonZeroUsize::new(block_records).unwrap(),
                stop: LoopStop::After(Duration::from_millis(500)),
                nominal_rate_per_s: NonZeroU64::new(10_000_000).unwrap(),
                start: EventTime::EPOCH,
                generator: &generator,
            });
            speeds.push(report.events_per_s() / 1e6);
        }
    }
    println!("loop            workers  block   M/s median (lowest..highest)");
    for (&(kind, workers, block), speeds) in cases.iter().zip(&mut speeds) {
        speeds.sort_by(f64::total_cmp);
        let (low, median, high) = (speeds[0], speeds[REPEATS / 2], speeds[REPEATS - 1]);
        println!("{:<15} {workers:>7} {block:>6}   {median:.0} ({low:.0}..{high:.0})", kind.name());
    }
}

#[test]
#[ignore = "takes a minute and reads the clock"]
fn lrb_loops_speed() {
    let generators = [1_000, 100_000, 10_000_000].map(|rate| {
        LrbGenerator::new(LrbOptions { rate_per_s: NonZeroU64::new(rate).unwrap(), ..LrbOptions::default() })
    });
    let mut cases = Vec::new();
    for generator in &generators {
        for (workers, block) in [(1, 384), (1, 1_024), (2, 384)] {
            cases.push((generator, workers, block, Vec::new()));
        }
    }
    for _ in 0..REPEATS {
        for (generator, workers, block_records, speeds) in &mut cases {
            let report = lrb::loops::run(lrb::loops::LoopOptions {
                kind: lrb::loops::KIND,
                workers: NonZeroUsize::new(*workers).unwrap(),
                block_records: NonZeroUsize::new(*block_records).unwrap(),
                stop: LoopStop::After(Duration::from_secs(1)),
                nominal_rate_per_s: generator.rate_per_s(),
                start: EventTime::EPOCH,
                generator,
            });
            speeds.push(report.events_per_s() / 1e6);
        }
    }
    println!("{:<15} expressways workers  block   M/s median (lowest..highest)", lrb::loops::KIND.name());
    for (generator, workers, block, speeds) in &mut cases {
        speeds.sort_by(f64::total_cmp);
        let (low, median, high) = (speeds[0], speeds[REPEATS / 2], speeds[REPEATS - 1]);
        let xways = generator.xway_count();
        println!("{xways:>27} {workers:>7} {block:>6}   {median:.1} ({low:.1}..{high:.1})");
    }
}
