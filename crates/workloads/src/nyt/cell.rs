//! The grid of cells, about 250 m square, by which trips are counted.
//!
//! Cells are numbered from 1 to 600 to the east and from 1 to 600 to the south. The centre of cell (1, 1) and
//! the sides of a cell are given in degrees, so a cell is a rectangle on the map and not a square on earth.
//! Source: Jerzak and Ziekow, "The DEBS 2015 Grand Challenge", DEBS 2015, with halved sides (its query 2).

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::trip::Place;

/// Number of cells in a row of the grid, and number of rows.
pub const CELLS_PER_SIDE: u16 = 600;

const FIRST_CENTRE: Place = Place { longitude: -74.913_583, latitude: 41.474_937 };
const WIDTH_DEGREES: f64 = 0.002_993;
const HEIGHT_DEGREES: f64 = 0.002_245_778;

/// A cell of the grid by which taxi trips are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Column of the cell, from 1 in the west to 600 in the east.
    pub x: u16,
    /// Row of the cell, from 1 in the north to 600 in the south.
    pub y: u16,
}

/// Hashes the cell as one number, which tables hash by a multiplication.
impl Hash for Cell {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Cell { x, y } = *self;
        state.write_u32(u32::from(y) << 10 | u32::from(x));
    }
}

const _: () = assert!(CELLS_PER_SIDE < 1 << 10);

impl Cell {
    /// Stands for no cell of the grid: column 0 and row 0. The numbers of the grid's columns and rows start
    /// at 1.
    pub const OUTSIDE: Cell = Cell { x: 0, y: 0 };

    /// Returns the cell around `place`; `None` if the place lies outside the grid or is not a number. A cell
    /// includes its western and northern border.
    #[inline]
    pub fn around(place: Place) -> Option<Cell> {
        let column = (place.longitude - FIRST_CENTRE.longitude + WIDTH_DEGREES / 2.0) / WIDTH_DEGREES;
        let row = (FIRST_CENTRE.latitude + HEIGHT_DEGREES / 2.0 - place.latitude) / HEIGHT_DEGREES;
        Some(Cell { x: number(column)?, y: number(row)? })
    }

    /// Returns the place in the middle of the cell.
    pub fn centre(self) -> Place {
        Place {
            longitude: FIRST_CENTRE.longitude + f64::from(self.x - 1) * WIDTH_DEGREES,
            latitude: FIRST_CENTRE.latitude - f64::from(self.y - 1) * HEIGHT_DEGREES,
        }
    }

    /// Returns the place at `offset.east` cell widths and `offset.south` cell heights from the cell's middle.
    pub(super) fn place(self, offset: Offset) -> Place {
        let Place { longitude, latitude } = self.centre();
        Place {
            longitude: longitude + offset.east * WIDTH_DEGREES,
            latitude: latitude - offset.south * HEIGHT_DEGREES,
        }
    }
}

/// A distance from the middle of a cell, in widths and heights of a cell. The place at this distance is
/// inside the cell if both numbers are within one half.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset {
    pub(super) east: f64,
    pub(super) south: f64,
}

/// Returns the number of the cell that lies `steps` cell widths or heights after the first one; `None` if it
/// lies outside the grid.
#[inline]
fn number(steps: f64) -> Option<u16> {
    // The number is compared as a double: a value that is not a number, or too large for an integer, is in no
    // range. A value in range is truncated, which here equals rounding down; a call of `floor` took 1/5 of
    // the query's time.
    let inside = 0.0 <= steps && steps < f64::from(CELLS_PER_SIDE);
    inside.then(|| steps as u16 + 1)
}

#[cfg(test)]
mod tests;
