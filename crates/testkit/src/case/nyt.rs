//! Test case for the NYT benchmark: it runs on generated trips or a recorded file and is compared with a
//! reference.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use thalweg::{EventTime, Generate, Graph, Layout, Query, QueryReport, Record, Source, TumblingWindows};
use thalweg::{WatermarkStrategy, Windowed};
use thalweg_connectors::{
    CsvOptions, CsvSource, Header, OnBad, Pace, Paced, RealDisk, Row, RowError, SplitShares,
};
use thalweg_model::Span;
use thalweg_workloads::nyt::query::trips_per_cell;
use thalweg_workloads::nyt::tlc::{self, TlcError};
use thalweg_workloads::nyt::{Cell, NytGenerator, Trip, TripSummary, Vendor};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::nyt::{NytAnswer, NytInput, NytRow, nyt_rows, nyt_rows_of_tlc_csv};

use super::{Case, count_difference};
use crate::data::unzipped_text;
use crate::gather::{AnyGathered, Expects, Gather, Gathered};

/// Test case of the NYT benchmark: the number of trips and their mean distance per cell and window.
pub struct Nyt {
    source: NytSource,
    window: Span,
    splits: usize,
    /// Expected results of a recorded file. They are kept, because computing them takes long.
    whole_answer: Option<NytAnswer>,
    gathered: Gathered<Windowed<Cell, TripSummary>>,
}

/// Origin of the taxi trips of a [`Nyt`] case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NytSource {
    /// The trips are the first ones of a generator.
    Generated {
        /// Number of taxi trips that are generated.
        trips: u64,
        /// Number of generated trips per second of event time.
        rate_per_s: u64,
    },
    /// The trips come from a recorded file, which is read to its end.
    Recorded(PathBuf),
}

impl Nyt {
    /// Creates the case with trips from `source`, in windows of whole seconds.
    ///
    /// # Panics
    /// If a recorded file cannot be read.
    pub fn new(source: NytSource, window: Span) -> Self {
        let whole_answer = match &source {
            NytSource::Generated { .. } => None,
            NytSource::Recorded(path) => Some(nyt_rows_of_tlc_csv(&unzipped_text(path), window.as_micros())),
        };
        Nyt { source, window, splits: 1, whole_answer, gathered: Gathered::default() }
    }

    /// Returns the case with the same trips, made by the given number of splits.
    ///
    /// # Panics
    /// If `splits` is zero, or the trips are recorded.
    pub fn over_splits(self, splits: usize) -> Self {
        let is_generated = matches!(self.source, NytSource::Generated { .. });
        assert!(splits > 0 && is_generated, "a generator has splits");
        Nyt { splits, ..self }
    }

    fn pace(rate_per_s: u64) -> Pace {
        Pace::Drain { nominal_rate_per_s: rate_per_s, start: EventTime::EPOCH }
    }

    fn plan<S>(&mut self, name: &str, splits: Vec<S>, layout: Layout) -> Graph
    where
        S: Source<Item = Trip> + 'static,
    {
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let windows = TumblingWindows::new(self.window).expect("windows have a size");
        trips_per_cell(&query, splits, WatermarkStrategy::ascending(), windows, sink);
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn answer(&self, made: &[u64]) -> NytAnswer {
        match (&self.source, &self.whole_answer) {
            (NytSource::Generated { rate_per_s, .. }, _) => {
                let generator = shared_generator();
                let input = |index: u64| {
                    let event_time_us = (index * 1_000_000 / rate_per_s).cast_signed();
                    let trip = generator.value(index, EventTime::from_micros(event_time_us));
                    NytInput {
                        event_time_us,
                        vendor: if trip.vendor == Vendor::Vts { "VTS" } else { "" },
                        distance: trip.distance_miles,
                        longitude: trip.pickup.longitude,
                        latitude: trip.pickup.latitude,
                    }
                };
                let places = SplitShares::to(self.splits, Self::pace(*rate_per_s)).places(made);
                nyt_rows(places.into_iter().flatten().map(input), self.window.as_micros())
            }
            (NytSource::Recorded(_), whole) => {
                whole.clone().expect("the answer to a file is worked out when the case is made")
            }
        }
    }
}

/// Returns the generator of trips that all NYT cases of a process share.
fn shared_generator() -> Arc<NytGenerator> {
    static GENERATOR: LazyLock<Arc<NytGenerator>> = LazyLock::new(|| Arc::new(NytGenerator::new(0)));
    Arc::clone(&GENERATOR)
}

/// Parses a trip from one row of a recorded file.
fn trip_of_row(row: &Row<'_>) -> Result<Record<Trip>, RowError> {
    let field = |index: usize| (index < tlc::COLUMNS.len()).then(|| row.text(index));
    tlc::trip_of(field).map_err(|error| match error {
        TlcError::Field { column, .. } => RowError { field: column, reason: error.to_string() },
        // The number of fields needs no check here, because the source has counted them already.
        other => RowError { field: "line", reason: other.to_string() },
    })
}

/// Converts a window result of the engine to a row of the reference program.
pub fn nyt_row(result: &Windowed<Cell, TripSummary>) -> NytRow {
    NytRow {
        window_start_s: result.window.start.as_micros().div_euclid(1_000_000),
        cell_x: result.key.x,
        cell_y: result.key.y,
        trips: result.value.trips,
        avg_distance: result.value.mean_distance_miles,
    }
}

impl Case for Nyt {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        match &self.source {
            NytSource::Generated { trips, rate_per_s } => {
                let source = Paced::new(shared_generator(), Self::pace(*rate_per_s));
                let source = source.expect("the rate is in range").with_limit(*trips);
                self.plan(name, source.splits(self.splits), layout)
            }
            NytSource::Recorded(path) => {
                let options = CsvOptions {
                    path: path.clone(),
                    columns: &tlc::COLUMNS,
                    header: Header::Expect,
                    on_bad: OnBad::Fail,
                };
                let source = CsvSource::open(options, Arc::new(RealDisk), trip_of_row);
                self.plan(name, vec![source.expect("the file was there when the case was made")], layout)
            }
        }
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let answer = self.answer(&report.made);
        let found = self.gathered.each(|record| nyt_row(&record.value));
        compare(&answer.rows, &found)
            .err()
            .map(|difference| difference.to_string())
            .or_else(|| count_difference("trips read", answer.read, report.events_in + report.bad))
            .or_else(|| {
                let filtered = answer.filtered + answer.outside;
                count_difference("trips filtered", filtered, report.total(|counts| counts.filtered))
            })
            .or_else(|| count_difference("late", 0, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
