//! Thread dumps through HotSpot's attach protocol, spoken directly: the program `jcmd` would start a JVM for each.
//!
//! ```text
//!   this tool                                              JVM
//!   create /tmp/.attach_pid<N>, send SIGQUIT  -----------> sees the file, makes the socket /tmp/.java_pid<N>
//!   connect, "1\0threaddump\0\0\0\0"          -----------> checks the user of the other end
//!   read until the end                        <----------- "0\n", then the dump
//! ```
//!
//! N is the number of the process in its innermost namespace, and `/tmp` is that of the process, which is reached below
//! `/proc/<number>/root`. The socket stays once it is there, so the first two steps happen once per process. A process
//! that does not handle SIGQUIT would be ended by it, and gets none.
//!
//! Source: OpenJDK, `attachListener_linux.cpp` (the part of the JVM) and `VirtualMachineImpl.java` of the module
//! `jdk.attach` (the part of the tool), version 1 of the protocol.
//!
//! Bounds: the caller gives the time for everything; [`DUMP_BYTES_MAX`] for the dump.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::steering::Unobserved;
use crate::threads::{Processes, ThreadKey};

/// Largest number of bytes of a dump. A thread has about 1 kB.
pub const DUMP_BYTES_MAX: usize = 32 << 20;

/// Time between two looks for the socket of a JVM that was asked to make one. A JVM made it within 10 ms on two cores.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The request: version, command and three arguments, each of them ended by a zero.
const REQUEST: &[u8] = b"1\0threaddump\0\0\0\0";

/// A function that sends SIGQUIT to a process.
pub(crate) type Quit = fn(&Processes, ThreadKey) -> io::Result<()>;

/// Returns the thread dump of a JVM. `process` is the main thread of its process.
///
/// # Errors
/// If the JVM does not answer within `longest`, refuses, or ends.
pub(crate) fn thread_dump(
    processes: &Processes,
    process: ThreadKey,
    longest: Duration,
    quit: Quit,
) -> Result<Vec<u8>, Unobserved> {
    let deadline = Instant::now() + longest;
    let failed = |error: &io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => refusal_hint(processes, process),
            _ => String::new(),
        };
        Unobserved(format!("the JVM of process {} tells no threads: {error}{hint}", process.process))
    };
    let mut socket = connect(processes, process, deadline, quit).map_err(|error| failed(&error))?;
    let answer = ask(&mut socket, deadline).map_err(|error| failed(&error))?;
    let (code, dump) = answer.split_at(answer.iter().position(|byte| *byte == b'\n').unwrap_or(answer.len()));
    if code == b"0" {
        return Ok(dump.to_vec());
    }
    let text = crate::rest::short(&String::from_utf8_lossy(&answer));
    Err(Unobserved(format!("the JVM of process {} refuses a thread dump: {text}", process.process)))
}

/// Returns the hint, for an error message, as which user this program must run to get a thread dump.
fn refusal_hint(processes: &Processes, process: ThreadKey) -> String {
    let user = processes.effective_user(process.process);
    let user = user.map_or_else(|| "its user".to_owned(), |user| format!("user {user}"));
    format!("; run this program as {user}, as the JVM runs, or as root (Java 8 takes its own user only)")
}

/// Connects to the socket of a JVM, which is asked to make one if there is none.
fn connect(
    processes: &Processes,
    process: ThreadKey,
    deadline: Instant,
    quit: Quit,
) -> io::Result<UnixStream> {
    let number = processes.inner_number(process.process, process.process);
    let number = number.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it has ended"))?;
    let folder = processes.root().join(process.process.to_string()).join("root/tmp");
    let socket = folder.join(format!(".java_pid{number}"));
    let mut wish: Option<Wish> = None;
    loop {
        match connect_now(&socket) {
            Ok(stream) => return Ok(stream),
            // A socket without a JVM is left from an earlier process of this number; the JVM replaces it.
            Err(error)
                if [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused].contains(&error.kind()) =>
            {
                if wish.is_none() {
                    if !processes.handles(process.process, Signal::QUIT.as_raw() as u32) {
                        let text = "it does not handle SIGQUIT; start Flink without the option -Xrs";
                        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
                    }
                    wish = Some(Wish::make(folder.join(format!(".attach_pid{number}")))?);
                    quit(processes, process)?;
                }
            }
            // The list of connections that wait for the JVM is full.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            let text = "it makes no socket in its folder /tmp in time; \
                        start Flink without the option -XX:+DisableAttachMechanism";
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        if !processes.lives(process)? {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it has ended"));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Connects without waiting: the standard library's call waits for ever if the JVM accepts no one.
fn connect_now(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The file by which a JVM knows that SIGQUIT asks for a socket and not for a dump. It is removed with this value.
struct Wish(Option<PathBuf>);

impl Wish {
    fn make(path: PathBuf) -> io::Result<Self> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => Ok(Wish(Some(path))),
            // Another tool asks at the same time, or was killed. The file is not this one's to remove.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Wish(None)),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _is_gone = fs::remove_file(path);
        }
    }
}

/// Sends the request, and reads until the end.
fn ask(socket: &mut UnixStream, deadline: Instant) -> io::Result<Vec<u8>> {
    socket.set_write_timeout(Some(left(deadline)?))?;
    socket.write_all(REQUEST)?;
    let (mut answer, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        socket.set_read_timeout(Some(left(deadline)?))?;
        let count = match socket.read(&mut part) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(late()),
            Err(error) => return Err(error),
        };
        match count {
            0 if answer.is_empty() => {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closes the connection"));
            }
            0 => return Ok(answer),
            _ if answer.len() + count > DUMP_BYTES_MAX => {
                let text = format!("its dump has more than {DUMP_BYTES_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
            }
            _ => answer.extend_from_slice(&part[..count]),
        }
    }
}

/// Returns the time until the deadline, which is above zero.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(late()) } else { Ok(left) }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it does not answer in time")
}

/// Sends SIGQUIT to a process. The handle is that of the process that lives, so that none which has got its number
/// meanwhile is reached.
pub(crate) fn quit(processes: &Processes, process: ThreadKey) -> io::Result<()> {
    let number = i32::try_from(process.process).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let handle = rustix::process::pidfd_open(number, PidfdFlags::empty())?;
    if !processes.lives(process)? {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has ended"));
    }
    Ok(rustix::process::pidfd_send_signal(handle, Signal::QUIT)?)
}

#[cfg(test)]
mod tests;
