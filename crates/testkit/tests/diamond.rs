//! A shared stream whose branches are joined, on the smallest possible edges: two chunks of one block each,
//! with few records per block. Branches pass anything from no record to all, so one of them may carry only
//! marks while the other is full. The query always completes with the oracle's results, in any order of steps.
//!
//! A thousand seeds by default.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg::{Chaining, EdgeLimits, Query};
use thalweg_model::Entropy;
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::hostile::{Hostile, Reading, records};
use thalweg_testkit::oracle::{self, Joined, Keeps};
use thalweg_testkit::script::Script;
use thalweg_testkit::seed::{entropy_for, pick};
use thalweg_testkit::{Seeds, Setup, Simulation};

type Pair = Joined<Reading, Reading>;

/// Returns the predicate of a branch's filter, which accepts about `percent` percent of the readings.
fn lets_through(percent: i64) -> impl Fn(&Reading) -> bool + Copy + Send + Sync + 'static {
    move |reading: &Reading| reading.amount.rem_euclid(100) < percent
}

#[test]
fn a_diamond_completes_whatever_its_branches_let_through() {
    Seeds::from_env("diamond").times(10).each(|seed| {
        let mut entropy = entropy_for(seed, "diamond");
        let hostile = Hostile::draw(&mut entropy);
        let input = hostile.readings(150, &mut entropy);
        let percent = |entropy: &mut dyn Entropy| pick(entropy, &[0, 0, 1, 10, 50, 99, 100, 100]);
        let (left, right) = (percent(&mut entropy), percent(&mut entropy));
        let chaining = pick(&mut entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
        let edges = EdgeLimits {
            block_records: pick(&mut entropy, &[1, 1, 2, 7]),
            chunk_blocks: 1,
            chunks_max: 2,
            marks_max: pick(&mut entropy, &[1, 2, 512]),
        };
        let mut simulation = Simulation::with_setup(seed, Setup { edges, ..Setup::draw(&mut entropy) });

        let query = Query::new("diamond");
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        let gathered = sink.gathered();
        let script = Script::new(records(&input), &Arc::default()).with_pauses(&mut entropy);
        let shared = query.source("readings", script, hostile.strategy()).share();
        let lefts = shared.branch().filter(lets_through(left));
        let rights = shared.branch().filter(lets_through(right)).flat_map(|reading| [reading, reading]);
        lefts
            .key_by(|reading| reading.key)
            .join(rights.key_by(|reading| reading.key))
            .tumbling(hostile.tumbling())
            .full(|left, right| (left.copied(), right.copied()))
            .sink("pairs", sink);
        let index = simulation.submit(query.plan(chaining).unwrap()).unwrap();
        simulation.run();
        let report = simulation.outcome(index).unwrap();
        assert_eq!(report.conservation_error(), None);

        let rows = oracle::source(&input, hostile.promise);
        let lefts = oracle::filter(&rows, lets_through(left));
        let rights: Vec<_> = oracle::filter(&rows, lets_through(right))
            .into_iter()
            .flat_map(|row| [row.clone(), row])
            .collect();
        let key_of = |reading: &Reading| reading.key;
        let [.., full] = Keeps::KINDS;
        let expected = oracle::window_join((&lefts, &rights), hostile.windows.into(), key_of, key_of, full);
        let mut expected_pairs: Vec<(i128, Pair)> =
            expected.results.into_iter().map(|result| (result.end_us - 1, result.value)).collect();
        let mut found: Vec<(i128, Pair)> =
            gathered.each(|record| (i128::from(record.event_time.as_micros()), record.value));
        expected_pairs.sort();
        found.sort();
        assert_eq!(found, expected_pairs, "{left} and {right} % of {hostile:?}");
        assert_eq!(report.total(|counts| counts.late), expected.late);
    });
}
