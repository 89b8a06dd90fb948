//! Tests of the horizon, with which an operator reports the next watermark that makes a difference to it. If
//! all other watermarks are left out, the results are the same.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use proptest::prelude::*;
use thalweg_model::{
    CountWindows, Either, EventTime, Horizon, Operator, SlidingWindows, Span, TumblingWindows,
};

use crate::test_bed::{Bed, Parse, Show, Sum};
use crate::{
    CoGroup, CountAggregate, Distinct, FullOuter, Inner, LeftOuter, SlidingAggregate, TumblingAggregate,
    WindowJoin,
};

/// An event of a random input: a record of one of two streams, or a watermark.
#[derive(Clone, Copy, Debug)]
enum Event {
    Record { is_left: bool, value: i64, stamp: i64 },
    Watermark(i64),
}

fn event() -> impl Strategy<Value = Event> {
    let record = (any::<bool>(), 0..30i64, -20..80i64);
    prop_oneof![
        3 => record.prop_map(|(is_left, value, stamp)| Event::Record { is_left, value, stamp }),
        1 => (-20..80i64).prop_map(Event::Watermark),
    ]
}

/// Returns the events as text for the test bed. A rising watermark is kept only if `horizon` reports it as
/// relevant.
fn text(events: &[Event], has_sides: bool, horizon: &Horizon) -> String {
    let (mut last, mut due) = (i64::MIN, EventTime::MIN);
    let mut shown = Vec::new();
    for event in events {
        match *event {
            Event::Record { is_left, value, stamp } => {
                let side = if !has_sides {
                    ""
                } else if is_left {
                    "L"
                } else {
                    "R"
                };
                shown.push(format!("{side}{value}@{stamp}"));
            }
            Event::Watermark(watermark) if watermark > last => {
                last = watermark;
                let instant = EventTime::from_micros(watermark);
                if instant >= due {
                    due = horizon.next_after(instant);
                    shown.push(format!("W{watermark}"));
                }
            }
            Event::Watermark(_) => {}
        }
    }
    shown.join(" ") + " END"
}

/// Runs an input, and returns the output records in their order and all counts. Output watermarks are left
/// out.
fn records<P, In>(mut bed: Bed<P, In>, input: &str) -> (String, String)
where
    In: Parse,
    P: Operator<In>,
    P::Out: Show,
{
    let shown = bed.run(input);
    let records: Vec<&str> = shown.split_whitespace().filter(|token| !token.starts_with('W')).collect();
    (records.join(" "), bed.counts())
}

/// Reduces an output to the last result of each window and key, however often it was updated, and keeps the
/// counts as they are.
fn settled((records, counts): (String, String)) -> (BTreeMap<String, String>, String) {
    let of = |result: &str| {
        let (key, value_at) = result.split_once('=')?;
        let (value, stamp) = value_at.split_once('@')?;
        Some((format!("{key}@{stamp}"), value.trim_end_matches('!').to_owned()))
    };
    (records.split_whitespace().filter_map(of).collect(), counts)
}

fn agrees<P>(make: impl Fn() -> P, events: &[Event])
where
    P: Operator<i64>,
    P::Out: Show,
{
    let all = text(events, false, &Horizon::EVERYWHERE);
    let few = text(events, false, &make().horizon());
    assert_eq!(records(Bed::new(make()), &few), records(Bed::new(make()), &all), "{all}");
}

fn agrees_for_two<P>(make: impl Fn() -> P, events: &[Event])
where
    P: Operator<Either<i64, i64>>,
    P::Out: Show,
{
    let all = text(events, true, &Horizon::EVERYWHERE);
    let few = text(events, true, &make().horizon());
    assert_eq!(records(Bed::of_two(make()), &few), records(Bed::of_two(make()), &all), "{all}");
}

fn digit(value: &i64) -> i64 {
    value % 10
}

fn pair(left: Option<&i64>, right: Option<&i64>) -> String {
    let show = |side: Option<&i64>| side.map_or("-".to_owned(), i64::to_string);
    format!("{}+{}", show(left), show(right))
}

proptest! {
    #[test]
    fn other_watermarks_make_no_difference(
        events in proptest::collection::vec(event(), 0..120),
        (size, slide, offset, lateness) in (1..25i64, 1..25i64, -9..9i64, 0..15i64),
    ) {
        let [size, slide, offset, lateness] = [size, slide, offset, lateness].map(Span::from_micros);
        let tumbling = TumblingWindows::new(size).unwrap().with_offset(offset);
        let sliding = SlidingWindows::of_size(size).every(slide).unwrap().with_offset(offset);
        agrees(|| SlidingAggregate::new("w", sliding, digit, Sum), &events);
        let updated = || SlidingAggregate::new("w", sliding, digit, Sum).allow_lateness(lateness);
        let all = text(&events, false, &Horizon::EVERYWHERE);
        let few = text(&events, false, &Operator::<i64>::horizon(&updated()));
        let found = |input: &str| settled(records(Bed::new(updated()), input));
        prop_assert_eq!(found(&few), found(&all));
        agrees(|| TumblingAggregate::new("w", tumbling, digit, Sum), &events);
        agrees(|| CountAggregate::new("c", CountWindows::of_size(NonZeroU64::new(3).unwrap()), digit, Sum), &events);
        let key = |first: thalweg_model::Windowed<i64, ()>| first.key;
        let distinct = || thalweg_model::Then::new(Distinct::new("d", tumbling, digit), crate::Map::new("key", key));
        agrees(distinct, &events);
        let both = |left: &i64, right: &i64| pair(Some(left), Some(right));
        agrees_for_two(|| WindowJoin::new("j", sliding, digit, digit, Inner(both)), &events);
        let left_outer = LeftOuter(|left: &i64, right: Option<&i64>| pair(Some(left), right));
        agrees_for_two(|| WindowJoin::new("j", tumbling, digit, digit, left_outer), &events);
        let full_outer = || FullOuter(pair as fn(Option<&i64>, Option<&i64>) -> String);
        agrees_for_two(|| WindowJoin::new("j", sliding, digit, digit, full_outer()), &events);
        let grouped = |_: thalweg_model::Window, _: &i64, lefts: &[i64], rights: &[i64]| {
            Some(format!("{lefts:?}{rights:?}").replace(' ', ""))
        };
        agrees_for_two(|| CoGroup::new("g", sliding, digit, digit, grouped), &events);
    }
}
