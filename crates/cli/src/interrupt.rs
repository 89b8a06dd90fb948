//! Ctrl-C: the first asks queries to drain, the second ends the process at once.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use thalweg_memory::sync::{Arc, AtomicBool, Ordering};

/// The exit code of a process that was ended by the second Ctrl-C: 128 and the signal's number.
const EXIT_INTERRUPTED: i32 = 130;

/// Whether somebody has pressed Ctrl-C, or asked the process to end by SIGTERM.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on, to the end of the process. Once for each command: of two listeners, both would see the
    /// first Ctrl-C, and either would end the process at the second.
    pub fn listen() -> Result<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down and raises it, the second finds it up.
            flag::register_conditional_shutdown(signal, EXIT_INTERRUPTED, Arc::clone(&pressed))
                .and_then(|_| flag::register(signal, Arc::clone(&pressed)))
                .context("signals cannot be listened to")?;
        }
        Ok(Interrupt(pressed))
    }

    /// Whether it was pressed.
    pub fn is_pressed(&self) -> bool {
        // Relaxed: a flag that is polled, which orders nothing.
        self.0.load(Ordering::Relaxed)
    }
}
