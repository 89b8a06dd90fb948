//! Floating-point numbers in total order, so that floats can be keys and have a least and a greatest.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// A number that is ordered, equal and hashed by [`f64::total_cmp`]: -0.0 is below 0.0. NaN equals itself and is
/// above all numbers, or below all if its sign is negative.
///
/// ```
/// use thalweg_model::TotalF64;
/// let greatest = [1.5, -0.0, 0.0].into_iter().map(TotalF64).max();
/// assert_eq!(greatest, Some(TotalF64(1.5)));
/// assert!(TotalF64(-0.0) < TotalF64(0.0) && TotalF64(f64::NAN) > TotalF64(f64::INFINITY));
/// ```
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TotalF64(pub f64);

impl Ord for TotalF64 {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for TotalF64 {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TotalF64 {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for TotalF64 {}

impl Hash for TotalF64 {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.to_bits().hash(hasher);
    }
}

impl fmt::Display for TotalF64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
