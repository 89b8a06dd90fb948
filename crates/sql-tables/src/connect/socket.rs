//! `socket`, which Flink does not have: records of a format, read from or written to an outgoing TCP connection.
//!
//! | option | default | |
//! |---|---|---|
//! | `hostname` | required | the host to connect to |
//! | `port` | required | the port of the host |
//! | `byte-delimiter` | `10` | the byte that ends a record, as a number: `10` is a line end |
//! | `format` | required | `csv`, `json`, `raw`, `debezium-json`, with its options |
//! | `thalweg.on-bad`, `thalweg.bad-share-max` | `fail`, `0.01` | see `connect/bad.rs` |
//!
//! The keys are those of the example in Flink's documentation, "User-defined Sources & Sinks", which is no
//! part of Flink. With another delimiter than the line end, line ends within a JSON record count as spaces;
//! other formats are refused.
//!
//! A source ends when the peer closes the connection. A sink connects when it is bound, and writes each batch
//! at once; a peer that does not read blocks it. Written rows cannot be retracted when the query fails later.

use std::io::{self, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use thalweg_model::net::{Connection as NetConnection, Net};

use super::feed::{Feed, Stream};
use super::layout::record_places;
use super::options::Given;
use super::standard::{Encoded, bind_stream, encoder};
use super::{Abilities, Connection, RowSink, World};
use crate::error::{Code, SqlError};
use crate::scan::rows::RowSource;

/// Interval at which the thread that reads a socket checks that its source still exists: 100 ms.
const WAKE: Duration = Duration::from_millis(100);

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    let hostname = given.required("hostname", "localhost")?.to_owned();
    given.required("port", "9999")?;
    let port = match given.number::<u16>("port", "a port from 1 to 65535")? {
        Some(port) if port > 0 => port,
        _ => return Err(given.wrong("port", "'0' is not a port from 1 to 65535")),
    };
    // Values from -128 on are accepted, because Flink's example reads the delimiter as a Java byte, which is
    // signed.
    let delimiter = match given.number::<i16>("byte-delimiter", "a byte from 0 to 255")?.unwrap_or(10) {
        byte @ -128..=255 => (byte & 0xff) as u8,
        other => return Err(given.wrong("byte-delimiter", format!("'{other}' is not a byte from 0 to 255"))),
    };
    let format = given.text("format");
    if delimiter != b'\n' && !format.is_some_and(|format| format == "json" || format == "debezium-json") {
        let reason = "only records of JSON can end in another byte than 10, the line end";
        return Err(given.wrong("byte-delimiter", reason));
    }
    let stream = bind_stream(given, "socket")?;
    Ok(Box::new(Socket { hostname, port, delimiter, stream }))
}

struct Socket<'a> {
    hostname: String,
    port: u16,
    delimiter: u8,
    stream: Stream<'a>,
}

impl Connection for Socket<'_> {
    fn abilities(&self) -> Abilities {
        let changes = self.stream.format.is_changelog();
        Abilities {
            reads: true,
            writes: true,
            gives_changes: changes,
            takes_changes: changes,
            ..Abilities::default()
        }
    }

    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let name = format!("socket {}:{}", self.hostname, self.port);
        let (hostname, port, delimiter) = (self.hostname.clone(), self.port, self.delimiter);
        let net = Arc::clone(&world.net);
        let feed = Feed::start("socket", move || {
            let mut connection = connect(net.as_ref(), &hostname, port)?;
            connection.set_read_timeout(WAKE)?;
            Ok(match delimiter {
                b'\n' => Box::new(connection),
                delimiter => Box::new(Delimited { connection, delimiter }),
            })
        });
        Ok(vec![self.stream.source(name, wanted, world, feed)?])
    }

    fn sink(&self, columns: &[usize], world: &World) -> Result<Box<dyn RowSink>, SqlError> {
        let table = self.stream.table;
        if self.delimiter != b'\n' {
            let message = "records that are written end in a line end: 'byte-delimiter' is for reading";
            return Err(SqlError::new(Code::Unsupported, message).at(table.options_place));
        }
        let writer = connect(world.net.as_ref(), &self.hostname, self.port).map_err(|error| {
            let message = format!("{}:{} cannot be connected to: {error}", self.hostname, self.port);
            SqlError::new(Code::Invalid, message).at(table.options_place).help("does anybody listen there?")
        })?;
        let places = record_places(table, columns)?;
        let encoder = encoder(table, &self.stream.format)?;
        Ok(Box::new(Encoded { name: "the socket", writer, places, encoder, text: Vec::new() }))
    }
}

/// Connects to the first address of a host that accepts a connection.
fn connect(net: &dyn Net, hostname: &str, port: u16) -> io::Result<Box<dyn NetConnection>> {
    let addresses: Vec<SocketAddr> = (hostname, port).to_socket_addrs()?.collect();
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match net.connect(address) {
            Ok(connection) => return Ok(connection),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Reads a stream whose records end in a delimiter other than the line end, and turns each record into a
/// line.
struct Delimited {
    connection: Box<dyn NetConnection>,
    delimiter: u8,
}

impl Read for Delimited {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.connection.read(into)?;
        for byte in &mut into[..count] {
            if *byte == self.delimiter {
                *byte = b'\n';
            } else if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        Ok(count)
    }
}
