//! Linear Road by its full rules: tolls, accident notices, balances, daily expenditures.
//!
//! 1. [`journeys`]: what each car does, and which of its reports count.
//! 2. [`accidents`]: two cars that have stopped at one place.
//! 3. [`traffic`]: how fast cars were in a segment.
//! 4. [`tolls`]: what a car that enters a segment is told.
//! 5. [`balances`]: what each car has been charged.
//! 6. [`query`]: how all of it hangs together.
//!
//! What comes out must equal [`crate::reference::lrb_full`], where the rules stand.

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
