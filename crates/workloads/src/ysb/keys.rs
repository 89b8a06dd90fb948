//! Events of YSB for a chosen number of campaigns, so that the state of the query is as large as wanted.

use std::sync::Arc;

use thalweg_model::{Entropy, EventTime, Generate, SeededEntropy};

use super::event::{ADS_PER_CAMPAIGN, YsbEvent};
use super::generator::YsbGenerator;

/// Constant that is combined with the seed, so that the ads depend on no other random numbers.
const ADS: u64 = 0x7973_625f_6164_735f;

/// Distance between the states of two consecutive numbers of a SplitMix64 sequence, before they are mixed. It
/// is odd, so that no two states are equal.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator's events, with the ads of another number of campaigns.
///
/// The cache of a generator repeats after about a million events, which have too few ads for a million
/// campaigns. So the ad of an event is drawn from the event's index and never repeats in that way. Apart from
/// its ad, each event is the generator's. Each campaign has [`ADS_PER_CAMPAIGN`] ads.
#[derive(Clone, Debug)]
pub struct YsbKeys {
    events: Arc<YsbGenerator>,
    seed: u64,
    ad_count: u64,
    /// Whether the ads come in turn instead of at random.
    is_cyclic: bool,
}

impl YsbKeys {
    /// Creates a generator with the ads of `campaigns` campaigns, drawn evenly by `seed`, or in turn if they
    /// are `cyclic`.
    ///
    /// # Panics
    /// If there is no campaign, or 64 bits do not hold the number of ads.
    pub fn new(events: Arc<YsbGenerator>, campaigns: u64, seed: u64, cyclic: bool) -> Self {
        let ad_count = campaigns.checked_mul(ADS_PER_CAMPAIGN).filter(|ads| *ads > 0);
        let ad_count = ad_count.expect("the number of ads is above zero and has 64 bits");
        YsbKeys { events, seed: seed ^ ADS, ad_count, is_cyclic: cyclic }
    }

    #[inline]
    fn ad(&self, index: u64) -> u64 {
        if self.is_cyclic {
            return 1 + index % self.ad_count;
        }
        let state = self.seed.wrapping_add(index.wrapping_mul(APART));
        1 + SeededEntropy::new(state).below(self.ad_count)
    }
}

impl Generate for YsbKeys {
    type Item = YsbEvent;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, event_time: EventTime) -> YsbEvent {
        YsbEvent { ad_id: self.ad(index), ..self.events.value(index, event_time) }
    }

    #[inline(always)]
    fn place(&self, index: u64) -> Option<&YsbEvent> {
        self.events.place(index)
    }

    /// Returns the bytes of the cache of events, which all clones of the generator share.
    fn cache_bytes(&self) -> usize {
        self.events.cache_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::generator::YsbOptions;
    use super::*;

    fn ads(campaigns: u64, seed: u64, cyclic: bool, count: u64) -> Vec<u64> {
        let events = Arc::new(YsbGenerator::new(YsbOptions::default()));
        let keys = YsbKeys::new(Arc::clone(&events), campaigns, seed, cyclic);
        let ad = |index| {
            let event = keys.value(index, EventTime::EPOCH);
            let expected = events.value(index, EventTime::EPOCH);
            assert_eq!(event, YsbEvent { ad_id: event.ad_id, ..expected }, "only the ad differs");
            event.ad_id
        };
        (0..count).map(ad).collect()
    }

    /// All ads occur, none else does, and the sequence does not repeat with the cache.
    #[test]
    fn ads_are_those_of_the_campaigns() {
        let found = ads(3, 1, false, 1_000);
        assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), (1..=30).collect());
        assert_eq!(found, ads(3, 1, false, 1_000), "a seed repeats its events");
        assert_ne!(found, ads(3, 2, false, 1_000));
        let many = ads(1_000_000, 1, false, 3_000_000);
        let different: BTreeSet<u64> = many.iter().map(|ad| (ad - 1) / 10).collect();
        assert!(900_000 < different.len() && different.len() <= 1_000_000, "{}", different.len());
        assert_eq!(ads(2, 1, true, 21).last(), Some(&1));
    }
}
