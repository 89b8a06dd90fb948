//! The load offered to each query of a run, where it differs between queries or changes: its rate, its
//! distribution, and the time of deployment. All of it follows from the options, so the checks after a run
//! compute it again.

use std::time::Duration;

use thalweg::{Entropy, SeededEntropy};
use thalweg_connectors::{Load, RateStep, zipf_parts};

use super::args::BenchArgs;
use super::drive::Until;
use crate::values::Rate;

/// Constant that is combined with the seed, so that the random instants at which queries are deployed depend
/// on no other random numbers.
const DEPLOYMENTS: u64 = 0x6465_706c_6f79_6564;

/// Constant that is combined with the seed, so that random loads depend on no other random numbers.
const LOADS: u64 = 0x6c6f_6164_735f_6f66;

/// The load offered to one query, if there is a rate.
#[derive(Clone, Debug)]
pub struct QueryLoad {
    /// Records per second of each stream of the query.
    pub rate_per_s: u64,
    /// Changes of the rate over time, and the distribution of the times at which records are sent.
    pub load: Load,
}

/// Returns the load of each query; empty if no rate is given, so that generators emit records as fast as
/// queries read them.
pub fn of_queries(args: &BenchArgs) -> Vec<QueryLoad> {
    let Rate::PerSecond(rate_per_s) = args.rate else { return Vec::new() };
    let steps = args.rate_steps.iter().flat_map(|steps| &steps.0);
    let later: Vec<_> = steps.map(|step| (step.from, rates(args, step.rate_per_s))).collect();
    let mut seeds = SeededEntropy::new(args.seed ^ LOADS);
    let load = |(query, rate_per_s)| {
        let step = |(from, rates): &(_, Vec<u64>)| RateStep { from: *from, rate_per_s: rates[query] };
        let load = Load {
            steps: later.iter().map(step).collect(),
            arrivals: args.arrivals,
            message_records: args.message_records,
            delay: args.delay,
            seed: seeds.next_u64(),
        };
        QueryLoad { rate_per_s, load }
    };
    rates(args, rate_per_s).into_iter().enumerate().map(load).collect()
}

/// Returns, for each query, the records per second of each of its streams. `rate_per_s` is the average of a
/// query.
pub fn rates(args: &BenchArgs, rate_per_s: u64) -> Vec<u64> {
    let queries = args.queries();
    let of_stream = rate_per_s / args.workload().facts().streams;
    let count = usize::try_from(queries).expect("the limit of queries fits");
    let skew = if args.several_inputs().is_some() { 0.0 } else { args.skew };
    zipf_parts(of_stream.saturating_mul(queries), count, skew)
}

/// Returns the exponent by which the splits of a query share its records unevenly; `None` if they share evenly.
/// Several queries share the load among themselves instead, unless each has several inputs.
pub fn split_skew(args: &BenchArgs) -> Option<f64> {
    let is_of_splits = args.queries() == 1 || args.several_inputs().is_some();
    (is_of_splits && 0.0 < args.skew && 1 < args.splits()).then_some(args.skew)
}

/// Returns the time after the start at which each query is deployed, ascending.
pub fn deployments(args: &BenchArgs) -> Vec<Duration> {
    let within_us = args.deploy_within.as_micros().unsigned_abs();
    let mut entropy = SeededEntropy::new(args.seed ^ DEPLOYMENTS);
    let instant = |_| Duration::from_micros(if within_us == 0 { 0 } else { entropy.below(within_us) });
    let mut instants: Vec<Duration> = (0..args.queries()).map(instant).collect();
    // The instants are sorted, because it does not matter which of several equal queries is deployed first.
    instants.sort_unstable();
    instants
}

/// Returns how long a generated workload runs: its warm-up and its measured time.
pub fn until(args: &BenchArgs) -> Until {
    until_with(args, markers_every(args))
}

/// Returns how long a generated workload runs whose queries have latency markers at the given intervals, one
/// for each query in the order of deployment.
pub fn until_with(args: &BenchArgs, marker_every: Vec<Option<Duration>>) -> Until {
    let [warmup, measured] = [args.warmup, args.seconds].map(Duration::from_secs_f64);
    let observer = args.observer.clone();
    let steer = args.steer_plan().map(Box::new);
    Until::Measured { deployed: deployments(args), warmup, measured, observer, marker_every, steer }
}

/// Returns the time between two latency markers of each query; `None` for a query whose markers come at
/// irregular intervals. Streams of a query have markers at the same instants, and the splits of a stream
/// share its markers.
pub fn markers_every(args: &BenchArgs) -> Vec<Option<Duration>> {
    of_queries(args).iter().map(|query| query.load.marker_every(query.rate_per_s)).collect()
}

#[cfg(test)]
mod tests {
    use thalweg::Span;
    use thalweg_connectors::MARKER_EVERY;

    use super::*;

    fn args(options: &str) -> BenchArgs {
        BenchArgs::parsed(options)
    }

    #[test]
    fn rates_are_shared() {
        let rates = |options: &str| {
            of_queries(&args(options)).iter().map(|query| query.rate_per_s).collect::<Vec<_>>()
        };
        assert_eq!(rates("ysb --queries 3 --rate 1k"), [1_000; 3]);
        assert_eq!(rates("ysb --queries 3 --rate 1k --skew 1"), [1_636, 818, 546]);
        assert_eq!(rates("join --queries 2 --rate 1k --skew 1"), [667, 333]);
        assert_eq!(rates("ysb --queries 2"), [] as [u64; 0]);
        let loads = of_queries(&args("ysb --queries 2 --rate 1k --skew 1 --rate-steps 2s:3k"));
        let step = |rate_per_s| vec![RateStep { from: Span::from_secs(2), rate_per_s }];
        assert_eq!([&loads[0].load.steps, &loads[1].load.steps], [&step(4_000), &step(2_000)]);
        assert_ne!(loads[0].load.seed, loads[1].load.seed, "each draws its own");
    }

    /// With `--skew` the splits of a single query get uneven shares of its load, if it has several splits.
    #[test]
    fn splits_are_skewed_where_queries_cannot_be() {
        let skew = |options| split_skew(&args(options));
        assert_eq!(skew("ysb --rate 1k --workers 2 --skew 0.5"), Some(0.5));
        assert_eq!(skew("ysb --rate 1k --workers 2 --skew 0.5 --queries 2"), None);
        assert_eq!(skew("ysb --rate 1k --skew 0.5"), None);
        assert_eq!(skew("ysb --rate 1k --workers 2"), None);
        assert_eq!(skew("ipq1 --rate 1k --inputs 8 --skew 0.5 --queries 2"), Some(0.5));
        assert_eq!(skew("ipq1 --rate 1k --inputs 1 --skew 0.5 --queries 2"), None);
        let each = of_queries(&args("ipq1 --rate 1k --inputs 8 --skew 0.5 --queries 2"));
        assert!(each.iter().all(|query| query.rate_per_s == 1_000), "queries are alike");
    }

    /// The random instants of deployment lie within the given span, are spread over it, and follow from the
    /// seed.
    #[test]
    fn queries_are_deployed_at_random() {
        let instants = |options: &str| deployments(&args(&format!("ysb --queries 100 {options}")));
        assert_eq!(instants(""), [Duration::ZERO; 100]);
        let drawn = instants("--deploy-within 20s");
        assert!(drawn.is_sorted() && drawn[99] < Duration::from_secs(20));
        assert!(drawn[20] < Duration::from_secs(8) && drawn[80] > Duration::from_secs(12), "{drawn:?}");
        assert_eq!(drawn, instants("--deploy-within 20s --rate 5"));
        assert_ne!(drawn, instants("--deploy-within 20s --seed 2"));
    }

    /// The time between two latency markers of a query follows from the rate of one of its streams, and not
    /// from the total rate. Each query has a rate and a load of its own.
    #[test]
    fn markers_go_by_the_rate_of_a_stream() {
        let every = |words: &str| markers_every(&args(words));
        let (of_each, many) = (Some(Duration::from_micros(100)), Some(MARKER_EVERY));
        assert_eq!(every("ysb --rate 10000"), [of_each]);
        assert_eq!(every("ysb --rate 10001"), [many]);
        assert_eq!(every("join --rate 20000"), [of_each], "10,000 of each of two streams");
        assert_eq!(every("join --rate 20002"), [many]);
        assert_eq!(every("ysb --rate 20000 --workers 2"), [many], "splits have those of their stream");
        assert_eq!(every("ysb --rate 10000 --message-records 5"), [Some(Duration::from_micros(500))]);
        // The queries have 4,000 and 2,000 records/s.
        let skewed = [250, 500].map(|micros| Some(Duration::from_micros(micros)));
        assert_eq!(every("ysb --rate 3000 --queries 2 --skew 1"), skewed);
        let unknown: Option<Duration> = None;
        assert_eq!(every("ysb --rate 10 --arrivals poisson --queries 2"), [unknown; 2]);
        assert!(every("ysb").is_empty(), "without a rate there are no markers");
    }
}
