//! The requests of the steering loop to the operating system, behind a trait, so that tests need no privileges.

use std::io;

use crate::setting::Setting;
use crate::system;
use crate::threads::{Processes, ThreadKey};

/// The scheduling of threads by an operating system.
pub trait Kernel {
    /// Returns the scheduling of a thread; of the calling thread if the number is 0.
    ///
    /// # Errors
    /// If there is no such thread, or if its scheduling may not be seen or has no [`Setting`].
    fn setting(&self, thread: u32) -> io::Result<Setting>;

    /// Sets the scheduling of a thread; of the calling thread if the number is 0.
    ///
    /// # Errors
    /// If there is no such thread, without permission, or if the setting does not exist.
    fn set(&self, thread: u32, setting: Setting) -> io::Result<()>;
}

/// The kernel of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl Kernel for Linux {
    fn setting(&self, thread: u32) -> io::Result<Setting> {
        system::setting(thread)
    }

    fn set(&self, thread: u32, setting: Setting) -> io::Result<()> {
        system::set(thread, setting)
    }
}

/// Gives a thread the scheduling that it had before; returns `false` if the thread has ended. If that cannot be done in
/// whole, the thread at least loses its priority: only a privileged process may let children inherit again.
///
/// # Errors
/// If the thread cannot be looked at or changed.
pub(crate) fn put_back(
    key: ThreadKey,
    before: Setting,
    processes: &Processes,
    kernel: &impl Kernel,
) -> io::Result<bool> {
    if !processes.lives(key)? {
        return Ok(false);
    }
    let partly = Setting { resets_on_fork: true, ..before };
    let whole = kernel.set(key.thread, before);
    match whole.or_else(|error| if before == partly { Err(error) } else { kernel.set(key.thread, partly) }) {
        Err(_) if !processes.lives(key)? => Ok(false),
        outcome => outcome.map(|()| true),
    }
}
