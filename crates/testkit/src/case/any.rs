//! Draws a case of any kind whose query can run beside others in the simulation.

use thalweg_model::{Entropy, ProcessingTime, Span};

use super::{
    Case, Confluence, Diamond, Meeting, Nyt, NytSource, Parcels, Passing, Readings, Spread, Twice, United,
    Ysb, YsbPace,
};
use crate::seed::pick;
use crate::splits::SplitRuns;

/// Largest number of records of a hostile stream.
pub const RECORDS_MAX: u64 = 400;

/// Largest number of events that a generator makes in one run.
const GENERATED_MAX: u64 = 600;

/// A name of a kind of case, and a case of this kind.
pub type Kind = (&'static str, Box<dyn Case>);

/// Draws a case of any kind. Generators with a pace begin at `now`.
pub fn draw_any(entropy: &mut dyn Entropy, now: ProcessingTime) -> Kind {
    let count = entropy.below(RECORDS_MAX + 1) as usize;
    let generated = entropy.below(GENERATED_MAX + 1);
    let rate_per_s = pick(entropy, &[100, 10_000]);
    match entropy.below(12) {
        0 | 1 => ("readings", Box::new(Readings::draw(count, entropy).over_splits(SplitRuns::draw(entropy)))),
        2 => ("parcels", Box::new(Parcels::draw(count, entropy).over_splits(SplitRuns::draw(entropy)))),
        3 => ("passing", Box::new(Passing::draw(count, entropy))),
        4 => ("twice", Box::new(Twice::draw(count, entropy))),
        5 => ("united", Box::new(United::draw(count, entropy))),
        6 => ("diamond", Box::new(Diamond::draw(count, entropy))),
        7 => ("confluence", Box::new(Confluence::draw(count, entropy))),
        // The case has few records, because many records of one key make many pairs.
        8 => ("meeting", Box::new(Meeting::draw(count / 4, entropy))),
        9 => {
            let pace = pick(entropy, &[YsbPace::AtRate(rate_per_s, now), YsbPace::Drained(rate_per_s)]);
            let splits = 1 + entropy.below(3) as usize;
            ("ysb", Box::new(Ysb::new(generated, pace, Span::from_millis(50)).over_splits(splits)))
        }
        10 => ("spread", Box::new(Spread::draw(count, entropy))),
        _ => {
            let source = NytSource::Generated { trips: generated, rate_per_s };
            let splits = 1 + entropy.below(3) as usize;
            ("nyt", Box::new(Nyt::new(source, Span::from_secs(2)).over_splits(splits)))
        }
    }
}
