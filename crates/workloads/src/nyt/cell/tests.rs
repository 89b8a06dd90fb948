//! Tests of the grid of cells: borders, corners and values that are no places.

use proptest::num::f64;
use proptest::prelude::*;

use super::*;
use crate::reference::nyt::{NytInput, nyt_rows};

fn check(longitude: f64, latitude: f64, expected: Option<(u16, u16)>) {
    let found = Cell::around(Place { longitude, latitude }).map(|cell| (cell.x, cell.y));
    assert_eq!(found, expected, "longitude {longitude}, latitude {latitude}");
}

/// Neighbouring cells meet at their borders. Places 1e-9 degrees (0.1 mm) to either side of a border are
/// tested, since the border itself is not a double.
#[test]
fn cells_meet_at_their_borders() {
    let (lon, lat) = (-74.913_583, 41.474_937);
    let (half_width, half_height, hair) = (0.002_993 / 2.0, 0.002_245_778 / 2.0, 1e-9);
    check(lon, lat, Some((1, 1)));
    check(lon - half_width + hair, lat, Some((1, 1)));
    check(lon - half_width - hair, lat, None);
    check(lon + half_width - hair, lat, Some((1, 1)));
    check(lon + half_width + hair, lat, Some((2, 1)));
    check(lon, lat + half_height - hair, Some((1, 1)));
    check(lon, lat + half_height + hair, None);
    check(lon, lat - half_height + hair, Some((1, 1)));
    check(lon, lat - half_height - hair, Some((1, 2)));
    let (last_lon, last_lat) = (lon + 599.0 * 0.002_993, lat - 599.0 * 0.002_245_778);
    check(last_lon, last_lat, Some((600, 600)));
    check(last_lon + half_width - hair, last_lat - half_height + hair, Some((600, 600)));
    check(last_lon + half_width + hair, last_lat, None);
    check(last_lon, last_lat - half_height - hair, None);
}

/// Places outside the grid are in no cell, such as those in recorded trips and values that arithmetic
/// must withstand.
#[test]
fn what_lies_nowhere_is_in_no_cell() {
    let inside = (-73.985, 40.748);
    check(inside.0, inside.1, Some((311, 325)));
    check(0.0, 0.0, None);
    check(0.0, 40.717_422, None);
    check(-73.990_814, 404.557_59, None);
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e300] {
        check(odd, inside.1, None);
        check(inside.0, odd, None);
        check(odd, odd, None);
    }
}

#[test]
fn every_cell_is_around_its_middle_and_its_inside() {
    for x in 1..=CELLS_PER_SIDE {
        for y in 1..=CELLS_PER_SIDE {
            let cell = Cell { x, y };
            assert_eq!(Cell::around(cell.centre()), Some(cell));
            assert_eq!(Cell::around(cell.place(Offset { east: 0.499_999, south: -0.499_999 })), Some(cell));
        }
    }
}

proptest! {
    /// The reference finds the same cell by other means, for places near the grid and anywhere.
    #[test]
    fn the_reference_agrees(
        longitude in prop_oneof![-75.0f64..-73.0, f64::ANY, (0u16..602).prop_map(border_longitude)],
        latitude in prop_oneof![40.0f64..41.6, f64::ANY, (0u16..602).prop_map(border_latitude)],
    ) {
        let trip = NytInput { event_time_us: 0, vendor: "VTS", distance: 2.0, longitude, latitude };
        let rows = nyt_rows([trip].into_iter(), 1_000_000).rows;
        let expected = rows.first().map(|row| Cell { x: row.cell_x, y: row.cell_y });
        prop_assert_eq!(Cell::around(Place { longitude, latitude }), expected);
    }
}

fn border_longitude(number: u16) -> f64 {
    -74.913_583 + 0.002_993 * (f64::from(number) - 0.5)
}

fn border_latitude(number: u16) -> f64 {
    41.474_937 - 0.002_245_778 * (f64::from(number) - 0.5)
}
