//! Network connections as a trait, so that a simulated network can delay, cut and reorder. Socket connectors use it.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// One open byte stream to a peer.
pub trait Connection: Read + Write + Send {
    /// Sets how long a read may wait before it fails with [`io::ErrorKind::WouldBlock`] or `TimedOut`. An unlimited
    /// wait is not possible.
    ///
    /// # Errors
    /// The operating system's.
    fn set_read_timeout(&mut self, timeout: Duration) -> io::Result<()>;
}

/// A port that accepts connections.
pub trait Listener: Send {
    /// Waits for the next peer.
    ///
    /// # Errors
    /// The operating system's.
    fn accept(&mut self) -> io::Result<Box<dyn Connection>>;
}

/// The network.
pub trait Net: Send + Sync {
    /// Connects to a peer.
    ///
    /// # Errors
    /// The operating system's, if no process listens there.
    fn connect(&self, peer: SocketAddr) -> io::Result<Box<dyn Connection>>;

    /// Listens at an address.
    ///
    /// # Errors
    /// The operating system's, if the address is taken or not ours.
    fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn Listener>>;
}
