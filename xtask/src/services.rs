//! `cargo xtask services`: real services for tests, started on this machine without containers.
//!
//! Each service has a module, which downloads it, starts it and waits until it is ready. The other modules are shared:
//!
//! - [`fetch`]: the cache of downloads, outside of the checkout;
//! - [`processes`]: child processes that end with us, or that run until `down`;
//! - [`http`]: requests to a service on the loopback interface;
//! - [`flink`]: Flink with its SQL gateway.
//!
//! Every service binds to the loopback interface alone, on free ports. Every wait has a bound.

pub(crate) mod fetch;
pub(crate) mod flink;
pub(crate) mod http;
pub(crate) mod processes;

use anyhow::{Result, bail};

/// A service for tests that can be started on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Flink: a job manager, a task manager and the SQL gateway.
    Flink,
}

/// Every service with its name on the command line.
const SERVICES: [(&str, Service); 1] = [("flink", Service::Flink)];

/// A command of `cargo xtask services`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Starts a service, and returns when the service is ready.
    Up,
    /// Ends a service, and returns when the service has ended.
    Down,
    /// Prints whether a service is running, and its addresses.
    Status,
}

/// Reads the words of the command line, such as `up flink`. Without names, all services are meant.
///
/// # Errors
///
/// A message that shows the unknown word and the known ones.
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

/// Applies `act` to each of `services`.
///
/// # Errors
///
/// A failed download, start or end. `status` fails if a service does not run.
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
