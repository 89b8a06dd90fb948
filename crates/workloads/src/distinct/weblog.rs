//! Recorded requests: the time and the URL of one line of a web server's log in the combined format.
//!
//! ```text
//! 10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /index.html HTTP/1.1" 200 203023 "http://..." "Mozilla/5.0 ..."
//!              ^------- 26 bytes -------^        ^--- URL --^
//! ```
//!
//! A line is accepted if its first `[` begins a valid time with its zone, followed by `] "` and a request of
//! three parts. The rest of the line is not read. Any other line is a bad line.

use std::fmt;
use std::ops::Range;

use thalweg_model::{Coded, EventTime, Record};

use crate::nyt::civil::{days_from_civil, days_in_month, digits};

/// Reason why a line of the web server's log is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WeblogError {
    /// The line has no time in brackets, or the time names no instant.
    Time,
    /// The line has no quoted request after the time, or the request does not have three parts.
    Request,
}

impl fmt::Display for WeblogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeblogError::Time => {
                write!(
                    f,
                    "no time such as [17/May/2015:10:05:03 +0000]; is this a log in the combined format?"
                )
            }
            WeblogError::Request => {
                write!(
                    f,
                    "no request such as \"GET /index.html HTTP/1.1\" behind the time; mend the line, or skip it"
                )
            }
        }
    }
}

impl std::error::Error for WeblogError {}

impl Coded for WeblogError {
    fn code(&self) -> &'static str {
        match self {
            WeblogError::Time => "WEBLOG_TIME",
            WeblogError::Request => "WEBLOG_REQUEST",
        }
    }
}

/// Length in bytes of a time as the log writes it.
const TIME_BYTES: usize = "17/May/2015:10:05:03 +0000".len();

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Finds the URL of a request in its line, and the time of the request.
///
/// ```
/// use thalweg_workloads::distinct::weblog::request_of;
/// let line = r#"10.0.0.1 - - [17/May/2015:12:05:03 +0200] "GET /index.html HTTP/1.1" 200 203023 "-" "-""#;
/// let request = request_of(line).unwrap();
/// assert_eq!((request.event_time.as_micros(), &line[request.value]), (1_431_857_103_000_000, "/index.html"));
/// ```
///
/// # Errors
/// [`WeblogError`], if the line has no valid time or no valid request.
pub fn request_of(line: &str) -> Result<Record<Range<usize>>, WeblogError> {
    let bytes = line.as_bytes();
    let time = line.find('[').ok_or(WeblogError::Time)? + 1;
    let behind = time + TIME_BYTES;
    let event_time = bytes.get(time..behind).and_then(instant).ok_or(WeblogError::Time)?;
    if bytes.get(behind..behind + 3) != Some(b"] \"") {
        return Err(WeblogError::Request);
    }
    let start = behind + 3;
    let request = &line[start..];
    let request = &request[..request.find('"').ok_or(WeblogError::Request)?];
    let mut parts = request.split(' ');
    let [method, url, protocol] = [(); 3].map(|()| parts.next().filter(|part| !part.is_empty()));
    let (Some(method), Some(url), Some(_), None) = (method, url, protocol, parts.next()) else {
        return Err(WeblogError::Request);
    };
    let start = start + method.len() + 1;
    Ok(Record::new(event_time, start..start + url.len()))
}

/// Returns the instant that a text such as `17/May/2015:10:05:03 +0000` names.
fn instant(time: &[u8]) -> Option<EventTime> {
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if marks.iter().any(|&(place, mark)| time[place] != mark) {
        return None;
    }
    let (day, year) = (digits(&time[..2])?, digits(&time[7..11])?);
    let month = 1 + MONTHS.iter().position(|month| *month == &time[3..6])? as i64;
    let (hour, minute, second) = (digits(&time[12..14])?, digits(&time[15..17])?, digits(&time[18..20])?);
    let (zone_hours, zone_minutes) = (digits(&time[22..24])?, digits(&time[24..])?);
    let is_day = (1..=days_in_month(year, month)).contains(&day);
    if !is_day || hour > 23 || minute > 59 || second > 59 || zone_hours > 23 || zone_minutes > 59 {
        return None;
    }
    let ahead = match time[21] {
        b'+' => zone_hours * 3_600 + zone_minutes * 60,
        b'-' => -(zone_hours * 3_600 + zone_minutes * 60),
        _ => return None,
    };
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(EventTime::from_secs(seconds - ahead))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference::distinct::recorded_request;

    fn shown(line: &str) -> String {
        match request_of(line) {
            Ok(request) => format!("{}@{}", &line[request.value], request.event_time.as_micros() / 1_000_000),
            Err(error) => error.code().to_owned(),
        }
    }

    /// Checks that a log line is read as `expected`, and that engine and reference read the same from it.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(shown(line), expected, "{line}");
        agree(line);
    }

    #[track_caller]
    fn agree(line: &str) {
        let ours =
            request_of(line).ok().map(|request| (request.event_time.as_micros(), &line[request.value]));
        assert_eq!(recorded_request(line), ours, "{line}");
    }

    #[test]
    fn lines_of_a_log() {
        check("a - - [01/Jan/1970:00:00:07 +0000] \"GET / HTTP/1.0\" 200 1", "/@7");
        check("a - - [31/Dec/1969:23:59:59 -0001] \"HEAD /caf\u{e9}?a=b[1] X\"", "/caf\u{e9}?a=b[1]@59");
        check("[29/Feb/2016:00:00:00 +0000] \"G /u P\" rest", "/u@1456704000");
        check("[29/Feb/2015:00:00:00 +0000] \"G /u P\"", "WEBLOG_TIME");
        check("[29/feb/2016:00:00:00 +0000] \"G /u P\"", "WEBLOG_TIME");
        check("[29/Feb/2016:24:00:00 +0000] \"G /u P\"", "WEBLOG_TIME");
        check("[29/Feb/2016:00:00:00 0000] \"G /u P\"", "WEBLOG_TIME");
        check("[29/Feb/2016:00:00:00 *0000] \"G /u P\"", "WEBLOG_TIME");
        check("no time", "WEBLOG_TIME");
        check("", "WEBLOG_TIME");
        check("[29/Feb/2016:00:00:00 +000\u{e9}] \"G /u P\"", "WEBLOG_TIME");
        check("[29/Feb/2016:00:00:00 +0000]\"G /u P\"", "WEBLOG_REQUEST");
        check("[29/Feb/2016:00:00:00 +0000] \"G /u P", "WEBLOG_REQUEST");
        check("[29/Feb/2016:00:00:00 +0000] \"G /u\"", "WEBLOG_REQUEST");
        check("[29/Feb/2016:00:00:00 +0000] \"G /u P x\"", "WEBLOG_REQUEST");
        check("[29/Feb/2016:00:00:00 +0000] \"G  P\"", "WEBLOG_REQUEST");
        check("[29/Feb/2016:00:00:00 +0000] \"-\"", "WEBLOG_REQUEST");
        check("[29/Feb/2016:00:00:00 +0000", "WEBLOG_REQUEST");
    }

    proptest! {
        #[test]
        fn any_line_is_read_as_the_reference_reads_it(
            line in "([a-z] )?\\[[0-3][0-9]/(Jan|Feb|Apr|Dec|dec)/[0-9]{4}:[0-2][0-9]:[0-6][0-9]:[0-6][0-9] [+-][0-2][0-9][0-6][0-9]\\] \"?[GP]{0,2} ?/[a-z]{0,3} ?(HTTP)?[\" é]{0,2}",
        ) {
            agree(&line);
        }
    }
}
