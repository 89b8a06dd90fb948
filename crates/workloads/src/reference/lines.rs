//! Counts over lines per window: every line is split into parts once, and counted as often as it occurred.
//!
//! Windows are summed from slices of time that each lie in a window or outside it as a whole. This is the only
//! shortcut; without it a line that lies in a thousand windows would be counted a thousand times.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use super::Windows;

/// An occurrence of a line in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineInput {
    /// Event time of the line, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// Index of the text of the line among the different lines, from 0.
    pub line: usize,
}

/// Counts how often each part of the lines occurred in each window, by the start of the window in microseconds
/// and the part. `parts_of` returns the parts of a line. Parts without an occurrence, and windows without a
/// part, are left out.
pub(super) fn parts_per_window<K: Eq + Hash + Ord + Copy>(
    inputs: impl Iterator<Item = LineInput>,
    windows: Windows,
    mut parts_of: impl FnMut(usize) -> Vec<K>,
) -> BTreeMap<(i64, K), u64> {
    let slice_us = greatest_common_divisor(windows.size_us, windows.slide_us);
    let mut lines: BTreeMap<i64, HashMap<usize, u64>> = BTreeMap::new();
    for LineInput { event_time_us, line } in inputs {
        let slice = event_time_us.div_euclid(slice_us) * slice_us;
        *lines.entry(slice).or_default().entry(line).or_default() += 1;
    }
    let mut parts: HashMap<usize, Vec<K>> = HashMap::new();
    let mut counts: BTreeMap<(i64, K), u64> = BTreeMap::new();
    for (slice, lines) in lines {
        let mut in_slice: HashMap<K, u64> = HashMap::new();
        for (line, times) in lines {
            let parts = parts.entry(line).or_insert_with(|| parts_of(line));
            parts.iter().for_each(|part| *in_slice.entry(*part).or_default() += times);
        }
        for start_us in windows.starts(slice) {
            in_slice.iter().for_each(|(part, times)| *counts.entry((start_us, *part)).or_default() += times);
        }
    }
    counts
}

fn greatest_common_divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every part of a line counts in every window that contains the line. Here the lines are `a b` and `b`,
    /// windows have 10 µs and start every 4 µs, and results are written as `start:part=count`.
    #[test]
    fn every_part_counts_in_every_window() {
        let inputs = [(0, 0), (3, 1), (9, 0), (10, 1)];
        let inputs = inputs.into_iter().map(|(event_time_us, line)| LineInput { event_time_us, line });
        let windows = Windows { size_us: 10, slide_us: 4 };
        let counts = parts_per_window(inputs, windows, |line| ["a", "b"][line..].to_vec());
        let shown: Vec<String> =
            counts.iter().map(|((start, part), count)| format!("{start}:{part}={count}")).collect();
        let expected = "-8:a=1 -8:b=1 -4:a=1 -4:b=2 0:a=2 0:b=3 4:a=1 4:b=2 8:a=1 8:b=2";
        // The window that starts at -8 ends at 2, so it has the line at time 0 only.
        assert_eq!(shown.join(" "), expected);
    }
}
