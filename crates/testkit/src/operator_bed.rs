//! A bed to try any operator on, without an engine: what a task does with it, from a seed.
//!
//! ```text
//!   input 0: Arrivals --\                                        /--> Emitted, each at its place between
//!   input 1: Arrivals ---+--> turns, batches, marks --> operator --+     the watermarks that it was given
//!   ...                 /                                        \--> marks, as it forwards them
//! ```
//!
//! The bed reads its inputs in turns, as a task with several edges does: batches hold records of one input; a watermark
//! is the least of all inputs that are not over, when that moves on; before records of an input whose own watermark is
//! another than the one told last stands an `InputWatermark`. At the end come the watermark at the end of time and
//! `End`. A [`Manner`] says how large batches are, how little room the output has, and whether the operator is replaced
//! by another one that loads its state; no result may depend on it.
//!
//! Meanwhile it holds the operator to its contract (rules O1 to O4 of `thalweg_model::operator`): pushes only into room;
//! takes what it is given, or says that it is stalled; gets on when it has room; counts every record; forwards a mark the
//! same way when asked twice, watermarks never back and never beyond what it was given; pays for its state before it
//! grows. [`Copies`] stand for an operator that several workers share. What came out is told by [`Ran`], which can be asked for the rest: nothing behind a promised watermark, no
//! result before its window closes, results as the oracle has them.

mod copies;
mod driver;
mod output;
mod purse;
mod ran;
#[cfg(test)]
mod tests;

use std::vec::IntoIter;

use thalweg_model::{Entropy, EventTime, Mark, Operator, Record, SeededEntropy};

use crate::arrival::Arrival;
use crate::seed::pick;
use driver::{Driver, Ended};

pub use copies::Copies;
pub use ran::{Emitted, Ran};

/// When the operator is replaced by a fresh one that loads its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restore {
    /// Never.
    Never,
    /// Behind every watermark.
    AtWatermarks,
    /// Between any two calls but those that an emission takes, one time in four.
    Anywhere,
}

impl Restore {
    /// All of them.
    pub const ALL: [Restore; 3] = [Restore::Never, Restore::AtWatermarks, Restore::Anywhere];
}

/// How an operator is driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Records that the output has room for in one call.
    pub room: usize,
    /// Records of a batch, at most.
    pub batch: usize,
    /// What an input brings before another has its turn, at most.
    pub turn: usize,
    /// The input that has its turn three times as often.
    pub favourite: usize,
    /// When state is saved and loaded.
    pub restore: Restore,
    /// Bytes of state that are granted; without bound if none. Who is refused is not called again.
    pub purse_bytes: Option<usize>,
}

impl Manner {
    /// Draws all but when state is saved and loaded.
    pub fn draw(restore: Restore, entropy: &mut dyn Entropy) -> Self {
        Manner {
            room: pick(entropy, &[1, 2, 7, 1 << 20]),
            batch: pick(entropy, &[1, 3, 20, 500]),
            turn: pick(entropy, &[1, 5, 50, usize::MAX]),
            favourite: entropy.below(3) as usize,
            restore,
            purse_bytes: None,
        }
    }
}

/// Inputs, and how they reach an operator.
#[derive(Clone, Debug)]
pub struct Bed<In> {
    inputs: Vec<Vec<Arrival<In>>>,
    manner: Manner,
    seed: u64,
}

/// One input while it is read.
struct Lane<In> {
    rest: IntoIter<Arrival<In>>,
    /// Its own watermark; the end of time once it is over.
    watermark: EventTime,
}

impl<In: Clone> Bed<In> {
    /// A bed on which each of these is an input of its own.
    pub fn new(inputs: Vec<Vec<Arrival<In>>>, manner: Manner, entropy: &mut dyn Entropy) -> Self {
        Bed { inputs, manner, seed: entropy.next_u64() }
    }

    /// How it drives.
    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// The same with so many bytes of state.
    pub fn with_purse(self, bytes: usize) -> Self {
        Bed { manner: Manner { purse_bytes: Some(bytes), ..self.manner }, ..self }
    }

    /// Drives what `make` makes through the inputs to their end; the same way each time.
    ///
    /// # Panics
    /// If the operator breaks a rule of its contract.
    pub fn drive<P: Operator<In>>(&self, make: impl Fn() -> P) -> Ran<In, P::Out> {
        let mut driver = Driver::new(make, self.manner, SeededEntropy::new(self.seed));
        let starved = self.run(&mut driver).is_err();
        driver.finish(starved)
    }

    fn run<P: Operator<In>>(&self, driver: &mut Driver<In, P, impl Fn() -> P>) -> Ended {
        let lane = |arrivals: &Vec<Arrival<In>>| Lane {
            rest: arrivals.clone().into_iter(),
            watermark: EventTime::MIN,
        };
        let mut lanes: Vec<Lane<In>> = self.inputs.iter().map(lane).collect();
        let mut turns = SeededEntropy::new(self.seed ^ 1);
        loop {
            let open: Vec<usize> = (0..lanes.len()).filter(|&lane| lanes[lane].is_open()).collect();
            let favourite = open.iter().copied().find(|&lane| lane == self.manner.favourite);
            let lane = match favourite {
                _ if open.is_empty() => break,
                Some(lane) if turns.below(2) == 0 => lane,
                _ => pick(&mut turns, &open),
            };
            self.turn(&mut lanes, lane, &mut turns, driver)?;
        }
        driver.mark(Mark::End)
    }

    /// Reads some of what one input brings.
    fn turn<P: Operator<In>>(
        &self,
        lanes: &mut [Lane<In>],
        lane: usize,
        turns: &mut dyn Entropy,
        driver: &mut Driver<In, P, impl Fn() -> P>,
    ) -> Ended {
        let is_alone = lanes.len() == 1;
        let mut batch: Vec<Record<In>> = Vec::new();
        let mut batch_max = 1 + turns.below(self.manner.batch as u64) as usize;
        for _ in 0..=turns.below(self.manner.turn as u64) {
            let own = lanes[lane].watermark;
            let told = if is_alone { None } else { Some(own) };
            let watermark = match lanes[lane].rest.next() {
                Some(Arrival::Record(at_us, value)) => {
                    batch.push(Record::new(EventTime::from_micros(at_us), value));
                    if batch.len() == batch_max {
                        driver.batch(std::mem::take(&mut batch), own, told)?;
                        batch_max = 1 + turns.below(self.manner.batch as u64) as usize;
                    }
                    continue;
                }
                Some(Arrival::Watermark(watermark_us)) => EventTime::from_micros(watermark_us),
                None => EventTime::MAX,
            };
            driver.batch(std::mem::take(&mut batch), own, told)?;
            assert!(own < watermark, "the watermarks of an input rise: {watermark:?} after {own:?}");
            lanes[lane].watermark = watermark;
            let least = lanes.iter().map(|lane| lane.watermark).min().expect("there is an input");
            driver.watermark(least)?;
            if !lanes[lane].is_open() {
                return Ok(());
            }
        }
        let own = lanes[lane].watermark;
        driver.batch(batch, own, if is_alone { None } else { Some(own) })
    }
}

impl<In> Lane<In> {
    fn is_open(&self) -> bool {
        self.watermark < EventTime::MAX
    }
}
