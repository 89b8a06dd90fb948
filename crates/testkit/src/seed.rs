//! Selection of the seeds that a test runs, and the command that replays one of them.
//!
//! | variable            | meaning                                                              |
//! |---------------------|----------------------------------------------------------------------|
//! | `THALWEG_SEED`      | run this seed and no other                                           |
//! | `THALWEG_SEEDS`     | how many seeds to run; 100 unless set, under CI fewer in long tests  |
//! | `THALWEG_SEED_BASE` | the first one; unless set, under CI the commit's hash, else 0        |
//! | `THALWEG_FULL`      | under CI: run all cases of the tests that take samples of a list     |
//!
//! On a developer's machine a run repeats itself; in CI every commit runs new seeds.

use std::process::Command;

use thalweg_model::{Entropy, SeededEntropy};

/// Number of seeds that a test runs unless the environment asks for another number.
const SEEDS_DEFAULT: u64 = 100;

/// Number of hexadecimal digits of a commit's hash that form the first seed. They have 48 bits, short enough
/// to type.
const HASH_DIGITS: usize = 12;

/// The seeds that a test runs, one run for each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeds {
    first: u64,
    count: u64,
    /// Description of where the first seed comes from, for the output of the test.
    origin: String,
    /// Name of the test's file, for the command that replays a seed.
    test: &'static str,
}

impl Seeds {
    /// Returns the seeds that the environment asks for. `test` is the name of the test's file.
    ///
    /// # Panics
    /// If a variable is not a number.
    pub fn from_env(test: &'static str) -> Self {
        if let Some(seed) = number("THALWEG_SEED") {
            return Seeds { first: seed, count: 1, origin: "THALWEG_SEED".to_owned(), test };
        }
        let (first, origin) = match (number("THALWEG_SEED_BASE"), std::env::var_os("CI")) {
            (Some(base), _) => (base, "THALWEG_SEED_BASE".to_owned()),
            (None, Some(_)) => commit_seed().unwrap_or((0, "no commit is known".to_owned())),
            (None, None) => (0, "the default".to_owned()),
        };
        Seeds { first, count: number("THALWEG_SEEDS").unwrap_or(SEEDS_DEFAULT), origin, test }
    }

    /// Divides the number of seeds by `share`, keeping at least one: for tests that need less variety.
    pub fn one_in(self, share: u64) -> Self {
        Seeds { count: (self.count / share).max(1), ..self }
    }

    /// Divides the number of seeds by `share` under CI, where they are others for each commit: for tests that take long.
    /// A number that the environment asks for stays, and with `THALWEG_FULL` there are as many as elsewhere.
    pub fn one_in_under_ci(self, share: u64) -> Self {
        let is_divided = is_sampled() && number("THALWEG_SEEDS").is_none();
        if is_divided { self.one_in(share) } else { self }
    }

    /// Multiplies the number of seeds by `factor`, unless a single seed is asked for. This is for small tests
    /// that must not depend on chance.
    pub fn times(self, factor: u64) -> Self {
        let factor = if self.origin == "THALWEG_SEED" { 1 } else { factor };
        Seeds { count: self.count * factor, ..self }
    }

    /// Runs `run` with each seed in turn. If it panics, the command that replays the seed is printed.
    pub fn each(&self, mut run: impl FnMut(u64)) {
        let Seeds { first, count, origin, test } = self;
        println!("{count} seeds from {first} ({origin})");
        for seed in (0..*count).map(|offset| first.wrapping_add(offset)) {
            let command = format!("cargo test -p thalweg-testkit --test {test} -- --nocapture");
            let _replay = OnPanic(format!("replay: THALWEG_SEED={seed} {command}"));
            run(seed);
        }
    }
}

/// Returns the positions of a list of `length` cases that a test runs: all of them, or under CI one in `share`, others for
/// each commit. `THALWEG_FULL=1` asks for all of them under CI as well.
///
/// # Panics
/// If `share` is 0.
pub fn sampled(length: usize, share: usize) -> impl Iterator<Item = usize> {
    assert!(share > 0, "a share of nothing");
    let base = number("THALWEG_SEED_BASE").or_else(|| Some(commit_seed()?.0)).unwrap_or(0);
    one_in(length, if is_sampled() { share } else { 1 }, base)
}

/// Returns true under CI, unless the environment asks for all cases.
fn is_sampled() -> bool {
    std::env::var_os("CI").is_some() && std::env::var_os("THALWEG_FULL").is_none()
}

/// Returns every position below `length` that leaves the same remainder as `base` when divided by `share`.
fn one_in(length: usize, share: usize, base: u64) -> impl Iterator<Item = usize> {
    let first = (base % share as u64) as usize;
    (first..length).step_by(share)
}

/// Returns a random generator for one purpose of a seed. The generators of different purposes are
/// independent, so drawing more from one does not change another.
pub fn entropy_for(seed: u64, purpose: &str) -> SeededEntropy {
    // FNV-1a hashes the purpose to a 64-bit word; SplitMix64 makes neighbouring seeds unrelated.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let purpose = purpose.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    SeededEntropy::new(SeededEntropy::new(seed).next_u64() ^ purpose)
}

/// Draws one of `choices` at random.
///
/// # Panics
/// If there are none.
pub fn pick<T: Copy>(entropy: &mut dyn Entropy, choices: &[T]) -> T {
    choices[entropy.below(choices.len() as u64) as usize]
}

/// A text that is printed when it is dropped by a panic, to tell what the test was doing.
pub struct OnPanic(pub String);

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is `{text}`, but must be a whole number of 64 bits")),
    )
}

fn commit_seed() -> Option<(u64, String)> {
    // Tests run in the folder of their package, so git finds the repository.
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
    let hash = String::from_utf8(output.stdout).ok()?;
    let digits = hash.get(..HASH_DIGITS)?;
    Some((u64::from_str_radix(digits, 16).ok()?, format!("commit {digits}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_of_one_seed_draw_different_numbers_and_repeat() {
        let draw = |seed, purpose| entropy_for(seed, purpose).next_u64();
        assert_eq!(draw(1, "data"), draw(1, "data"));
        assert_ne!(draw(1, "data"), draw(1, "schedule"));
        assert_ne!(draw(1, "data"), draw(2, "data"));
    }

    /// All bases together choose every position once.
    #[test]
    fn samples_of_several_bases_cover_all() {
        assert_eq!(one_in(7, 1, 99).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(one_in(7, 3, 4).collect::<Vec<_>>(), [1, 4]);
        let mut all: Vec<usize> = (0..3).flat_map(|base| one_in(7, 3, base)).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn seeds_follow_each_other_past_the_end_of_the_range() {
        let seeds = Seeds { first: u64::MAX, count: 30, origin: String::new(), test: "none" };
        let mut seen = Vec::new();
        seeds.one_in(10).each(|seed| seen.push(seed));
        assert_eq!(seen, [u64::MAX, 0, 1]);
    }
}
