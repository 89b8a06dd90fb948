//! Accidents: two cars that have stopped at one place, until one of them moves.
//!
//! The rules are stated in [`crate::reference::lrb_full`], under "Accidents".

use serde::{Deserialize, Serialize};
use thalweg::{KeyedProcess, ProcessContext, Record};

use super::journeys::StopChange;
use crate::lrb::report::{Direction, Place, SEGMENT_COUNT, Segment};

/// Number of segments before that of an accident, in the direction of travel, where the accident is still
/// ahead of the cars; its own segment is not counted.
const SEGMENTS_BEFORE: u8 = 4;

/// The beginning or the end of an accident between two cars.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccidentChange {
    /// Place on the road where the accident is.
    pub place: Place,
    /// Whether the accident begins; otherwise it ends.
    pub begins: bool,
}

/// The cars that stand at one place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// The cars that have stopped at the place; the one that has stood longest is first.
    cars: Vec<u32>,
    /// The two cars whose stops began the accident at the place; `None` if there is no accident.
    accident: Option<[u32; 2]>,
}

/// Detects accidents at each place. The input is keyed by place, with the stops and departures of cars there
/// in the order of their times.
#[derive(Clone, Copy, Debug)]
pub struct Accidents;

impl KeyedProcess<Place, StopChange> for Accidents {
    type State = Standing;
    type Out = AccidentChange;

    fn on_record(
        &self,
        &place: &Place,
        record: Record<StopChange>,
        context: &mut ProcessContext<'_, Place, Standing, AccidentChange>,
    ) {
        let StopChange { vehicle, is_stopped, .. } = record.value;
        let standing = context.state();
        let before = standing.accident;
        if is_stopped {
            standing.cars.push(vehicle);
            if let (None, [first, .., last]) = (before, &standing.cars[..]) {
                standing.accident = Some([*first, *last]);
            }
        } else {
            standing.cars.retain(|&car| car != vehicle);
            standing.accident = before.filter(|cars| !cars.contains(&vehicle));
        }
        let (is_empty, after) = (standing.cars.is_empty(), standing.accident);
        if before.is_some() != after.is_some() {
            context.emit(AccidentChange { place, begins: after.is_some() });
        }
        if is_empty {
            context.clear();
        }
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, standing: &Standing) -> usize {
        standing.cars.capacity() * size_of::<u32>()
    }
}

/// Returns the segments for whose cars an accident at `place` is ahead.
pub fn segments_before(place: Place) -> impl Iterator<Item = Segment> + Send {
    let Segment { xway, direction, number } = place.segment();
    let number_at = move |distance: u8| match direction {
        Direction::East => number.checked_sub(distance),
        Direction::West => number.checked_add(distance).filter(|&number| number < SEGMENT_COUNT),
    };
    (0..=SEGMENTS_BEFORE).filter_map(number_at).map(move |number| Segment { xway, direction, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(direction: Direction, number: u8, expected: &[u8]) {
        let place = Place { xway: 1, direction, lane: 2, position_feet: u32::from(number) * 5_280 + 7 };
        assert_eq!(segments_before(place).map(|segment| segment.number).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_accident_is_ahead_of_five_segments_unless_the_road_begins_there() {
        check(Direction::East, 74, &[74, 73, 72, 71, 70]);
        check(Direction::West, 74, &[74, 75, 76, 77, 78]);
        check(Direction::East, 2, &[2, 1, 0]);
        check(Direction::West, 98, &[98, 99]);
    }
}
