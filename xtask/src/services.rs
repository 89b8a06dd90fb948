//! `cargo xtask services`: real services that tests talk to, started on this machine without containers.
//!
//! A service has one module below this one, which knows what to fetch, how to start it, and when it is ready. Shared by all:
//!
//! - [`fetch`]: the cache of what was downloaded, which lies outside of the checkout;
//! - [`processes`]: child processes that end with us, or that stay until `down`;
//! - [`http`]: requests to a service on the loopback interface;
//! - [`flink`]: Flink with its SQL gateway.
//!
//! Every service binds to the loopback interface alone, on ports that were free. Every wait has a bound.

pub(crate) mod fetch;
pub(crate) mod flink;
pub(crate) mod http;
pub(crate) mod processes;

use anyhow::{Result, bail};

/// A service that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Flink: a job manager, a task manager and the SQL gateway.
    Flink,
}

/// Every service with its name on the command line.
const SERVICES: [(&str, Service); 1] = [("flink", Service::Flink)];

/// One of the three acts on services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Start, and return when it is ready.
    Up,
    /// End, and return when it has ended.
    Down,
    /// Print whether it runs, and its addresses.
    Status,
}

/// Reads `up flink`, say; a line without names of services means all of them.
///
/// # Errors
///
/// A message that shows what is unknown and what is known.
pub(crate) fn planned(words: &[&str]) -> Result<(Act, Vec<Service>), String> {
    let (act, names) = match words {
        ["up", names @ ..] => (Act::Up, names),
        ["down", names @ ..] => (Act::Down, names),
        ["status", names @ ..] => (Act::Status, names),
        _ => return Err("services are told `up`, `down` or `status`".to_owned()),
    };
    if names.is_empty() {
        return Ok((act, SERVICES.iter().map(|(_, service)| *service).collect()));
    }
    let services = names.iter().map(|name| {
        let known = SERVICES.iter().find(|(known, _)| known == name);
        known.map(|(_, service)| *service).ok_or_else(|| {
            let known: Vec<&str> = SERVICES.iter().map(|(known, _)| *known).collect();
            format!("unknown service `{name}`: choose from {}", known.join(", "))
        })
    });
    Ok((act, services.collect::<Result<_, _>>()?))
}

/// Does `act` to each of `services`.
///
/// # Errors
///
/// A download, start or end that failed; `status` fails if a service does not run.
pub(crate) fn run(act: Act, services: &[Service]) -> Result<()> {
    let mut missing = Vec::new();
    for service in services {
        match (act, service) {
            (Act::Up, Service::Flink) => flink::up()?,
            (Act::Down, Service::Flink) => flink::down()?,
            (Act::Status, Service::Flink) => {
                if !flink::status()? {
                    missing.push("flink");
                }
            }
        }
    }
    if !missing.is_empty() {
        bail!("not running: {}", missing.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_an_act_and_services() {
        assert_eq!(planned(&["up", "flink"]), Ok((Act::Up, vec![Service::Flink])));
        assert_eq!(planned(&["down"]), Ok((Act::Down, vec![Service::Flink])));
        assert_eq!(planned(&["status", "moon"]), Err("unknown service `moon`: choose from flink".to_owned()));
        assert_eq!(planned(&["start"]), Err("services are told `up`, `down` or `status`".to_owned()));
        assert_eq!(planned(&[]), Err("services are told `up`, `down` or `status`".to_owned()));
    }
}
