//! Probes from a seed, distributed like 385,747 recorded ones: 99 machines that all probe each other. Made once
//! into a cache, then copied from it.
//!
//! The recording is of the Seattle network, 99 machines in 40 slices of time. Each slice has a round-trip
//! time for nearly each of 9,702 pairs, in an unnamed unit that looks like seconds. The variance of its
//! logarithm lies to 54 % between pairs and to 46 % within them.

use std::fmt;

use thalweg_model::{Entropy, EventTime, Generate, SeededEntropy};

use super::probe::{IpPair, Probe};

/// Number of probes in the cache, 15 MiB; the sequence repeats after them. These are two seconds of probes.
/// So a run at the nominal rate has only two different windows, and the reference need not count each one.
pub const CACHE_PROBES: usize = 1_000_000;

/// Number of probing machines, with addresses from 10.0.0.1 on.
pub const MACHINE_COUNT: u32 = 99;

/// Number of pairs of different machines; each direction is a pair.
pub const PAIR_COUNT: usize = (MACHINE_COUNT * (MACHINE_COUNT - 1)) as usize;

/// The address 10.0.0.0 as a number, which is the one before the first machine.
const NETWORK: u32 = 10 << 24;

/// Quantiles of the round-trip time: shares, and the time that such a share of probes does not exceed, in the
/// recording's unnamed unit.
const RTT_QUANTILES: [(f64, f64); 12] = [
    (0.0, 0.01),
    (0.01, 0.01),
    (0.05, 0.03),
    (0.10, 0.04),
    (0.25, 0.11),
    (0.50, 0.21),
    (0.75, 0.43),
    (0.90, 0.54),
    (0.95, 0.75),
    (0.99, 1.5),
    (0.999, 8.33),
    (1.0, 23.3),
];

/// Share of probes that have the usual round-trip time of their pair. Its square is the share of the variance
/// that lies between pairs.
const USUAL_SHARE: f64 = 0.735;

/// The endless sequence of probes: probe `index` is probe `index % CACHE_PROBES` of the cache.
///
/// * Pairs are drawn evenly: a window of a second has about 52 probes of each.
/// * Round-trip times follow the recording's quantiles, interpolated linearly, in hundredths. Each pair has a
///   usual time, which three of four probes take; the others take a random one.
pub struct NetmonGenerator {
    cache: Box<[Probe; CACHE_PROBES]>,
}

impl NetmonGenerator {
    /// Makes the generator and its cache: measurements of round-trip times between machines, which repeat. Equal seeds
    /// give equal measurements.
    pub fn new(seed: u64) -> Self {
        NetmonGenerator::of_pairs(seed, PAIR_COUNT)
    }

    /// Makes the generator and its cache for another number of pairs of machines, of which there are as few as have so
    /// many pairs.
    ///
    /// # Panics
    /// If there is no pair, or if there are more pairs than probes in the cache.
    pub fn of_pairs(seed: u64, pair_count: usize) -> Self {
        assert!((1..=CACHE_PROBES).contains(&pair_count), "each of some pairs has a probe in the cache");
        let mut entropy = SeededEntropy::new(seed);
        let pairs = pairs(pair_count, &mut entropy);
        let probes: Vec<Probe> = (0..CACHE_PROBES).map(|_| probe(&pairs, &mut entropy)).collect();
        let cache =
            probes.into_boxed_slice().try_into().expect("as many probes as the cache holds were made");
        NetmonGenerator { cache }
    }

    /// Returns one period of the repeating sequence of probes.
    pub fn cache(&self) -> &[Probe; CACHE_PROBES] {
        &self.cache
    }
}

impl fmt::Debug for NetmonGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetmonGenerator").finish_non_exhaustive()
    }
}

impl Generate for NetmonGenerator {
    type Item = Probe;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> Probe {
        self.cache[(index % CACHE_PROBES as u64) as usize]
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.cache)
    }
}

/// Returns so many pairs of machines, each with its usual round-trip time. With [`PAIR_COUNT`] they are all pairs of
/// [`MACHINE_COUNT`] machines.
fn pairs(pair_count: usize, entropy: &mut SeededEntropy) -> Vec<Probe> {
    let pairs_of = |machines: u32| machines as usize * (machines as usize - 1);
    let machine_count = (2..).find(|machines| pair_count <= pairs_of(*machines)).unwrap_or(u32::MAX);
    let machines = 1..=machine_count;
    let pairs = machines.clone().flat_map(|source| machines.clone().map(move |other| (source, other)));
    let different = pairs.filter(|(source, destination)| source != destination);
    let addressed = different
        .map(|(source, destination)| IpPair { source: NETWORK + source, destination: NETWORK + destination });
    addressed.take(pair_count).map(|pair| Probe { pair, rtt: rtt_at(entropy.unit()) }).collect()
}

fn probe(pairs: &[Probe], entropy: &mut SeededEntropy) -> Probe {
    let Probe { pair, rtt: usual } = pairs[entropy.below(pairs.len() as u64) as usize];
    // Every probe draws all of its random numbers, used or not. So the pairs of machines are the same
    // whatever share of probes has the usual round-trip time.
    let (is_usual, other) = (entropy.unit() < USUAL_SHARE, rtt_at(entropy.unit()));
    Probe { pair, rtt: if is_usual { usual } else { other } }
}

/// Returns the round-trip time that this share of the probes does not exceed, rounded to hundredths as
/// recorded.
fn rtt_at(share: f64) -> f64 {
    let behind = RTT_QUANTILES.partition_point(|&(quantile, _)| quantile <= share);
    let ((low_share, low), (high_share, high)) = (RTT_QUANTILES[behind - 1], RTT_QUANTILES[behind]);
    let rtt = low + (high - low) * (share - low_share) / (high_share - low_share);
    (rtt * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
