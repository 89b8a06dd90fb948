//! Operators that may be replaced by others that load their state: how they are created, and the seeds of their hash tables.
//! ([`renewal`](super::super::renewal) says when they are replaced, which tests of saved state ask for.)

use std::sync::Arc;

use thalweg::Stream;
use thalweg_sql_tables::batch::Batch;

use super::super::operator::{BatchOperator, InTurn, Make, Outcome};
use super::super::renewal::Renewal;
use super::spread::Order;
use super::{Assembly, Result, refused};
use crate::plan::Plan;

impl Assembly<'_> {
    /// Returns a function that gives the seed of the hash tables of an operator. If operators are replaced by others that
    /// load their state, each has a seed of its own, as in another process.
    pub(super) fn seeds(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let (seed, draws) = (self.world.hash_seed, self.world.renewals.clone());
        move || {
            let drawn = draws.as_ref().map(|draws| draws.lock().map_or(seed, |mut draws| draws.next_u64()));
            drawn.unwrap_or(seed)
        }
    }

    /// Returns how an operator that `make` creates is replaced by others that load its state, if it is.
    pub(super) fn renewal<T: ?Sized>(&self, make: &Make<T>) -> Option<Renewal<T>> {
        let draws = self.world.renewals.clone()?;
        Some(Renewal::new(draws, Arc::clone(make)))
    }

    /// Creates the stream of an operator that `make` creates and one worker at a time runs. Its input has the order `order`.
    pub(super) fn alone(
        &mut self,
        input: &Plan,
        order: Order,
        make: impl Fn() -> Outcome<Box<dyn BatchOperator>> + Send + Sync + 'static,
    ) -> Result<Stream<Batch>> {
        let make: Make<dyn BatchOperator> = Arc::new(make);
        let operator = make().map_err(refused)?;
        let name = self.name(operator.name());
        let stage = self.stage::<InTurn>(operator).renewed(self.renewal(&make));
        Ok(self.stream(input, order)?.process(stage).name(&name).boxed())
    }
}
