//! SQL files: `run` runs one, `check` tells what is wrong with it, `explain` shows its plans, `test` runs queries whose rows
//! are known.

mod check;
mod explain;
mod run;
mod script;
mod stdout;
mod test;
mod told;

pub use check::{CheckArgs, run as check};
pub use explain::{ExplainArgs, run as explain};
pub use run::{RunArgs, run};
pub use test::{TestArgs, run as test};
