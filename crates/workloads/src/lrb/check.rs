//! Conversions of our records and results to the types of the short form's reference,
//! [`crate::reference::lrb`], which uses none of our types. With them a run is compared with the reference.

use thalweg_model::{Record, Windowed};

use super::report::{LrbRecord, Segment};
use super::toll::SegmentReport;
use crate::reference::lrb::{LrbInput, LrbRow};

/// Converts a record of Linear Road to the type of the reference. A request keeps only its time and its
/// type.
pub fn input_of(record: &Record<LrbRecord>) -> LrbInput {
    let event_time_us = record.event_time.as_micros();
    let request = |kind| LrbInput {
        event_time_us,
        kind,
        vehicle: 0,
        speed: 0,
        xway: 0,
        lane: 0,
        direction: 0,
        segment: 0,
        position: 0,
    };
    match record.value {
        LrbRecord::Report(report) => LrbInput {
            event_time_us,
            kind: 0,
            vehicle: report.vehicle,
            speed: report.speed_mph,
            xway: report.xway,
            lane: report.lane,
            direction: report.direction.number(),
            segment: report.segment,
            position: report.position_feet,
        },
        LrbRecord::Balance { .. } => request(2),
        LrbRecord::Daily { .. } => request(3),
        LrbRecord::TravelTime { .. } => request(4),
    }
}

/// Converts a result to a row of `lrb.csv`.
pub fn row_of(result: &Windowed<Segment, SegmentReport>) -> LrbRow {
    let Windowed { window, key: Segment { xway, direction, number }, value, .. } = *result;
    LrbRow {
        window_start_s: window.start.as_micros().div_euclid(1_000_000),
        xway,
        direction: direction.number(),
        segment: number,
        cars: value.cars,
        average_speed: value.average_speed_mph,
        toll: value.toll,
        accidents: value.accidents,
    }
}
