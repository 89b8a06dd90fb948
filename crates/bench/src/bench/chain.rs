//! `--chain`: which operators share a task, by name. The choices are exactly the engine's.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use thalweg::Chaining;

/// The choices of `--chain`: for each its name in options and figures, the engine's value, and its
/// help.
const CHAINS: &[(&str, Chaining, &str)] = &[
    ("none", Chaining::None, "None: every operator is a task of its own"),
    (
        DEFAULT,
        Chaining::Default,
        "Neighbours without state, and from the first one with state on to the sink",
    ),
    ("all", Chaining::All, "Everything from the source to the sink: one task a query"),
];

/// Name of the default choice of `--chain`.
pub const DEFAULT: &str = "default";

/// Returns the parser of the names that `--chain` accepts.
pub fn parser() -> impl TypedValueParser<Value = Chaining> {
    let value =
        |&(name, _, help): &(&'static str, Chaining, &'static str)| PossibleValue::new(name).help(help);
    PossibleValuesParser::new(CHAINS.iter().map(value)).map(|given| {
        let named = CHAINS.iter().find(|(name, ..)| *name == given);
        named.expect("clap takes the names of the table only").1
    })
}

/// Returns the name of a choice of `--chain`.
pub fn name(chaining: Chaining) -> &'static str {
    let named = CHAINS.iter().find(|(_, other, _)| *other == chaining);
    named.expect("every choice of the engine stands in the table").0
}
