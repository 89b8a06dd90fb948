//! NYT in the typed interface: source → map → filter → count and mean per window → sink.

use thalweg::{Query, Sink, SlidingWindows, Source, WatermarkStrategy, Windowed};

use super::DISTANCE_MILES_ABOVE;
use super::cell::Cell;
use super::mean::{MeanDistance, Travelled, TripSummary};
use super::trip::{Trip, Vendor};

/// The fields of a taxi trip that the query's map keeps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CellTrip {
    /// Cell in which the trip began; [`Cell::OUTSIDE`] if the place is not in the grid.
    pub cell: Cell,
    /// Vendor of the taximeter that recorded the trip.
    pub vendor: Vendor,
    /// Distance of the trip in miles.
    pub distance_miles: f64,
}

/// Adds NYT to `query`: trips and their mean distance per cell and window go to `sink`.
pub fn trips_per_cell<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Trip> + 'static,
    K: Sink<Windowed<Cell, TripSummary>> + 'static,
{
    let windows = windows.into();
    query
        .splits("source", splits, strategy)
        .map(|trip| CellTrip {
            cell: Cell::around(trip.pickup).unwrap_or(Cell::OUTSIDE),
            vendor: trip.vendor,
            distance_miles: trip.distance_miles,
        })
        .filter(|trip| {
            trip.vendor == Vendor::Vts
                && trip.distance_miles > DISTANCE_MILES_ABOVE
                && trip.cell != Cell::OUTSIDE
        })
        .key_by(|trip| trip.cell)
        .sliding(windows)
        .aggregate(MeanDistance)
        .sink("sink", sink);
}

impl Travelled for CellTrip {
    #[inline(always)]
    fn distance_miles(&self) -> f64 {
        self.distance_miles
    }
}
