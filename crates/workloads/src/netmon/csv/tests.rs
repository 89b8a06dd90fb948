//! Tests of recorded probes: the probe of each good row, and the column named in the error of each
//! bad row.

use super::*;

/// Checks the result of a good row in which the field at `index` was replaced: the probe or the
/// error, as text.
#[track_caller]
fn check(index: usize, replacement: &str, expected: &str) {
    let mut fields = ["7", "10.0.0.1", "10.1.2.3", "0.25"];
    fields[index] = replacement;
    let shown = match record_of(fields) {
        Ok(Record { event_time, value: Probe { pair, rtt } }) => {
            format!("{} {:x} {:x} {rtt}", event_time.as_micros(), pair.source, pair.destination)
        }
        Err(error) => error.to_string(),
    };
    let hint = "; correct it, or have bad rows skipped";
    assert_eq!(shown.strip_suffix(hint).unwrap_or(&shown), expected);
}

#[test]
fn a_row_becomes_a_probe() {
    check(0, "7", "7000000 a000001 a010203 0.25");
    check(0, "0", "0 a000001 a010203 0.25");
    check(0, "4294967295", "4294967295000000 a000001 a010203 0.25");
    check(1, "255.255.255.255", "7000000 ffffffff a010203 0.25");
    check(2, "10.0.0.1", "7000000 a000001 a000001 0.25");
    check(3, "121", "7000000 a000001 a010203 121");
    check(3, "1e-3", "7000000 a000001 a010203 0.001");
    check(3, "0", "7000000 a000001 a010203 0");
}

#[test]
fn what_is_wrong_is_named() {
    for slice in ["", "-1", "1.5", "4294967296", "slice", " 7"] {
        check(0, slice, &format!("slice is {slice:?}, but must be a whole number from 0 to 4294967295"));
    }
    for address in ["", "10.0.0", "10.0.0.256", "::1", "10.0.0.1:80", "machine"] {
        check(1, address, &format!("src_ip is {address:?}, but must be an IPv4 address such as 10.0.0.1"));
        check(2, address, &format!("dst_ip is {address:?}, but must be an IPv4 address such as 10.0.0.1"));
    }
    for rtt in ["", "-0.1", "nan", "inf", "1e999", "fast"] {
        check(3, rtt, &format!("rtt is {rtt:?}, but must be a finite number, zero or above"));
    }
}
