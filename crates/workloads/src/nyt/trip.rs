//! A taxi trip, with the fields that the query reads.

/// One taxi trip. Its event time is the end of the trip, because only then is the distance known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trip {
    /// Distance of the trip by the taximeter, in miles.
    pub distance_miles: f64,
    /// Place where the trip began.
    pub pickup: Place,
    /// Vendor of the taximeter.
    pub vendor: Vendor,
}

/// A place on earth. Many recorded places are wrong; for example, they are `(0, 0)` where the
/// taximeter had no satellite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Longitude in degrees east; negative in New York.
    pub longitude: f64,
    /// Latitude in degrees north.
    pub latitude: f64,
}

/// Vendor of the taximeter that sent the record of a trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    /// VeriFone Transportation Systems, whose trips the query keeps.
    Vts,
    /// Creative Mobile Technologies, another vendor of taximeters.
    Cmt,
    /// Any other vendor of taximeters.
    Other,
}

impl Vendor {
    /// Returns the vendor that has this id in recorded trips.
    pub fn of(id: &str) -> Self {
        match id {
            "VTS" => Vendor::Vts,
            "CMT" => Vendor::Cmt,
            _ => Vendor::Other,
        }
    }
}

/// A row of the query's input has 40 bytes: a trip of 32 bytes and its event time.
const _: () = assert!(size_of::<Trip>() == 32);
