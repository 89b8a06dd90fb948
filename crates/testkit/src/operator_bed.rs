//! A test bed for any operator, without an engine: it drives the operator as a task does, from a seed.
//!
//! ```text
//!   input 0: Arrivals --\                                        /--> Emitted, each at its place between
//!   input 1: Arrivals ---+--> turns, batches, marks --> operator --+     the watermarks that it was given
//!   ...                 /                                        \--> marks, as it forwards them
//! ```
//!
//! The bed reads its inputs in turns, as a task with several edges does. Batches hold records of one input. A
//! watermark is the least of all open inputs, sent when it advances. An `InputWatermark` precedes records of
//! an input whose own watermark differs from the last one sent. At the end come the watermark at the end of
//! time and `End`. A [`Manner`] sets the size of batches, the room of the output, and whether the operator is
//! replaced by another one that loads its state; no result may depend on it.
//!
//! Meanwhile the bed checks the operator's contract (rules O1 to O4 of `thalweg_model::operator`). The
//! operator pushes only while the output has room. It takes the records that it is given, or reports that it
//! is stalled, and continues when it has room. It counts every record. It forwards a mark (such as a
//! watermark, a latency marker or the end) in the same way when asked twice. Its watermarks never go back and
//! never exceed the watermarks that it was given. It is granted memory for its state before the state grows.
//! [`Copies`] represent an operator that several workers share. [`Ran`] holds the output and checks the rest:
//! no record stamped below a watermark that was forwarded before it, no result before its window closes,
//! results equal to the oracle's.

mod bounded_grant;
mod copies;
mod driver;
mod output;
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

/// Times at which the test bed replaces the operator by a fresh one that loads its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restore {
    /// The operator is never replaced.
    Never,
    /// The operator is replaced by a fresh one after every watermark.
    AtWatermarks,
    /// The operator may be replaced between any two calls except while it emits results, with a probability
    /// of one in four.
    Anywhere,
}

impl Restore {
    /// All choices of when the operator is replaced by a fresh one that loads its state.
    pub const ALL: [Restore; 3] = [Restore::Never, Restore::AtWatermarks, Restore::Anywhere];
}

/// Settings by which the test bed drives an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Number of records for which the output has room in one call of the operator.
    pub room: usize,
    /// Largest number of records in a batch of input.
    pub batch: usize,
    /// Largest number of arrivals (records and watermarks) of an input before another input has its turn.
    pub turn: usize,
    /// Index of the input that gets about every second turn, besides its share of the other turns.
    pub favourite: usize,
    /// Times at which the operator is replaced by a fresh one that loads its state.
    pub restore: Restore,
    /// Bytes of state that are granted to the operator; `None` for no limit. An operator that was refused
    /// memory is not called again.
    pub bounded_grant_bytes: Option<usize>,
}

impl Manner {
    /// Draws all settings at random, except `restore`.
    pub fn draw(restore: Restore, entropy: &mut dyn Entropy) -> Self {
        Manner {
            room: pick(entropy, &[1, 2, 7, 1 << 20]),
            batch: pick(entropy, &[1, 3, 20, 500]),
            turn: pick(entropy, &[1, 5, 50, usize::MAX]),
            favourite: entropy.below(3) as usize,
            restore,
            bounded_grant_bytes: None,
        }
    }
}

/// Inputs of an operator, and the settings by which the test bed drives it through them.
#[derive(Clone, Debug)]
pub struct Bed<In> {
    inputs: Vec<Vec<Arrival<In>>>,
    manner: Manner,
    seed: u64,
}

/// An input of the operator, while the test bed reads it.
struct Lane<In> {
    rest: IntoIter<Arrival<In>>,
    /// The watermark of this input; the end of time once the input is over.
    watermark: EventTime,
}

impl<In: Clone> Bed<In> {
    /// Creates a test bed that drives an operator through these inputs.
    pub fn new(inputs: Vec<Vec<Arrival<In>>>, manner: Manner, entropy: &mut dyn Entropy) -> Self {
        Bed { inputs, manner, seed: entropy.next_u64() }
    }

    /// Returns the settings by which the test bed drives its operator.
    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// Returns the test bed with a limit on the bytes of state that are granted to the operator.
    pub fn with_bounded_grant(self, bytes: usize) -> Self {
        Bed { manner: Manner { bounded_grant_bytes: Some(bytes), ..self.manner }, ..self }
    }

    /// Drives the operator that `make` creates through the inputs to their end. A repeated call makes the
    /// same calls of the operator in the same order.
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

    /// Gives the operator one turn of one input: some records and watermarks.
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
