//! Forty minutes of one expressway, made such that the same forty minutes can follow.
//!
//! * **Slots.** Each of [`SLOTS`] slots sends one row in each of [`ROUNDS`] rounds of 30 s. 1 % of the slots send
//!   requests. The others are two journeys in turn, 28 to 52 rounds long; in a fifth of the slots both are the
//!   same car's, so that a tenth of all journeys is a re-entry.
//! * **Journeys.** `track` describes how a car moves along the road. The lanes 0 to 4 have about 10, 29, 29, 29 and
//!   2.5 % of the reports (recorded, over 50 minutes of some miles: 14, 30, 28, 28 and 0.1 %: few cars are seen
//!   to leave there).
//! * **The seam.** A journey may run over the end of the last round. Then its reports in the first rounds are
//!   those of a car of the previous period. In the rows such cars have numbers below [`VEHICLES`], and cars of the
//!   period itself have numbers [`VEHICLES`] higher. One period later, all are [`VEHICLES`] higher. No journey ends in
//!   round 0, as a first report in the exit lane is noise.
//! * **Jams.** In each direction four stretches of three to six miles are jammed: one always, the others for half of
//!   the time. Cars are slow there, and therefore many: tolls are due.
//! * **Accidents.** Three in a period, the first after ten minutes, and at least ten minutes apart: two cars stand at
//!   one place for six to nine rounds, and continue. Meanwhile the five miles behind them are jammed. With each
//!   accident a third car stops elsewhere, alone, which is no accident.
//! * **Requests.** Each concerns a car that is on the road in its round: 5 of 6 ask for the balance, one for the
//!   daily expenditure on one of 69 days.

mod track;

use thalweg_model::{Entropy, SeededEntropy};

use crate::lrb::report::{Direction, LrbRecord, PositionReport, SEGMENT_FEET};
use track::{Jam, Journey, Track};

/// Number of rounds of 30 s in a period of the generated traffic.
pub const ROUNDS: usize = 80;

/// Number of slots: a slot is one row in each round of the generated traffic.
pub const SLOTS: usize = 30_000;

/// Number of car numbers that one period (40 minutes) of the traffic uses.
pub(super) const VEHICLES: u32 = 2 * SLOTS as u32;

/// Number of request numbers that one period (40 minutes) of the traffic uses.
pub(super) const QUERIES: u32 = (REQUEST_SLOTS * ROUNDS) as u32;

/// Number of slots of a round that send requests instead of position reports.
const REQUEST_SLOTS: usize = SLOTS / 100;

/// Number of rounds of the shortest journey of a car that is in no accident.
const ROUNDS_MIN: usize = 28;

/// The first rounds in which accidents may begin. Each accident begins within four rounds from there: in the
/// minutes 10, 21 and 33, or the next ones.
const ACCIDENT_ROUNDS: [usize; 3] = [20, 43, 66];

/// Returns the rows of one period of traffic, ordered by round, then by slot.
pub(super) fn rows(entropy: &mut SeededEntropy) -> Vec<LrbRecord> {
    let mut slots: Vec<usize> = (0..SLOTS).collect();
    shuffle(&mut slots, entropy);
    let (request_slots, car_slots) = slots.split_at(REQUEST_SLOTS);
    let mut left = car_slots.iter().copied();
    let mut road = Road {
        rows: vec![LrbRecord::TravelTime { vehicle: 0, query: 0 }; ROUNDS * SLOTS],
        jams: jams(entropy),
    };
    // Accidents are made first, because they jam the road for all other cars.
    for first_round in ACCIDENT_ROUNDS {
        let incident = Incident {
            begin_round: first_round + entropy.below(4) as usize,
            rounds: 6 + entropy.below(4) as usize,
        };
        let track = incident.track(&road.jams, entropy);
        let beside = track.beside(incident.stands());
        let alone = incident.track(&road.jams, entropy);
        road.jams.push(incident.jam(&track));
        for track in [&track, &beside, &alone] {
            let slot = left.next().expect("there are thousands of slots");
            road.drive_on(slot, incident.first_round(), track, entropy);
        }
    }
    for slot in left {
        let rounds = ROUNDS_MIN + entropy.below((ROUNDS - 2 * ROUNDS_MIN + 1) as u64) as usize;
        let mut begin_round = entropy.below(ROUNDS as u64) as usize;
        if [begin_round, (begin_round + rounds) % ROUNDS].contains(&1) {
            // A journey that begins or ends in round 1 is moved by one round, because the journey before it
            // in the same slot would end in round 0. No two journeys of one slot lie this close.
            begin_round += 1;
        }
        let track = Track::of(Journey::random(begin_round, rounds, entropy), &road.jams, entropy);
        road.drive_on(slot, begin_round, &track, entropy);
    }
    let requests = request_slots.iter().flat_map(|&slot| (0..ROUNDS).map(move |round| (slot, round)));
    for (query, (slot, round)) in (0..).zip(requests) {
        let other = car_slots[entropy.below(car_slots.len() as u64) as usize];
        road.ask(round, &Asker { slot, other, query }, entropy);
    }
    road.rows
}

struct Road {
    rows: Vec<LrbRecord>,
    jams: Vec<Jam>,
}

/// A slot (one row in each round of 30 s) whose requests are about the car in the slot `other`.
struct Asker {
    slot: usize,
    other: usize,
    query: u32,
}

impl Road {
    /// Fills a slot of the period (one row in each round of 30 s) with this journey, and with another journey
    /// for the remaining rounds.
    fn drive_on(&mut self, slot: usize, begin_round: usize, track: &Track, entropy: &mut SeededEntropy) {
        let vehicle = 2 * slot as u32;
        let is_reentry = entropy.below(5) == 0;
        let next = Journey::random(begin_round + track.rounds(), ROUNDS - track.rounds(), entropy);
        let next_track = Track::of(next, &self.jams, entropy);
        self.drive(slot, vehicle, begin_round, track);
        self.drive(slot, vehicle + u32::from(!is_reentry), next.begin_round, &next_track);
    }

    /// Writes the reports of a journey. Reports after the last round of the period are written into its first
    /// rounds, as those of a car of the previous period.
    fn drive(&mut self, slot: usize, vehicle: u32, begin_round: usize, track: &Track) {
        for (round, spot) in (begin_round..).zip(&track.spots) {
            let vehicle = if round < ROUNDS { vehicle + VEHICLES } else { vehicle };
            self.rows[round % ROUNDS * SLOTS + slot] = LrbRecord::Report(PositionReport {
                vehicle,
                position_feet: spot.position_feet,
                xway: 0,
                speed_mph: spot.speed_mph,
                lane: spot.lane,
                direction: track.direction,
                segment: (spot.position_feet / SEGMENT_FEET) as u8,
            });
        }
    }

    fn ask(&mut self, round: usize, asker: &Asker, entropy: &mut SeededEntropy) {
        let &Asker { slot, other, query } = asker;
        let LrbRecord::Report(PositionReport { vehicle, .. }) = self.rows[round * SLOTS + other] else {
            panic!("slot {other} sends requests, and no report that could be asked about");
        };
        let (is_balance, day) = (entropy.below(6) != 0, 1 + entropy.below(69) as u8);
        self.rows[round * SLOTS + slot] = if is_balance {
            LrbRecord::Balance { vehicle, query }
        } else {
            LrbRecord::Daily { vehicle, query, xway: 0, day }
        };
    }
}

/// An interruption of a journey in which the car stands for some rounds of 30 s.
#[derive(Clone, Copy)]
struct Incident {
    begin_round: usize,
    rounds: usize,
}

impl Incident {
    /// Number of rounds of the journey before the car stops for the incident.
    const ROUNDS_BEFORE: usize = 8;

    /// Returns the round in which the journey of the stopping car begins.
    fn first_round(self) -> usize {
        self.begin_round - Self::ROUNDS_BEFORE
    }

    /// Returns the rounds, counted from 0 at the start of the journey, in which the car stands.
    fn stands(self) -> std::ops::Range<usize> {
        Self::ROUNDS_BEFORE..Self::ROUNDS_BEFORE + self.rounds
    }

    /// Creates the track of a car that stops for the incident, and then drives on for two rounds.
    fn track(self, jams: &[Jam], entropy: &mut SeededEntropy) -> Track {
        let journey = Journey::random(self.first_round(), self.stands().end + 2, entropy);
        let mut track = Track::of(journey, jams, entropy);
        track.stand(self.stands());
        track
    }

    /// Returns the traffic jam behind the car that stands, which lasts two rounds longer than the car stands.
    fn jam(self, track: &Track) -> Jam {
        let place = track.spots[Self::ROUNDS_BEFORE].position_feet / SEGMENT_FEET;
        let segments = match track.direction {
            Direction::East => place.saturating_sub(4)..=place,
            Direction::West => place..=place + 4,
        };
        Jam {
            direction: track.direction,
            segments,
            rounds: self.begin_round..self.begin_round + self.rounds + 2,
        }
    }
}

/// Returns the jams of the road that are not caused by accidents.
fn jams(entropy: &mut SeededEntropy) -> Vec<Jam> {
    let mut jams = Vec::new();
    for direction in [Direction::East, Direction::West] {
        for n in 0..4 {
            let first_segment = 8 + 20 * n + entropy.below(10) as u32;
            let miles = 3 + entropy.below(4) as u32;
            let first_round = entropy.below(ROUNDS as u64 / 2) as usize;
            let rounds = if n == 0 { 0..ROUNDS } else { first_round..first_round + ROUNDS / 2 };
            jams.push(Jam { direction, segments: first_segment..=first_segment + miles - 1, rounds });
        }
    }
    jams
}

/// Shuffles `items`. Source: Durstenfeld, "Algorithm 235: Random permutation", CACM 7(7), 1964.
fn shuffle(items: &mut [usize], entropy: &mut SeededEntropy) {
    for end in (1..items.len()).rev() {
        items.swap(end, entropy.below(end as u64 + 1) as usize);
    }
}
