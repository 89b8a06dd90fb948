//! NYT, New York's taxis: the number of trips that began in each cell of the town, and their mean distance.
//!
//! ```text
//! source -> map(cell, miles) -> filter(VTS, over 1 mile, in a cell) -> tumbling count and mean, 2 s -> sink
//! ```
//!
//! 1. [`trip`]: the fields of a trip that the query reads.
//! 2. [`cell`]: the grid of cells.
//! 3. [`mean`]: the aggregate, number of trips and mean distance.
//! 4. [`generator`]: trips from a seed, distributed like the recorded ones.
//! 5. [`query`]: the query in the typed interface.
//! 6. [`tlc`]: recorded trips, in the form of the Taxi and Limousine Commission; [`civil`] reads its dates.
//!
//! The results must equal [`crate::reference::nyt`], doubles within a relative 1e-9.
//!
//! Source: the Enjima paper, section 5.1.1; the grid is that of Jerzak and Ziekow, "The DEBS 2015 Grand
//! Challenge", DEBS 2015.

pub mod cell;
pub mod civil;
pub mod generator;
pub mod mean;
pub mod query;
pub mod tlc;
pub mod trip;

pub use cell::Cell;
pub use generator::NytGenerator;
pub use mean::{MeanDistance, TripSummary};
pub use trip::{Place, Trip, Vendor};

use thalweg_model::Span;

/// Window in which taxi trips are counted, unless a run asks for another. The event times of recorded VTS
/// trips are whole minutes, so a run with them should use 60 s.
pub const WINDOW: Span = Span::from_secs(2);

/// Distance in miles above which a taxi trip counts.
pub const DISTANCE_MILES_ABOVE: f64 = 1.0;
