//! The requests of the steering loop to the operating system, behind a trait, so that tests need no privileges.

use std::fs;
use std::io;
use std::path::Path;

use crate::setting::Setting;
use crate::state_file::write_setting;
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

    /// Makes a control group.
    ///
    /// # Errors
    /// If there is a folder already, or without permission.
    fn make_group(&self, folder: &Path) -> io::Result<()>;

    /// Removes a control group.
    ///
    /// # Errors
    /// If there is none, if a thread or another group is in it, or without permission.
    fn remove_group(&self, folder: &Path) -> io::Result<()>;

    /// Moves a thread into the control group with this list of threads.
    ///
    /// # Errors
    /// If there is no such thread or list, or without permission. The error for a thread that does not exist is ESRCH.
    fn move_thread(&self, thread: u32, list: &Path) -> io::Result<()>;
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

    fn make_group(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir(folder)
    }

    fn remove_group(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir(folder)
    }

    fn move_thread(&self, thread: u32, list: &Path) -> io::Result<()> {
        write_setting(list, thread)
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
