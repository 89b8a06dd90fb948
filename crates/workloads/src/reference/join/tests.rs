//! Tests of the join's reference: with input that can be counted by hand, and by comparison with nested loops
//! over all pairs.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn inputs(mut stream: Vec<(i64, u64)>) -> Vec<JoinInput> {
    stream.sort_unstable();
    let input = |((event_time_us, key), number)| JoinInput { event_time_us, key, number };
    stream.into_iter().zip(0..).map(input).collect()
}

/// Checks the number of matches. Streams are words `ms:key`, expected results words `second:matches`.
#[track_caller]
fn check(left: &str, right: &str, expected: &str) {
    let stream = |text: &str| {
        let words = text.split_whitespace().map(|word| word.split_once(':').unwrap());
        inputs(words.map(|(ms, key)| (ms.parse::<i64>().unwrap() * 1_000, key.parse().unwrap())).collect())
    };
    let seconds = join_seconds(stream(left).into_iter(), stream(right).into_iter());
    let shown: Vec<String> = seconds.iter().map(|row| format!("{}:{}", row.second, row.matches)).collect();
    assert_eq!(shown.join(" "), expected);
}

#[test]
fn who_meets_whom() {
    check("", "", "");
    check("0:1", "", "");
    check("0:1", "0:1", "0:1");
    check("0:1", "0:2", "");
    // Two records exactly half a second apart match, and the match has the later of their times.
    check("0:1", "500:1", "0:1");
    check("0:1", "501:1", "");
    check("700:1", "1200:1", "1:1");
    check("1200:1", "700:1", "1:1");
    check("999:1", "2000:1", "");
    check("-1:1", "0:1", "0:1");
    // Every record of a key matches every record of the same key in the other stream.
    check("0:1 1:1 2:2", "3:1 4:1 5:2 6:3", "0:5");
    check("900:1 5000:1", "1100:1 5100:1", "1:1 5:1");
}

/// Checksums distinguish results that have equal numbers of matches.
#[test]
fn checksums_tell_results_apart() {
    let sum = |results: &[(i64, u64, u64, u64)]| {
        let mut second = JoinSecond::new(0);
        for &(event_time_us, key, left, right) in results {
            second.add(JoinMatch { event_time_us, key, left, right });
        }
        second.checksum
    };
    assert_eq!(sum(&[(1, 2, 3, 4), (5, 6, 7, 8)]), sum(&[(5, 6, 7, 8), (1, 2, 3, 4)]));
    let first = sum(&[(1, 2, 3, 4)]);
    for other in [(2, 2, 3, 4), (1, 3, 3, 4), (1, 2, 4, 3), (1, 2, 3, 5), (1, 2, 2, 4)] {
        assert_ne!(sum(&[other]), first, "{other:?}");
    }
}

proptest! {
    #[test]
    fn nested_loops_agree(
        left in prop::collection::vec((-2_000_000i64..2_000_000, 0u64..4), 0..60),
        right in prop::collection::vec((-2_000_000i64..2_000_000, 0u64..4), 0..60),
    ) {
        let (left, right) = (inputs(left), inputs(right));
        let mut expected: BTreeMap<i64, JoinSecond> = BTreeMap::new();
        for l in &left {
            for r in right.iter().filter(|r| r.key == l.key) {
                let event_time_us = l.event_time_us.max(r.event_time_us);
                if event_time_us - l.event_time_us.min(r.event_time_us) <= 500_000 {
                    let second = event_time_us.div_euclid(1_000_000);
                    let result = JoinMatch { event_time_us, key: l.key, left: l.number, right: r.number };
                    expected.entry(second).or_insert_with(|| JoinSecond::new(second)).add(result);
                }
            }
        }
        let expected: Vec<JoinSecond> = expected.into_values().collect();
        prop_assert_eq!(join_seconds(left.into_iter(), right.into_iter()), expected);
    }
}
