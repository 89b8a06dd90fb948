//! The way of one car along the road, from the entry lane to the exit lane, round by round.
//!
//! A car enters the road wherever there is room for its whole journey. It stands on the entry lane at first,
//! and accelerates there for three more rounds. Then it takes the travel lanes, and changes among them about
//! every third round, at 55 to 80 miles per hour on a free road. In a jam it goes at 20 to 38, or stands and
//! creeps (3 %). Its last report comes from the exit lane. The speed that it reports is that of the previous
//! round.

use std::ops::{Range, RangeInclusive};

use thalweg_model::{Entropy, SeededEntropy};

use super::ROUNDS;
use crate::lrb::report::{Direction, ENTRY_LANE, EXIT_LANE, REPORT_PERIOD_S, SEGMENT_FEET};

/// Length of the road that generated cars use, in feet. The remaining road is room for shifting the traffic.
const TRACK_FEET: u32 = 90 * SEGMENT_FEET;

/// Feet that a car moves in a round of 30 s, for each mile per hour of its speed.
const FEET_PER_ROUND_MPH: u32 = SEGMENT_FEET * REPORT_PERIOD_S / 3_600;

/// Feet that a car may move in a round of 30 s beyond its speed, so that a creeping car does not stand.
const CREEP_FEET: u32 = 40;

/// Feet between the tracks of the cars of an accident while they do not stand; also the distance between any
/// track and the ends of the road.
const BESIDE_FEET: u32 = 100;

/// Number of rounds of 30 s that a car spends on the entry lane.
const ENTRY_ROUNDS: usize = 4;

/// A stretch of road where cars are slow, during some rounds of 30 s.
#[derive(Clone)]
pub(super) struct Jam {
    pub(super) direction: Direction,
    pub(super) segments: RangeInclusive<u32>,
    pub(super) rounds: Range<usize>,
}

/// A planned journey of a car.
#[derive(Clone, Copy)]
pub(super) struct Journey {
    /// Round in which the journey begins. If it lies after the last round of the period, the journey is one
    /// of the next period.
    pub(super) begin_round: usize,
    rounds: usize,
    direction: Direction,
    /// Speed of the car on a free road, to within 5 miles per hour.
    speed_mph: u32,
}

/// The reports that a car sends on its journey.
pub(super) struct Track {
    pub(super) direction: Direction,
    /// The positions of the car, one for each round of the journey.
    pub(super) spots: Vec<Spot>,
}

/// The position of a car in one round of reports.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// Distance of the car from the western end of the road, in feet.
    pub(super) position_feet: u32,
    pub(super) speed_mph: u8,
    pub(super) lane: u8,
}

impl Journey {
    /// Draws a journey with a random direction and a random usual speed.
    pub(super) fn random(begin_round: usize, rounds: usize, entropy: &mut SeededEntropy) -> Self {
        let direction = if entropy.below(2) == 0 { Direction::East } else { Direction::West };
        Journey { begin_round, rounds, direction, speed_mph: 60 + entropy.below(16) as u32 }
    }
}

impl Track {
    /// Drives a journey from the entry lane to the exit lane, and returns its reports.
    pub(super) fn of(journey: Journey, jams: &[Jam], entropy: &mut SeededEntropy) -> Self {
        let Journey { begin_round, rounds, direction, speed_mph } = journey;
        let feet_max = rounds as u32 * (FEET_PER_ROUND_MPH * (speed_mph + 5) + CREEP_FEET);
        let room_feet = TRACK_FEET - 2 * BESIDE_FEET - feet_max;
        // Distance of the car in feet from the end of the road at which cars of its direction come in.
        let mut way_feet = BESIDE_FEET + entropy.below(u64::from(room_feet)) as u32;
        let position = |way_feet| match direction {
            Direction::East => way_feet,
            Direction::West => TRACK_FEET - 1 - way_feet,
        };
        let mut lane = ENTRY_LANE;
        let mut spots = Vec::with_capacity(rounds);
        for n in 0..rounds {
            let segment = position(way_feet) / SEGMENT_FEET;
            let round = (begin_round + n) % ROUNDS;
            let is_jammed = jams.iter().any(|jam| {
                jam.direction == direction && jam.segments.contains(&segment) && jam.rounds.contains(&round)
            });
            let draw = entropy.below(1 << 20) as u32;
            let is_exit = n + 1 == rounds;
            let speed = match (is_jammed, is_exit) {
                _ if n == 0 => 10,
                (true, _) if draw.is_multiple_of(32) => 0,
                (true, _) => 20 + draw % 19,
                (false, false) if n >= ENTRY_ROUNDS => speed_mph - 5 + draw % 11,
                (false, _) => 40 + draw % 5,
            };
            if n > 0 {
                way_feet += speed * FEET_PER_ROUND_MPH + 1 + entropy.below(u64::from(CREEP_FEET)) as u32;
            }
            lane = match lane {
                _ if is_exit => EXIT_LANE,
                _ if n < ENTRY_ROUNDS => ENTRY_LANE,
                ENTRY_LANE => 1 + entropy.below(3) as u8,
                lane if entropy.below(3) > 0 => lane,
                _ => 1 + entropy.below(3) as u8,
            };
            spots.push(Spot { position_feet: position(way_feet), speed_mph: speed as u8, lane });
        }
        Track { direction, spots }
    }

    /// Returns the number of rounds that the journey lasts.
    pub(super) fn rounds(&self) -> usize {
        self.spots.len()
    }

    /// Stops the car during the given rounds, counted from the start of its journey, at its position in the
    /// first of them. Afterwards the car drives on from there.
    pub(super) fn stand(&mut self, rounds: Range<usize>) {
        let place = Spot { speed_mph: 0, ..self.spots[rounds.start] };
        let resumed = self.spots[rounds.end - 1].position_feet;
        for spot in &mut self.spots[rounds.end..] {
            // The subtraction comes last. The positions of a car that drives west fall, so the difference
            // alone could be below zero.
            spot.position_feet = spot.position_feet + place.position_feet - resumed;
        }
        self.spots[rounds].fill(place);
    }

    /// Returns the track of a second car that drives beside this one, and stands at the same place during
    /// the rounds `stands`.
    pub(super) fn beside(&self, stands: Range<usize>) -> Track {
        let beside = |(n, &spot): (usize, &Spot)| {
            let apart = if stands.contains(&n) { 0 } else { BESIDE_FEET };
            Spot { position_feet: spot.position_feet + apart, ..spot }
        };
        Track { direction: self.direction, spots: self.spots.iter().enumerate().map(beside).collect() }
    }
}
