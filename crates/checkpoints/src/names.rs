//! Names of files and directories.
//!
//! ```text
//! DIR                               `--state DIR`
//! +-- lock                          locked for as long as a run uses DIR
//! +-- query-NAME                    one for each query; other characters than A-Z a-z 0-9 - _ . are written as %XX
//!     +-- checkpoint-7.data         bytes of the sections of checkpoint 7 that were new then
//!     +-- checkpoint-7.manifest     the description of checkpoint 7
//!     +-- checkpoint-7.published    empty: the output of checkpoint 7 is published
//!     +-- .checkpoint-8.*.inprogress    a file that is being written
//! ```
//!
//! A name is read only if it is exactly the one that would be written. All other files are left alone.

use std::path::{Path, PathBuf};

/// Name of the file that a run keeps locked.
pub const LOCK: &str = "lock";

/// Greatest length of the name of the directory of a query, in bytes. File systems have 255.
pub const QUERY_DIRECTORY_BYTES_MAX: usize = 240;

const QUERY_PREFIX: &str = "query-";
const CHECKPOINT_PREFIX: &str = "checkpoint-";
const IN_PROGRESS_SUFFIX: &str = ".inprogress";

/// The two kinds of files of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The bytes of sections.
    Data,
    /// The description of a checkpoint.
    Manifest,
    /// The mark of a checkpoint whose output is published.
    Published,
}

impl Kind {
    fn extension(self) -> &'static str {
        match self {
            Kind::Data => ".data",
            Kind::Manifest => ".manifest",
            Kind::Published => ".published",
        }
    }
}

/// Returns the name of the directory of a query; `None` if it would be longer than [`QUERY_DIRECTORY_BYTES_MAX`].
pub fn query_directory(query: &str) -> Option<String> {
    // The longest escape has 3 bytes. Longer names are refused before they are copied.
    if query.len() > QUERY_DIRECTORY_BYTES_MAX {
        return None;
    }
    let mut name = QUERY_PREFIX.to_owned();
    for byte in query.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    (name.len() <= QUERY_DIRECTORY_BYTES_MAX).then_some(name)
}

/// Returns the name of the query that a directory belongs to; `None` if it belongs to none.
pub fn query_of(directory: &Path) -> Option<String> {
    let name = directory.file_name()?.to_str()?;
    let escaped = name.strip_prefix(QUERY_PREFIX)?;
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    let query = String::from_utf8(bytes).ok()?;
    (query_directory(&query).as_deref() == Some(name)).then_some(query)
}

/// Returns the name of a file of a checkpoint.
pub fn checkpoint_file(kind: Kind, number: u64) -> String {
    format!("{CHECKPOINT_PREFIX}{number}{}", kind.extension())
}

/// Returns the name of a file of a checkpoint while it is written. It begins with a dot.
pub fn in_progress_file(kind: Kind, number: u64) -> String {
    format!(".{}{IN_PROGRESS_SUFFIX}", checkpoint_file(kind, number))
}

/// The file of a checkpoint that a path names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Named {
    /// A file of the checkpoint with this number.
    Whole(Kind, u64),
    /// A file of a checkpoint that was not written to its end.
    InProgress,
    /// Another file.
    Other,
}

/// Returns the file of a checkpoint that a path names.
pub fn named(path: &Path) -> Named {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Named::Other };
    for kind in [Kind::Data, Kind::Manifest, Kind::Published] {
        if let Some(number) = number_in(name, kind) {
            return Named::Whole(kind, number);
        }
        let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(IN_PROGRESS_SUFFIX));
        if inner.is_some_and(|inner| number_in(inner, kind).is_some()) {
            return Named::InProgress;
        }
    }
    Named::Other
}

fn number_in(name: &str, kind: Kind) -> Option<u64> {
    let number = name.strip_prefix(CHECKPOINT_PREFIX)?.strip_suffix(kind.extension())?.parse().ok()?;
    (checkpoint_file(kind, number) == name).then_some(number)
}

/// Returns the path of a file of a checkpoint.
pub(crate) fn path(directory: &Path, kind: Kind, number: u64) -> PathBuf {
    directory.join(checkpoint_file(kind, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Different names of queries have different directories, and a directory tells its query.
    #[test]
    fn names_of_queries_come_back_from_their_directories() {
        let check = |query: &str, directory: &str| {
            assert_eq!(query_directory(query).as_deref(), Some(directory));
            assert_eq!(query_of(Path::new("dir").join(directory).as_path()).as_deref(), Some(query));
        };
        check("clicks", "query-clicks");
        check("", "query-");
        check("../etc/a b", "query-..%2Fetc%2Fa%20b");
        check("50%", "query-50%25");
        check("größe", "query-gr%C3%B6%C3%9Fe");
        check("a\0b", "query-a%00b");
        let long = "x".repeat(QUERY_DIRECTORY_BYTES_MAX - QUERY_PREFIX.len());
        assert!(query_directory(&long).is_some());
        assert_eq!(query_directory(&format!("{long}x")), None);
        assert_eq!(query_directory(&"/".repeat(QUERY_DIRECTORY_BYTES_MAX / 3)), None);
    }

    #[test]
    fn names_in_another_spelling_belong_to_no_query() {
        for name in [
            "clicks",
            "query-a%2fb",
            "query-%41",
            "query-%",
            "query-%4",
            "query-%FF",
            "query-a b",
            "query-%+1",
        ] {
            assert_eq!(query_of(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn names_of_files_are_read_in_their_own_spelling_only() {
        let check = |name: &str, expected: Named| assert_eq!(named(Path::new(name)), expected, "{name}");
        check("q/checkpoint-7.data", Named::Whole(Kind::Data, 7));
        check("q/checkpoint-18446744073709551615.manifest", Named::Whole(Kind::Manifest, u64::MAX));
        check("q/checkpoint-7.published", Named::Whole(Kind::Published, 7));
        check("q/.checkpoint-7.manifest.inprogress", Named::InProgress);
        for name in [
            "checkpoint-07.data",
            "checkpoint-+7.data",
            "checkpoint-.data",
            "checkpoint-18446744073709551616.data",
            "checkpoint-7.data.bak",
            ".checkpoint-7.data",
            "checkpoint-7.manifest.inprogress",
            ".checkpoint-x.data.inprogress",
            "lock",
        ] {
            check(name, Named::Other);
        }
    }
}
