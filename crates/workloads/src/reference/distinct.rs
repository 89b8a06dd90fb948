//! Reference results of distinct: the number of different URLs in each window.
//!
//! The rules: URLs are different if any character differs. Windows lie back to back; one without a request has
//! no row. The first and the last windows count even if the input begins or ends within them. No record is
//! late.

use std::collections::{BTreeMap, HashSet};

use super::lines::LineInput;
use super::{Row, Windows};

/// One row of the results of `distinct`; the fields are the columns of `distinct.csv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DistinctRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number of different URLs requested in the window.
    pub urls: u64,
}

impl Row for DistinctRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.window_start_ms
    }
}

/// Returns the results of the requests `inputs`, ordered by window; each input refers to one of `urls`.
///
/// # Panics
/// If the windows overlap, or their size is not a positive number of whole milliseconds.
pub fn distinct_rows(
    inputs: impl Iterator<Item = LineInput>,
    urls: &[impl AsRef<str>],
    windows: impl Into<Windows>,
) -> Vec<DistinctRow> {
    let Windows { size_us, slide_us } = windows.into();
    Windows { size_us, slide_us }.assert_whole(1_000, "milliseconds");
    assert_eq!(size_us, slide_us, "windows lie back to back");
    let mut places: BTreeMap<i64, HashSet<usize>> = BTreeMap::new();
    for LineInput { event_time_us, line } in inputs {
        places.entry(event_time_us.div_euclid(size_us) * size_us).or_default().insert(line);
    }
    let row = |(start_us, places): (i64, HashSet<usize>)| {
        let different: HashSet<&str> = places.into_iter().map(|place| urls[place].as_ref()).collect();
        DistinctRow { window_start_ms: start_us / 1_000, urls: different.len() as u64 }
    };
    places.into_iter().map(row).collect()
}

/// Returns the request in a line of a log in the combined format: microseconds since the Unix epoch, and the
/// URL. Returns `None` if the line has no valid request.
///
/// The rules: after the first `[` follows a time such as `17/May/2015:10:05:03 +0000`, then `] "`. Then, before
/// the next `"`, follow the three parts of a request with one blank between them; the second part is the URL.
pub fn recorded_request(line: &str) -> Option<(i64, &str)> {
    let (_, behind) = line.split_once('[')?;
    let (time, behind) = behind.split_once("] \"")?;
    let (request, _) = behind.split_once('"')?;
    let parts: Vec<&str> = request.split(' ').collect();
    if parts.len() != 3 || parts.contains(&"") {
        return None;
    }
    Some((micros_of(time)?, parts[1]))
}

/// Returns the microseconds from 1970 to a time of the form `DD/Mon/YYYY:HH:MM:SS +ZZZZ`, by counting days.
fn micros_of(time: &str) -> Option<i64> {
    let form: String = time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    let name = form.get(3..6)?;
    let month = months.split(' ').position(|month| month == name)?;
    let sign = match form.get(21..22)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    if form != format!("99/{name}/9999:99:99:99 {}9999", &form[21..22]) {
        return None;
    }
    let number = |from: usize, to: usize| time[from..to].parse::<i64>().unwrap_or(-1);
    let (day, year) = (number(0, 2), number(7, 11));
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (hour, minute, second) = (number(12, 14), number(15, 17), number(18, 20));
    let (zone_hours, zone_minutes) = (number(22, 24), number(24, 26));
    if day < 1 || day > lengths[month] || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if zone_hours > 23 || zone_minutes > 59 {
        return None;
    }
    let days_in = |year: i64| if is_leap(year) { 366 } else { 365 };
    let years: i64 = (1970..year).map(days_in).sum::<i64>() - (year..1970).map(days_in).sum::<i64>();
    let days = years + lengths[..month].iter().sum::<i64>() + day - 1;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some((seconds - sign * (zone_hours * 60 + zone_minutes) * 60) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_urls_count_once_wherever_they_stand() {
        let urls = ["/a", "/b", "/a", "/A"];
        let inputs = [(0, 0), (1, 2), (2, 3), (1_000, 1), (1_999, 1), (3_000, 0)];
        let inputs = inputs.into_iter().map(|(event_time_us, line)| LineInput { event_time_us, line });
        let rows = distinct_rows(inputs, &urls, 1_000);
        let shown: Vec<(i64, u64)> = rows.iter().map(|row| (row.window_start_ms, row.urls)).collect();
        assert_eq!(shown, [(0, 2), (1, 1), (3, 1)]);
    }
}
