//! Tolls: the announcement to a car that enters a segment, from the traffic and the accidents of the minutes
//! before.
//!
//! An announcement follows from the state at the beginning of its minute. So a car is answered at once if the
//! watermark has reached that beginning, and otherwise as soon as it does. Changes within a minute are kept for
//! the next one.
//!
//! The input is the union of three streams: traffic, accidents and entries. Its watermark is the least of
//! theirs. When it has reached the beginning of a minute, all traffic and all accidents of the minutes before
//! have come. Traffic of a minute is stamped before the minute begins, so no entry of that minute is answered
//! without it.
//!
//! Each entry has one announcement, also the entry of a car that leaves by the exit lane. Such an announcement
//! has no row in the results, but it charges the toll of the segment before. [`super::query`] calls [`Tolls`]
//! and sorts the announcements into toll rows, accident notices and charges.
//!
//! The rules are stated in [`crate::reference::lrb_full`], under "LAV and toll" and "Accidents". Tests:
//! `tests/linear_road.rs` and `tests/metamorphic.rs` of testkit compare all results with that reference, in
//! order and out of order.

use serde::{Deserialize, Serialize};
use thalweg::{EventTime, KeyedProcess, ProcessContext, Record};

use super::accidents::AccidentChange;
use super::journeys::Entry;
use crate::lrb::report::{Place, Segment};

const MINUTE_US: i64 = 60_000_000;

/// Largest number of cars in a minute at which no toll is due.
const FREE_CARS: u64 = 50;
/// Average speed, in miles per hour, from which on no toll is due.
const FAST_MPH: u64 = 40;

/// An event in a segment, or a fact about its traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SegmentEvent {
    /// A car enters the segment, and is to be answered with a toll.
    Entered(Entry),
    /// The traffic of the segment up to the beginning of a minute, stamped with the last instant before that
    /// minute.
    Traffic(Traffic),
    /// An accident ahead of the segment begins or ends.
    Accident {
        /// The segment for which the accident is ahead.
        segment: Segment,
        /// The beginning or the end of the accident, with its place.
        change: AccidentChange,
    },
}

impl SegmentEvent {
    /// Returns the segment that this event concerns.
    pub fn segment(&self) -> Segment {
        match self {
            SegmentEvent::Entered(entry) => entry.segment,
            SegmentEvent::Traffic(traffic) => traffic.segment,
            SegmentEvent::Accident { segment, .. } => *segment,
        }
    }
}

/// The traffic in a segment before the beginning of a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// The segment whose traffic is described.
    pub segment: Segment,
    /// The average speed over five minutes, rounded to whole miles per hour.
    pub lav_mph: u64,
    /// Number of cars in the segment during the last minute.
    pub cars: u64,
}

/// Announcement to a car that enters a segment. If [`Entry::leaves`] is true, the car is not told of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Announcement {
    /// The entry of a car into a segment, which this announcement answers.
    pub entry: Entry,
    /// The rounded average speed over five minutes, in miles per hour; 0 if no car was there.
    pub lav_mph: u64,
    /// The toll charged when the car leaves this segment for the next one.
    pub toll: u64,
    /// The segment number of the nearest accident ahead, if there is one.
    pub accident: Option<u8>,
}

/// The state that the toll operator keeps for each segment of the road.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Known {
    /// The traffic before each minute for which tolls may still be announced, with the number of that minute,
    /// counted from the origin of event time. Usually one minute is kept, and for a short time two.
    traffic: Vec<(i64, Traffic)>,
    /// Accidents ahead of the segment. An accident is forgotten when traffic of a minute after its last one
    /// comes. In a segment without traffic it is kept.
    accidents: Vec<Accident>,
    /// Entries of cars that wait for an announcement until the watermark reaches the beginning of their
    /// minute.
    waiting: Vec<(EventTime, Entry)>,
}

/// An accident ahead of a segment. It counts for the minutes after the one in which it began, up to the one
/// in which it ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Accident {
    place: Place,
    began: i64,
    ended: Option<i64>,
}

/// Announces tolls to cars that enter segments; the input is keyed by segment.
#[derive(Clone, Copy, Debug)]
pub struct Tolls;

type Context<'a> = ProcessContext<'a, Segment, Known, Announcement>;

impl KeyedProcess<Segment, SegmentEvent> for Tolls {
    type State = Known;
    type Out = Announcement;

    fn on_record(&self, _segment: &Segment, record: Record<SegmentEvent>, context: &mut Context<'_>) {
        let (at, minute) = (record.event_time, minute_of(record.event_time));
        let reached = minute_of(context.watermark());
        let known = context.state();
        match record.value {
            SegmentEvent::Traffic(traffic) => {
                known.forget_before(reached);
                known.traffic.push((minute + 1, traffic));
            }
            SegmentEvent::Accident { change: AccidentChange { place, begins: true }, .. } => {
                known.accidents.push(Accident { place, began: minute, ended: None });
            }
            SegmentEvent::Accident { change: AccidentChange { place, begins: false }, .. } => {
                let goes_on = |accident: &&mut Accident| accident.place == place && accident.ended.is_none();
                if let Some(accident) = known.accidents.iter_mut().find(goes_on) {
                    accident.ended = Some(minute);
                }
            }
            SegmentEvent::Entered(entry) if minute <= reached => {
                let announcement = known.announce(minute, entry);
                context.emit(announcement);
            }
            SegmentEvent::Entered(entry) => {
                known.waiting.push((at, entry));
                context.set_timer(EventTime::from_micros(minute.saturating_mul(MINUTE_US)));
            }
        }
    }

    /// Handles the beginning of a minute: answers the cars that wait for this minute or an earlier one. Each
    /// announcement has the stamp of its entry.
    fn on_timer(&self, _segment: &Segment, at: EventTime, context: &mut Context<'_>) {
        let minute = minute_of(at);
        let known = context.state();
        let (ready, waiting) = known.waiting.iter().partition(|(at, _)| minute_of(*at) <= minute);
        known.waiting = waiting;
        let ready: Vec<(EventTime, Entry)> = ready;
        for (at, entry) in ready {
            let announcement = context.state().announce(minute_of(at), entry);
            context.emit_at(at, announcement);
        }
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, known: &Known) -> usize {
        known.traffic.capacity() * size_of::<(i64, Traffic)>()
            + known.accidents.capacity() * size_of::<Accident>()
            + known.waiting.capacity() * size_of::<(EventTime, Entry)>()
    }
}

impl Known {
    /// Returns the announcement to a car that enters the segment in `minute`.
    fn announce(&self, minute: i64, entry: Entry) -> Announcement {
        let traffic = self.traffic.iter().find(|(holds_for, _)| *holds_for == minute);
        let (lav_mph, cars) = traffic.map_or((0, 0), |(_, traffic)| (traffic.lav_mph, traffic.cars));
        let exists = |accident: &&Accident| {
            accident.began < minute && accident.ended.is_none_or(|ended| minute <= ended)
        };
        let ahead = self.accidents.iter().filter(exists).map(|accident| accident.place.segment().number);
        let accident = ahead.min_by_key(|number| number.abs_diff(entry.segment.number));
        let over = cars.saturating_sub(FREE_CARS);
        let is_free = lav_mph >= FAST_MPH || accident.is_some();
        let toll = if is_free { 0 } else { 2 * over * over };
        Announcement { entry, lav_mph, toll, accident }
    }

    /// Forgets the traffic and accidents that no minute from this one on needs. If an entry still waits for
    /// an earlier minute, that minute's facts are kept.
    fn forget_before(&mut self, minute: i64) {
        let minute = self.waiting.iter().map(|(at, _)| minute_of(*at)).fold(minute, i64::min);
        self.traffic.retain(|(holds_for, _)| *holds_for >= minute);
        self.accidents.retain(|accident| accident.ended.is_none_or(|ended| ended >= minute));
    }
}

fn minute_of(at: EventTime) -> i64 {
    at.as_micros().div_euclid(MINUTE_US)
}
