//! `bench ipq1` to `ipq4`: Cameo's queries, from generated events: [`revenue`] of ads (IPQ1, IPQ2), [`events`] of jobs (IPQ3),
//! [`errors`] of requests (IPQ4).

mod errors;
mod events;
pub mod revenue;

pub use errors::run as run_errors;
pub use events::run as run_events;
pub use revenue::run as run_revenue;
