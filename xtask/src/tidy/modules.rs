//! Finds the source files that are compiled, by a walk from the crate roots along their `mod` declarations.
//!
//! Only the layout of this tree is known. The children of `x.rs` are in `x/`, and the children of a crate root are
//! beside it. `mod.rs` is followed as well, so that only the rule against it reports it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::rust_text::{RustText, closing_offset, is_name_char, word_offsets};
use super::tree::{Place, Tree};

/// Condition under which a source file is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The file is compiled always, or under a condition that is not about tests.
    Plain,
    /// `TestOnly`: the file is compiled only with tests.
    TestOnly,
}

/// Returns every file below a `src` that is reached from a crate root, and the crate roots themselves.
pub(super) fn reached_files(tree: &Tree) -> BTreeMap<String, Reach> {
    let mut reached = BTreeMap::new();
    let roots = tree.rust_files().filter(|(_, place, _)| is_root(*place));
    let mut open: Vec<(String, Reach)> = roots.map(|(path, ..)| (path.to_owned(), Reach::Plain)).collect();
    while let Some((path, reach)) = open.pop() {
        let Some(rust) = tree.rust(&path) else { continue };
        let known = reached.get(&path);
        if known == Some(&Reach::Plain) || known == Some(&reach) {
            continue;
        }
        let directory = directory_of_children(&path);
        for declaration in declarations(rust) {
            let reach = if declaration.is_test { Reach::TestOnly } else { reach };
            let stem = format!("{directory}/{}", declaration.names.join("/"));
            open.push((format!("{stem}.rs"), reach));
            open.push((format!("{stem}/mod.rs"), reach));
        }
        reached.insert(path, reach);
    }
    reached
}

/// Returns whether cargo begins to compile a library or a program at the file with this place.
pub(super) fn is_root(place: Place<'_>) -> bool {
    if place.part != "src" {
        return false;
    }
    let in_bin = place.rest.strip_prefix("bin/");
    matches!(place.rest, "lib.rs" | "main.rs")
        || in_bin.is_some_and(|rest| !rest.contains('/') || rest.ends_with("/main.rs"))
}

fn directory_of_children(path: &str) -> &str {
    let declares_beside_it = path.ends_with("/mod.rs") || Place::of(path).is_some_and(is_root);
    if declares_beside_it {
        path.rsplit_once('/').map_or("", |it| it.0)
    } else {
        path.trim_end_matches(".rs")
    }
}

/// A declaration of a module in a file of its own: `mod name;`.
struct Declaration<'a> {
    /// Names of the modules around the declaration in the same file, outermost first, then the name of the
    /// declared module.
    names: Vec<&'a str>,
    is_test: bool,
}

fn declarations(rust: &RustText) -> Vec<Declaration<'_>> {
    let mut blocks: Vec<(Range<usize>, &str)> = Vec::new();
    let mut declarations = Vec::new();
    for offset in word_offsets(&rust.code, "mod") {
        let rest = rust.code[offset + "mod".len()..].trim_start();
        let rest = rest.strip_prefix("r#").unwrap_or(rest);
        let (name, rest) = rest.split_at(rest.find(|c| !is_name_char(c)).unwrap_or(rest.len()));
        let rest = rest.trim_start();
        if rest.starts_with('{') {
            let open = rust.code.len() - rest.len();
            blocks.push((open..closing_offset(&rust.code, open), name));
        } else if rest.starts_with(';') {
            let around = blocks.iter().filter(|(block, _)| block.contains(&offset)).map(|(_, name)| *name);
            let names = around.chain([name]).collect();
            declarations.push(Declaration { names, is_test: rust.is_test(offset) });
        }
    }
    declarations
}

#[cfg(test)]
mod tests;
