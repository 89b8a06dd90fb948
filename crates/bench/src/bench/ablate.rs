//! `--ablate`: mechanisms of the engine that are switched off, to measure their effect (StreamBox, section
//! 9.2).

use clap::ValueEnum;
use thalweg_runtime::Ablations;

/// A mechanism of the engine that can be switched off, to measure its effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Ablate {
    /// Hold each epoch back until all its records have arrived, and process one epoch after the other.
    InOrderEpochs,
    /// Put the results of an operator into the downstream epoch that was opened last, not into that of their
    /// input.
    NoEpochBoundaries,
    /// Under the policy streambox: run the next task of any kind, instead of the task that the next result waits for.
    NoPriority,
    /// Let a worker claim the oldest block of all workers, instead of first a block of its own.
    NoLocality,
}

/// Converts the mechanisms to be switched off to the engine's setting.
pub fn of_engine(ablate: &[Ablate]) -> Ablations {
    let has = |what| ablate.contains(&what);
    Ablations {
        in_order_epochs: has(Ablate::InOrderEpochs),
        no_epoch_boundaries: has(Ablate::NoEpochBoundaries),
        no_locality: has(Ablate::NoLocality),
    }
}

/// Returns the names of the mechanisms that are switched off, in the order of their declaration.
pub fn names(ablate: &[Ablate]) -> Vec<String> {
    let given = Ablate::value_variants().iter().filter(|what| ablate.contains(what));
    given.filter_map(ValueEnum::to_possible_value).map(|value| value.get_name().to_owned()).collect()
}
