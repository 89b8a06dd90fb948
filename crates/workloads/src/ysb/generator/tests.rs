//! Generated events are repeatable, uniform, and cyclic if asked.

use super::*;
use crate::ysb::event::PURCHASE;

fn made(seed: u64, cyclic: bool, views: ViewShare) -> YsbGenerator {
    YsbGenerator::new(YsbOptions { seed, cyclic, views })
}

/// Returns how often `field` takes each value below `count`, as multiples of the uniform share.
fn shares(generator: &YsbGenerator, count: u64, field: impl Fn(&YsbEvent) -> u64) -> Vec<f64> {
    let mut seen = vec![0u64; count as usize];
    generator.cache().iter().for_each(|event| seen[field(event) as usize] += 1);
    seen.iter().map(|&n| n as f64 * count as f64 / CACHE_EVENTS as f64).collect()
}

/// Equal seeds give equal events, and the sequence repeats after its period.
#[test]
fn a_seed_repeats_its_events() {
    let (first, same, other) = (
        made(7, false, ViewShare::OneThird),
        made(7, false, ViewShare::OneThird),
        made(8, false, ViewShare::OneThird),
    );
    assert!(first.cache() == same.cache());
    assert!(first.cache() != other.cache());
    let value = |index| first.value(index, EventTime::EPOCH);
    assert_eq!(value(3), value(3 + CACHE_EVENTS as u64));
    assert_eq!(value(3), first.cache()[3]);
    assert_eq!(first.cache_bytes(), 48 << 20);
}

#[test]
fn every_field_stays_in_its_range_and_is_uniform() {
    let generator = made(1, false, ViewShare::OneThird);
    let near = |shares: Vec<f64>, tolerance: f64| shares.iter().all(|share| (share - 1.0).abs() < tolerance);
    // The tolerance is five standard deviations of the rarest value: each ad has 1,049 events, 162 more or
    // fewer.
    assert!(near(shares(&generator, AD_COUNT, |event| event.ad_id - 1), 0.16));
    assert!(near(shares(&generator, AD_TYPE_COUNT, |event| event.ad_type), 0.01));
    assert!(near(shares(&generator, EVENT_TYPE_COUNT, |event| event.event_type), 0.01));
    assert!(near(shares(&generator, 100, |event| (event.user_id - 1) / 10_000), 0.05));
    assert!(near(shares(&generator, 100, |event| (event.page_id - 1) / 10_000), 0.05));
}

/// The ad of an event is independent of its type, because a filter by type would otherwise change the
/// shares of the campaigns.
#[test]
fn fields_are_independent() {
    let generator = made(1, false, ViewShare::OneThird);
    let pairs = shares(&generator, 300, |event| (event.ad_id - 1) / 10 * 3 + event.event_type);
    assert!(pairs.iter().all(|share| (share - 1.0).abs() < 0.1));
}

#[test]
fn cyclic_fields_come_in_turn() {
    let generator = made(1, true, ViewShare::OneThird);
    for (number, event) in (0u64..).zip(generator.cache()) {
        assert_eq!(
            (event.ad_id, event.ad_type, event.event_type),
            (number % 1000 + 1, number % 5, number % 3)
        );
    }
}

/// The data sets of one seed differ in event types only, so an experiment may switch between them in a run.
#[test]
fn the_second_data_set_keeps_two_of_three() {
    let (third, two_thirds) = (made(1, false, ViewShare::OneThird), made(1, false, ViewShare::TwoThirds));
    let views = |generator: &YsbGenerator| {
        generator.cache().iter().filter(|event| event.event_type == VIEW).count() as f64 / CACHE_EVENTS as f64
    };
    assert!((views(&third) - 1.0 / 3.0).abs() < 0.005);
    assert!((views(&two_thirds) - 2.0 / 3.0).abs() < 0.005);
    for (a, b) in third.cache().iter().zip(two_thirds.cache()) {
        assert_eq!(
            (a.user_id, a.ad_id, a.event_type == PURCHASE),
            (b.user_id, b.ad_id, b.event_type == PURCHASE)
        );
    }
}
