//! Leftovers: unfinished files of killed runs, removed by the next run that writes to their directory.
//!
//! A sink holds a locked marker, `.part-UID.inprogress` in the directory of its table, from its first file to
//! its end, because its files may be closed long before they are published. A file is a leftover if two
//! conditions hold: its name is one that a sink gives to an unfinished file, and no run holds the marker of
//! its UID or the file itself; see [`Files::remove_leftover`]. Directories are searched as deep as the table
//! has partition keys; links are not followed, and at most [`LOOKED_AT_MAX`] entries are checked. A leftover
//! that cannot be removed is noted and otherwise ignored.
//!
//! Files that are published with a checkpoint have names of their own (`staged.rs`). A sink whose job takes checkpoints looks
//! for those of its job when the files of the restored checkpoint are published.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::partition;
use super::staged::Owner;
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

/// A table below whose directory leftovers are removed.
pub(super) struct OfTable<'a> {
    pub(super) files: &'a dyn Files,
    /// The path of the table: its directory, or its single file.
    pub(super) root: &'a Path,
    /// The names of the partition columns.
    pub(super) keys: &'a [String],
    pub(super) notes: &'a Notes,
}

/// Tells of a hidden file, by its path and name, whether it stays.
type Keeps<'a> = dyn Fn(&Path, &str) -> bool + 'a;

/// Removes leftovers, which are unfinished files of killed runs, below the directory of a table. `success` is the name of its
/// success files.
pub(super) fn remove(of: &OfTable<'_>, success: Option<&str>) {
    Looking::new(of, Sought::Plain { success }).remove_below(of.root, of.keys);
}

/// Removes unpublished files that the job `owner` has left below the directory of a table, but for those that `keeps` names.
pub(super) fn remove_staged(of: &OfTable<'_>, owner: &Owner, keeps: &Keeps<'_>) {
    Looking::new(of, Sought::Staged { owner, keeps }).remove_below(of.root, of.keys);
}

/// Removes pieces of the single file of a table that the job `owner` has left in `directory`, but for those that `keeps`
/// names.
pub(super) fn remove_pieces(of: &OfTable<'_>, directory: &Path, owner: &Owner, keeps: &Keeps<'_>) {
    let Some(single) = of.root.file_name().and_then(|name| name.to_str()) else { return };
    let mut looking = Looking::new(of, Sought::Pieces { single, owner, keeps });
    looking.remove_below(directory, &[]);
}

/// The leftovers that are looked for.
enum Sought<'a> {
    /// Files without checkpoints, and the success files that were not finished.
    Plain { success: Option<&'a str> },
    /// Files that would have been published with a checkpoint of a job.
    Staged { owner: &'a Owner, keeps: &'a Keeps<'a> },
    /// Pieces of a single file, and the file that was put together of them.
    Pieces { single: &'a str, owner: &'a Owner, keeps: &'a Keeps<'a> },
}

struct Looking<'a> {
    files: &'a dyn Files,
    root: &'a Path,
    notes: &'a Notes,
    sought: Sought<'a>,
    /// Number of directory entries that may still be checked for leftovers, which are unfinished files of
    /// killed runs.
    left: usize,
    /// Tells for each UID checked so far, the random word that names a sink, whether the sink is still
    /// running.
    live: HashMap<String, bool>,
}

impl<'a> Looking<'a> {
    fn new(of: &OfTable<'a>, sought: Sought<'a>) -> Self {
        let OfTable { files, root, notes, .. } = *of;
        Looking { files, root, notes, sought, left: LOOKED_AT_MAX, live: HashMap::new() }
    }

    /// Returns whether a file has the name of an unfinished file that is looked for, and its sink has ended.
    fn is_leftover(&mut self, path: &Path, name: &str) -> bool {
        let word = match &self.sought {
            Sought::Plain { success } => word_of(name, *success),
            Sought::Staged { owner, keeps } => {
                owner.shown(name).and_then(word_of_part).filter(|_| !keeps(path, name))
            }
            Sought::Pieces { single, owner, keeps } => {
                let rest = owner.shown(name).and_then(|bare| bare.strip_prefix(single));
                let is_piece =
                    |rest: &str| rest.is_empty() || rest.strip_prefix('-').and_then(numbered_word).is_some();
                return rest.is_some_and(is_piece) && !keeps(path, name);
            }
        };
        word.is_some_and(|word| !self.is_live(word))
    }

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
                if self.is_leftover(&path, name) {
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
    let of_marker = || bare.strip_prefix("part-").filter(is_word);
    let of_success = || bare.strip_prefix(success?)?.strip_prefix('-').filter(is_word);
    word_of_part(bare).or_else(of_marker).or_else(of_success)
}

/// Returns the UID in the final name of a file, `part-UID-N`.
fn word_of_part(name: &str) -> Option<&str> {
    numbered_word(name.strip_prefix("part-")?)
}

/// Returns the UID in `UID-N`.
fn numbered_word(text: &str) -> Option<&str> {
    let (word, number) = text.split_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some(word).filter(is_word).filter(|_| is_number)
}

fn is_word(text: &&str) -> bool {
    text.len() == WORD_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
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
