//! The events of each car: where it enters a segment, where it stops and moves, and which of its reports count.
//!
//! The rules are stated in [`crate::reference::lrb_full`], under "Journeys" and "Entering a segment".
//!
//! Every car ever seen is remembered, at 64 to 128 bytes each, depending on the load of the table. No rule says
//! when a car will not come back.

use serde::{Deserialize, Serialize};
use thalweg::{EventTime, KeyedProcess, ProcessContext, Record, Span};

use crate::lrb::report::{ENTRY_LANE, EXIT_LANE, Place, PositionReport, Segment};

/// Number of consecutive reports from one place after which a car counts as stopped.
const STOPPED_REPORTS: u8 = 4;

/// Longest time between two reports of one journey. A car that comes by the entry lane after a longer silence
/// begins a new journey.
const SILENCE_MAX: Span = Span::from_secs(60);

/// An event in the journey of a car, derived from its reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CarEvent {
    /// A report of the car that counts, with its segment and its speed.
    Seen(Sighting),
    /// The car entered a segment.
    Entered(Entry),
    /// The car stopped at a place, or moved away from a place where it had stopped.
    Stop(StopChange),
}

/// A report of a car, which counts for the average speed and the number of cars of its segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sighting {
    /// Number that identifies the car that reports.
    pub vehicle: u32,
    /// Segment from which the car reports.
    pub segment: Segment,
    /// Speed of the car, in miles per hour.
    pub speed_mph: u8,
}

/// The entry of a car into a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Number that identifies the car that enters the segment.
    pub vehicle: u32,
    /// Segment that the car enters.
    pub segment: Segment,
    /// Whether a journey of the car begins here.
    pub begins: bool,
    /// Whether the car leaves the road, by the exit lane.
    pub leaves: bool,
    /// Number of earlier entries of this car at the same instant, by which the order of entries is restored.
    pub nth_at_once: u16,
}

/// The stop of a car at a place, or its departure from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StopChange {
    /// Number that identifies the car that stops or moves on.
    pub vehicle: u32,
    /// Place where the car stands or stood.
    pub place: Place,
    /// Whether the car stops; otherwise it moves on.
    pub is_stopped: bool,
}

/// The state that the operator of journeys keeps for each car.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Car {
    /// Time and place of the car's last report that was not ignored.
    last: Option<(EventTime, Place)>,
    /// Number of consecutive reports from the place of the last report, the last one included. Numbers above
    /// [`STOPPED_REPORTS`] are not distinguished.
    reports_there: u8,
    is_off_road: bool,
    /// Number of entries of the car into segments at the event time of its last report.
    entries_then: u16,
}

/// Derives the events of each car. The input is keyed by car, with reports in the order of their times.
#[derive(Clone, Copy, Debug)]
pub struct Journeys;

impl KeyedProcess<u32, PositionReport> for Journeys {
    type State = Car;
    type Out = CarEvent;

    fn on_record(
        &self,
        &vehicle: &u32,
        record: Record<PositionReport>,
        context: &mut ProcessContext<'_, u32, Car, CarEvent>,
    ) {
        let (now, report) = (record.event_time, record.value);
        let (place, leaves) = (report.place(), report.lane == EXIT_LANE);
        let car = context.state();
        let comes_on = report.lane == ENTRY_LANE;
        let (begins, before) = match car.last {
            None if leaves => return,
            None => (true, None),
            Some(_) if car.is_off_road && !comes_on => return,
            Some((last, before)) => {
                (car.is_off_road || comes_on && now.since(last) > SILENCE_MAX, Some(before))
            }
        };
        let stays = !begins && before == Some(place);
        let had_stopped = car.reports_there >= STOPPED_REPORTS;
        car.reports_there =
            if stays { car.reports_there.saturating_add(1).min(STOPPED_REPORTS + 1) } else { 1 };
        let stops = car.reports_there == STOPPED_REPORTS;
        let nth_at_once = if car.last.is_some_and(|(last, _)| last == now) { car.entries_then } else { 0 };
        (car.last, car.is_off_road) = (Some((now, place)), leaves);

        let segment = report.segment();
        let enters = begins || before.is_none_or(|before| before.segment() != segment);
        car.entries_then = nth_at_once.saturating_add(enters.into());
        if let Some(place) = before.filter(|_| had_stopped && !stays) {
            context.emit(CarEvent::Stop(StopChange { vehicle, place, is_stopped: false }));
        }
        context.emit(CarEvent::Seen(Sighting { vehicle, segment, speed_mph: report.speed_mph }));
        if enters {
            context.emit(CarEvent::Entered(Entry { vehicle, segment, begins, leaves, nth_at_once }));
        }
        if stops {
            context.emit(CarEvent::Stop(StopChange { vehicle, place, is_stopped: true }));
        }
    }
}
