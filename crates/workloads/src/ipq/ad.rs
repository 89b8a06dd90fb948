//! Ads that were shown, with their revenue, from a seed: made once into a cache, then copied from it.

use std::fmt;

use thalweg_model::{Entropy, EventTime, Generate, Record, SeededEntropy};

/// Number of ads in the cache of the generator, 4 MiB. The sequence of ads repeats after them.
pub const CACHE_EVENTS: usize = 1 << 18;

/// Number of advertising campaigns, which are numbered from 0.
pub const CAMPAIGN_COUNT: u64 = 100;

/// Exclusive upper bound of an ad's revenue: 100 cents, in millionths of a dollar.
pub const REVENUE_MICROS_BELOW: u64 = 1_000_000;

/// An event: an ad that was shown, with its revenue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdEvent {
    /// Campaign of the ad, below [`CAMPAIGN_COUNT`] unless a run has another number of campaigns.
    pub campaign: u64,
    /// Revenue of the ad, in millionths of a dollar.
    pub revenue_micros: u64,
}

/// Throughput in bytes and the number of records in a block depend on the size of this record, 24 bytes.
const _: () = assert!(size_of::<Record<AdEvent>>() == 24);

/// The endless sequence of ads: event `index` is event `index % CACHE_EVENTS` of the cache. Campaigns and
/// revenues are drawn evenly.
pub struct AdGenerator {
    cache: Box<[AdEvent; CACHE_EVENTS]>,
}

impl AdGenerator {
    /// Makes the cache of ads from a seed; equal seeds give equal events.
    pub fn new(seed: u64) -> Self {
        AdGenerator::of_campaigns(seed, CAMPAIGN_COUNT)
    }

    /// Makes the cache of ads of another number of campaigns. The revenues of the ads do not depend on it.
    ///
    /// # Panics
    /// If there is no campaign.
    pub fn of_campaigns(seed: u64, campaigns: u64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let event = |_| AdEvent {
            campaign: entropy.below(campaigns),
            revenue_micros: entropy.below(REVENUE_MICROS_BELOW),
        };
        let events: Vec<AdEvent> = (0..CACHE_EVENTS).map(event).collect();
        let cache =
            events.into_boxed_slice().try_into().expect("as many events as the cache holds were made");
        AdGenerator { cache }
    }

    /// Returns one period of the repeating sequence of ads.
    pub fn cache(&self) -> &[AdEvent; CACHE_EVENTS] {
        &self.cache
    }
}

impl fmt::Debug for AdGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdGenerator").finish_non_exhaustive()
    }
}

impl Generate for AdGenerator {
    type Item = AdEvent;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> AdEvent {
        self.cache[index as usize & (CACHE_EVENTS - 1)]
    }

    #[inline(always)]
    fn place(&self, index: u64) -> Option<&AdEvent> {
        Some(&self.cache[index as usize & (CACHE_EVENTS - 1)])
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_events() {
        let (first, same, other) = (AdGenerator::new(7), AdGenerator::new(7), AdGenerator::new(8));
        assert!(first.cache() == same.cache() && first.cache() != other.cache());
        let value = |index| first.value(index, EventTime::EPOCH);
        assert_eq!(value(3), value(3 + CACHE_EVENTS as u64));
        assert_eq!(first.place(3), Some(&value(3)));
        assert_eq!(first.cache_bytes(), 4 << 20);
    }

    /// Every campaign has 1 % of the events, and the same mean revenue as the others.
    #[test]
    fn campaigns_and_revenues_are_drawn_evenly() {
        let generator = AdGenerator::new(1);
        let mut seen = vec![(0_u64, 0_u64); CAMPAIGN_COUNT as usize];
        for event in generator.cache() {
            assert!(event.revenue_micros < REVENUE_MICROS_BELOW);
            let (count, sum) = &mut seen[event.campaign as usize];
            (*count, *sum) = (*count + 1, *sum + event.revenue_micros);
        }
        let (expected, mean) = (CACHE_EVENTS as f64 / 100.0, 500_000.0);
        for (count, sum) in seen {
            assert!((count as f64 / expected - 1.0).abs() < 0.1, "{count} of some {expected}");
            assert!((sum as f64 / count as f64 / mean - 1.0).abs() < 0.06, "{sum} for {count}");
        }
    }

    #[test]
    fn campaigns_are_as_many_as_asked_for() {
        for campaigns in [1, 10_000] {
            let generator = AdGenerator::of_campaigns(1, campaigns);
            let mut found: Vec<u64> = generator.cache().iter().map(|event| event.campaign).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, (0..campaigns).collect::<Vec<_>>());
        }
    }
}
