//! Figures as JSON, and small files of trips that they are measured on.

use serde_json::Value;

use crate::support::Folder;

pub const HEADER: &str = "medallion,hack_license,vendor_id,rate_code,store_and_fwd_flag,pickup_datetime,\
                          dropoff_datetime,passenger_count,trip_time_in_secs,trip_distance,pickup_longitude,\
                          pickup_latitude,dropoff_longitude,dropoff_latitude";

/// Returns the line of a trip of 3 miles from the middle of the town, in cell (311, 325), that ended at
/// `time` on 1 January 2013.
pub fn trip(time: &str) -> String {
    format!("A,B,VTS,1,,2013-01-01 00:00:00,2013-01-01 {time},1,600,3.00,-73.985,40.748,0,0")
}

impl Folder {
    /// Runs a command line that must succeed, with `--output json`, and returns the one JSON object that it
    /// prints.
    pub fn json(&self, line: &str) -> Value {
        let ran = self.run(&format!("{line} --output json"));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }
}
