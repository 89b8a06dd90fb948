//! A taxi trip, as far as the query reads it.

/// One trip. Its event time is when it ended: only then is its distance known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trip {
    /// Distance by the taximeter, in miles.
    pub distance_miles: f64,
    /// Where it began.
    pub pickup: Place,
    /// Whose meter it was.
    pub vendor: Vendor,
}

/// A place on earth. Recorded trips have many that are wrong: `(0, 0)` where the meter had no satellite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Degrees east; negative in New York.
    pub longitude: f64,
    /// Degrees north.
    pub latitude: f64,
}

/// Who made the taximeter and sent the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    /// VeriFone Transportation Systems: the one the query keeps.
    Vts,
    /// Creative Mobile Technologies.
    Cmt,
    /// Anybody else.
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

/// 40 bytes a row with its event time.
const _: () = assert!(size_of::<Trip>() == 32);
