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

/// Number that is added to the number of a signal to make the exit code of a process ended by it, as in
/// shells.
const EXIT_BY_SIGNAL: i32 = 128;

/// A flag that is set when the process is asked to end by a signal.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens to signals from now on until the process ends. It must be called once per command: two
    /// listeners would both see the first Ctrl-C, and either of them would end the process at the second one.
    pub fn listen() -> Result<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        let refused = "signals cannot be listened to";
        for signal in [SIGINT, SIGTERM] {
            // The order of the two handlers matters. The first signal finds the flag unset and sets it; the
            // second signal finds it set and ends the process.
            flag::register_conditional_shutdown(signal, EXIT_BY_SIGNAL + signal, Arc::clone(&pressed))
                .and_then(|_| flag::register(signal, Arc::clone(&pressed)))
                .context(refused)?;
        }
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&pressed)).context(refused)?;
        }
        Ok(Interrupt(pressed))
    }

    /// Returns whether the process was asked to end by a signal.
    pub fn is_pressed(&self) -> bool {
        // Relaxed suffices: the flag is polled, and no other memory access is ordered by it.
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns whether the process ignores a signal; `true` where the system does not tell.
fn is_ignored(signal: i32) -> bool {
    fs::read_to_string("/proc/self/status").ok().and_then(|status| ignores(&status, signal)).unwrap_or(true)
}

/// Returns whether a process ignores a signal, by the text of its `/proc/PID/status`; `None` if this text
/// does not tell.
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
