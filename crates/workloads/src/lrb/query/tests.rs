//! Tests of the state of the cars at a place, by comparison with a map from cars to their numbers of
//! reports.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::lrb::report::Direction;

fn report(vehicle: u32) -> PositionReport {
    PositionReport {
        vehicle,
        position_feet: 0,
        xway: 0,
        speed_mph: 0,
        lane: 2,
        direction: Direction::East,
        segment: 0,
    }
}

/// Returns the state of a place after reports of these cars.
fn of(vehicles: &[u32]) -> Standing {
    let mut standing = StoppedCars.create();
    vehicles.iter().for_each(|vehicle| StoppedCars.fold(&mut standing, &report(*vehicle)));
    standing
}

fn check(vehicles: &[u32], is_accident: bool) {
    assert_eq!(StoppedCars.finish(of(vehicles)), is_accident, "{vehicles:?}");
}

#[test]
fn two_cars_with_four_reports_each_are_an_accident() {
    check(&[], false);
    check(&[0, 0, 0, 0, 0, 0, 0, 0], false);
    check(&[0, 0, 0, 0, 1, 1, 1], false);
    check(&[0, 1, 0, 1, 0, 1, 0, 1], true);
    check(&[9, 8, 1, 0, 1, 0, 1, 0, 1, 0], true);
}

/// A single car at a place needs no allocated memory, whatever its number.
#[test]
fn one_car_alone_holds_nothing() {
    assert_eq!(StoppedCars.held_bytes(&of(&[])), 0);
    assert_eq!(StoppedCars.held_bytes(&of(&[0, 0, 0])), 0);
    assert!(StoppedCars.held_bytes(&of(&[7, 0])) >= size_of::<CarReports>());
}

proptest! {
    /// Panes that enter and leave a window in any order add and remove their reports: the state equals the
    /// reports that remain.
    #[test]
    fn panes_that_leave_take_their_reports_along(
        panes in proptest::collection::vec((proptest::collection::vec(0..5u32, 0..8), 0..3usize), 1..20),
        order in any::<bool>(),
    ) {
        let (mut sum, mut inside) = (StoppedCars.create(), VecDeque::new());
        for (pane, leaving) in panes {
            StoppedCars.merge(&mut sum, of(&pane));
            inside.push_back(pane);
            for _ in 0..leaving {
                let pane: Option<Vec<u32>> = if order { inside.pop_front() } else { inside.pop_back() };
                StoppedCars.unmerge(&mut sum, &of(&pane.unwrap_or_default()));
            }
            let mut expected = BTreeMap::<u32, u32>::new();
            inside.iter().flatten().for_each(|vehicle| *expected.entry(*vehicle).or_default() += 1);
            let found: Vec<(u32, u32)> = sum.iter().map(|car| (car.vehicle, car.reports)).collect();
            prop_assert_eq!(found.len(), expected.len());
            prop_assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected.clone());
            let stopped = expected.values().filter(|reports| **reports >= 4).count();
            prop_assert_eq!(StoppedCars.finish(sum.clone()), stopped >= 2);
        }
    }
}
