//! Suggestions for misspelt names: finds the known name that a wrong name most likely means.

/// Greatest number of characters of a misspelt name for which a suggestion is looked for.
pub const NAME_CHARACTERS_MAX: usize = 200;

/// Returns the name in `known` which is most similar to `name`: at most a third of its letters differ, whatever their
/// case. Returns `None` if no name is similar. Names of more than [`NAME_CHARACTERS_MAX`] characters have no match,
/// because comparing them would take long.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let most = (length / 3).max(1);
    if NAME_CHARACTERS_MAX < length {
        return None;
    }
    known
        .into_iter()
        // Names whose lengths differ too much are skipped: there may be thousands of names, and computing a
        // distance costs the product of both lengths.
        .filter(|other| other.chars().count().abs_diff(length) <= most)
        .map(|other| (edit_distance(&lower, &other.to_lowercase()), other))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, nearest)| nearest)
}

/// Returns the number of characters to insert, delete, change or swap with a neighbour which turns one text into the
/// other.
///
/// Source: Damerau, "A technique for computer detection and correction of spelling errors", CACM 7(3), 1964, in the
/// form which does not change swapped characters again.
fn edit_distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let changed = rows[i][j] + usize::from(l != r);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["price", "item", "bidtime", "sum"];
        let check = |name, expected| assert_eq!(nearest(name, known), expected, "{name}");
        check("PRICE", Some("price"));
        check("prcie", Some("price"));
        check("bid_time", Some("bidtime"));
        check("smu", Some("sum"));
        check("supplier", None);
        check("iteem", Some("item"));
        check("", None);
    }

    /// A misspelt name of more than a megabyte is compared with no known name, because that would take long.
    #[test]
    fn a_long_name_has_no_match() {
        let long = "ä".repeat(1 << 20);
        assert_eq!(nearest(&long, [&*long]), None);
    }
}
