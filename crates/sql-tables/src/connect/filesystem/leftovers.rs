//! Leftovers: unfinished files of killed runs, removed by the next run that writes to their directory.
//!
//! A sink holds a locked marker, `.part-UID.inprogress` in the directory of its table, from its first file to
//! its end, because its files may be closed long before they are published. A file is a leftover if two
//! conditions hold: its name is one that a sink gives to an unfinished file, and no run holds the marker of
//! its UID or the file itself; see [`Files::remove_leftover`]. Directories are searched as deep as the table
//! has partition keys; links are not followed, and at most [`LOOKED_AT_MAX`] entries are checked. A leftover
//! that cannot be removed is noted and otherwise ignored.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::partition;
use crate::connect::files::{Entry, Files, Standing};
use crate::connect::notes::Notes;

/// The greatest number of directory entries that are checked for leftovers of killed runs, so that the search
/// does not delay the start of a run by minutes.
const LOOKED_AT_MAX: usize = 100_000;

/// The number of digits of the random word, called UID in file names, that identifies a sink.
const WORD_DIGITS: usize = 16;

/// Returns the path of the marker file by which a sink shows that it is running; `unique_name` is the random
/// word (UID) of the sink.
pub(super) fn marker(root: &Path, unique_name: &str) -> PathBuf {
    root.join(format!(".part-{unique_name}.inprogress"))
}

/// Removes leftovers, which are unfinished files of killed runs, below the directory of a table.
pub(super) fn remove(files: &dyn Files, root: &Path, keys: &[String], success: Option<&str>, notes: &Notes) {
    let mut looking = Looking { files, root, success, notes, left: LOOKED_AT_MAX, live: HashMap::new() };
    looking.remove_below(root, keys);
}

struct Looking<'a> {
    files: &'a dyn Files,
    root: &'a Path,
    success: Option<&'a str>,
    notes: &'a Notes,
    /// Number of directory entries that may still be checked for leftovers, which are unfinished files of
    /// killed runs.
    left: usize,
    /// Tells for each UID checked so far, the random word that names a sink, whether the sink is still
    /// running.
    live: HashMap<String, bool>,
}

impl Looking<'_> {
    fn remove_below(&mut self, directory: &Path, keys: &[String]) {
        // A directory that cannot be listed is skipped: it may still be writable, and if it is not, the sink
        // reports that.
        let Ok(entries) = self.files.list(directory) else { return };
        for Entry { path, is_directory } in entries {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if !is_directory {
                if let Some(word) = word_of(name, self.success)
                    && !self.is_live(word)
                {
                    self.remove(&path);
                }
            } else if let Some((key, below)) = keys.split_first() {
                let mut prefix = String::new();
                partition::escape(key, &mut prefix);
                let is_partition = name.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('='));
                if is_partition && matches!(self.files.standing(&path), Ok(Standing::Directory)) {
                    self.remove_below(&path, below);
                }
            }
        }
    }

    fn is_live(&mut self, word: &str) -> bool {
        if let Some(is_live) = self.live.get(word) {
            return *is_live;
        }
        // If the lock of a sink's marker file cannot be checked, the sink counts as running and its files
        // stay.
        let is_live = self.files.is_held(&marker(self.root, word)).unwrap_or(true);
        self.live.insert(word.to_owned(), is_live);
        is_live
    }

    fn remove(&self, path: &Path) {
        if let Err(error) = self.files.remove_leftover(path) {
            let path = path.display();
            self.notes.add(format!("{path} was left by an earlier run and cannot be removed: {error}"));
        }
    }
}

/// Returns the UID of the sink of an unfinished file from its name: `.part-UID-N.inprogress`,
/// `.SUCCESS-UID.inprogress`, or the marker file `.part-UID.inprogress`.
fn word_of<'a>(name: &'a str, success: Option<&str>) -> Option<&'a str> {
    let bare = name.strip_prefix('.')?.strip_suffix(".inprogress")?;
    let is_word = |text: &&str| {
        text.len() == WORD_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let of_part = || {
        let rest = bare.strip_prefix("part-")?;
        let Some((word, number)) = rest.split_once('-') else { return Some(rest) };
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(word)
    };
    let of_success = || bare.strip_prefix(success?)?.strip_prefix('-');
    of_part().filter(is_word).or_else(|| of_success().filter(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_sinks_are_unfinished() {
        let check = |name: &str, expected: bool| {
            let word = word_of(name, Some("_DONE"));
            assert_eq!(word, expected.then_some("0123456789abcdef"), "{name}");
        };
        check(".part-0123456789abcdef-12.inprogress", true);
        check(".part-0123456789abcdef.inprogress", true);
        check("._DONE-0123456789abcdef.inprogress", true);
        check("._SUCCESS-0123456789abcdef.inprogress", false);
        check(".part-0123456789abcdef-.inprogress", false);
        check(".part-0123456789abcdef-1-2.inprogress", false);
        check(".part-0123456789ABCDEF-1.inprogress", false);
        check(".part-0123-1.inprogress", false);
        check("part-0123456789abcdef-1.inprogress", false);
        check(".part-0123456789abcdef-1", false);
        check(".notes.txt.inprogress", false);
        check(".inprogress", false);
        assert_eq!(
            marker(Path::new("out"), "0123456789abcdef"),
            Path::new("out/.part-0123456789abcdef.inprogress")
        );
    }
}
