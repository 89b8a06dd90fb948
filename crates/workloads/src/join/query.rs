//! Join in the typed interface: two sources → interval join → sink.

use thalweg::{Interval, Query, Sink, Source, Span, WatermarkStrategy};

use super::WITHIN;
use super::number::{Match, Number};

/// Names of the two sources of the join in edges and metrics.
pub const SOURCES: [&str; 2] = ["left", "right"];

/// Adds the join to `query`: each pair of `left` and `right` that matches goes to `sink`, stamped with the
/// later of their times.
///
/// # Panics
/// Never: the interval begins before it ends.
pub fn matches<L, R, K>(query: &Query, left: L, right: R, strategy: WatermarkStrategy, sink: K)
where
    L: Source<Item = Number> + 'static,
    R: Source<Item = Number> + 'static,
    K: Sink<Match> + 'static,
{
    let interval = Interval::new(Span::from_micros(-WITHIN.as_micros()), WITHIN)
        .expect("an interval begins before it ends");
    let left = query.source(SOURCES[0], left, strategy).key_by(|left| left.key);
    let right = query.source(SOURCES[1], right, strategy).key_by(|right| right.key);
    left.join(right)
        .within(interval)
        .inner(|left, right| Match { key: left.key, left: left.number, right: right.number })
        .sink("sink", sink);
}
