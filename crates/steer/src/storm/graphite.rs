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
//! Senders that send nothing cannot shut others out: where all connections are taken, one that has been quiet for
//! [`QUIET_MAX`] gives way to a new one. Connections that are closed for want of room are counted.
//!
//! Bounds: [`CONNECTIONS_MAX`], [`QUIET_MAX`], [`IDLE_MAX`], [`READ_BYTES_MAX`] and [`LINE_BYTES_MAX`].

use std::fmt;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::steering::Unobserved;
use crate::window::WINDOW;

/// Greatest number of connections at a time. Each worker process has one. A further one takes the place of the one that
/// has been quiet for longest, at least for [`QUIET_MAX`]; if there is none, it is closed at once.
pub const CONNECTIONS_MAX: usize = 256;

/// Time without a byte after which a connection is closed if another one needs its place: the time for which values count,
/// so its sender is missing already. A sender of Storm 2.x connects again for its next report; one of Storm 1.2 does not, so
/// its worker is not heard until it is started anew.
pub const QUIET_MAX: Duration = WINDOW;

/// Time without a byte after which a connection is closed in any case.
pub const IDLE_MAX: Duration = Duration::from_secs(300);

/// Greatest number of bytes that are read in a round. A worker of ten executors sends about 30 kB each time.
pub const READ_BYTES_MAX: usize = 16 << 20;

/// Greatest number of bytes of a line. A longer one counts as one that is not understood.
pub const LINE_BYTES_MAX: usize = 4 << 10;

/// A source of lines in Graphite's protocol: a TCP port, or a list in tests.
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

    /// Returns how many connections were closed so far because there are too many.
    fn closed(&self) -> Closed {
        Closed::default()
    }
}

/// Numbers of the connections that a receiver has closed so far, since it keeps at most [`CONNECTIONS_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Closed {
    /// New connections that found all places taken.
    pub refused: u64,
    /// Quiet connections that gave their places to new ones.
    pub quiet: u64,
}

/// A receiver of Graphite's lines on a TCP port.
pub struct Receiver {
    listener: TcpListener,
    address: SocketAddr,
    connections: Vec<Connection>,
    closed: Closed,
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
    /// Time of the last bytes from the sender, counted from the beginning of the driver.
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
        Ok(Receiver { listener, address, connections: Vec::new(), closed: Closed::default() })
    }

    /// Accepts the connections that wait, up to the bound on connections.
    fn accept(&mut self, now: Duration) -> io::Result<()> {
        // As many are closed at once as would be accepted, so that a flood of connections does not take the whole round.
        for _ in 0..2 * CONNECTIONS_MAX {
            match self.listener.accept() {
                Ok((stream, _)) if self.has_room(now) => {
                    stream.set_nonblocking(true)?;
                    let (begun, is_too_long) = (Vec::new(), false);
                    self.connections.push(Connection { stream, begun, is_too_long, heard: now });
                }
                Ok((stream, _)) => {
                    self.closed.refused += 1;
                    drop(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The sender has closed the connection already, or a signal came.
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

    /// Returns true if there is room for one more connection. If all places are taken, the connection that has been quiet
    /// for longest is closed if that was long enough.
    fn has_room(&mut self, now: Duration) -> bool {
        while self.connections.len() >= CONNECTIONS_MAX {
            let quietest = self.connections.iter().enumerate().min_by_key(|(_, connection)| connection.heard);
            let Some((place, connection)) = quietest else { break };
            if now.saturating_sub(connection.heard) < QUIET_MAX {
                return false;
            }
            match connection.stream.peek(&mut [0]) {
                // After a long pause of the tool, bytes of a connection wait in the kernel.
                Ok(1..) => self.connections[place].heard = now,
                // The sender has closed it.
                Ok(_) => _ = self.connections.swap_remove(place),
                Err(_) => {
                    self.closed.quiet += 1;
                    self.connections.swap_remove(place);
                }
            }
        }
        true
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
        // If there were too many bytes for this round, the connections behind the last one that was read come first in
        // the next round.
        let place = (place + 1).min(self.connections.len());
        self.connections.rotate_left(place);
        self.connections.retain(|connection| now.saturating_sub(connection.heard) < IDLE_MAX);
        Ok(())
    }

    fn address(&self) -> String {
        self.address.to_string()
    }

    fn closed(&self) -> Closed {
        self.closed
    }
}

/// State of a connection after a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing more has come.
    Open,
    /// More may have come.
    Unfinished,
    /// The sender has closed the connection, or it is broken.
    Closed,
}

impl Connection {
    /// Reads a part of the bytes that have come, and subtracts its length from `left`, the bytes that may still be
    /// read in this round.
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

    /// Quiet connections give way to a sender that comes later, however many there are. One whose bytes were not read yet
    /// is not quiet. Senders that find no room are counted.
    #[test]
    fn quiet_connections_shut_no_sender_out() {
        let (mut receiver, address) = receiver();
        let take = |receiver: &mut Receiver, now: Duration| {
            let (mut lines, later) = (Vec::new(), Instant::now() + Duration::from_secs(10));
            receiver.take(now, later, &mut |line| lines.push(line.to_vec())).unwrap();
            lines
        };
        let mut quiet = Vec::new();
        while quiet.len() < CONNECTIONS_MAX {
            quiet.push(TcpStream::connect(&address).unwrap());
            while receiver.connections.len() < quiet.len() {
                take(&mut receiver, Duration::ZERO);
            }
        }
        let _early = TcpStream::connect(&address).unwrap();
        while receiver.closed().refused == 0 {
            take(&mut receiver, QUIET_MAX - Duration::from_nanos(1));
        }
        assert_eq!(receiver.closed(), Closed { refused: 1, quiet: 0 });
        quiet[0].write_all(b"unread 1 2\n").unwrap();
        let mut late = TcpStream::connect(&address).unwrap();
        late.write_all(b"late 1 2\n").unwrap();
        let mut lines = Vec::new();
        while lines.len() < 2 {
            lines.extend(take(&mut receiver, QUIET_MAX));
        }
        lines.sort_unstable();
        assert_eq!(lines, [&b"late 1 2"[..], b"unread 1 2"]);
        assert_eq!(receiver.closed(), Closed { refused: 1, quiet: 1 });
        assert_eq!(receiver.connections.len(), CONNECTIONS_MAX);
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
