//! Tolls: what a car that enters a segment is told, from the traffic and the accidents of the minutes before.
//!
//! What is announced in a minute follows from what was known at its beginning. So a car is told at once if the watermark
//! has reached that, and as soon as it does if not; what has become known of the minute itself is kept for the next.
//!
//! The rules stand in [`crate::reference::lrb_full`], under "LAV and toll" and "Accidents".

use serde::{Deserialize, Serialize};
use thalweg::{EventTime, KeyedProcess, ProcessContext, Record};

use super::accidents::AccidentChange;
use super::journeys::Entry;
use crate::lrb::report::{Place, Segment};

const MINUTE_US: i64 = 60_000_000;

/// A toll is due where more cars than this have been seen in a minute.
const FREE_CARS: u64 = 50;
/// And where they have been slower than this.
const FAST_MPH: u64 = 40;

/// What is known, or happens, in a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SegmentEvent {
    /// A car enters it.
    Entered(Entry),
    /// How it went there until a minute began; stamped with the last instant before that.
    Traffic(Traffic),
    /// An accident ahead of it begins or ends.
    Accident {
        /// The segment that it is ahead of.
        segment: Segment,
        /// What happens.
        change: AccidentChange,
    },
}

impl SegmentEvent {
    /// Where.
    pub fn segment(&self) -> Segment {
        match self {
            SegmentEvent::Entered(entry) => entry.segment,
            SegmentEvent::Traffic(traffic) => traffic.segment,
            SegmentEvent::Accident { segment, .. } => *segment,
        }
    }
}

/// The traffic in a segment before a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// Where.
    pub segment: Segment,
    /// The average speed of five minutes, rounded.
    pub lav_mph: u64,
    /// Cars in the last minute.
    pub cars: u64,
}

/// What comes of a car's entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Announcement {
    /// Who enters what.
    pub entry: Entry,
    /// The rounded average speed of five minutes, in miles per hour; 0 if nobody was there.
    pub lav_mph: u64,
    /// What leaving the segment into the next one will cost.
    pub toll: u64,
    /// In which segment the nearest accident ahead is.
    pub accident: Option<u8>,
}

/// What is known of a segment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Known {
    /// With the minute for which it holds: one, or two for a while.
    traffic: Vec<(i64, Traffic)>,
    accidents: Vec<Accident>,
    /// Cars that entered in minutes whose beginning the watermark has not reached.
    waiting: Vec<(EventTime, Entry)>,
}

/// An accident, for the minutes after it began up to the one in which it ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Accident {
    place: Place,
    began: i64,
    ended: Option<i64>,
}

/// Tells cars what they will pay; keyed by segment.
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

    /// A minute begins.
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
    /// What a car that enters in `minute` is told.
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

    /// Forgets what matters to no minute from this one on, unless somebody waits.
    fn forget_before(&mut self, minute: i64) {
        let minute = self.waiting.iter().map(|(at, _)| minute_of(*at)).fold(minute, i64::min);
        self.traffic.retain(|(holds_for, _)| *holds_for >= minute);
        self.accidents.retain(|accident| accident.ended.is_none_or(|ended| ended >= minute));
    }
}

fn minute_of(at: EventTime) -> i64 {
    at.as_micros().div_euclid(MINUTE_US)
}
