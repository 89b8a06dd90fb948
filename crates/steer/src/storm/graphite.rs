//! A receiver of Graphite's plaintext protocol, to which Storm's `GraphiteStormReporter` sends: lines over TCP, each with
//! a name, a value, and the time in s since 1970.
//!
//! The receiver has no thread of its own. Whatever has come since the last round is read within the round, by the
//! steering loop, which is as urgent as the threads that it steers. Until then it waits in the buffers of the kernel, and
//! a sender waits when these are full.
//!
//! Each program that reaches the address may send lengths of queues, and so decide about priorities. So the address should be of
//! this machine, unless workers run on others.
//!
//! Source: Graphite's documentation, "Feeding in your data", section "The plaintext protocol".
//!
//! Bounds: [`CONNECTIONS_MAX`], [`IDLE_MAX`], [`READ_BYTES_MAX`] and [`LINE_BYTES_MAX`].

use std::fmt;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::steering::Unobserved;

/// Greatest number of connections at a time. Each worker process has one. Further ones are closed at once.
pub const CONNECTIONS_MAX: usize = 256;

/// Time after which a connection is closed on which nothing came.
pub const IDLE_MAX: Duration = Duration::from_secs(300);

/// Greatest number of bytes that are read in a round. A worker of ten executors sends about 30 kB each time.
pub const READ_BYTES_MAX: usize = 16 << 20;

/// Greatest number of bytes of a line. A longer one counts as one that is not understood.
pub const LINE_BYTES_MAX: usize = 4 << 10;

/// A way by which lines of Graphite come.
pub trait Lines {
    /// Hands over the lines that have come since the last call, at the time `now` after the beginning of the driver. A line
    /// that is too long is handed over as an empty one.
    ///
    /// # Errors
    /// If no lines can come any more, or if they are not read by the deadline.
    fn take(
        &mut self,
        now: Duration,
        deadline: Instant,
        line: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Unobserved>;

    /// Returns the address to which lines are to be sent, for messages.
    fn address(&self) -> String;
}

/// A receiver on a TCP port.
pub struct Receiver {
    listener: TcpListener,
    address: SocketAddr,
    connections: Vec<Connection>,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A connection of a sender.
struct Connection {
    stream: TcpStream,
    /// The line that has begun.
    begun: Vec<u8>,
    /// True if the line that has begun is too long. Its bytes are not kept.
    is_too_long: bool,
    /// Time of the last bytes, from the beginning of the driver on.
    heard: Duration,
}

impl Receiver {
    /// Begins to listen at an address such as `127.0.0.1:2003`. Port 0 stands for any that is free.
    ///
    /// # Errors
    /// If the address is none of this machine, or if another program listens there.
    pub fn bind(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Receiver { listener, address, connections: Vec::new() })
    }

    /// Accepts the senders that wait, as far as the bounds allow.
    fn accept(&mut self, now: Duration) -> io::Result<()> {
        // As many are closed at once as would be accepted, so that a flood of connections does not take the whole round.
        for _ in 0..2 * CONNECTIONS_MAX {
            match self.listener.accept() {
                Ok((stream, _)) if self.connections.len() < CONNECTIONS_MAX => {
                    stream.set_nonblocking(true)?;
                    let (begun, is_too_long) = (Vec::new(), false);
                    self.connections.push(Connection { stream, begun, is_too_long, heard: now });
                }
                Ok((stream, _)) => drop(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The sender has gone already, or a signal came.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Lines for Receiver {
    fn take(
        &mut self,
        now: Duration,
        deadline: Instant,
        line: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Unobserved> {
        let address = self.address;
        self.accept(now).map_err(|error| Unobserved(format!("no connections at {address}: {error}")))?;
        let mut left = READ_BYTES_MAX;
        let mut place = 0;
        let mut part = vec![0; 64 << 10];
        while left > 0 && place < self.connections.len() {
            if Instant::now() > deadline {
                self.connections.rotate_left(place);
                return Err(Unobserved(format!("the lines at {address} take too long")));
            }
            match self.connections[place].read(&mut part, &mut left, now, line) {
                State::Open => place += 1,
                State::Unfinished => {}
                State::Closed => {
                    self.connections.swap_remove(place);
                }
            }
        }
        // If not all could be read, the ones behind the last one come first in the next round.
        let place = (place + 1).min(self.connections.len());
        self.connections.rotate_left(place);
        self.connections.retain(|connection| now.saturating_sub(connection.heard) < IDLE_MAX);
        Ok(())
    }

    fn address(&self) -> String {
        self.address.to_string()
    }
}

/// State of a connection after a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing more has come.
    Open,
    /// More may have come.
    Unfinished,
    /// The sender has closed it, or it is broken.
    Closed,
}

impl Connection {
    /// Reads a part of what has come, and takes it from the bytes that are left in this round.
    fn read(
        &mut self,
        part: &mut [u8],
        left: &mut usize,
        now: Duration,
        line: &mut dyn FnMut(&[u8]),
    ) -> State {
        let most = part.len().min(*left);
        match self.stream.read(&mut part[..most]) {
            Ok(0) => State::Closed,
            Ok(count) => {
                *left -= count;
                self.heard = now;
                self.add(&part[..count], line);
                State::Unfinished
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => State::Open,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => State::Unfinished,
            Err(_) => State::Closed,
        }
    }

    /// Hands over the lines that end within some bytes, and keeps the beginning of the next one.
    fn add(&mut self, bytes: &[u8], line: &mut dyn FnMut(&[u8])) {
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            if self.is_too_long || self.begun.len() + part.len() > LINE_BYTES_MAX {
                self.is_too_long = true;
                self.begun.clear();
            } else {
                self.begun.extend_from_slice(part);
            }
            if parts.peek().is_some() {
                line(&self.begun);
                self.begun.clear();
                self.is_too_long = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Takes lines until there are so many, since the kernel may need a moment to hand bytes over.
    fn take(receiver: &mut Receiver, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(10);
        while lines.len() < count && Instant::now() < deadline {
            let keep = &mut |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
            receiver.take(Duration::ZERO, deadline, keep).unwrap();
            std::thread::yield_now();
        }
        lines
    }

    fn receiver() -> (Receiver, String) {
        let receiver = Receiver::bind("127.0.0.1:0").unwrap();
        let address = receiver.address();
        (receiver, address)
    }

    /// Lines come whole, however they are cut on their way, and from several senders.
    #[test]
    fn lines_come_whole() {
        let (mut receiver, address) = receiver();
        assert_eq!(take(&mut receiver, 0), [""; 0]);
        let mut first = TcpStream::connect(&address).unwrap();
        first.write_all(b"a 1 2\nb 3").unwrap();
        assert_eq!(take(&mut receiver, 1), ["a 1 2"]);
        first.write_all(b" 4\n").unwrap();
        let mut second = TcpStream::connect(&address).unwrap();
        second.write_all(b"\nc 5 6\n").unwrap();
        let mut lines = take(&mut receiver, 3);
        lines.sort_unstable();
        assert_eq!(lines, ["", "b 3 4", "c 5 6"]);
        drop((first, second));
        while !receiver.connections.is_empty() {
            assert_eq!(take(&mut receiver, 0), [""; 0]);
            receiver.take(Duration::ZERO, Instant::now() + IDLE_MAX, &mut |_| {}).unwrap();
        }
        assert!(Receiver::bind(&address).is_err(), "another listens there");
    }

    /// A line beyond the bound is an empty one, whether it comes at once or in parts, and the next one is whole.
    #[test]
    fn a_line_beyond_the_bound_is_an_empty_one() {
        let (mut receiver, address) = receiver();
        let mut sender = TcpStream::connect(&address).unwrap();
        let longest = "x".repeat(LINE_BYTES_MAX);
        sender.write_all(format!("{longest}\n{longest}x\n").as_bytes()).unwrap();
        for _ in 0..9 {
            sender.write_all(longest.as_bytes()).unwrap();
        }
        sender.write_all(b"\na\n").unwrap();
        assert_eq!(take(&mut receiver, 4), [longest.as_str(), "", "", "a"]);
    }

    /// Connections beyond the bound are closed, and so are those on which nothing comes.
    #[test]
    fn connections_are_bounded() {
        let (mut receiver, address) = receiver();
        let mut senders = Vec::new();
        for _ in 0..CONNECTIONS_MAX + 20 {
            senders.push(TcpStream::connect(&address).unwrap());
            assert_eq!(take(&mut receiver, 0), [""; 0]);
            let later = Instant::now() + Duration::from_secs(10);
            receiver.take(Duration::ZERO, later, &mut |_| {}).unwrap();
        }
        assert!(receiver.connections.len() <= CONNECTIONS_MAX);
        let mut last = senders.pop().unwrap();
        assert_eq!(last.read(&mut [0]).unwrap_or(0), 0, "it was closed");
        receiver.take(IDLE_MAX, Instant::now() + IDLE_MAX, &mut |_| {}).unwrap();
        assert!(receiver.connections.is_empty());
    }

    /// A round that is over reads no more.
    #[test]
    fn a_round_that_is_over_reads_no_more() {
        let (mut receiver, address) = receiver();
        let _sender = TcpStream::connect(&address).unwrap();
        let over = Instant::now() - Duration::from_secs(1);
        let refused = loop {
            if let Err(refused) = receiver.take(Duration::ZERO, over, &mut |_| {}) {
                break refused.0;
            }
        };
        assert_eq!(refused, format!("the lines at {address} take too long"));
    }
}
