//! Format in which a trace of calls to a policy is written to a file.
//!
//! ```text
//!   "thalweg trace 3\n"   entry: name of the policy   entry: its settings, if they are known
//!                         entry: call ...   empty entry   entry: calls left out
//!   entry = length in bytes as 4 bytes, little-endian; then that many bytes, encoded by postcard
//! ```
//!
//! The encoding depends on the order of fields, so a trace can be read only by versions whose fields are the same. The
//! number in the first line changes whenever a field does. Traces of version 2 are read too. They have no entry for the
//! settings, and their operators have no number of copies; `version_2.rs` has the older form of a call.
//!
//! Bounds: an entry has at most `ENTRY_BYTES_MAX` bytes; a trace takes at most [`TRACE_BYTES_MAX`] in memory.

mod version_2;

use std::fmt;
use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::version_2::CallOf2;
use super::{Call, TRACE_BYTES_MAX, Trace};
use crate::settings::Settings;
use crate::snapshot::OperatorId;

/// The first bytes of a file with a trace of policy calls.
const HEAD: &[u8] = b"thalweg trace 3\n";

/// The first bytes of a file with a trace of policy calls in version 2 of the format, which has neither
/// settings nor numbers of copies.
const HEAD_OF_2: &[u8; HEAD.len()] = b"thalweg trace 2\n";

/// Version of the format of a file with a trace of policy calls.
#[derive(Clone, Copy)]
enum Version {
    Two,
    Three,
}

/// Greatest length in bytes of an entry of the file. A snapshot of 10,000 operators takes a fifth of it. An
/// absent operator takes one byte in the file and about a hundred times as much in memory.
const ENTRY_BYTES_MAX: usize = 4 << 20;

/// Operator numbers in a file must be below this limit, because a policy keeps an entry in memory for each
/// number up to the greatest that it sees.
const OPERATORS_MAX: u32 = 1 << 20;

/// Error in writing or reading a trace.
#[derive(Debug)]
pub enum TraceError {
    /// The file with the trace cannot be read or written.
    Io(io::Error),
    /// The file does not begin like a trace that this version can read.
    NotATrace,
    /// An entry of the file is damaged, or longer than allowed: its index, from 0 on, and the reason.
    Entry(usize, String),
    /// The trace has more calls than the limit which this error contains, or takes more than
    /// [`TRACE_BYTES_MAX`] in memory.
    TooLong(usize),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io(error) => write!(f, "{error}"),
            TraceError::NotATrace => {
                write!(f, "this is no trace of calls to a policy, or of another version")
            }
            TraceError::Entry(index, why) => write!(f, "entry {index} of the trace is damaged: {why}"),
            TraceError::TooLong(calls_max) => write!(
                f,
                "the trace has more than {calls_max} calls, or takes more than {TRACE_BYTES_MAX} bytes"
            ),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TraceError::Io(error) => Some(error),
            TraceError::NotATrace | TraceError::Entry(..) | TraceError::TooLong(_) => None,
        }
    }
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        TraceError::Io(error)
    }
}

impl Trace {
    /// Writes the recorded calls to a file. `out` should be buffered, because it is called for each entry.
    ///
    /// # Errors
    /// [`TraceError::Io`], and [`TraceError::Entry`] for a call that is too long to be read again.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), TraceError> {
        let calls = self.calls();
        out.write_all(HEAD)?;
        let mut entries = Entries { index: 0, bytes: Vec::new() };
        entries.write(out, &calls.policy)?;
        entries.write(out, &calls.settings)?;
        for call in &calls.kept {
            entries.write(out, call)?;
        }
        out.write_all(&[0; 4])?;
        entries.write(out, &calls.left_out)?;
        Ok(out.flush()?)
    }

    /// Reads a trace of policy calls that [`Trace::write`] has written, of at most `calls_max` calls. `input`
    /// should be buffered.
    ///
    /// # Errors
    /// [`TraceError`]: a trace that is damaged or cut short is refused as a whole.
    pub fn read(input: &mut dyn Read, calls_max: usize) -> Result<Self, TraceError> {
        let mut head = [0; HEAD.len()];
        let version = match input.read_exact(&mut head) {
            Ok(()) if head == HEAD => Version::Three,
            Ok(()) if head == *HEAD_OF_2 => Version::Two,
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
            _ => return Err(TraceError::NotATrace),
        };
        let mut entries = Entries { index: 0, bytes: Vec::new() };
        let policy = entries.read_one(input)?;
        let settings: Option<Settings> = match version {
            Version::Two => None,
            Version::Three => entries.read_one(input)?,
        };
        settings.map_or(Ok(()), |settings| settings.check()).map_err(|why| entries.damaged(why))?;
        let trace = Trace::new(calls_max);
        let mut calls = trace.calls();
        while let Some(call) = entries.read_call(input, version)? {
            call.check().map_err(|why| entries.damaged(why))?;
            if !calls.keep(call) {
                return Err(TraceError::TooLong(calls_max));
            }
        }
        calls.left_out = entries.read_one(input)?;
        (calls.policy, calls.settings) = (policy, settings);
        drop(calls);
        Ok(trace)
    }
}

impl Call {
    /// Returns an error if the recorded call cannot be replayed: policies rely on low numbers of operators,
    /// and on an order in which each writer stands before its readers.
    fn check(&self) -> Result<(), String> {
        let snapshot = match self {
            Call::Prepare(snapshot) => snapshot,
            Call::Rank { asked, .. } | Call::Quantum { asked, .. } => return check_number(asked.operator),
            Call::Feedback(done) => return check_number(done.operator),
        };
        let mut places = vec![None; snapshot.operators.len()];
        for (place, operator) in snapshot.order.iter().enumerate() {
            let known = places.get_mut(operator.0 as usize);
            *known.ok_or_else(|| format!("there is no operator {}", operator.0))? = Some(place);
        }
        for (writer, readers) in snapshot.downstream.iter().enumerate() {
            let written = places.get(writer).copied().flatten();
            // An operator that has ended has no place in the topological order, so it is not checked.
            let is_behind = |reader: &OperatorId| {
                let read = places.get(reader.0 as usize).copied().flatten();
                written.zip(read).is_none_or(|(written, read)| written < read)
            };
            if !readers.iter().all(is_behind) {
                return Err(format!("who reads operator {writer} does not stand behind it"));
            }
        }
        Ok(())
    }
}

fn check_number(operator: OperatorId) -> Result<(), String> {
    if operator.0 < OPERATORS_MAX { Ok(()) } else { Err(format!("there is no operator {}", operator.0)) }
}

/// Reads and writes the entries of a file with a trace. It has a buffer and counts the entries so far.
struct Entries {
    index: usize,
    bytes: Vec<u8>,
}

impl Entries {
    fn write<T: Serialize>(&mut self, out: &mut dyn Write, value: &T) -> Result<(), TraceError> {
        let bytes = std::mem::take(&mut self.bytes);
        let encoded = postcard::to_extend(value, bytes).map_err(|error| self.damaged(error))?;
        let length = u32::try_from(encoded.len()).ok().filter(|&length| length as usize <= ENTRY_BYTES_MAX);
        let length = length.ok_or_else(|| self.damaged(format!("it has {} bytes", encoded.len())))?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&encoded)?;
        self.bytes = encoded;
        self.bytes.clear();
        self.index += 1;
        Ok(())
    }

    /// Reads the next entry of the file; returns `None` for an empty entry, which ends the list of calls.
    fn read<T: DeserializeOwned>(&mut self, input: &mut dyn Read) -> Result<Option<T>, TraceError> {
        let cut = |error: io::Error, entries: &Self| match error.kind() {
            io::ErrorKind::UnexpectedEof => entries.damaged("the file ends in it"),
            _ => error.into(),
        };
        let mut length = [0; 4];
        input.read_exact(&mut length).map_err(|error| cut(error, self))?;
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            return Ok(None);
        }
        if length > ENTRY_BYTES_MAX {
            return Err(self.damaged(format!("it would have {length} bytes")));
        }
        self.bytes.clear();
        // The buffer grows with the bytes that are really there, not with the length that the file claims.
        let read = input.take(length as u64).read_to_end(&mut self.bytes)?;
        if read < length {
            return Err(self.damaged("the file ends in it"));
        }
        let (value, rest) = postcard::take_from_bytes(&self.bytes).map_err(|error| self.damaged(error))?;
        if !rest.is_empty() {
            return Err(self.damaged(format!("{} bytes too many", rest.len())));
        }
        self.index += 1;
        Ok(Some(value))
    }

    /// Reads the next policy call from a file of this version; returns `None` for an empty entry, which ends
    /// the list of calls.
    fn read_call(&mut self, input: &mut dyn Read, version: Version) -> Result<Option<Call>, TraceError> {
        match version {
            Version::Two => Ok(self.read::<CallOf2>(input)?.map(Call::from)),
            Version::Three => self.read(input),
        }
    }

    fn read_one<T: DeserializeOwned>(&mut self, input: &mut dyn Read) -> Result<T, TraceError> {
        self.read(input)?.ok_or_else(|| self.damaged("it is empty"))
    }

    fn damaged(&self, why: impl fmt::Display) -> TraceError {
        TraceError::Entry(self.index, why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{by_name, configured, names};
    use crate::snapshot::OperatorState;
    use crate::trace::Asked;
    use crate::trace::tests::recorded;

    fn written(trace: &Trace) -> Vec<u8> {
        let mut bytes = Vec::new();
        trace.write(&mut bytes).expect("memory takes everything");
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
        Trace::read(&mut &*bytes, 10_000)
    }

    #[test]
    fn what_was_written_is_read_and_replayed() {
        for policy in names() {
            let trace = recorded(policy, 7, 2_000);
            let again = read(&written(&trace)).expect("it is whole");
            let seen = |trace: &Trace| (trace.policy(), trace.settings(), trace.len(), trace.left_out());
            assert_eq!(seen(&again), seen(&trace));
            assert_eq!(again.replay(&mut *by_name(policy).unwrap()), Ok(()), "{policy}");
            assert_eq!(written(&again), written(&trace), "{policy}");
        }
    }

    /// A file with a trace is cut anywhere, or has any bit flipped or any length replaced: reading it gives
    /// an error or another trace, never a panic.
    #[test]
    fn damage_is_told() {
        let bytes = written(&recorded("klink", 3, 12).with_settings(Settings::default()));
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "cut to {length} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut turned = bytes.clone();
            turned[bit / 8] ^= 1 << (bit % 8);
            // If a damaged file can be read as a trace, the trace can be replayed without a panic.
            let replayed = read(&turned).map(|trace| {
                let settings = trace.settings().unwrap_or_default();
                trace.replay(&mut *configured("klink", &settings).unwrap())
            });
            assert!(replayed.is_err() || bit >= HEAD.len() * 8, "bit {bit} of the head");
        }
        let told = |bytes: &[u8]| read(bytes).err().expect("it is damaged").to_string();
        assert_eq!(told(b"PK\x03\x04"), "this is no trace of calls to a policy, or of another version");
        let long = [HEAD, &u32::MAX.to_le_bytes()].concat();
        assert_eq!(told(&long), "entry 0 of the trace is damaged: it would have 4294967295 bytes");
        let early = [HEAD, &100u32.to_le_bytes(), b"abc"].concat();
        assert_eq!(told(&early), "entry 0 of the trace is damaged: the file ends in it");
    }

    /// The settings of the recorded policy are read again. A setting that is outside of its range is told as damage.
    #[test]
    fn settings_are_read_again() {
        let settings = Settings { klink_cycle_ns: 7, ..Settings::default() };
        let trace = recorded("klink", 5, 100).with_settings(settings);
        assert_eq!(read(&written(&trace)).expect("it is whole").settings(), Some(settings));
        let without = written(&recorded("klink", 5, 100));
        assert_eq!(read(&without).expect("it is whole").settings(), None);
        let wrong = recorded("klink", 5, 1).with_settings(Settings { klink_epochs: 0, ..settings });
        let told = read(&written(&wrong)).err().expect("it is out of range").to_string();
        assert_eq!(told, "entry 2 of the trace is damaged: klink_epochs is 0, but must be from 1 to 400");
    }

    /// Writes a trace as version 2 did.
    fn written_of_2(trace: &Trace) -> Vec<u8> {
        let calls = trace.calls();
        let mut bytes = HEAD_OF_2.to_vec();
        let mut entries = Entries { index: 0, bytes: Vec::new() };
        entries.write(&mut bytes, &calls.policy).expect("memory takes everything");
        for call in &calls.kept {
            entries.write(&mut bytes, &CallOf2::from(call)).expect("memory takes everything");
        }
        bytes.extend([0; 4]);
        entries.write(&mut bytes, &calls.left_out).expect("memory takes everything");
        bytes
    }

    /// A file of version 2 has no entry for settings, which has 5 bytes here, and no number of copies, which has one
    /// byte in each state of an operator. The file is read without settings, and its operators are no copies, so it
    /// becomes the file that version 3 writes of the same calls.
    #[test]
    fn files_of_version_2_are_read() {
        for policy in ["enjima", "klink"] {
            let trace = recorded(policy, 5, 100);
            let states = |call: &Call| match call {
                Call::Prepare(snapshot) => snapshot.operators.iter().flatten().count(),
                Call::Rank { asked, .. } | Call::Quantum { asked, .. } => usize::from(asked.state.is_some()),
                Call::Feedback(_) => 0,
            };
            let states: usize = trace.calls().kept.iter().map(states).sum();
            let (old_file, file) = (written_of_2(&trace), written(&trace));
            assert_eq!(file.len() - old_file.len(), 5 + states);
            let old = read(&old_file).expect("it is whole");
            assert_eq!((old.policy(), old.settings(), old.len()), (policy.to_owned(), None, 100));
            assert_eq!(written(&old), file);
            assert_eq!(old.replay(&mut *by_name(policy).unwrap()), Ok(()));
        }
    }

    /// The number of copies of an operator is read again.
    #[test]
    fn copies_are_read_again() {
        let state = OperatorState { copies: 4, ..OperatorState::default() };
        let asked = |now| Asked { now, round_end: now, operator: OperatorId(0), state: Some(state) };
        let trace = Trace::new(1);
        trace.note(|| Call::Rank { asked: asked(state.oldest_pending), rank: None });
        let again = read(&written(&trace)).expect("it is whole");
        let calls = again.calls();
        let copies = |call: &Call| match call {
            Call::Rank { asked, .. } => asked.state.map(|state| state.copies),
            Call::Prepare(_) | Call::Quantum { .. } | Call::Feedback(_) => None,
        };
        assert_eq!(calls.kept.iter().map(copies).collect::<Vec<_>>(), [Some(4)]);
    }

    #[test]
    fn a_trace_that_is_too_long_is_refused() {
        let bytes = written(&recorded("fcfs", 1, 100));
        let error = Trace::read(&mut &bytes[..], 99).err().expect("it has 100 calls");
        assert_eq!(error.to_string(), "the trace has more than 99 calls, or takes more than 536870912 bytes");
    }
}
