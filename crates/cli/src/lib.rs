//! Shared parts of the programs `thalweg` and `thalweg-bench`, which must look alike to their users.
//!
//! [`console`] writes all text, [`failure`] turns errors into one line and an exit code, [`interrupt`] turns
//! Ctrl-C into a drain, [`options`] reads values with units, [`policy_options`] reads the parameters of
//! policies, [`cost_clock`] reads the clock of costs, [`steering`] has what steers threads, and [`show`] formats numbers
//! for people.
//! [`handed_over`] lists the commands that `thalweg` leaves to `thalweg-bench`.
#![forbid(unsafe_code)]

pub mod console;
pub mod cost_clock;
pub mod failure;
pub mod handed_over;
pub mod interrupt;
pub mod options;
pub mod policy_options;
pub mod show;
pub mod steering;
