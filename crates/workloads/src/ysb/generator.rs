//! Events of YSB from a seed: made once into a cache, then copied from it, so that a source costs only a copy.

use std::fmt;

use thalweg_model::{Entropy, EventTime, Generate, SeededEntropy};

use super::event::{
    AD_COUNT, AD_TYPE_COUNT, CLICK, EVENT_TYPE_COUNT, PAGE_COUNT, USER_COUNT, VIEW, YsbEvent,
};

/// Number of events in the cache; the sequence repeats after them. At 48 MiB it is larger than the caches of
/// current processors, so events come from memory as new ones would.
pub const CACHE_EVENTS: usize = 1 << 20;

/// Share of the generated events that pass the query's filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ViewShare {
    /// One of three event types is a view: the benchmark's own data.
    #[default]
    OneThird,
    /// Two of three event types are views: the second data set of the experiment that changes the filter's
    /// selectivity (Enjima, Fig. 6c).
    TwoThirds,
}

/// Options of the generated events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct YsbOptions {
    /// Seed of the random numbers; equal seeds give equal events.
    pub seed: u64,
    /// Whether ad, ad type and event type cycle through their values, as in Enjima's program, instead of being
    /// random. Branch predictors learn such a sequence: a speed measured with it must be marked as such.
    pub cyclic: bool,
    /// Share of the generated events that are views and pass the filter.
    pub views: ViewShare,
}

/// The endless sequence of YSB's events: event `index` is event `index % CACHE_EVENTS` of the cache.
///
/// Users and pages are uniform; so are ad, ad type and event type unless they are `cyclic`. Keeps
/// `CACHE_EVENTS` events, 48 MiB.
pub struct YsbGenerator {
    cache: Box<[YsbEvent; CACHE_EVENTS]>,
}

impl YsbGenerator {
    /// Makes the cache of events for these options.
    pub fn new(options: YsbOptions) -> Self {
        let mut entropy = SeededEntropy::new(options.seed);
        let events: Vec<YsbEvent> =
            (0..CACHE_EVENTS as u64).map(|n| event(options, n, &mut entropy)).collect();
        // The array is built through a vector, because an array of 48 MiB must not pass over the stack. Its
        // length is part of its type, so that masking an index is the only bounds check.
        let cache =
            events.into_boxed_slice().try_into().expect("as many events as the cache holds were made");
        YsbGenerator { cache }
    }

    /// Returns one period of the repeating sequence of events.
    pub fn cache(&self) -> &[YsbEvent; CACHE_EVENTS] {
        &self.cache
    }
}

impl fmt::Debug for YsbGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("YsbGenerator").finish_non_exhaustive()
    }
}

impl Generate for YsbGenerator {
    type Item = YsbEvent;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> YsbEvent {
        self.cache[index as usize & (CACHE_EVENTS - 1)]
    }

    #[inline(always)]
    fn place(&self, index: u64) -> Option<&YsbEvent> {
        Some(&self.cache[index as usize & (CACHE_EVENTS - 1)])
    }

    fn cache_bytes(&self) -> usize {
        size_of_val(&*self.cache)
    }
}

fn event(options: YsbOptions, number: u64, entropy: &mut SeededEntropy) -> YsbEvent {
    // Every event draws all of its random numbers, used or not. So users and pages are the same whether or
    // not ads and types are cyclic, and for any share of views.
    let (user, page) = (entropy.below(USER_COUNT), entropy.below(PAGE_COUNT));
    let random = [AD_COUNT, AD_TYPE_COUNT, EVENT_TYPE_COUNT].map(|count| entropy.below(count));
    let in_turn = [number % AD_COUNT, number % AD_TYPE_COUNT, number % EVENT_TYPE_COUNT];
    let [ad, ad_type, event_type] = if options.cyclic { in_turn } else { random };
    YsbEvent {
        user_id: user + 1,
        page_id: page + 1,
        ad_id: ad + 1,
        ad_type,
        event_type: match (options.views, event_type) {
            (ViewShare::TwoThirds, CLICK) => VIEW,
            (_, event_type) => event_type,
        },
        ip: u64::from(u32::from_be_bytes([1, 2, 3, 4])),
    }
}

#[cfg(test)]
mod tests;
