//! Two random streams to test joins with: the records and watermarks of each, interleaved in any way, as text
//! for the test bed.
//!
//! The key of a value is its last digit, and all values differ. In a query, the code that unites two streams makes
//! the marks of the join. Here the marks are made in the same way: the watermark is the lesser of the two, and
//! records of the stream that is ahead come behind an `I`, the text for a mark with the watermark of their own
//! stream.

use proptest::prelude::*;

use crate::test_bed::Bed;
use thalweg_model::{Either, Operator};

/// The next item of a test stream: a value or a watermark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    Value { value: i64, time: i64 },
    Watermark(i64),
}

/// A record, with the watermark that its own stream had when the record came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    pub(crate) value: i64,
    pub(crate) time: i64,
    pub(crate) late_by: i64,
}

/// The items of the left and the right stream, each stream in its own order.
#[derive(Clone, Debug)]
pub(crate) struct TwoStreams {
    pub(crate) sides: [Vec<Said>; 2],
}

pub(crate) fn key_of(value: &i64) -> i64 {
    value % 10
}

/// Formats the result of a pair of values, or of one value without a match.
pub(crate) fn pair(left: Option<&i64>, right: Option<&i64>) -> String {
    let side = |value: Option<&i64>| value.map_or("-".to_owned(), i64::to_string);
    format!("{}+{}", side(left), side(right))
}

/// Formats a result as [`pair`] does, with the two sides swapped.
pub(crate) fn swapped_pair(right: Option<&i64>, left: Option<&i64>) -> String {
    pair(left, right)
}

impl TwoStreams {
    /// Draws two streams with few keys and instants close together, so that many records match. Some streams
    /// have bursts of equal stamps, and some have late records.
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
                        // Most records come shortly after the last one, so that many records share windows.
                        last_time = if kind < 3 { time } else { last_time + (time.rem_euclid(5) - 1) * step };
                        Said::Value { value: (serial + 2 * place as i64) * 10 + key, time: last_time }
                    }
                };
                all.into_iter().enumerate().map(say).collect()
            })
        };
        (stream(0), stream(1)).prop_map(|(left, right)| TwoStreams { sides: [left, right] })
    }

    /// Returns the streams with `instant` added to all times, cut off at the ends of the range of time.
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

    /// Returns the records of one stream, each with the stream's own watermark at its position.
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

    /// Returns the input for the test bed in pieces, one for each watermark of the join and the records
    /// behind it. Each of `turns` says whether the next item comes from the right stream.
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
                    // If the last watermark in the text is one of the other stream, it does not apply to this
                    // record. So the watermark of the record's own stream is written in front of it.
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

/// Draws an instant at an end of the range of time, or so near to it that the streams around this instant
/// reach the end.
pub(crate) fn ends_of_time() -> impl Strategy<Value = i64> {
    (any::<bool>(), 0..80i64).prop_map(|(is_late, off)| if is_late { i64::MAX - off } else { i64::MIN + off })
}

/// Options for running a join under test: how streams are interleaved, how much room the output has, and
/// whether state is saved.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) turns: Vec<bool>,
    pub(crate) room: usize,
    /// Tells whether the operator is saved and loaded at every watermark.
    pub(crate) restores: bool,
}

impl Run {
    pub(crate) fn any() -> impl Strategy<Value = Run> {
        let room = prop_oneof![Just(1usize), 2..5usize, Just(1_000)];
        (proptest::collection::vec(any::<bool>(), 1..40), room, any::<bool>())
            .prop_map(|(turns, room, restores)| Run { turns, room, restores })
    }

    /// Runs `streams` through an operator made by `make`, and returns its results, sorted, as `value@stamp`.
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

/// Returns the results in an output of the test bed, sorted. Asserts that no result is stamped before a
/// watermark that came before it.
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

/// Returns expected results with their stamps, sorted and formatted as [`results`] does with those of the
/// operator.
pub(crate) fn sorted(results: impl IntoIterator<Item = (String, i64)>) -> Vec<String> {
    let mut sorted: Vec<String> =
        results.into_iter().map(|(result, stamp)| format!("{result}@{stamp}")).collect();
    sorted.sort();
    sorted
}
