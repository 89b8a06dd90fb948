//! Linear Road by its full rules: tolls, accident notices, balances, daily expenditures.
//!
//! 1. [`journeys`]: the events of each car, and which of its reports count.
//! 2. [`accidents`]: two cars that have stopped at one place.
//! 3. [`traffic`]: how fast cars were in a segment.
//! 4. [`tolls`]: the announcement to a car that enters a segment.
//! 5. [`balances`]: the sum of each car's charges.
//! 6. [`query`]: how these operators are connected.
//!
//! The results must equal those of [`crate::reference::lrb_full`], which states the rules.

pub mod accidents;
pub mod balances;
pub mod journeys;
pub mod query;
pub mod tolls;
pub mod traffic;

pub use balances::Balance;
pub use journeys::Entry;
pub use query::{Daily, FullSinks, HistoricalTolls, Notice, full_rules};
pub use tolls::Announcement;
