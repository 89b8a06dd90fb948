//! Events of YSB with a share of views that changes over event time.

use std::sync::Arc;

use thalweg_model::{EventTime, Generate};

use super::event::{CLICK, USER_COUNT, VIEW, YsbEvent};
use super::generator::YsbGenerator;

/// A share of views among the events, valid from an instant on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// First instant at which this share of views is valid.
    pub from: EventTime,
    /// Share of views among the events, from 0 to 1, rounded to millionths.
    pub view_share: f64,
}

/// A generator's events, with other shares of views from given instants on.
///
/// In a phase the user of an event decides whether it is a view. Users are drawn evenly, and the query does not
/// read them: so the share is as asked for every ad, and the same events are views whenever a share recurs. An
/// event that becomes no view is a click. Before the first phase, and apart from its type, each event is the
/// generator's.
#[derive(Clone, Debug)]
pub struct YsbPhases {
    events: Arc<YsbGenerator>,
    /// Start of each phase, and the number of users whose events are views in this phase.
    phases: Vec<(EventTime, u64)>,
}

impl YsbPhases {
    /// Creates a generator with the given phases, which must be in the order of their start.
    ///
    /// # Panics
    /// If a phase begins before the previous one.
    pub fn new(events: Arc<YsbGenerator>, phases: &[Phase]) -> Self {
        assert!(phases.is_sorted_by_key(|phase| phase.from), "phases come by rising time");
        let users = |share: f64| (share.clamp(0.0, 1.0) * USER_COUNT as f64).round() as u64;
        let phases = phases.iter().map(|phase| (phase.from, users(phase.view_share))).collect();
        YsbPhases { events, phases }
    }
}

impl Generate for YsbPhases {
    type Item = YsbEvent;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, event_time: EventTime) -> YsbEvent {
        let event = self.events.value(index, event_time);
        let event_type = match self.phases.iter().rfind(|(from, _)| *from <= event_time) {
            None => event.event_type,
            Some((_, users)) if event.user_id <= *users => VIEW,
            Some(_) if event.event_type == VIEW => CLICK,
            Some(_) => event.event_type,
        };
        YsbEvent { event_type, ..event }
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
    use super::super::generator::{CACHE_EVENTS, YsbOptions};
    use super::*;

    #[test]
    fn shares_are_as_asked_and_the_rest_is_the_generator_s() {
        let events = Arc::new(YsbGenerator::new(YsbOptions::default()));
        let phase = |seconds, view_share| Phase { from: EventTime::from_secs(seconds), view_share };
        let phases = [phase(10, 0.6), phase(20, 0.0), phase(30, 1.0), phase(40, 0.6)];
        let phases = YsbPhases::new(Arc::clone(&events), &phases);
        let of = |seconds| {
            let at = EventTime::from_secs(seconds);
            (0..CACHE_EVENTS as u64).map(|index| phases.value(index, at)).collect::<Vec<_>>()
        };
        let share = |events: &[YsbEvent]| {
            events.iter().filter(|event| event.event_type == VIEW).count() as f64 / events.len() as f64
        };
        assert_eq!(of(9), events.cache()[..]);
        for (seconds, expected) in [(9, 1.0 / 3.0), (10, 0.6), (19, 0.6), (20, 0.0), (30, 1.0), (99, 0.6)] {
            let found = share(&of(seconds));
            assert!((found - expected).abs() < 0.002, "{found} at {seconds} s, {expected} expected");
        }
        assert_eq!(of(10), of(40));
        for (event, other) in events.cache().iter().zip(of(10)) {
            assert_eq!(other, YsbEvent { event_type: other.event_type, ..*event });
        }
        let of_ad: Vec<YsbEvent> = of(10).into_iter().filter(|event| event.ad_id == 7).collect();
        assert!((share(&of_ad) - 0.6).abs() < 0.05, "{} of the views of an ad", share(&of_ad));
    }
}
