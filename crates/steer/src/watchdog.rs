//! The watchdog: a process of its own that takes the priorities away when the steering loop gives no sign of life.
//!
//! ```text
//!   steering loop --a byte, about once a second--> socket --> watchdog, at the highest priority
//!        |                                                       |
//!        +-- state file: threads and their scheduling before ----+-- no byte for 5 s:  threads get it back
//!                                                                +-- socket closed:    everything does, and it ends
//! ```
//!
//! A tool that hangs or is stopped cannot leave threads at real-time priorities for long. When a tool is killed, the
//! kernel closes its end of the socket. When a tool goes on after a pause, its next round asks the kernel for the
//! scheduling of each thread, and gives it again. As long as no byte comes, threads get back what they had again and
//! again, since a tool may be stopped in the middle of a round.
//!
//! Bounds: [`PATIENCE`] for the time without a byte, and for the time that the tool waits for its watchdog.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::kernel::Kernel;
use crate::setting::{Class, Setting};
use crate::state_file::{self, Part, Restored};
use crate::threads::Processes;

/// Time without a sign of life after which the watchdog takes the priorities away.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Least time between two signs of life of the steering loop to its watchdog. With a round between them it may be longer,
/// but must be below [`PATIENCE`].
pub const BEAT_EVERY: Duration = Duration::from_secs(1);

/// Real-time priority of the watchdog: the greatest of Linux, above that of every steered thread.
const PRIORITY: u32 = 99;

/// The first byte of the watchdog to its tool: whether it runs at the greatest priority.
const PRIVILEGED: u8 = b'p';
const UNPRIVILEGED: u8 = b'u';

/// The bytes of a tool to its watchdog: a sign of life, and that the tool begins to restore everything. The watchdog then
/// gives up its own priority, and answers with the second byte.
const ALIVE: u8 = 1;
const ENDING: u8 = b'e';

/// Watches a tool until the other end of `tool` is closed; then restores everything that the state file names. While no
/// byte comes for `patience`, threads get the scheduling that they had before the tool.
///
/// Runs at the greatest real-time priority if this thread may have it, and tells the tool by the first byte.
/// `report` is called with what was put back.
///
/// # Errors
/// If the state file cannot be read at the end, or if it is not trusted. A file that is missing at the end was restored
/// by the tool itself.
pub fn watch(
    path: &Path,
    tool: &UnixStream,
    patience: Duration,
    (processes, kernel): (&Processes, &impl Kernel),
    mut report: impl FnMut(&io::Result<Restored>),
) -> io::Result<Restored> {
    let is_privileged = kernel.set(0, Setting::real_time(Class::Fifo, PRIORITY)).is_ok();
    let mut tool = tool;
    // A tool that has ended already is noticed by the first read.
    let _has_ended = tool.write_all(&[if is_privileged { PRIVILEGED } else { UNPRIVILEGED }]);
    tool.set_read_timeout(Some(patience))?;
    let mut bytes = [0; 64];
    loop {
        match tool.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) if bytes[..count].contains(&ENDING) => {
                lower(kernel);
                let _has_ended = tool.write_all(&[ENDING]);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) => {
                report(&state_file::undo(path, Part::Threads, processes, kernel));
            }
            Err(_) => break,
        }
    }
    lower(kernel);
    let restored = state_file::restore(path, processes, kernel);
    report(&restored);
    restored
}

/// Takes the real-time priority of the calling thread away. Its control group could not lose its real-time budget
/// otherwise.
fn lower(kernel: &impl Kernel) {
    // A thread that has no priority may not be allowed to set one, and needs not.
    let _is_lower = kernel.set(0, Setting::DEFAULT);
}

/// Returns the standard input of this process as the socket that [`Watchdog::start`] gives to a watchdog.
///
/// # Errors
/// If the standard input cannot be used a second time.
pub fn standard_input() -> io::Result<UnixStream> {
    use std::os::fd::AsFd;
    let input: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixStream::from(input))
}

/// The watchdog of this process, as its steering loop sees it. When this value is dropped, the watchdog restores what is
/// left to restore, and ends.
pub struct Watchdog {
    child: Child,
    socket: UnixStream,
    /// Instant of the last sign of life that was given.
    beaten: Instant,
    is_privileged: bool,
    /// Longest time for which the tool waits for the watchdog after its first byte.
    patience: Duration,
}

impl Watchdog {
    /// Starts a watchdog and waits for its first byte: `command` must run [`watch`] on [`standard_input`].
    ///
    /// # Errors
    /// If the program cannot be started, or if it does not answer within [`PATIENCE`].
    pub fn start(command: Command) -> io::Result<Watchdog> {
        Watchdog::start_within(PATIENCE, command)
    }

    /// Starts a watchdog as [`start`](Self::start) does. All waits after its first byte end after `patience`, which tests
    /// shorten.
    pub(crate) fn start_within(patience: Duration, mut command: Command) -> io::Result<Watchdog> {
        let (mut socket, other) = UnixStream::pair()?;
        // A process group of its own, so that Ctrl-C in a terminal reaches the tool and not its watchdog.
        command.stdin(Stdio::from(OwnedFd::from(other))).stdout(Stdio::null()).process_group(0);
        let child = command.spawn()?;
        // The command holds the other end until it is dropped; only then a watchdog that has ended is noticed.
        drop(command);
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut first = [0];
        let (beaten, is_privileged) = (Instant::now(), false);
        let mut watchdog = Watchdog { child, socket: socket.try_clone()?, beaten, is_privileged, patience };
        socket.read_exact(&mut first)?;
        watchdog.is_privileged = first == [PRIVILEGED];
        socket.set_nonblocking(true)?;
        Ok(watchdog)
    }

    /// Returns true if the watchdog runs at the greatest real-time priority. If not, no thread may become real-time,
    /// since nothing could take its priority away.
    pub fn is_privileged(&self) -> bool {
        self.is_privileged
    }

    /// Tells the watchdog that everything is about to be restored, and waits until it has given up its priority, at most
    /// for [`PATIENCE`]. It watches on.
    pub fn lower(&mut self) {
        let mut ask = || -> io::Result<()> {
            self.socket.set_nonblocking(false)?;
            self.socket.set_read_timeout(Some(self.patience))?;
            self.socket.set_write_timeout(Some(self.patience))?;
            self.socket.write_all(&[ENDING])?;
            self.socket.read_exact(&mut [0])
        };
        // Without an answer the group may keep its budget until the watchdog ends, which then restores it.
        let _is_lower = ask();
    }

    /// Gives a sign of life, if the last one was given [`BEAT_EVERY`] ago or earlier. Never waits.
    ///
    /// # Errors
    /// If the watchdog has ended, or has taken no sign of life for [`PATIENCE`]. The steering loop must then restore
    /// everything and end, since nothing would stop its threads if it hung.
    pub fn beat(&mut self, now: Instant) -> io::Result<()> {
        let silent = now.saturating_duration_since(self.beaten);
        if silent < BEAT_EVERY {
            return Ok(());
        }
        match self.socket.write(&[ALIVE]) {
            Ok(_) => {
                self.beaten = now;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && silent < self.patience => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _is_closed = self.socket.shutdown(Shutdown::Both);
        // A watchdog restores what is left and ends at once. One that is stopped is not waited for any longer, and
        // restores when it goes on.
        let began = Instant::now();
        while began.elapsed() < self.patience && self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests;
