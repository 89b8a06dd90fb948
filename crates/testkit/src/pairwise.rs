//! Few runs in which every pair of settings meets: most faults that need particular settings need two of them.
//! Source: Kuhn, Wallace and Gallo, "Software Fault Interactions and Implications for Software Testing", IEEE
//! TSE 30(6), 2004.

use std::collections::BTreeSet;

/// Every combination of the settings; setting `n` has `levels[n]` values, numbered from 0.
pub fn full(levels: &[usize]) -> Vec<Vec<usize>> {
    levels.iter().fold(vec![Vec::new()], |rows, &count| {
        let extended = |row: &Vec<usize>| {
            let row = row.clone();
            (0..count).map(move |value| row.iter().copied().chain([value]).collect())
        };
        rows.iter().flat_map(extended).collect()
    })
}

/// Combinations in which every two values of two settings occur together at least once. Greedy: each
/// combination is the one with the most pairs that have not met, the first of equals.
pub fn covering(levels: &[usize]) -> Vec<Vec<usize>> {
    let candidates = full(levels);
    let mut missing: BTreeSet<Pair> = candidates.iter().flat_map(|row| pairs(row)).collect();
    let mut chosen = Vec::new();
    while !missing.is_empty() {
        let news = |row: &&Vec<usize>| pairs(row).filter(|pair| missing.contains(pair)).count();
        // `max_by_key` takes the last of equals, hence from behind.
        let best =
            candidates.iter().rev().max_by_key(news).expect("a pair is missing, so there are combinations");
        for pair in pairs(best) {
            missing.remove(&pair);
        }
        chosen.push(best.clone());
    }
    chosen
}

/// Two settings and their values.
type Pair = ((usize, usize), (usize, usize));

fn pairs(row: &[usize]) -> impl Iterator<Item = Pair> {
    let numbered = || row.iter().copied().enumerate();
    numbered().flat_map(move |a| numbered().filter(move |b| a.0 < b.0).map(move |b| (a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_in_few_combinations() {
        let levels = [5, 3, 4, 2];
        let rows = covering(&levels);
        assert_eq!(full(&levels).len(), 120);
        // Twenty is the least: five values meet four.
        assert!((20..=24).contains(&rows.len()), "{}", rows.len());
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let met: BTreeSet<_> = rows.iter().map(|row| (row[a], row[b])).collect();
            assert_eq!(met.len(), levels[a] * levels[b]);
        }
    }

    #[test]
    fn one_setting_has_no_pairs() {
        assert_eq!(full(&[3]), [[0], [1], [2]]);
        assert!(covering(&[3]).is_empty());
    }
}
