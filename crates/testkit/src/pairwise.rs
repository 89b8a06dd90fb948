//! Few runs in which every pair of values of two settings occurs. Most faults that need particular settings
//! need two of them. Source: Kuhn, Wallace and Gallo, "Software Fault Interactions and Implications for
//! Software Testing", IEEE TSE 30(6), 2004.

use std::collections::BTreeSet;

/// Returns every combination of the settings; setting `n` has `levels[n]` values, numbered from 0.
pub fn full(levels: &[usize]) -> Vec<Vec<usize>> {
    levels.iter().fold(vec![Vec::new()], |rows, &count| {
        let extended = |row: &Vec<usize>| {
            let row = row.clone();
            (0..count).map(move |value| row.iter().copied().chain([value]).collect())
        };
        rows.iter().flat_map(extended).collect()
    })
}

/// Returns combinations in which every two values of two settings occur together at least once. The algorithm
/// is greedy: each combination begins with the first missing pair. Then each other setting, in order, takes the
/// value that makes the most missing pairs with the values so far; among equals the first.
pub fn covering(levels: &[usize]) -> Vec<Vec<usize>> {
    let mut missing: BTreeSet<Pair> = pairs_of(levels).collect();
    let mut chosen = Vec::new();
    while let Some(&((a, at_a), (b, at_b))) = missing.first() {
        let mut row: Vec<Option<usize>> = vec![None; levels.len()];
        (row[a], row[b]) = (Some(at_a), Some(at_b));
        for (setting, &count) in levels.iter().enumerate() {
            if row[setting].is_none() {
                let news = |value: &usize| {
                    let with = |(other, at): (usize, &Option<usize>)| {
                        at.is_some_and(|at| missing.contains(&ordered((setting, *value), (other, at))))
                    };
                    row.iter().enumerate().filter(|&other| with(other)).count()
                };
                // `max_by_key` returns the last of equal values. The order is reversed, so that the first is
                // chosen.
                row[setting] = (0..count).rev().max_by_key(news);
            }
        }
        let row: Vec<usize> = row.into_iter().flatten().collect();
        assert_eq!(row.len(), levels.len(), "a setting has values");
        missing.retain(|&((a, at_a), (b, at_b))| row[a] != at_a || row[b] != at_b);
        chosen.push(row);
    }
    chosen
}

/// A pair of two settings with a value of each, the setting with the lower number first.
type Pair = ((usize, usize), (usize, usize));

fn ordered(a: (usize, usize), b: (usize, usize)) -> Pair {
    if a < b { (a, b) } else { (b, a) }
}

/// Returns every pair of values that two different settings can have.
fn pairs_of(levels: &[usize]) -> impl Iterator<Item = Pair> {
    let numbered = move || levels.iter().copied().enumerate();
    let two = numbered().flat_map(move |a| numbered().filter(move |b| a.0 < b.0).map(move |b| (a, b)));
    two.flat_map(|((a, in_a), (b, in_b))| {
        (0..in_a).flat_map(move |at_a| (0..in_b).map(move |at_b| ((a, at_a), (b, at_b))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_in_few_combinations() {
        let levels = [5, 3, 4, 2];
        let rows = covering(&levels);
        assert_eq!(full(&levels).len(), 120);
        // Twenty combinations are the least possible: one setting has five values and another has four.
        assert!((20..=24).contains(&rows.len()), "{}", rows.len());
        meets_all(&levels, &rows);
        // Covers many settings, one of which has many values, as in the metamorphic tests.
        let levels = [5, 3, 4, 3, 34, 3, 2, 2, 3];
        let rows = covering(&levels);
        assert!((170..=190).contains(&rows.len()), "{}", rows.len());
        meets_all(&levels, &rows);
    }

    fn meets_all(levels: &[usize], rows: &[Vec<usize>]) {
        for (a, b) in (0..levels.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let met: BTreeSet<_> = rows.iter().map(|row| (row[a], row[b])).collect();
            assert_eq!(met.len(), levels[a] * levels[b], "{a} and {b}");
        }
    }

    #[test]
    fn one_setting_has_no_pairs() {
        assert_eq!(full(&[3]), [[0], [1], [2]]);
        assert!(covering(&[3]).is_empty());
    }
}
