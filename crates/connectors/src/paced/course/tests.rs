//! Tests of the times at which messages of a load are sent and arrive. They are compared with times worked
//! out by hand, in milliseconds, and with a recomputation in integers of any size.

use proptest::prelude::*;
use thalweg_model::Span;

use super::super::load::RateStep;
use super::*;

fn steps(steps: &[(i64, u64)]) -> Vec<RateStep> {
    let step = |&(millis, rate_per_s): &(i64, u64)| RateStep { from: Span::from_millis(millis), rate_per_s };
    steps.iter().map(step).collect()
}

/// Returns the times of the first `count` records of a load at this rate.
fn times(load: &Load, rate_per_s: u64, count: u64) -> Vec<Times> {
    load.check(rate_per_s).unwrap();
    let mut walk = Walk::new(&Course::new(load, rate_per_s));
    let mut times = Vec::new();
    for index in 0..count {
        assert_eq!(walk.index(), index);
        times.push(walk.times());
        walk.pass(1);
    }
    times
}

/// Returns the first records of a load as text: the millisecond at which each is sent, `+` and its delay if
/// it has one, and `!` if a latency marker follows.
fn shown(load: &Load, rate_per_s: u64, count: u64) -> String {
    let shown = |times: Times| {
        let [sent_ms, late_ms] = [times.sent_ns, times.due_ns - times.sent_ns].map(|ns| ns as f64 / 1e6);
        let late = if late_ms == 0.0 { String::new() } else { format!("+{late_ms}") };
        format!("{sent_ms}{late}{}", if times.is_marked { "!" } else { "" })
    };
    times(load, rate_per_s, count).into_iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_steady_rate() {
    assert_eq!(shown(&Load::default(), 200, 4), "0! 5! 10! 15!");
    assert_eq!(shown(&Load::default(), 3, 4), "0! 333.333333! 666.666666! 1000!");
    let high = times(&Load::default(), 20_000, 42);
    let marked: Vec<u64> = (0..).zip(&high).filter(|(_, times)| times.is_marked).map(|(at, _)| at).collect();
    assert_eq!(marked, [20, 40], "the first of every millisecond");
}

/// Work on a message that is not done at a step of the rate is done after the step. Here 200 records/s give
/// two records by 10 ms and half of the third by 12.5 ms; the rest takes 5 ms at 100 records/s.
#[test]
fn steps_of_the_rate() {
    let load = Load { steps: steps(&[(10, 100), (32, 1_000)]), ..Load::default() };
    assert_eq!(shown(&load, 200, 7), "0! 5! 10! 20! 30! 32.8! 33.8!");
    let load = Load { steps: vec![RateStep { from: Span::from_micros(12_500), rate_per_s: 100 }], ..load };
    assert_eq!(shown(&load, 200, 5), "0! 5! 10! 17.5! 27.5!");
    // Several steps of the rate may lie between two messages.
    let load = Load { steps: steps(&[(1, 2), (2, 3), (3, 1_000)]), ..Load::default() };
    assert_eq!(shown(&load, 1, 2), "0! 3.994!", "0.001, 0.002 and 0.003 records, and 0.994 ms for the rest");
}

/// Messages of several records have one time and one latency marker, as Cameo's sources send them: one
/// message a second.
#[test]
fn messages() {
    let load = Load { message_records: Some(3), ..Load::default() };
    assert_eq!(shown(&load, 3, 7), "0 0 0! 1000 1000 1000! 2000");
    let load = Load { steps: steps(&[(1_500, 6)]), ..load };
    assert_eq!(shown(&load, 3, 8), "0 0 0! 1000 1000 1000! 1750 1750", "half of it at half the pace");
}

/// Messages 1 ms apart with random delays do not overtake each other. Without messages, all records sent
/// within 40 ms have one delay.
#[test]
fn delays() {
    let delay = Delay::Uniform { max: Span::from_millis(40) };
    let load = Load { message_records: Some(1), delay, seed: 5, ..Load::default() };
    let each = times(&load, 1_000, 10_000);
    assert!(each.is_sorted_by_key(|times| times.due_ns));
    assert!(each.iter().all(|times| times.due_ns <= times.sent_ns + 40_000_000));
    let is_behind = |pair: &&[Times]| pair[0].due_ns == pair[1].due_ns;
    let waiting = each.windows(2).filter(is_behind).count();
    assert!((7_000..10_000).contains(&waiting), "{waiting} of 10000 arrive with one before them");

    let load = Load { message_records: None, ..load };
    let ticks = times(&load, 1_000, 10_000);
    let late = |times: &Times| times.due_ns - times.sent_ns;
    for tick in ticks.chunks(40) {
        // Records that wait for those of the tick before arrive with its last record. The others have the
        // delay that was drawn for their own tick.
        let own = late(&tick[39]);
        assert!(tick.iter().all(|times| late(times) == own || own < late(times)));
    }
    let mean_ms = ticks.iter().map(late).sum::<u64>() as f64 / 1e10;
    assert!((mean_ms - 21.7).abs() < 2.0, "{mean_ms} ms: half of the longest, and a 24th for waiting");
    let zero = Load { delay: Delay::Uniform { max: Span::ZERO }, ..load };
    assert_eq!(times(&zero, 1_000, 100), times(&Load::default(), 1_000, 100));
}

/// Messages 100 s apart never wait for one another, so their delays are those that were drawn.
#[test]
fn delays_as_they_are_drawn() {
    let late_ms = |delay| {
        let load = Load { message_records: Some(1_000), delay, seed: 3, ..Load::default() };
        let each = times(&load, 10, 1_000 * 2_000);
        let late = |message: &[Times]| (message[0].due_ns - message[0].sent_ns) as f64 / 1e6;
        each.chunks(1_000).map(late).collect::<Vec<f64>>()
    };
    let mean = |late: &[f64]| late.iter().sum::<f64>() / late.len() as f64;
    let uniform = late_ms(Delay::Uniform { max: Span::from_millis(40) });
    assert!((mean(&uniform) - 20.0).abs() < 1.0, "{}", mean(&uniform));
    assert!(uniform.iter().any(|ms| *ms < 1.0) && uniform.iter().any(|ms| *ms > 39.0));
    let zipf = late_ms(Delay::Zipf { exponent: 0.99 });
    assert!(zipf.iter().all(|ms| ms.fract() == 0.0 && (1.0..=1_000.0).contains(ms)));
    // With exponent 0.99 and 1,000 ranks, the mean rank is 137.3, and 13 % of the delays have the first rank.
    assert!((mean(&zipf) - 137.3).abs() < 15.0, "{}", mean(&zipf));
    let first = zipf.iter().filter(|ms| **ms == 1.0).count();
    assert!((200..320).contains(&first), "{first} of 2000");
}

/// Random gaps between messages have the expected mean, and the share of gaps above the mean is `1/e`.
#[test]
fn random_gaps() {
    let load = Load { arrivals: Arrivals::Poisson, seed: 7, ..Load::default() };
    let sent: Vec<u64> = times(&load, 1_000, 100_001).iter().map(|times| times.sent_ns).collect();
    assert!((sent[100_000] as f64 / 1e11 - 1.0).abs() < 0.01, "{} ns", sent[100_000]);
    let long = sent.windows(2).filter(|pair| pair[1] - pair[0] > 1_000_000).count();
    assert!((long as f64 / 1e5 - 0.3679).abs() < 0.005, "{long} of 100000");
    assert!(sent[0] > 0, "the first comes after a gap, too");
    let messages = Load { message_records: Some(5), ..load.clone() };
    let sent_by_five: Vec<u64> = times(&messages, 5_000, 50).iter().map(|times| times.sent_ns).collect();
    assert!(sent_by_five.iter().zip(0..).all(|(ns, index)| *ns == sent[index / 5]), "the same gaps");
    assert_ne!(times(&load, 1_000, 5), times(&Load { seed: 8, ..load }, 1_000, 5));
}

/// With bursts each second has a rate of its own, and the mean of these rates is the rate of the load.
#[test]
fn bursts() {
    let load = Load { arrivals: Arrivals::Pareto { shape: 2.0 }, seed: 1, ..Load::default() };
    let mut seconds = [0u64; 2_000];
    let mut walk = Walk::new(&Course::new(&load, 1_000));
    while let Some(second) = seconds.get_mut((walk.times().sent_ns / 1_000_000_000) as usize) {
        *second += 1;
        walk.pass(1);
    }
    let mean = seconds.iter().sum::<u64>() as f64 / 2e3;
    assert!((mean - 1_000.0).abs() < 50.0, "{mean} a second");
    let (least, most) = (seconds.iter().min().unwrap(), seconds.iter().max().unwrap());
    assert!((490..530).contains(least) && (5_000..=20_001).contains(most), "{least} to {most}");
    let course = Course::new(&load, 1_000);
    assert!(course.least_rate_per_s() <= *least && 490 < course.least_rate_per_s());
    let of_second = course.mean_rate_per_s(3_000_000_000, 4_000_000_000);
    assert!((of_second - seconds[3] as f64).abs() <= 1.0, "{of_second} and {}", seconds[3]);
}

/// The times of a load with a very low rate reach the end of time and stay there.
#[test]
fn the_end_of_time() {
    let load = Load { message_records: Some(100_000), ..Load::default() };
    let mut walk = Walk::new(&Course::new(&load, 1));
    walk.pass(100_000 * 200_000);
    assert_eq!((walk.times().sent_ns, walk.index()), (u64::MAX, 20_000_000_000));
    walk.pass(100_000);
    assert_eq!(walk.times().due_ns, u64::MAX);
}

proptest! {
    /// A record is sent in the first nanosecond by whose end the rate, summed over all steps, has produced
    /// it.
    #[test]
    fn sums_of_the_rate(
        rate_per_s in prop_oneof![1..50u64, 1_000..1_000_000_000u64],
        gaps_ms in prop::collection::vec((1..400i64, prop_oneof![1..50u64, 1_000..1_000_000_000u64]), 0..5),
        message_records in 1..40u64,
    ) {
        let mut from_ms = 0;
        let steps: Vec<(i64, u64)> = gaps_ms.iter().map(|&(gap, rate)| { from_ms += gap; (from_ms, rate) }).collect();
        let load = Load { steps: self::steps(&steps), message_records: Some(message_records), ..Load::default() };
        let mut pieces = vec![(0u128, u128::from(rate_per_s))];
        pieces.extend(steps.iter().map(|&(ms, rate)| (ms as u128 * 1_000_000, u128::from(rate))));
        for (index, times) in (0u128..).zip(times(&load, rate_per_s, 500)) {
            // The rest of this recomputation counts in billionths of a record.
            let mut need = index / u128::from(message_records) * u128::from(message_records) * 1_000_000_000;
            let mut expected = 0;
            for (place, &(from, rate)) in pieces.iter().enumerate() {
                let done = pieces.get(place + 1).map(|&(to, _)| (to - from) * rate);
                match done {
                    Some(done) if done <= need => need -= done,
                    _ => { expected = from + need / rate; break; }
                }
            }
            prop_assert_eq!(u128::from(times.sent_ns), expected);
        }
    }

    /// In every walk over a load, times rise and no record arrives before it is sent; the same seed repeats
    /// the walk.
    #[test]
    fn a_seed_repeats_it(
        kind in 0..3u8,
        delay in 0..3u8,
        message_records in prop::option::of(1..200u64),
        rate_per_s in prop_oneof![1..50u64, 1_000..50_000_000u64],
        seed: u64,
        passes in prop::collection::vec(1..300u64, 1..20),
    ) {
        let load = Load {
            steps: steps(&[(700, rate_per_s.div_ceil(3)), (1_700, rate_per_s)]),
            arrivals: [Arrivals::Constant, Arrivals::Poisson, Arrivals::Pareto { shape: 1.5 }][usize::from(kind)],
            message_records,
            delay: [
                Delay::None,
                Delay::Uniform { max: Span::from_millis(30) },
                Delay::Zipf { exponent: 0.99 },
            ][usize::from(delay)],
            seed,
        };
        let one_by_one = times(&load, rate_per_s, passes.iter().sum::<u64>() + 1);
        prop_assert!(one_by_one.is_sorted_by_key(|times| times.sent_ns));
        prop_assert!(one_by_one.is_sorted_by_key(|times| times.due_ns));
        prop_assert!(one_by_one.iter().all(|times| times.sent_ns <= times.due_ns));
        let mut walk = Walk::new(&Course::new(&load, rate_per_s));
        for count in passes {
            walk.pass(count);
            prop_assert_eq!(walk.times(), one_by_one[walk.index() as usize]);
        }
    }
}
