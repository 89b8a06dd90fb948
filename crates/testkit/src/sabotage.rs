//! Injected failures of a query under test: a panic or a fault at the n-th visit to one place.
//!
//! The functions of a case call [`Sabotage::visit`] wherever user code runs; a sabotage without a place never
//! strikes. The messages of injected panics begin with [`INJECTED`]; such panics are kept out of the test's
//! output.

use std::fmt;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_model::Coded;

/// Prefix of the message of a panic or fault that a test has injected.
pub const INJECTED: &str = "injected:";

/// Place in a query under test where user code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The predicate of a filter.
    Filter,
    /// The function of a map.
    Map,
    /// The key function of a join.
    JoinKey,
    /// The function that makes a joined record.
    Combine,
    /// The key function of a window.
    WindowKey,
    /// An aggregate that folds in a value.
    Fold,
    /// An aggregate that merges two accumulators.
    Merge,
    /// An aggregate that computes its result.
    Finish,
    /// The source: a fault instead of a panic.
    Source,
    /// The sink: a fault instead of a panic.
    Sink,
}

impl Place {
    /// Places that every query visits: all except [`Place::Merge`], which is visited where windows slide or
    /// copies are merged.
    pub const ALL: [Place; 9] = [
        Place::Filter,
        Place::Map,
        Place::JoinKey,
        Place::Combine,
        Place::WindowKey,
        Place::Fold,
        Place::Finish,
        Place::Source,
        Place::Sink,
    ];

    /// Returns the operator that runs the code of this place, by the name that the typed interface gives it.
    pub fn operator(self) -> &'static str {
        match self {
            Place::Filter => "filter",
            Place::Map => "map",
            Place::JoinKey | Place::Combine => "join",
            Place::WindowKey | Place::Fold | Place::Merge | Place::Finish => "window",
            Place::Source => "source",
            Place::Sink => "sink",
        }
    }
}

/// Fails at the n-th visit to one place.
#[derive(Debug, Default)]
pub struct Sabotage {
    at: Option<(Place, u64)>,
    /// Visits to that place. Relaxed: the counter protects no other data. The runs of a task are ordered by
    /// its task cell.
    visits: AtomicU64,
}

impl Sabotage {
    /// Creates a sabotage that fails at visit number `visit` to `place`, counted from 1.
    pub fn at(place: Place, visit: u64) -> Self {
        Sabotage { at: Some((place, visit)), visits: AtomicU64::new(0) }
    }

    /// Returns whether the failure has occurred.
    pub fn has_struck(&self) -> bool {
        self.at.is_some_and(|(_, visit)| self.visits.load(Ordering::Relaxed) >= visit)
    }

    /// Returns the number of visits to its place so far.
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Returns its place, if it has one.
    pub fn place(&self) -> Option<Place> {
        self.at.map(|(place, _)| place)
    }

    /// Counts a visit to `place`.
    ///
    /// # Panics
    /// If this is the visit at which to fail.
    pub fn visit(&self, place: Place) {
        if let Err(Injected { place, visit }) = self.check(place) {
            panic!("{INJECTED} {place:?} breaks at visit {visit}");
        }
    }

    /// Counts a visit to `place`, whose code may return a fault.
    ///
    /// # Errors
    /// [`Injected`] if this is the visit at which to fail.
    pub fn check(&self, place: Place) -> Result<(), Injected> {
        match self.at {
            Some((at, visit)) if at == place && self.visits.fetch_add(1, Ordering::Relaxed) + 1 == visit => {
                Err(Injected { place, visit })
            }
            _ => Ok(()),
        }
    }
}

/// A fault that a test has injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// Place of the fault.
    pub place: Place,
    /// Number of the visit.
    pub visit: u64,
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{INJECTED} {:?} breaks at visit {}", self.place, self.visit)
    }
}

impl std::error::Error for Injected {}

impl Coded for Injected {
    fn code(&self) -> &'static str {
        "INJECTED"
    }
}

/// Keeps injected panics out of the test's output; all others are printed as usual.
pub fn quiet_injected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(payload.downcast_ref::<&str>().copied());
            if !text.is_some_and(|text| text.starts_with(INJECTED)) {
                tell(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_once_at_its_visit_and_nowhere_else() {
        let sabotage = Sabotage::at(Place::Map, 2);
        sabotage.visit(Place::Map);
        sabotage.visit(Place::Filter);
        assert!(!sabotage.has_struck());
        let injected = sabotage.check(Place::Map).unwrap_err();
        assert_eq!(injected.to_string(), "injected: Map breaks at visit 2");
        assert!(sabotage.has_struck() && sabotage.check(Place::Map).is_ok());
        assert_eq!(sabotage.visits(), 3);
        assert!(Sabotage::default().check(Place::Map).is_ok());
    }
}
