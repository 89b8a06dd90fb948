//! Two streams to test joins on: records and watermarks of each, interleaved in any way, as text for the test bed.
//!
//! Values are keyed by their last digit, and all values differ. The code that unites streams decides their marks, so
//! the marks are made here as the plan makes them: the watermark is the lesser of both, and records of the stream
//! that is ahead come behind an `I`.

use proptest::prelude::*;

use crate::test_bed::Bed;
use thalweg_model::{Either, Operator};

/// The next item of a stream: a value or a watermark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    Value { value: i64, time: i64 },
    Watermark(i64),
}

/// A record with the watermark of its own stream at its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    pub(crate) value: i64,
    pub(crate) time: i64,
    pub(crate) late_by: i64,
}

/// The items of the left and the right stream, each in its own order.
#[derive(Clone, Debug)]
pub(crate) struct TwoStreams {
    pub(crate) sides: [Vec<Said>; 2],
}

pub(crate) fn key_of(value: &i64) -> i64 {
    value % 10
}

/// Formats the result of a pair, or of one record alone.
pub(crate) fn pair(left: Option<&i64>, right: Option<&i64>) -> String {
    let side = |value: Option<&i64>| value.map_or("-".to_owned(), i64::to_string);
    format!("{}+{}", side(left), side(right))
}

/// Formats as [`pair`] does, with the sides swapped.
pub(crate) fn swapped_pair(right: Option<&i64>, left: Option<&i64>) -> String {
    pair(left, right)
}

impl TwoStreams {
    /// Returns two streams with few keys and instants close together, so that many records match. Some have bursts of
    /// equal stamps and late records.
    pub(crate) fn any() -> impl Strategy<Value = TwoStreams> {
        let stream = |serial: i64| {
            let said = (0..8u8, 0..3i64, -40..40i64);
            (proptest::collection::vec(said, 0..30), 1..4i64).prop_map(move |(all, step)| {
                let (mut watermark, mut last_time) = (i64::MIN, 0);
                let say = |(place, (kind, key, time)): (usize, (u8, i64, i64))| match kind {
                    0 => {
                        watermark = watermark.max(time);
                        Said::Watermark(watermark)
                    }
                    _ => {
                        // Mostly near the last record, so that records share windows.
                        last_time = if kind < 3 { time } else { last_time + (time.rem_euclid(5) - 1) * step };
                        Said::Value { value: (serial + 2 * place as i64) * 10 + key, time: last_time }
                    }
                };
                all.into_iter().enumerate().map(say).collect()
            })
        };
        (stream(0), stream(1)).prop_map(|(left, right)| TwoStreams { sides: [left, right] })
    }

    /// Returns the streams moved to another instant, cut off at the ends of the range.
    pub(crate) fn moved_to(&self, instant: i64) -> TwoStreams {
        let moved = |said: &Said| match *said {
            Said::Value { value, time } => Said::Value { value, time: instant.saturating_add(time) },
            Said::Watermark(watermark) => Said::Watermark(instant.saturating_add(watermark)),
        };
        TwoStreams { sides: self.sides.each_ref().map(|side| side.iter().map(moved).collect()) }
    }

    pub(crate) fn swapped(&self) -> TwoStreams {
        let [left, right] = self.sides.clone();
        TwoStreams { sides: [right, left] }
    }

    /// Returns the records of a side with the watermarks of their own stream.
    pub(crate) fn judged(&self, side: usize) -> Vec<Judged> {
        let mut late_by = i64::MIN;
        let mut judged = Vec::new();
        for said in &self.sides[side] {
            match *said {
                Said::Value { value, time } => judged.push(Judged { value, time, late_by }),
                Said::Watermark(watermark) => late_by = watermark,
            }
        }
        judged
    }

    /// Returns pieces of input for the bed; each of `turns` says whether the next item comes from the right. A piece
    /// begins with each mark of the join.
    pub(crate) fn interleaved(&self, turns: &[bool]) -> Vec<String> {
        let mut rests = self.sides.each_ref().map(|said| said.iter());
        let mut watermarks = [i64::MIN; 2];
        let (mut said_input, mut pieces) = (i64::MIN, vec![String::new()]);
        let mut turns = turns.iter().cycle();
        loop {
            let turn = usize::from(*turns.next().unwrap_or(&false));
            let from = if rests[turn].len() > 0 { turn } else { 1 - turn };
            let Some(said) = rests[from].next() else { return pieces };
            let common = watermarks[0].min(watermarks[1]);
            match *said {
                Said::Watermark(watermark) => {
                    watermarks[from] = watermark;
                    let now_common = watermarks[0].min(watermarks[1]);
                    if now_common > common {
                        pieces.push(format!("W{now_common} "));
                    }
                }
                Said::Value { value, time } => {
                    let piece = pieces.last_mut().expect("there is one at the start");
                    // A watermark of the other stream does not apply to this one.
                    if said_input.max(common) != watermarks[from] {
                        said_input = watermarks[from];
                        *piece += &format!("I{said_input} ");
                    }
                    *piece += &format!("{}{value}@{time} ", ["L", "R"][from]);
                }
            }
        }
    }
}

/// Returns instants at the ends of the range, or so near that a stream around them reaches the end.
pub(crate) fn ends_of_time() -> impl Strategy<Value = i64> {
    (any::<bool>(), 0..80i64).prop_map(|(is_late, off)| if is_late { i64::MAX - off } else { i64::MIN + off })
}

/// Options for running an operator under test.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) turns: Vec<bool>,
    pub(crate) room: usize,
    /// Whether the operator is saved and loaded at every watermark.
    pub(crate) restores: bool,
}

impl Run {
    pub(crate) fn any() -> impl Strategy<Value = Run> {
        let room = prop_oneof![Just(1usize), 2..5usize, Just(1_000)];
        (proptest::collection::vec(any::<bool>(), 1..40), room, any::<bool>())
            .prop_map(|(turns, room, restores)| Run { turns, room, restores })
    }

    /// Runs `streams` through an operator from `make`; returns its results, sorted, as `value@stamp`.
    pub(crate) fn results<P>(&self, streams: &TwoStreams, make: impl Fn() -> P) -> Vec<String>
    where
        P: Operator<Either<i64, i64>, Out = String>,
    {
        let mut bed = Bed::of_two(make()).with_room(self.room);
        let mut shown = Vec::new();
        for piece in streams.interleaved(&self.turns) {
            if self.restores {
                bed = bed.restore_into(make());
            }
            shown.push(bed.run(&piece));
        }
        shown.push(bed.run("END"));
        bed.counts();
        results(&shown.join(" "))
    }
}

/// Returns the results that a bed shows, sorted; asserts that none lies behind a watermark shown before it.
pub(crate) fn results(shown: &str) -> Vec<String> {
    let mut watermark = i64::MIN;
    let mut results = Vec::new();
    for token in shown.split_whitespace() {
        if let Some((_, stamp)) = token.split_once('@') {
            let stamp: i64 = stamp.parse().expect("a stamp");
            assert!(watermark <= stamp, "{token} lies behind W{watermark}");
            results.push(token.to_owned());
        } else if let Some(instant) = token.strip_prefix('W') {
            let instant = instant.parse().expect("a watermark");
            assert!(watermark <= instant, "W{instant} goes back from W{watermark}");
            watermark = instant;
        } else {
            assert_eq!(token, "END", "watermarks of inputs end at a join");
        }
    }
    results.sort();
    results
}

/// Returns results with their stamps, sorted and formatted as [`results`] does.
pub(crate) fn sorted(results: impl IntoIterator<Item = (String, i64)>) -> Vec<String> {
    let mut sorted: Vec<String> =
        results.into_iter().map(|(result, stamp)| format!("{result}@{stamp}")).collect();
    sorted.sort();
    sorted
}
