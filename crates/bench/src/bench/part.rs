//! Queries that run at once, ready to be submitted, with their check against the reference. The queries are
//! those of one workload, or of several workloads that share an engine and are deployed in alternation.

use std::time::Duration;

use anyhow::Result;
use thalweg::{Engine, Graph};
use thalweg_cli::interrupt::Interrupt;
use thalweg_memory::Reservation;

use super::args::BenchArgs;
use super::drive::{Driven, Reports, drive};
use super::load;
use super::offered::{self, Offered};
use super::report::{Checked, Figures, GroupFigures, KEPT_UP, OverdueFigures};

/// A part of a run: queries that are alike, ready to be submitted.
pub struct Part {
    /// Name of this part of the run in printed figures.
    pub name: &'static str,
    /// The options of the queries of this part of the run.
    pub args: BenchArgs,
    pub graphs: Vec<Graph>,
    /// The load offered to each query of the part.
    pub offered: Vec<Offered>,
    /// Compares the results of the queries with the reference, or only checks that no records were lost.
    pub check: Check,
    /// Reservation of the bytes of the generator's cache in the memory budget of the engine.
    pub cache: Reservation,
}

/// A check of results, which is called once, after all queries have ended.
pub type Check = Box<dyn Fn(&Reports<'_>) -> Checked>;

impl Part {
    /// Runs the queries of this part alone.
    pub fn run(self, args: &BenchArgs, engine: &Engine, interrupt: Option<&Interrupt>) -> Result<Figures> {
        let Part { graphs, offered, check, .. } = self;
        let driven = drive(engine, graphs, &load::until(args), interrupt)?;
        let checked = check(&driven.all());
        Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
    }
}

/// Runs the queries of several parts in alternation. `turns` has the part of each query, in the order of
/// deployment.
pub fn run_by_turns(
    args: &BenchArgs,
    engine: &Engine,
    parts: Vec<Part>,
    turns: &[usize],
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let mut graphs = Vec::with_capacity(turns.len());
    let mut rest = Vec::with_capacity(parts.len());
    for Part { name, args, graphs, offered, check, cache } in parts {
        rest.push((graphs.into_iter(), Ran { name, args, offered, check, _cache: cache }));
    }
    for &part in turns {
        graphs.push(rest[part].0.next().expect("there are as many queries of each part as it has turns"));
    }
    let marker_every = markers_by_turns(rest.iter().map(|(_, ran)| &ran.args), turns);
    let driven = drive(engine, graphs, &load::until_with(args, marker_every), interrupt)?;
    let last = load::deployments(args).last().copied().unwrap_or_default();
    let (mut groups, mut checks) = (Vec::new(), Vec::new());
    for (index, (_, ran)) in rest.iter().enumerate() {
        let places: Vec<usize> = (0..turns.len()).filter(|&place| turns[place] == index).collect();
        checks.push((ran.check)(&driven.some(&places)));
        groups.push(ran.figures(&driven, &places, last));
    }
    let offered_per_s = groups.iter().map(|group| group.offered_per_s).sum();
    let figures = Figures::of_engine(args, &driven, offered_per_s, Checked::of_all(checks));
    Ok(Figures { groups, ..figures })
}

/// Returns the time between two latency markers of each query, in the order of deployment. `parts` has the
/// options of each part, and `turns` the part of each query.
fn markers_by_turns<'a>(
    parts: impl Iterator<Item = &'a BenchArgs>,
    turns: &[usize],
) -> Vec<Option<Duration>> {
    let mut of_parts: Vec<_> = parts.map(|args| load::markers_every(args).into_iter()).collect();
    turns.iter().map(|&part| of_parts[part].next().flatten()).collect()
}

/// A part of a run whose queries have been submitted.
struct Ran {
    name: &'static str,
    args: BenchArgs,
    offered: Vec<Offered>,
    check: Check,
    _cache: Reservation,
}

impl Ran {
    /// Returns the measurements of the part: of the queries at these places among all queries of the run. The
    /// warm-up begins `last` after the first of all queries was deployed, when the last one is deployed.
    fn figures(&self, driven: &Driven, places: &[usize], last: Duration) -> GroupFigures {
        let measured = driven.measured_of(places);
        let offered_per_s = offered::per_s_behind(&self.offered, &self.args, measured.seconds, last);
        let taken = offered_per_s.map_or(1.0, |per_s| measured.throughput_per_s / per_s.max(1) as f64);
        let target_s = self.args.latency_target.map(|target| target.as_micros() as f64 / 1e6);
        GroupFigures {
            name: self.name,
            queries: places.len() as u64,
            offered_per_s,
            throughput_per_s: measured.throughput_per_s,
            query_throughput_per_s: Some(measured.query_throughput_per_s),
            latency_us: measured.latency.map(Into::into),
            output_delay_us: measured.output_delay.map(Into::into),
            // The latency of results is known if the load is offered at a rate. Groups of queries run without
            // a time scale, so event time runs as fast as the clock.
            result_latency_us: offered_per_s.and(measured.result_latency).map(Into::into),
            event_latency_us: measured.event_latency.map(Into::into),
            overdue: offered_per_s.map(|_| OverdueFigures::of(measured.overdue, self.args.is_by_clock())),
            latency_target_us: self.args.latency_target.map(thalweg::Span::as_micros),
            deadlines_met: measured.deadlines_met,
            success_rate: offered_per_s.and(measured.success_rate),
            in_time: target_s
                .and_then(|target_s| in_time(measured.markers_in_time, taken, measured.seconds, target_s)),
        }
    }
}

/// Returns the share of the offered load that was delivered within the target. It follows from the share of
/// markers within the target, the share of the load that sources have read, and the measured time. `None` if
/// no marker has arrived and none is known to be late.
fn in_time(markers: Option<f64>, taken: f64, seconds: f64, target_s: f64) -> Option<f64> {
    // The part of the load that sources have not read is late if it has waited longer than the latency
    // target.
    let behind_s = seconds * (1.0 - taken);
    let is_behind = taken < KEPT_UP && target_s < behind_s;
    if is_behind { Some(markers.unwrap_or(0.0) * taken) } else { markers }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::values::Rate;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        args: BenchArgs,
    }

    /// Checks the number of queries of each part, and the rate offered to each query.
    #[track_caller]
    fn check(options: &str, expected: &[(u64, Option<u64>)]) {
        let Options { args } = Options::parse_from(["bench"].into_iter().chain(options.split_whitespace()));
        let rate = |part: &BenchArgs| match part.rate {
            Rate::Max => None,
            Rate::PerSecond(rate_per_s) => Some(rate_per_s),
        };
        let parts: Vec<_> =
            crate::bench::fit::parts(&args).iter().map(|part| (part.queries(), rate(part))).collect();
        assert_eq!(parts, expected, "{options}");
    }

    #[test]
    fn parts_have_their_shares() {
        check("ysb --queries 7", &[(7, None)]);
        check("mixed", &[(2, None), (2, None), (2, None)]);
        check("mixed --rate 23 --queries 9", &[(3, Some(36)), (3, Some(9)), (3, Some(24))]);
        check("mixed --rate 1", &[(2, Some(1)), (2, Some(1)), (2, Some(1))]);
        check("tenants", &[(4, Some(64_000)), (8, Some(1_920_000))]);
        check("tenants --aggressor 20M --rate 5", &[(4, Some(5)), (8, Some(2_500_000))]);
        check("tenants --queries 3 --aggressor 2x", &[(1, Some(64_000)), (2, Some(1_920_000))]);
    }

    /// The markers of a query are those of its part. Messages of 1,000 events, of which there are 64 per
    /// second, have a marker each. Where gaps are random, markers come at irregular intervals.
    #[test]
    fn markers_are_those_of_the_part() {
        let check = |options: &str, expected_us: [Option<u64>; 3]| {
            let Options { args } =
                Options::parse_from(["bench"].into_iter().chain(options.split_whitespace()));
            let parts = crate::bench::fit::parts(&args);
            let found = markers_by_turns(parts.iter(), &[0, 1, 1]);
            assert_eq!(found, expected_us.map(|micros| micros.map(Duration::from_micros)), "{options}");
        };
        check("tenants --queries 3", [Some(15_625), Some(1_000), Some(1_000)]);
        check("tenants --queries 3 --aggressor 8k --arrivals poisson", [Some(15_625), None, None]);
    }

    #[test]
    fn what_was_not_taken_was_not_in_time() {
        let check = |markers: f64, taken: f64, target_s: f64, expected: f64| {
            let found = in_time(Some(markers), taken, 4.0, target_s).expect("there are markers");
            assert!((found - expected).abs() < 1e-9, "{markers} {taken} {target_s}: {found}");
        };
        check(1.0, 1.0, 0.8, 1.0);
        check(0.5, 1.001, 0.8, 0.5);
        // A share of 0.99 counts as all: a block or two are missing at either end of the measurement.
        check(1.0, 0.99, 0.001, 1.0);
        // Only 1/4 of the load was taken in four seconds, so the source is three seconds behind.
        check(1.0, 0.25, 0.8, 0.25);
        check(0.5, 0.25, 0.8, 0.125);
        check(1.0, 0.25, 7_200.0, 1.0);
        // No marker has arrived: the load is late if a marker was due, else nothing is known.
        assert_eq!(in_time(None, 0.0, 4.0, 0.8), Some(0.0));
        assert_eq!(in_time(None, 1.0, 4.0, 0.8), None);
    }

    /// A wrong result of one part makes the run wrong. If one part could not be compared with its reference,
    /// the run counts as not compared.
    #[test]
    fn as_little_as_was_checked_of_any() {
        let checked = |all: Vec<Checked>| {
            let Options { args } = Options::parse_from(["bench", "mixed"]);
            let figures = Figures::new(&args, "typed", Checked::of_all(all));
            (figures.check, figures.error)
        };
        let wrong = || Checked::by_reference(Some("missing".to_owned()));
        let right = || Checked::by_reference(None);
        assert_eq!(checked(vec![right(), right()]), ("oracle-equal", None));
        assert_eq!(checked(vec![right(), wrong()]), ("oracle-equal", Some("missing".to_owned())));
        assert_eq!(checked(vec![right(), Checked::by_conservation()]), ("conservation", None));
        assert_eq!(
            checked(vec![wrong(), Checked::by_conservation()]),
            ("conservation", Some("missing".to_owned()))
        );
    }
}
