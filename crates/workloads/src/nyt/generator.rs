//! Taxi trips from a seed, distributed like 14,987 recorded ones of January 2013 by distances, vendors,
//! missing places, and the crowding of trips in few cells. They are made once into a cache, and then copied
//! from there.
//!
//! A trip's event time is its end, and the query does not read its beginning: trips here have no duration (611
//! s on average in the recording).

use std::fmt;

use thalweg_model::{Entropy, EventTime, Generate, SeededEntropy};

use super::cell::{Cell, Offset};
use super::trip::{Place, Trip, Vendor};

/// Number of taxi trips in the cache, 4 MiB; the sequence repeats after them.
pub const CACHE_TRIPS: usize = 1 << 17;

/// Number of cells of the grid in which generated trips begin.
pub const CELL_COUNT: usize = 1_350;

/// Share of trips whose taximeter is of the vendor VTS; the others are of CMT.
const VTS_SHARE: f64 = 0.989;

/// Share of trips whose recorded start is `(0, 0)`, which is no place in the town.
const NOWHERE_SHARE: f64 = 0.021;

/// Quantiles of the distance of trips: shares, and the miles that such a share of trips does not exceed.
const DISTANCE_QUANTILES: [(f64, f64); 9] = [
    (0.0, 0.0),
    (0.01, 0.05),
    (0.10, 0.71),
    (0.25, 1.16),
    (0.50, 2.1),
    (0.75, 4.13),
    (0.90, 7.9),
    (0.99, 18.6),
    (1.0, 40.0),
];

/// The endless sequence of trips: trip `index` is trip `index % CACHE_TRIPS` of the cache.
///
/// * Distances follow the recording's quantiles, interpolated linearly, in hundredths of a mile.
/// * 98.9 % are VTS trips.
/// * 2.1 % have no place; the others begin anywhere in one of [`CELL_COUNT`] cells around Manhattan. A few
///   cells have most of the trips: the busiest 50 / 100 / 400 cells have about 23 / 40 / 86 %
///   (recorded: 25 / 40 / 86 %).
pub struct NytGenerator {
    cache: Box<[Trip; CACHE_TRIPS]>,
}

impl NytGenerator {
    /// Makes the cache of trips from a seed; equal seeds give equal trips.
    pub fn new(seed: u64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let cells = cells(&mut entropy);
        let trips: Vec<Trip> = (0..CACHE_TRIPS).map(|_| trip(&cells, &mut entropy)).collect();
        let cache = trips.into_boxed_slice().try_into().expect("as many trips as the cache holds were made");
        NytGenerator { cache }
    }

    /// Returns one period of the repeating sequence of trips.
    pub fn cache(&self) -> &[Trip; CACHE_TRIPS] {
        &self.cache
    }
}

impl fmt::Debug for NytGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NytGenerator").finish_non_exhaustive()
    }
}

impl Generate for NytGenerator {
    type Item = Trip;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> Trip {
        self.cache[index as usize & (CACHE_TRIPS - 1)]
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.cache)
    }
}

fn trip(cells: &[Cell], entropy: &mut SeededEntropy) -> Trip {
    let distance_miles = (distance_at(entropy.unit()) * 100.0).round() / 100.0;
    let vendor = if entropy.unit() < VTS_SHARE { Vendor::Vts } else { Vendor::Cmt };
    let cell = cells[rank(entropy)];
    let offset = Offset { east: entropy.unit() - 0.5, south: entropy.unit() - 0.5 };
    let pickup = if entropy.unit() < NOWHERE_SHARE {
        Place { longitude: 0.0, latitude: 0.0 }
    } else {
        cell.place(offset)
    };
    Trip { distance_miles, pickup, vendor }
}

/// Returns the distance in miles that this share of the trips does not exceed.
fn distance_at(share: f64) -> f64 {
    let behind = DISTANCE_QUANTILES.partition_point(|&(quantile, _)| quantile <= share);
    let ((low_share, low), (high_share, high)) = (DISTANCE_QUANTILES[behind - 1], DISTANCE_QUANTILES[behind]);
    low + (high - low) * (share - low_share) / (high_share - low_share)
}

/// Draws a cell, given as its rank by the number of trips. In the recording the share of the first `r` cells
/// is close to `1 - exp(-r / 190)`, except that every cell has a few trips. Hence 3 % of the trips go to a
/// random cell.
fn rank(entropy: &mut SeededEntropy) -> usize {
    let (any, draw) = (entropy.unit() < 0.03, entropy.unit());
    let count = CELL_COUNT as f64;
    let rank = if any { draw * count } else { -190.0 * (1.0 - draw * (1.0 - (-count / 190.0).exp())).ln() };
    (rank as usize).min(CELL_COUNT - 1)
}

/// Returns [`CELL_COUNT`] different cells of the 51 columns and 71 rows around Manhattan, in random order.
fn cells(entropy: &mut SeededEntropy) -> Vec<Cell> {
    let mut cells: Vec<Cell> = (290..=340).flat_map(|x| (290..=360).map(move |y| Cell { x, y })).collect();
    for place in 0..CELL_COUNT {
        let other = place + entropy.below((cells.len() - place) as u64) as usize;
        cells.swap(place, other);
    }
    cells.truncate(CELL_COUNT);
    cells
}

#[cfg(test)]
mod tests;
