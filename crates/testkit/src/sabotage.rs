//! Injected failures of a query under test: a panic or a fault at the n-th visit to one place.
//!
//! The functions of a case call [`Sabotage::visit`] wherever user code runs; a [`Sabotage`] without a place
//! injects no failure. The messages of injected panics begin with [`INJECTED`]; such panics are kept out of
//! the test's output.

use std::fmt;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_model::Coded;

/// Prefix of the message of a panic or fault that a test has injected.
pub const INJECTED: &str = "injected:";

/// A place in a query under test where user code runs and a failure can be injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// `Filter`: the predicate of a filter.
    Filter,
    /// `Map`: the function of a map.
    Map,
    /// `JoinKey`: the function that returns the key of a record to be joined.
    JoinKey,
    /// `Combine`: the function that makes a result of a join.
    Combine,
    /// `WindowKey`: the function that returns the key of a record in a window.
    WindowKey,
    /// `Fold`: an aggregate that folds a value into an accumulator.
    Fold,
    /// `Merge`: an aggregate that merges two accumulators.
    Merge,
    /// `Finish`: an aggregate that computes its result from an accumulator.
    Finish,
    /// `Source`: the source of the query, which returns a fault instead of panicking.
    Source,
    /// `Sink`: the sink of the query, which returns a fault instead of panicking.
    Sink,
}

impl Place {
    /// The places of user code, in which a test can make a query fail, that every query under test visits: all except
    /// [`Place::Merge`]. An aggregate merges accumulators only where windows slide or copies of an operator are merged.
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

    /// Returns the name of the operator that runs the code of this place, as the typed interface names it.
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

/// An injected failure at the n-th visit to one place of a query.
#[derive(Debug, Default)]
pub struct Sabotage {
    at: Option<(Place, u64)>,
    /// Number of visits so far to the place of the query where the failure is injected. Relaxed ordering is
    /// enough: the counter protects no other data, and the engine orders the steps of one task, whichever
    /// worker runs them.
    visits: AtomicU64,
}

impl Sabotage {
    /// Creates a failure that occurs at visit number `visit` to `place`, counted from 1.
    pub fn at(place: Place, visit: u64) -> Self {
        Sabotage { at: Some((place, visit)), visits: AtomicU64::new(0) }
    }

    /// Returns whether the injected failure has occurred.
    pub fn has_struck(&self) -> bool {
        self.at.is_some_and(|(_, visit)| self.visits.load(Ordering::Relaxed) >= visit)
    }

    /// Returns how often the place of the injected failure was visited so far.
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Returns the place at which the failure is injected, if there is one.
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

/// The fault that a source or sink returns when a test has injected a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// Place at which the failure was injected.
    pub place: Place,
    /// Number of the visit that failed.
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
