//! Implements the network interface [`Net`] of connectors by the operating system.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use thalweg_model::net::{Connection, Listener, Net};

/// How long an attempt to open a TCP connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Network access through the TCP of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealNet;

impl Net for RealNet {
    fn connect(&self, peer: SocketAddr) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(RealConnection(TcpStream::connect_timeout(&peer, CONNECT_TIMEOUT)?)))
    }

    fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn Listener>> {
        Ok(Box::new(RealListener(TcpListener::bind(at)?)))
    }
}

struct RealConnection(TcpStream);

impl Read for RealConnection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for RealConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Connection for RealConnection {
    fn set_read_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(timeout))
    }
}

struct RealListener(TcpListener);

impl Listener for RealListener {
    fn accept(&mut self) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(RealConnection(self.0.accept()?.0)))
    }
}
