//! `cargo xtask services`: real services for tests, started on this machine without containers.
//!
//! Each service has a module, which downloads it, starts it and waits until it is ready. The other modules are shared:
//!
//! - [`fetch`]: the cache of downloads, outside of the checkout;
//! - [`processes`]: child processes that end with us, or that run until `down`;
//! - [`http`]: requests to a service on the loopback interface;
//! - [`flink`]: Flink with its SQL gateway;
//! - [`storm`]: Storm, of this time and of the Lachesis paper's.
//!
//! Every service binds to the loopback interface alone, on free ports; [`storm`] tells what Storm does not allow. Every wait has a
//! bound.

pub(crate) mod fetch;
pub(crate) mod flink;
pub(crate) mod http;
pub(crate) mod processes;
pub(crate) mod storm;

use anyhow::{Result, bail};

/// A service for tests that can be started on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Flink: a job manager, a task manager and the SQL gateway.
    Flink,
    /// Storm: ZooKeeper, Nimbus, a supervisor and its workers.
    Storm(storm::Release),
}

/// Every service with its name on the command line.
const SERVICES: [(&str, Service); 3] = [
    ("flink", Service::Flink),
    ("storm", Service::Storm(storm::Release::Two)),
    ("storm1", Service::Storm(storm::Release::One)),
];

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
        let is_found = match (act, *service) {
            (Act::Up, Service::Flink) => flink::up().map(|()| true),
            (Act::Up, Service::Storm(release)) => storm::up(release).map(|()| true),
            (Act::Down, Service::Flink) => flink::down().map(|()| true),
            (Act::Down, Service::Storm(release)) => storm::down(release).map(|()| true),
            (Act::Status, Service::Flink) => flink::status(),
            (Act::Status, Service::Storm(release)) => storm::status(release),
        };
        if !is_found? {
            missing.extend(SERVICES.iter().filter(|(_, known)| known == service).map(|(name, _)| *name));
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
        assert_eq!(planned(&["down"]), Ok((Act::Down, SERVICES.map(|(_, service)| service).to_vec())));
        let storms = vec![Service::Storm(storm::Release::One), Service::Storm(storm::Release::Two)];
        assert_eq!(planned(&["up", "storm1", "storm"]), Ok((Act::Up, storms)));
        assert_eq!(
            planned(&["status", "moon"]),
            Err("unknown service `moon`: choose from flink, storm, storm1".to_owned())
        );
        assert_eq!(planned(&["start"]), Err("services are told `up`, `down` or `status`".to_owned()));
        assert_eq!(planned(&[]), Err("services are told `up`, `down` or `status`".to_owned()));
    }
}
