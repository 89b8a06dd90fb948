//! Queries under test, each with the oracle of its results.
//!
//! A [`Case`] keeps its input. It can be planned repeatedly, for example once alone and once beside a
//! neighbour that fails. Each plan starts with an empty sink. A case compares the results with the oracle's
//! results for the records that its source really made. So a query that was stopped halfway is checked as
//! strictly as one that read everything.

mod any;
mod confluence;
mod diamond;
mod exchanged;
mod joined_twice;
mod lrb;
mod lrb_full;
mod meeting;
mod nyt;
mod parcels;
mod passing;
mod quirky;
mod readings;
mod regrouped;
mod spread;
mod twice;
mod two_streams;
mod united;
mod ysb;

use std::fmt::Debug;

use thalweg::{Graph, Layout, QueryReport};

use crate::gather::AnyGathered;

pub use any::{Kind, RECORDS_MAX, draw_any};
pub use confluence::Confluence;
pub use diamond::Diamond;
pub use exchanged::Exchanged;
pub use joined_twice::JoinedTwice;
pub use lrb::{Lrb, generated_traffic, stretch};
pub use lrb_full::LrbFull;
pub use meeting::{Meeting, Met};
pub use nyt::{Nyt, NytSource, nyt_row};
pub use parcels::Parcels;
pub use passing::{Passing, Shape};
pub use readings::{Readings, Tally, TallyResult, window_row};
pub use regrouped::Regrouped;
pub use spread::Spread;
pub use twice::Twice;
pub use united::United;
pub use ysb::{Ysb, YsbPace, shared_ysb_generator};

/// A query under test, together with the oracle of its results.
pub trait Case {
    /// Plans the query of this case again, with the given name and an empty sink.
    fn graph(&mut self, name: &str, layout: Layout) -> Graph;

    /// Compares the results of a finished run with the oracle's, and returns the first difference.
    fn difference(&self, report: &QueryReport) -> Option<String>;

    /// Returns the records that the sinks of this case's query have kept.
    fn sinks(&self) -> Vec<&dyn AnyGathered>;

    /// Returns the sinks' records as text, sink by sink, sorted within each.
    fn rows(&self) -> Vec<String> {
        self.sinks().iter().flat_map(|sink| sink.sorted_text()).collect()
    }

    /// Returns whether all sinks of the query have published their results.
    fn is_published(&self) -> bool {
        let sinks = self.sinks();
        !sinks.is_empty() && sinks.iter().all(|sink| sink.is_published())
    }

    /// Returns the first rule about watermarks and the end of the input that was broken at one of the sinks.
    fn broken_rule(&self) -> Option<String> {
        self.sinks().iter().find_map(|sink| sink.broken_rule())
    }

    /// Returns the number of values of this case's records that were never dropped, once the engine is gone;
    /// 0 if there is no leak.
    fn leaked_count(&self) -> usize {
        0
    }
}

/// Checks a query that has finished, and returns the first fault: a broken rule, a lost record or a wrong
/// result.
pub fn verdict(case: &dyn Case, report: &QueryReport) -> Option<String> {
    let unpublished =
        || (!case.is_published()).then(|| "it has finished, but its sink has not published".to_owned());
    let conservation = || report.conservation_error();
    case.broken_rule().or_else(conservation).or_else(unpublished).or_else(|| case.difference(report))
}

/// Compares two lists after sorting them, and returns the first difference.
pub(crate) fn first_difference<R: Ord + Debug>(mut expected: Vec<R>, mut found: Vec<R>) -> Option<String> {
    expected.sort();
    found.sort();
    in_order_difference(&expected, &found)
}

/// Compares two lists in their given order, and returns the first difference.
pub(crate) fn in_order_difference<R: PartialEq + Debug>(expected: &[R], found: &[R]) -> Option<String> {
    let place = expected.iter().zip(found).position(|(expected, found)| expected != found);
    let place = place.unwrap_or(expected.len().min(found.len()));
    let (expected_row, found_row) = (expected.get(place), found.get(place));
    let lengths = format!("{} rows expected, {} found", expected.len(), found.len());
    (expected_row.is_some() || found_row.is_some())
        .then(|| format!("row {place}: expected {expected_row:?}, found {found_row:?}; {lengths}"))
}

/// Compares two counts, and returns a description if they differ.
fn count_difference(what: &str, expected: u64, found: u64) -> Option<String> {
    (expected != found).then(|| format!("{what}: {expected} expected, {found} found"))
}

/// Returns the number of records that all operators called `name` have read.
fn read_by(name: &str, report: &QueryReport) -> usize {
    let of_name = report.operators.iter().filter(|operator| operator.operator == name);
    of_name.map(|operator| operator.counts.read).sum::<u64>() as usize
}

fn sorted<T: Clone + Ord>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    values.sort();
    values
}

fn sorted_text<R: Debug>(rows: &[R]) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}
