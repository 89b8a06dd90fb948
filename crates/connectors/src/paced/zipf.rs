//! Zipf's law: the share of a rank, counted from 1, is proportional to the rank to the power of minus an exponent.
//! With exponent 0 all shares are equal; with 1 the second rank has half of the first one's share, the third a third.

/// Returns the shares of all ranks by Zipf's law, which add up to 1.
fn shares(count: usize, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Cuts `total` into whole parts by Zipf's law. The parts add up to `total`, and each is its share rounded down or
/// up. A rank whose share is below 1 may get nothing.
pub fn zipf_parts(total: u64, count: usize, exponent: f64) -> Vec<u64> {
    let shares: Vec<f64> = shares(count, exponent).into_iter().map(|share| share * total as f64).collect();
    let mut parts: Vec<u64> = shares.iter().map(|share| *share as u64).collect();
    // The ranks that lost most by rounding down get the rest: the method of the largest remainders.
    let mut by_loss: Vec<usize> = (0..count).collect();
    let loss = |rank: &usize| shares[*rank].fract();
    by_loss.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
    let left = total.saturating_sub(parts.iter().sum());
    (0..left).zip(by_loss).for_each(|(_, rank)| parts[rank] += 1);
    parts
}

/// Returns the share of the last rank, which is the least; 1 if there are no ranks.
pub(super) fn least_share(count: usize, exponent: f64) -> f64 {
    shares(count, exponent).last().copied().unwrap_or(1.0)
}

/// Table for drawing ranks by Zipf's law: the cumulated share up to each rank.
#[derive(Clone, Debug)]
pub(super) struct Ranks(Box<[f64]>);

impl Ranks {
    /// Creates the table for drawing one of `count` ranks by Zipf's law; there is at least one rank.
    pub(super) fn new(count: usize, exponent: f64) -> Self {
        let add = |sum: &mut f64, share| {
            *sum += share;
            Some(*sum)
        };
        Ranks(shares(count, exponent).into_iter().scan(0.0, add).collect())
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Returns the rank, counted from 1, for `unit`, a random number that is uniform from 0 to below 1.
    pub(super) fn at(&self, unit: f64) -> u64 {
        // The index is limited to the table, because rounding may leave the last sum a little below 1.
        let rank = self.0.partition_point(|up_to| *up_to <= unit).min(self.0.len().saturating_sub(1));
        rank as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::{Entropy, SeededEntropy};

    use super::*;

    #[test]
    fn parts_add_up() {
        assert_eq!(zipf_parts(12, 3, 0.0), [4, 4, 4]);
        assert_eq!(zipf_parts(11, 3, 1.0), [6, 3, 2]);
        assert_eq!(zipf_parts(12, 3, 1.0), [7, 3, 2], "6.5, 3.3 and 2.2");
        assert_eq!(zipf_parts(5, 3, 8.0), [5, 0, 0]);
        assert_eq!((zipf_parts(0, 2, 1.0), zipf_parts(7, 1, 3.0)), (vec![0, 0], vec![7]));
        for (total, count, exponent) in [(1, 4_096, 0.0), (4_096_000_000_000, 4_096, 0.99), (80_000, 80, 2.0)]
        {
            let parts = zipf_parts(total, count, exponent);
            assert_eq!(parts.iter().sum::<u64>(), total);
            assert!(parts.is_sorted_by(|a, b| a >= b), "{exponent}");
        }
    }

    /// In a million draws each rank is drawn as often as its share says.
    #[test]
    fn ranks_are_drawn_by_their_shares() {
        let (ranks, mut entropy) = (Ranks::new(4, 1.0), SeededEntropy::new(1));
        let mut drawn = [0u32; 4];
        (0..1_000_000).for_each(|_| drawn[ranks.at(entropy.unit()) as usize - 1] += 1);
        for (drawn, share) in drawn.iter().zip(shares(4, 1.0)) {
            assert!((f64::from(*drawn) / 1e6 - share).abs() < 0.002, "{drawn} for {share}");
        }
        assert_eq!((ranks.at(0.0), ranks.at(1.0 - f64::EPSILON)), (1, 4));
        assert_eq!(Ranks::new(1_000, 0.99).at(1.0), 1_000);
    }
}
