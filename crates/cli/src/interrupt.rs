//! Requests to end: Ctrl-C, SIGTERM and SIGHUP. The first asks queries to drain, a second ends the process at once.
//!
//! SIGHUP says that the terminal was closed. A shell sends it once more after the system, so a SIGHUP never
//! counts as the second request. It is not handled where it was ignored when the process began, as under
//! `nohup`.

use std::fs;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use thalweg_memory::sync::{Arc, AtomicBool, Ordering};

/// Exit code of a process ended by a signal: this plus the signal's number, as in shells.
const EXIT_BY_SIGNAL: i32 = 128;

/// Flag that is set when the process is asked to end.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on, to the end of the process. Call it once per command: two listeners would both see
    /// the first Ctrl-C, and either would end the process at the second.
    pub fn listen() -> Result<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        let refused = "signals cannot be listened to";
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal finds the flag down and raises it, the second finds it up.
            flag::register_conditional_shutdown(signal, EXIT_BY_SIGNAL + signal, Arc::clone(&pressed))
                .and_then(|_| flag::register(signal, Arc::clone(&pressed)))
                .context(refused)?;
        }
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&pressed)).context(refused)?;
        }
        Ok(Interrupt(pressed))
    }

    /// Returns whether the process was asked to end.
    pub fn is_pressed(&self) -> bool {
        // Relaxed: a flag that is polled, and orders nothing.
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns whether the process ignores a signal; `true` where the system does not tell.
fn is_ignored(signal: i32) -> bool {
    fs::read_to_string("/proc/self/status").ok().and_then(|status| ignores(&status, signal)).unwrap_or(true)
}

/// Returns whether a process with this status ignores a signal; `None` if the status does not tell.
fn ignores(status: &str, signal: i32) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    let bit = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(mask.checked_shr(bit)? & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let check = |mask: &str, signal: i32, expected: Option<bool>| {
            assert_eq!(ignores(&format!("Name:\tx\nSigIgn:\t{mask}\nSigCgt:\t0\n"), signal), expected);
        };
        check("0000000000000001", SIGHUP, Some(true));
        check("0000000000000002", SIGHUP, Some(false));
        check("0000000000000002", SIGINT, Some(true));
        check("0000000000004000", SIGTERM, Some(true));
        check("x", SIGHUP, None);
        assert_eq!(ignores("Name:\tx\n", SIGHUP), None);
    }
}
