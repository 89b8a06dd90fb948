//! The comparison of a record with the rows of the other side: it stops when the output has no room for results, and
//! continues later. Also emits records without a match.

use std::hash::Hash;

use thalweg_model::{EventTime, Flow, Output, Record};

use super::ahead::Seen;
use crate::join::combine::Fate;
use crate::join::dense_table::{NOWHERE, Tag};
use crate::join::funds::Funds;
use crate::join::interval_side::{Near, Side};
use crate::join::timeline::{Place, Row, Timeline};

/// A record that is being compared with the rows of the other side, one bucket of time after the other.
#[derive(Debug)]
pub(super) struct Meeting<K, V, N> {
    row: Row<V, N>,
    tag: Tag,
    key: K,
    /// Number, in the order of time, of the bucket of the other side that the record has reached.
    bucket: i64,
    /// The place, among the rows of its key in the reached bucket, of the row with which the record is
    /// compared next. `None` if the search in that bucket has not begun.
    place: Option<Place>,
}

/// A record that has just arrived, with the results of looking up its key before its turn.
pub(super) struct Fresh<'a, K> {
    pub(super) seen: &'a Seen,
    pub(super) key: K,
    pub(super) watermark: EventTime,
    pub(super) funds: &'a mut Funds,
}

/// Compares a record of the side `own` with the matching rows of the other side, `theirs`, and stores the
/// record in `own`. Returns the record if there was no room for the results of all its matches.
#[inline(always)]
pub(super) fn arrive_at<K, V, N, W, M, U, O>(
    own: &mut Side<K, V, N>,
    theirs: &mut Side<K, W, M>,
    mut row: Row<V, N>,
    fresh: Fresh<'_, K>,
    pair: impl Fn(&V, &W) -> U,
    alone: impl Fn(&V) -> U,
    output: &mut O,
) -> Option<Meeting<K, V, N>>
where
    K: Eq + Hash,
    N: Fate,
    M: Fate,
    O: Output<U>,
{
    let Fresh { seen, key, watermark, funds } = fresh;
    let Near { count, places, .. } = &seen.near;
    let (first, last) = own.reach().of(row.time).unwrap_or((row.time, row.time));
    for (index, &place) in places[..*count].iter().enumerate() {
        let entry = match (place, seen.near_entries[index]) {
            (NOWHERE, _) => continue,
            (_, NOWHERE) => theirs.bucket(place).table.find(seen.tag, &key),
            (_, known) => Some(known),
        };
        let Some(entry) = entry else { continue };
        let timeline = theirs.timeline(place, entry);
        let mut place = timeline.seek(first);
        if meet_rows(timeline, &mut place, last, &mut row, &pair, output) == Flow::More {
            let bucket = seen.near.first + index as i64;
            return Some(Meeting { row, tag: seen.tag, key, bucket, place: Some(place) });
        }
    }
    if own.is_over(row.time, watermark) {
        // No match can arrive any more, and the record was compared with all rows of the other side. So the
        // next bucket of time to compare it with is the one after the last, and the record is not stored.
        let bucket = seen.near.first.saturating_add_unsigned(seen.near.count as u64);
        let meeting = Meeting { row, tag: seen.tag, key, bucket, place: None };
        return part(meeting, alone, output);
    }
    let entry = match (seen.own_place, seen.own_entry) {
        // Without memory for the record's own bucket, the record is not stored.
        (NOWHERE, _) => None,
        (place, NOWHERE) => own.entry_of(place, seen.tag, key, funds),
        (_, known) => Some(known),
    };
    if let Some(entry) = entry {
        own.keep(seen.own_place, entry, row, funds);
    }
    None
}

/// Continues to compare a record with the rows of the other side, after [`arrive_at`] had no room for the
/// results of all its matches. Returns the record if there is no room again.
pub(super) fn go_on_at<K, V, N, W, M, U, O>(
    own: &mut Side<K, V, N>,
    theirs: &mut Side<K, W, M>,
    mut meeting: Meeting<K, V, N>,
    (watermark, funds): (EventTime, &mut Funds),
    pair: impl Fn(&V, &W) -> U,
    alone: impl Fn(&V) -> U,
    output: &mut O,
) -> Option<Meeting<K, V, N>>
where
    K: Eq + Hash,
    N: Fate,
    M: Fate,
    O: Output<U>,
{
    let time = meeting.row.time;
    if let Some((first, last)) = own.reach().of(time) {
        while meeting.bucket <= theirs.number_of(last) {
            let place = theirs.place_of(meeting.bucket);
            let find = |place: u32| theirs.bucket(place).table.find(meeting.tag, &meeting.key);
            if let Some((place, entry)) = place.and_then(|place| Some((place, find(place)?))) {
                let timeline = theirs.timeline(place, entry);
                let mut place = meeting.place.unwrap_or_else(|| timeline.seek(first));
                let flow = meet_rows(timeline, &mut place, last, &mut meeting.row, &pair, output);
                meeting.place = Some(place);
                if flow == Flow::More {
                    return Some(meeting);
                }
            }
            meeting.place = None;
            meeting.bucket += 1;
        }
    }
    if own.is_over(time, watermark) {
        return part(meeting, alone, output);
    }
    let Meeting { row, tag, key, .. } = meeting;
    if let Some(place) = own.open(time, funds)
        && let Some(entry) = own.entry_of(place, tag, key, funds)
    {
        own.keep(place, entry, row, funds);
    }
    None
}

/// Emits results of a row and the matching rows of the other side, from the position `place` among the rows
/// of the key up to and including the instant `last`.
#[inline(always)]
fn meet_rows<V, N: Fate, W, M: Fate, U, O: Output<U>>(
    timeline: &mut Timeline<W, M>,
    place: &mut Place,
    last: EventTime,
    row: &mut Row<V, N>,
    pair: impl Fn(&V, &W) -> U,
    output: &mut O,
) -> Flow {
    loop {
        let here = *place;
        let Some(other) = timeline.next(place).filter(|other| other.time <= last) else {
            return Flow::Done;
        };
        if output.room() == 0 {
            *place = here;
            return Flow::More;
        }
        row.fate.set_met();
        other.fate.set_met();
        output.push(Record::new(row.time.max(other.time), pair(&row.value, &other.value)));
    }
}

/// Finishes a record for which no match can come any more. Emits a result if the record had no match and the
/// kind of join asks for such results.
fn part<K, V, N: Fate, U, O: Output<U>>(
    meeting: Meeting<K, V, N>,
    alone: impl Fn(&V) -> U,
    output: &mut O,
) -> Option<Meeting<K, V, N>> {
    if !meeting.row.fate.has_met() {
        if output.room() == 0 {
            return Some(meeting);
        }
        output.push(Record::new(meeting.row.time, alone(&meeting.row.value)));
    }
    None
}

/// Emits the rows of one side that had no match and can have none any more.
pub(super) fn give_up<K: Eq + Hash, V, N: Fate, U, O: Output<U>>(
    side: &mut Side<K, V, N>,
    watermark: EventTime,
    place: &mut Option<Place>,
    funds: &mut Funds,
    alone: impl Fn(&V) -> U,
    output: &mut O,
) -> Flow {
    if !N::IS_NOTED {
        return Flow::Done;
    }
    let horizon = side.reach().horizon(watermark);
    while let Some((time, bucket, entry)) = side.first_waiting(horizon, funds) {
        let timeline = side.timeline(bucket, entry);
        let mut here = place.take().unwrap_or_else(|| timeline.seek(time));
        loop {
            let before = here;
            let Some(row) = timeline.next(&mut here).filter(|row| row.time == time) else { break };
            if row.fate.has_met() {
                continue;
            }
            if output.room() == 0 {
                *place = Some(before);
                return Flow::More;
            }
            row.fate.set_met();
            output.push(Record::new(time, alone(&row.value)));
        }
        side.end_waiting();
    }
    Flow::Done
}
