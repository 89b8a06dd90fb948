//! Tests of netmon's reference, with input that can be counted by hand. Its shortcut is compared with the sum
//! over all probes.

use proptest::prelude::*;

use super::*;

/// Checks the means of windows of this size and slide. Probes are words `ms:source>destination=rtt`, expected
/// rows words `ms:source>destination=mean`.
#[track_caller]
fn check(size_ms: i64, slide_ms: i64, probes: &str, expected: &str) {
    let probe = |word: &str| {
        let parts: Vec<&str> = word.split([':', '>', '=']).collect();
        NetmonInput {
            event_time_us: parts[0].parse::<i64>().unwrap() * 1_000,
            source: parts[1].parse().unwrap(),
            destination: parts[2].parse().unwrap(),
            rtt: parts[3].parse().unwrap(),
        }
    };
    let mut sums = NetmonSums::new(Windows { size_us: size_ms * 1_000, slide_us: slide_ms * 1_000 });
    sums.add(probes.split_whitespace().map(probe));
    let shown: Vec<String> = sums
        .windows()
        .flatten()
        .map(|row| format!("{}:{}>{}={}", row.window_start_ms, row.source, row.destination, row.mean_rtt))
        .collect();
    assert_eq!(shown.join(" "), expected);
}

#[test]
fn means_of_pairs_in_windows() {
    check(1_000, 1_000, "", "");
    check(1_000, 1_000, "0:1>2=3 999:1>2=5 1000:1>2=6", "0:1>2=4 1000:1>2=6");
    // A pair of machines has a direction, and the order of the probes does not matter.
    check(1_000, 1_000, "500:2>1=3 -1:1>2=5 0:1>2=6", "-1000:1>2=5 0:1>2=6 0:2>1=3");
    check(1_000, 500, "700:1>2=4 400:1>2=2", "-500:1>2=2 0:1>2=3 500:1>2=4");
    // A plain sum of doubles gives 0 here, because the small numbers are lost.
    check(1_000, 1_000, "1:1>2=1e100 2:1>2=1 3:1>2=-1e100 4:1>2=2", "0:1>2=0.75");
}

#[test]
fn windows_in_short_tell_rows_apart() {
    let row = |source, mean_rtt| NetmonRow { window_start_ms: 5, source, destination: 7, mean_rtt };
    let rows: Vec<NetmonRow> =
        (0..9_702).map(|source| row(source, f64::from(source % 9 + 1) / 10.0)).collect();
    let window = netmon_window(&rows).unwrap();
    let agrees = |rows: &[NetmonRow]| window.agrees(&netmon_window(rows).unwrap());
    let mut changed: Vec<NetmonRow> = rows.iter().copied().rev().collect();
    assert!(agrees(&changed), "in any order");
    changed[50].mean_rtt *= 1.0 + 1e-4;
    assert!(!agrees(&changed), "a mean is wrong");
    changed = rows.clone();
    (changed[3].mean_rtt, changed[4].mean_rtt) = (rows[4].mean_rtt, rows[3].mean_rtt);
    assert!(!agrees(&changed), "two pairs are mixed up");
    assert!(!agrees(&rows[1..]), "a row is missing");
    assert_eq!(netmon_window(&[]), None);
}

#[test]
fn lines_of_a_file() {
    let shown = |line: &str| {
        netmon_input_of_line(line).map(|input| {
            format!("{} {:x} {:x} {}", input.event_time_us, input.source, input.destination, input.rtt)
        })
    };
    assert_eq!(shown("7,10.0.0.1,10.1.2.255,0.25").as_deref(), Some("7000000 a000001 a0102ff 0.25"));
    for bad in [
        "",
        "slice,src_ip,dst_ip,rtt",
        "7,10.0.0.1,10.0.0.2",
        "7,10.0.0.1,10.0.0.2,1,2",
        "-7,10.0.0.1,10.0.0.2,1",
        ",10.0.0.1,10.0.0.2,1",
        "4294967296,10.0.0.1,10.0.0.2,1",
        "7,10.0.1,10.0.0.2,1",
        "7,10.0.0.1.2,10.0.0.2,1",
        "7,10.0.0.256,10.0.0.2,1",
        "7,10.0.0.01,10.0.0.2,1",
        "7,10.0.0.1,10.0.0.+2,1",
        "7,10.0.0.1,10.0.0.2,-1",
        "7,10.0.0.1,10.0.0.2,inf",
    ] {
        assert_eq!(shown(bad), None, "{bad}");
    }
}

proptest! {
    /// Adding part of a generator's run equals adding its probes one by one, for any relation of windows,
    /// rate and period.
    #[test]
    fn a_drain_is_what_its_probes_are(
        period in prop::collection::vec((0u32..3, 0u32..2, 0u32..1_000), 1..40),
        (first, count) in (0u64..100, 0u64..400),
        rate_per_s in 1u64..3_000,
        start_us in -2_000_000i64..2_000_000,
        (size_ms, slide_ms) in (1i64..300, 1i64..300),
    ) {
        let windows = Windows { size_us: size_ms.max(slide_ms) * 1_000, slide_us: slide_ms * 1_000 };
        let period: Vec<(u32, u32, f64)> =
            period.into_iter().map(|(source, destination, rtt)| (source, destination, f64::from(rtt) / 100.0)).collect();
        let probe = |index: u64| {
            let (source, destination, rtt) = period[(index % period.len() as u64) as usize];
            let event_time_us = start_us + (index * 1_000_000 / rate_per_s) as i64;
            NetmonInput { event_time_us, source, destination, rtt }
        };
        let indexes = first..first + count;
        let mut one_by_one = NetmonSums::new(windows);
        one_by_one.add((0..first + count + 7).map(probe));
        let mut drained = NetmonSums::new(windows);
        drained.add((0..first).map(probe));
        drained.add_drain(NetmonDrain { period: &period, indexes, rate_per_s, start_us });
        drained.add((first + count..first + count + 7).map(probe));
        let rows = |sums: &NetmonSums| sums.windows().flatten().collect::<Vec<_>>();
        prop_assert_eq!(super::super::compare(&rows(&one_by_one), &rows(&drained)), Ok(()));
    }
}
