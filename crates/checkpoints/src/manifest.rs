//! Manifests: the description of one checkpoint as text, which a person can read.
//!
//! ```text
//! {
//!   "format": 1,
//!   "query": "clicks",
//!   ..
//! }
//! crc32 9a0b1c2d
//! ```
//!
//! The first lines are JSON, the last line is the CRC-32 of the bytes before it. A manifest names each data file that it needs,
//! with its length. So a data file that is missing, cut or longer is found before it is read.
//!
//! Bounds: [`MANIFEST_BYTES_MAX`], [`SECTIONS_MAX`], [`DATA_FILES_MAX`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::{self, HEAD_BYTES};

/// The version of the format that this program writes, and the newest one that it reads.
pub const FORMAT: u64 = 1;

/// Greatest length of a manifest, in bytes: 65,536 sections with 250 bytes each.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// Greatest number of sections of a checkpoint: 512 tasks, each with a copy for 128 workers.
pub const SECTIONS_MAX: usize = 65_536;

/// Greatest number of data files that one manifest names. Bytes that do not change are not written again, so their data file
/// stays, with all that has changed since. This bounds the bytes on disk that nobody needs: what is left of the oldest data file
/// is written again when there would be too many.
pub const DATA_FILES_MAX: usize = 8;

/// The description of one checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the format.
    pub format: u64,
    /// Name of the query.
    pub query: String,
    /// Number of the checkpoint.
    pub number: u64,
    /// True if all streams of the query had ended.
    pub is_last: bool,
    /// The data files that hold bytes of this checkpoint, by their numbers.
    pub files: Vec<DataFile>,
    /// The sections, in the order of the tasks in the plan.
    pub sections: Vec<SectionEntry>,
}

/// A data file that a checkpoint needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// Number of the checkpoint that wrote the file.
    pub number: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// The description of one section.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SectionEntry {
    /// Name of the task.
    pub task: String,
    /// Names of the operators of the task.
    pub operators: Vec<String>,
    /// True if the stream of the task had ended.
    pub has_ended: bool,
    /// Place of the saved state; `None` if it has no bytes.
    pub state: Option<Block>,
    /// Place of the description of prepared output; `None` if it has no bytes.
    pub prepared: Option<Block>,
}

/// The place of some bytes in a data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Number of the checkpoint that wrote the data file.
    pub file: u64,
    /// Place of the block's head in the file.
    pub offset: u64,
    /// Number of bytes behind the head.
    pub length: u64,
    /// The checksum in the head.
    pub crc32: u32,
}

/// The reason why some bytes are no manifest that can be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The bytes are not those of a manifest, as this message says.
    Damaged(String),
    /// The manifest has a version of the format above [`FORMAT`].
    Version(u64),
}

impl Manifest {
    /// Returns the text of the manifest.
    ///
    /// # Errors
    /// The error of the JSON writer.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let checksum = last_line(&text);
        text.push_str(&checksum);
        text.push('\n');
        Ok(text)
    }

    /// Reads the text of a manifest, and checks that its parts fit each other.
    ///
    /// # Errors
    /// A [`Refusal`] that says which part does not fit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let damaged = |fault: &str| Refusal::Damaged(fault.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("has bytes that are no text"))?;
        let lines = text.strip_suffix('\n').ok_or_else(|| damaged("does not end with a line: it was cut"))?;
        let end = lines.rfind('\n').ok_or_else(|| damaged("has one line only: it was cut"))? + 1;
        let (json, checksum) = lines.split_at(end);
        if last_line(json) != checksum {
            return Err(damaged("has text that does not fit its checksum"));
        }
        let version: Version = serde_json::from_str(json).map_err(|error| no_manifest(&error))?;
        if version.format > FORMAT {
            return Err(Refusal::Version(version.format));
        }
        let manifest: Manifest = serde_json::from_str(json).map_err(|error| no_manifest(&error))?;
        manifest.check().map_err(Refusal::Damaged)?;
        Ok(manifest)
    }

    /// Returns the blocks of all sections, in the order in which they are written.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|section| section.state.iter().chain(&section.prepared))
    }

    /// Returns the number of bytes of the sections.
    pub fn bytes(&self) -> u64 {
        self.blocks().fold(0, |bytes, block| bytes.saturating_add(block.length))
    }

    /// Returns the number of bytes of the sections that were written with this checkpoint; the others lie in older data files.
    pub fn new_bytes(&self) -> u64 {
        let new = self.blocks().filter(|block| block.file == self.number);
        new.fold(0, |bytes, block| bytes.saturating_add(block.length))
    }

    /// Checks that each block lies within its data file, and that the blocks in a file have no more bytes than the file. So the
    /// bytes that a reader allocates are bounded by the lengths of files.
    fn check(&self) -> Result<(), String> {
        if self.format == 0 {
            return Err("has version 0 of the format, which does not exist".to_owned());
        }
        if self.sections.len() > SECTIONS_MAX {
            return Err(format!("has {} sections, more than {SECTIONS_MAX}", self.sections.len()));
        }
        if self.files.len() > DATA_FILES_MAX {
            return Err(format!("names {} data files, more than {DATA_FILES_MAX}", self.files.len()));
        }
        let is_sorted = self.files.is_sorted_by(|one, next| one.number < next.number);
        if !is_sorted || self.files.last().is_some_and(|last| last.number > self.number) {
            return Err("names its data files in no order, or one of a later checkpoint".to_owned());
        }
        let mut left: BTreeMap<u64, u64> = self.files.iter().map(|file| (file.number, file.bytes)).collect();
        for block in self.blocks() {
            let Some(file) = self.files.iter().find(|file| file.number == block.file) else {
                return Err(format!("has a section in data file {}, which it does not name", block.file));
            };
            let bytes = block.length.checked_add(HEAD_BYTES as u64);
            let end = bytes.and_then(|bytes| bytes.checked_add(block.offset));
            let is_within = block.length > 0 && end.is_some_and(|end| end <= file.bytes);
            let left = left.entry(block.file).or_default();
            match bytes.and_then(|bytes| left.checked_sub(bytes)) {
                Some(rest) if is_within => *left = rest,
                _ => return Err(format!("has a section beyond the {} bytes of its data file", file.bytes)),
            }
        }
        Ok(())
    }
}

/// The only field that all versions of the format have.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

/// Returns the last line of a manifest, without its line end.
fn last_line(json: &str) -> String {
    format!("crc32 {:08x}", data::checksum(&[json.as_bytes()]))
}

fn no_manifest(error: &serde_json::Error) -> Refusal {
    Refusal::Damaged(format!("is no manifest ({error})"))
}

#[cfg(test)]
mod tests;
