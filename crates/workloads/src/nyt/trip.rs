//! A taxi trip, with the fields that the query reads.

/// One trip. Its event time is its end: only then is its distance known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trip {
    /// Distance by the taximeter, in miles.
    pub distance_miles: f64,
    /// Place where the trip began.
    pub pickup: Place,
    /// Vendor of the taximeter.
    pub vendor: Vendor,
}

/// A place on earth. Many recorded places are wrong: `(0, 0)` where the meter had no satellite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Degrees east; negative in New York.
    pub longitude: f64,
    /// Degrees north.
    pub latitude: f64,
}

/// Vendor of the taximeter that sent the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    /// VeriFone Transportation Systems, whose trips the query keeps.
    Vts,
    /// Creative Mobile Technologies.
    Cmt,
    /// Any other vendor.
    Other,
}

impl Vendor {
    /// The vendor of this id in recorded trips.
    pub fn of(id: &str) -> Self {
        match id {
            "VTS" => Vendor::Vts,
            "CMT" => Vendor::Cmt,
            _ => Vendor::Other,
        }
    }
}

/// A row has 40 bytes with its event time.
const _: () = assert!(size_of::<Trip>() == 32);
