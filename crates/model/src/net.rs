//! Network connections as a trait, so that a simulated network can delay, cut and reorder data. Connectors
//! with sockets use it.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// An open byte stream to another process, such as a TCP connection.
pub trait Connection: Read + Write + Send {
    /// Sets how long a read may wait before it fails with [`io::ErrorKind::WouldBlock`] or `TimedOut`. An
    /// unlimited wait is not possible.
    ///
    /// # Errors
    /// An error of the operating system.
    fn set_read_timeout(&mut self, timeout: Duration) -> io::Result<()>;
}

/// A network port that accepts connections from other processes.
pub trait Listener: Send {
    /// Waits for the next process that connects to this port, and returns the connection.
    ///
    /// # Errors
    /// An error of the operating system.
    fn accept(&mut self) -> io::Result<Box<dyn Connection>>;
}

/// The network, real or simulated: connects to other processes and listens for them.
pub trait Net: Send + Sync {
    /// Connects to another process at the network address `peer`.
    ///
    /// # Errors
    /// An error of the operating system, for example if no process listens at that address.
    fn connect(&self, peer: SocketAddr) -> io::Result<Box<dyn Connection>>;

    /// Opens a port at a network address, so that other processes can connect to it.
    ///
    /// # Errors
    /// An error of the operating system, for example if the address is taken or is not one of this machine.
    fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn Listener>>;
}
