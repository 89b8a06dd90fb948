//! Numbers for operators and queries that come and go. Each keeps its number while it exists, and another one gets the
//! number only later.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers by their owners, which are operators or queries. Numbers stay small: at most twice as many are in use or
/// free as there ever were owners at a time.
#[derive(Clone, Debug)]
pub(crate) struct Numbers<T> {
    given: BTreeMap<T, u32>,
    /// Numbers below the greatest one that have no owner at present.
    free: BTreeSet<u32>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { given: BTreeMap::new(), free: BTreeSet::new() }
    }
}

impl<T: Ord> Numbers<T> {
    /// Gives numbers to those of `owners` that have none, and takes them from all other owners. A number that is taken
    /// is not given again in the same call, so there is a round in which no owner has it.
    pub(crate) fn set(&mut self, owners: BTreeSet<T>) {
        let ended: Vec<u32> =
            self.given.extract_if(.., |owner, _| !owners.contains(owner)).map(|(_, n)| n).collect();
        let mut next = (self.given.len() + self.free.len() + ended.len()) as u32;
        for owner in owners {
            self.given.entry(owner).or_insert_with(|| {
                self.free.pop_first().unwrap_or_else(|| {
                    next += 1;
                    next - 1
                })
            });
        }
        self.free.extend(ended);
    }

    /// Returns the number of an owner; `None` if it has none.
    pub(crate) fn of(&self, owner: &T) -> Option<u32> {
        self.given.get(owner).copied()
    }

    /// Returns all owners of a number.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &T> {
        self.given.keys()
    }

    /// Returns a number that is above all that have an owner.
    pub(crate) fn end(&self) -> usize {
        self.given.len() + self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the numbers of some owners, whose text has one letter for each, one round after the other.
    #[track_caller]
    fn check(rounds: &[(&str, &[u32])]) {
        let mut numbers = Numbers::default();
        for (owners, expected) in rounds {
            numbers.set(owners.chars().collect());
            let found: Vec<u32> = owners.chars().map(|owner| numbers.of(&owner).unwrap()).collect();
            assert_eq!(found, *expected, "{owners}");
            assert!(found.iter().all(|number| (*number as usize) < numbers.end()));
        }
    }

    #[test]
    fn numbers_stay_and_are_used_again_after_a_round() {
        check(&[("ab", &[0, 1]), ("b", &[1]), ("bc", &[1, 0]), ("bcd", &[1, 0, 2])]);
        check(&[("ab", &[0, 1]), ("bc", &[1, 2]), ("bcd", &[1, 2, 0]), ("", &[]), ("x", &[0])]);
        check(&[("", &[]), ("a", &[0]), ("b", &[1]), ("a", &[0]), ("b", &[1])]);
    }
}
