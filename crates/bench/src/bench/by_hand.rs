//! The hand-written loops that the engine is measured against: how they are warmed up, measured and compared
//! with the reference.

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use thalweg::EventTime;
use thalweg_runtime::system;
use thalweg_workloads::loops::{LoopKind, LoopOptions, LoopReport, LoopStop, WorkerReport};

use super::args::BenchArgs;
use super::report::{Checked, Figures};

/// Event time of the first record of every loop's streams.
pub const START: EventTime = EventTime::EPOCH;

/// Settings that all hand-written loops have in common.
pub struct Settings {
    pub workers: NonZeroUsize,
    pub block_records: NonZeroUsize,
    /// Number of generated records per second of event time.
    pub nominal_rate_per_s: NonZeroU64,
}

impl Settings {
    /// Takes the settings of a hand-written loop from the options of `bench`.
    pub fn of(args: &BenchArgs) -> Self {
        let at_least_one = |number: u64| {
            let number = usize::try_from(number).ok().and_then(NonZeroUsize::new);
            number.expect("the option's bounds lie between 1 and a million")
        };
        let nominal_rate_per_s = NonZeroU64::new(args.nominal_rate_per_s());
        Settings {
            workers: at_least_one(args.workers),
            block_records: at_least_one(args.block_records),
            nominal_rate_per_s: nominal_rate_per_s.expect("no generator stands still"),
        }
    }

    /// Returns the options of a loop of this kind over the records of a generator.
    pub fn options<G>(&self, kind: LoopKind, stop: LoopStop, generator: G) -> LoopOptions<G> {
        let Settings { workers, block_records, nominal_rate_per_s } = *self;
        LoopOptions { kind, workers, block_records, stop, nominal_rate_per_s, start: START, generator }
    }
}

/// Runs a hand-written loop of the given kind twice by calls of `run`: to warm up, and to be measured.
/// `wrong` returns the first difference of a worker's results from the reference.
pub fn figures<R>(
    args: &BenchArgs,
    kind: LoopKind,
    run: impl Fn(LoopStop) -> LoopReport<R>,
    wrong: impl Fn(&WorkerReport<R>) -> Option<String>,
) -> Figures {
    let after = |seconds| LoopStop::After(Duration::from_secs_f64(seconds));
    system::forget_rss_peak();
    if args.warmup > 0.0 {
        run(after(args.warmup));
    }
    let cpu_before = system::cpu_seconds();
    let ran = run(after(args.seconds));
    let cpu_s = system::cpu_seconds() - cpu_before;
    let rss_peak_bytes = system::rss_peak_bytes();
    let checked = Checked::by_reference(ran.workers.iter().find_map(wrong));
    Figures {
        throughput_per_s: ran.events_per_s(),
        events_in: ran.events(),
        results_out: ran.workers.iter().map(|worker| worker.results.len() as u64).sum(),
        seconds: ran.seconds(),
        cpu_s,
        rss_peak_bytes,
        ..Figures::new(args, kind.name(), checked)
    }
}
