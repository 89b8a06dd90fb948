//! Checks that are possible only when an engine has answered: a driver within a driver, which skips rounds that could not
//! do what the user has asked for.
//!
//! - A policy may need fields of the snapshot that one version of an engine tells and another does not. A driver that
//!   learns the version from the engine's answers supplies less from then on, and each round is skipped with the names of
//!   the fields.
//! - The control groups of threads can be looked at when the threads are known. Until a look has found all of them writable,
//!   each round is skipped, so that nothing is changed by halves.

use std::io;

use thalweg_scheduling::{Fields, Policy};

use crate::shares;
use crate::steering::{Driver, Observation, Unobserved};
use crate::threads::Processes;

/// A driver whose answers are checked before they are used.
pub(super) struct Checked<D> {
    driver: D,
    /// Name of the policy, and the fields of the snapshot that it reads.
    policy: (&'static str, Fields),
    /// The view of the threads whose control groups must be writable and were not looked at yet; `None` if there is
    /// nothing more to check.
    unchecked: Option<Processes>,
}

impl<D: Driver> Checked<D> {
    /// Makes the driver for a policy. Control groups are not checked.
    pub(super) fn new(driver: D, policy: &dyn Policy) -> Self {
        Checked { driver, policy: (policy.name(), policy.reads()), unchecked: None }
    }

    /// Looks at the engine, and checks that its threads can be moved into control groups. If no thread is known yet, the
    /// first round with threads checks that.
    ///
    /// # Errors
    /// As for [`shares::check`].
    pub(super) fn check_groups(&mut self, processes: Processes) -> io::Result<()> {
        self.unchecked = Some(processes);
        // An engine that gives no answer yet has its first round later.
        let seen = self.driver.observe().unwrap_or_default();
        self.check(&seen)
    }

    /// Checks the control groups of threads, unless that was done before.
    fn check(&mut self, seen: &Observation) -> io::Result<()> {
        if let Some(processes) = &self.unchecked
            && !seen.threads.is_empty()
        {
            shares::check(seen.threads.iter().map(|thread| thread.key), processes)?;
            self.unchecked = None;
        }
        Ok(())
    }
}

impl<D: Driver> Driver for Checked<D> {
    fn name(&self) -> &'static str {
        self.driver.name()
    }

    fn supplies(&self) -> Fields {
        self.driver.supplies()
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        let seen = self.driver.observe();
        let (policy, reads) = self.policy;
        let missing = reads.missing_from(self.driver.supplies());
        if !missing.is_empty() {
            let (driver, missing) = (self.driver.name(), missing.join(", "));
            return Err(Unobserved(format!(
                "policy `{policy}` needs what {driver} does not tell: {missing}"
            )));
        }
        let seen = seen?;
        self.check(&seen).map_err(|error| Unobserved(no_groups(&error)))?;
        Ok(seen)
    }

    fn notes(&mut self) -> Vec<String> {
        self.driver.notes()
    }
}

/// Returns the message that threads cannot be moved into control groups, with what to grant.
pub(super) fn no_groups(error: &io::Error) -> String {
    format!("threads cannot be moved into control groups ({error}): {}", shares::GRANT)
}
