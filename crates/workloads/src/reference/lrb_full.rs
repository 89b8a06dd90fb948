//! Reference results of Linear Road by its full rules: tolls, accident notices, balances, daily expenditures.
//!
//! A row of input is 15 integers, [`LrbColumns`]; a segment is a mile, `segment = position / 5280`. The rules
//! below are those of the public validator for Linear Road, whose answers to two inputs this program repeats to
//! the row. Where neither those answers nor the validator's description decide, the rule is marked *(ours)*.
//!
//! # Order
//!
//! Rows are processed by rising time, in whatever order they come. Rows of one second are processed as they
//! come, except that requests (types 2, 3) follow all reports (type 0) of their second.
//!
//! The *minute* of a report is `floor(time / 60)`. (The benchmark numbers minutes from 1; only differences
//! matter.) A *segment* here is `(xway, direction, segment)`; a *place* is `(xway, lane, direction, position)`.
//! The results of a report in minute `m` follow from its car's own earlier reports, and from the traffic and
//! the accidents known at the end of minute `m - 1`. So the order of different cars within a minute changes
//! nothing, except which two cars are the first at a place of three or more (see *Accidents*).
//!
//! # Journeys, and reports that are ignored
//!
//! An ignored report is treated as absent from the input: it yields nothing, counts for no average and no
//! number of cars, and is no report of its car in any rule below ("report" there means one that is not
//! ignored).
//!
//! 1. A report in lane 4 of a car that has no report yet is ignored (noise). The car's next report is again
//!    its first.
//! 2. After a report in lane 4 a car is off the road: its reports are ignored until one in lane 0. (The report
//!    in lane 4 itself is not ignored.)
//! 3. A *journey* begins with a car's first report (in any lane from 0 to 3: recorded cars appear in the midst
//!    of traffic); with a report in lane 0 when it is off the road; and with a report in lane 0 more than 60 s
//!    after its last report. A gap in any other lane begins no journey *(ours: the description names lane 0)*.
//! 4. A new journey keeps the car's balance and nothing else *(ours, all but the balance)*: a toll announced and
//!    not charged is forgotten, the first report always enters a segment, even the one it was last seen in, and
//!    never continues a stop; a car that was stopped has moved, in the minute of this report.
//!
//! # Entering a segment
//!
//! A report *enters* its segment if it is the first of a journey, or if the last report was in another segment,
//! adjacent or not. Direction and expressway count *(ours: no recorded car changes them within a journey)*. The
//! lane does not. When a report enters a segment:
//!
//! 1. A toll that was announced on this journey and not charged yet is charged, in whatever lane the report is,
//!    lane 4 included. A journey that ends, in lane 4 or without, in the segment last announced is never charged
//!    for it.
//! 2. If the lane is not 4, there is a toll row `0, vehicle, time, lav, toll`, whatever the toll; that toll is
//!    announced, in place of the one before. In lane 4 there is no row, and nothing is announced.
//! 3. If the lane is not 4 and there is an accident ahead, there is also a row `1, time, xway, segment of the
//!    accident, direction, vehicle`. *Ahead* are the segment entered and the next four, upwards in direction
//!    0, downwards in direction 1; if there are accidents in several of them, the nearest is named, once.
//!
//! # LAV and toll
//!
//! For a report in minute `m` that enters segment `s`:
//!
//! * `lav = floor(mean + 0.5)`, the mean being that of the speeds of all reports in `s` in the minutes `m - 5` to
//!   `m - 1`: one flat mean over reports, not one of minutes or cars. Reports in lanes 0 and 4 count like others.
//!   Without such a report, `lav` is 0. Exact halves round up (`(2 * sum + count) / (2 * count)` in integers).
//! * `n` is the number of different cars with a report in `s` in minute `m - 1`, again in any lane.
//! * `toll = 2 * (n - 50)^2` if `n > 50`, `lav < 40` (the rounded one) and no accident is ahead; else 0.
//!
//! # Accidents
//!
//! A car is *stopped* at a place from the fourth consecutive report, on one journey, which it makes at that
//! same place. The time between the reports, and the speeds in them, do not matter. It *moves* with its first
//! report elsewhere, on whichever journey. A car in lane 4 cannot stop: reports after the first one there are
//! ignored. A car in lane 0 can *(ours: recorded cars never do)*.
//!
//! An accident *begins* with the report that makes a second car stopped at one place, in the segment of that
//! report. It *ends* with the report by which one of its first two cars moves. Begun in minute `b` and ended in
//! minute `e`, it exists for the reports of the minutes `b + 1` to `e`, both included; those of minute `e` that
//! come before the end and those behind it are treated alike. If `b = e` it never existed.
//!
//! Cars that stop there later neither prolong the accident nor begin another. Once it has ended, the next accident at
//! the place begins when a car becomes stopped there while others are; its first two cars are that one and
//! the one that has been stopped there longest *(ours, for three or more cars at a place)*. Accidents of different
//! places, also in one segment, are independent.
//!
//! # Requests
//!
//! * Type 2, balance: row `2, time, time, query, balance`, where the balance is the sum of all tolls charged to
//!   the car by reports of this second or before; 0 for a car without any report. One other balance is allowed: that
//!   *before the last charge* of a toll above zero, however long ago that charge is (0 if there was none or one).
//!   The validator writes it as `5, time, result_time, query, balance` with `result_time = time - 30` if that
//!   balance is above 0, else 0.
//! * Type 3, daily expenditure: row `3, time, query, toll` with the historical toll of `(vehicle, day, xway)`. A
//!   request for which there is none has no row *(ours)*. Today's charges play no part.
//! * Type 4, travel time: no row, as in all other implementations.
//!
//! Requests are answered whether or not the car is on the road, and one at a time: a question asked twice is
//! answered twice.
//!
//! Source: Arasu et al., "Linear Road: A Stream Data Management Benchmark", VLDB 2004, sections 3 and 4.

use std::collections::{BTreeMap, BTreeSet};

use super::Row;

/// One row of input: type (0 report, 2 balance, 3 daily expenditure, 4 travel time), time in seconds, vehicle,
/// speed in miles per hour, xway, lane, direction, segment, position in feet, query, first and last segment,
/// day of week and time of day of a type 4 request, day. Columns that a type does not use are -1.
pub type LrbColumns = [i32; 15];

/// The announcement to a car that enters a segment; the fields are the columns of `type0_toll.csv`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LrbToll {
    /// Number that identifies the car that enters the segment.
    pub vehicle: i32,
    /// Time in seconds of the position report that is answered.
    pub time_s: i32,
    /// Average speed of the five minutes before in miles per hour, rounded; 0 if no car was in the segment.
    pub lav: i64,
    /// The toll charged when the car leaves the segment for the next one.
    pub toll: i64,
}

/// A notice to a car that enters a segment near an accident; the fields are the columns of
/// `type1_accident.csv`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LrbNotice {
    /// Time in seconds of the position report that is answered.
    pub time_s: i32,
    /// Number that identifies the expressway with the accident.
    pub xway: i32,
    /// Number of the segment in which the accident is.
    pub accident_segment: i32,
    /// Direction of the road: 0 east, 1 west.
    pub direction: i32,
    /// Number that identifies the car that is notified.
    pub vehicle: i32,
}

/// An answer to a balance request; the fields are the columns of `type2_balance.csv`, without the second time
/// column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LrbBalance {
    /// Time in seconds of the request that is answered.
    pub time_s: i32,
    /// Number that identifies the request that is answered.
    pub query: i32,
    /// Sum of all charges of the car so far.
    pub balance: i64,
    /// The other answer that is allowed: all charges except the last. `None` in the rows of a run, which gives
    /// one answer.
    pub before_last_charge: Option<i64>,
}

/// The toll charged to a car on a day in the past; the fields are the columns of `type3_daily.csv`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LrbDaily {
    /// Time in seconds of the request that is answered.
    pub time_s: i32,
    /// Number that identifies the request that is answered.
    pub query: i32,
    /// The historical toll of the car for that day and expressway.
    pub toll: i64,
}

impl Row for LrbToll {
    type Key = (i32, i32);

    fn key(&self) -> (i32, i32) {
        (self.time_s, self.vehicle)
    }
}

impl Row for LrbNotice {
    type Key = (i32, i32);

    fn key(&self) -> (i32, i32) {
        (self.time_s, self.vehicle)
    }
}

impl Row for LrbBalance {
    type Key = (i32, i32);

    fn key(&self) -> (i32, i32) {
        (self.time_s, self.query)
    }

    fn agrees(&self, found: &Self) -> bool {
        let is_allowed = found.balance == self.balance || Some(found.balance) == self.before_last_charge;
        self.key() == found.key() && is_allowed
    }
}

impl Row for LrbDaily {
    type Key = (i32, i32);

    fn key(&self) -> (i32, i32) {
        (self.time_s, self.query)
    }
}

/// Results of Linear Road's full rules for an input. Every row that was read is counted once:
/// `read = reports + ignored + balances + dailies + unanswered`, where `balances` and `dailies` are numbers of
/// result rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LrbFullAnswer {
    /// Toll announcements by time, then in the order of the reports.
    pub tolls: Vec<LrbToll>,
    /// Accident notices by time, then in the order of the reports.
    pub notices: Vec<LrbNotice>,
    /// Answers to balance requests by time, then in the order of the requests.
    pub balances: Vec<LrbBalance>,
    /// Answers to requests for daily expenditures by time, then in the order of the requests.
    pub dailies: Vec<LrbDaily>,
    /// Number of input rows that were read.
    pub read: u64,
    /// Number of position reports that are not ignored.
    pub reports: u64,
    /// Number of position reports that are ignored.
    pub ignored: u64,
    /// Number of type 3 requests without a historical toll, and of rows of types other than 0, 2 and 3.
    pub unanswered: u64,
    /// Number of accidents that have begun.
    pub accidents: u64,
}

/// Returns the results of the full rules for `rows`, which may be in any order; a historical toll is
/// `[vehicle, day, xway, toll]`.
pub fn lrb_full(rows: impl IntoIterator<Item = LrbColumns>, historical_tolls: &[[i32; 4]]) -> LrbFullAnswer {
    let mut rows: Vec<LrbColumns> = rows.into_iter().collect();
    // The sort is stable: by time, reports before requests, and otherwise in the given order.
    rows.sort_by_key(|&[kind, time_s, ..]| (time_s, kind != 0));
    let historical: BTreeMap<(i32, i32, i32), i32> =
        historical_tolls.iter().map(|&[vehicle, day, xway, toll]| ((vehicle, day, xway), toll)).collect();
    let mut road = Road::default();
    for row in &rows {
        road.answer.read += 1;
        let [kind, time_s, vehicle, _, xway, _, _, _, _, query, .., day] = *row;
        match kind {
            0 => road.report(row),
            2 => {
                let car = road.cars.get(&vehicle);
                let (balance, before) = car.map_or((0, 0), |car| (car.balance, car.before_last_charge));
                let before_last_charge = Some(before);
                road.answer.balances.push(LrbBalance { time_s, query, balance, before_last_charge });
            }
            3 if let Some(&toll) = historical.get(&(vehicle, day, xway)) => {
                road.answer.dailies.push(LrbDaily { time_s, query, toll: i64::from(toll) });
            }
            _ => road.answer.unanswered += 1,
        }
    }
    road.answer
}

/// A segment of the road: expressway, direction, number.
type Segment = (i32, i32, i32);

/// A place on the road: expressway, lane, direction, position.
type Place = (i32, i32, i32, i32);

#[derive(Default)]
struct Road {
    cars: BTreeMap<i32, Car>,
    /// The reports from each segment in each minute, and the different cars that sent them.
    traffic: BTreeMap<(Segment, i32), Traffic>,
    /// The cars that are stopped at a place, in the order in which they stopped.
    stopped: BTreeMap<Place, Vec<i32>>,
    accidents: BTreeMap<Segment, Vec<Accident>>,
    answer: LrbFullAnswer,
}

struct Car {
    time_s: i32,
    lane: i32,
    segment: Segment,
    place: Place,
    /// Number of consecutive reports of the car from `place`.
    reports_here: u32,
    /// The toll announced last to the car; 0 if none is announced.
    announced: i64,
    balance: i64,
    before_last_charge: i64,
}

#[derive(Default)]
struct Traffic {
    speed_sum: i64,
    reports: i64,
    cars: BTreeSet<i32>,
}

struct Accident {
    place: Place,
    cars: [i32; 2],
    begun_minute: i32,
    ended_minute: Option<i32>,
}

impl Road {
    fn report(&mut self, row: &LrbColumns) {
        let [_, time_s, vehicle, speed, xway, lane, direction, segment, position, ..] = *row;
        let (here, place) = ((xway, direction, segment), (xway, lane, direction, position));
        let minute = time_s.div_euclid(60);
        let before = self.cars.remove(&vehicle);
        let is_ignored = before.as_ref().map_or(lane == 4, |car| car.lane == 4 && lane != 0);
        if is_ignored {
            self.answer.ignored += 1;
            self.cars.extend(before.map(|car| (vehicle, car)));
            return;
        }
        self.answer.reports += 1;
        let is_same_journey =
            before.as_ref().is_some_and(|car| car.lane != 4 && (lane != 0 || time_s - car.time_s <= 60));
        let last = before.as_ref().filter(|_| is_same_journey);

        let is_entering = last.is_none_or(|car| car.segment != here);
        let reports_before = last.filter(|car| car.place == place).map_or(0, |car| car.reports_here);
        let mut announced = last.map_or(0, |car| car.announced);
        let (mut balance, mut before_last_charge) =
            before.as_ref().map_or((0, 0), |car| (car.balance, car.before_last_charge));

        if let Some(car) = before.filter(|car| car.reports_here >= 4 && reports_before == 0) {
            self.move_on(vehicle, &car, minute);
        }
        if reports_before == 3 {
            self.stop(vehicle, here, place, minute);
        }
        if is_entering {
            if announced > 0 {
                before_last_charge = balance;
                balance += announced;
            }
            announced = if lane == 4 { 0 } else { self.enter(vehicle, time_s, here) };
        }
        let traffic = self.traffic.entry((here, minute)).or_default();
        traffic.speed_sum += i64::from(speed);
        traffic.reports += 1;
        traffic.cars.insert(vehicle);
        let reports_here = reports_before + 1;
        let segment = here;
        let car = Car { time_s, lane, segment, place, reports_here, announced, balance, before_last_charge };
        self.cars.insert(vehicle, car);
    }

    /// Records that a car which was stopped moves again, and ends the accident that it was part of.
    fn move_on(&mut self, vehicle: i32, car: &Car, minute: i32) {
        self.stopped.entry(car.place).or_default().retain(|&other| other != vehicle);
        for accident in self.accidents.get_mut(&car.segment).into_iter().flatten() {
            if accident.is_going_on_at(car.place) && accident.cars.contains(&vehicle) {
                accident.ended_minute = Some(minute);
            }
        }
    }

    /// Records that a car is stopped at a place. An accident begins if another car is stopped there and the
    /// place has no accident yet.
    fn stop(&mut self, vehicle: i32, segment: Segment, place: Place, minute: i32) {
        let stopped = self.stopped.entry(place).or_default();
        let accidents = self.accidents.entry(segment).or_default();
        let is_known = accidents.iter().any(|accident| accident.is_going_on_at(place));
        if let (Some(&first), false) = (stopped.first(), is_known) {
            let cars = [first, vehicle];
            accidents.push(Accident { place, cars, begun_minute: minute, ended_minute: None });
            self.answer.accidents += 1;
        }
        stopped.push(vehicle);
    }

    /// Computes the toll for a car that enters a segment, records the announcement and returns the toll.
    fn enter(&mut self, vehicle: i32, time_s: i32, segment: Segment) -> i64 {
        let (xway, direction, number) = segment;
        let minute = time_s.div_euclid(60);
        let in_minute = |minute| self.traffic.get(&(segment, minute));
        let (speed_sum, reports) = (minute - 5..minute)
            .filter_map(in_minute)
            .fold((0, 0), |(sum, count), traffic| (sum + traffic.speed_sum, count + traffic.reports));
        let lav = if reports == 0 { 0 } else { (2 * speed_sum + reports).div_euclid(2 * reports) };
        let cars = in_minute(minute - 1).map_or(0, |traffic| traffic.cars.len() as i64);

        let step = if direction == 0 { 1 } else { -1 };
        let has_accident = |segment: &i32| {
            let accidents = self.accidents.get(&(xway, direction, *segment));
            accidents.into_iter().flatten().any(|accident| accident.exists_in(minute))
        };
        let accident = (0..5).map(|ahead| number + ahead * step).find(has_accident);
        if let Some(accident_segment) = accident {
            self.answer.notices.push(LrbNotice { time_s, xway, accident_segment, direction, vehicle });
        }
        let is_free = accident.is_some() || cars <= 50 || lav >= 40;
        let toll = if is_free { 0 } else { 2 * (cars - 50) * (cars - 50) };
        self.answer.tolls.push(LrbToll { vehicle, time_s, lav, toll });
        toll
    }
}

impl Accident {
    fn is_going_on_at(&self, place: Place) -> bool {
        self.place == place && self.ended_minute.is_none()
    }

    fn exists_in(&self, minute: i32) -> bool {
        self.begun_minute < minute && self.ended_minute.is_none_or(|ended| minute <= ended)
    }
}

#[cfg(test)]
mod tests;
