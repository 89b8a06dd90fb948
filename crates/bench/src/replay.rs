//! `thalweg replay`: repeats the calls to a scheduling policy in a recorded run, and reports where the
//! policy's answers differ.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use thalweg_cli::console;
use thalweg_cli::policy_options::PolicyOptions;
use thalweg_scheduling::{Fields, Policy, Trace, policy};

use crate::bench::calls::CALLS_MAX;
use crate::bench::parameters::PolicyParameters;

/// The recorded calls and the policy that is called again.
#[derive(Args)]
pub struct ReplayArgs {
    /// File written by `thalweg bench --trace FILE`. Parameters of policies that are not given are as they were
    /// recorded.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Policy to call [default: the policy that was recorded].
    #[arg(long, value_name = "POLICY", value_parser = PossibleValuesParser::new(policy::names()))]
    policy: Option<String>,
    /// Parameters of policies, which replace those that were recorded.
    #[command(flatten)]
    policy_options: PolicyOptions,
}

/// Replays the calls to a policy that a file has; returns `false` if an answer differs.
pub fn run(args: &ReplayArgs) -> Result<bool> {
    let path = args.file.display();
    let trace = File::open(&args.file)
        .map_err(Into::into)
        .and_then(|file| Trace::read(&mut BufReader::new(file), CALLS_MAX))
        .with_context(|| format!("{path} cannot be read"))?;
    let recorded = trace.policy();
    let name = args.policy.as_ref().unwrap_or(&recorded);
    let settings = args.policy_options.settings_over(trace.settings().unwrap_or_default());
    let mut asked = policy::configured(name, &settings)
        .with_context(|| format!("{path} is of another engine's policy"))?;
    let merges = |policy: &dyn Policy| policy.reads().contain(Fields::MERGED_PROGRESS);
    let before = policy::configured(&recorded, &settings);
    if before.is_ok_and(|before| merges(&*before) != merges(&*asked)) {
        bail!(
            "{path}: {recorded} and {name} foresee windows by different watermarks, and a trace has one of them; record \
             with --policy {name}"
        );
    }
    let parameters = PolicyParameters(asked.parameters());
    console::out(&format!("{name}: {}\n", parameters.text()))?;
    if trace.settings().is_none() {
        console::note(&format!(
            "{path} was written before parameters were recorded; those that are not given have their defaults"
        ));
    }
    args.policy_options.idle(&[name.as_str()]).iter().for_each(|note| console::note(note));
    let (calls, whom) = (trace.len(), if *name == recorded { "again" } else { "instead" });
    match trace.replay(&mut *asked) {
        Ok(()) => {
            console::out(&format!(
                "{calls} calls to {recorded}; {name}, asked {whom}, gives the same answers\n"
            ))?;
            Ok(true)
        }
        Err(diverged) => {
            console::out(&format!(
                "{calls} calls to {recorded}; {name}, asked {whom}, differs\n{diverged}\n"
            ))?;
            Ok(false)
        }
    }
}
