//! Tests of the tree of files: the places of files, and which paths exist.

use super::*;

#[test]
fn place_splits_package_part_and_rest() {
    let place = |path| Place::of(path).map(|it| (it.package, it.part, it.rest));
    assert_eq!(place("crates/memory/src/block/state.rs"), Some(("crates/memory", "src", "block/state.rs")));
    assert_eq!(place("xtask/src/main.rs"), Some(("xtask", "src", "main.rs")));
    assert_eq!(place("crates/memory/build.rs"), None);
    assert_eq!(place("bench/src/main.rs"), None);
    assert_eq!(place("README.md"), None);
}

#[test]
fn directories_exist_with_their_files() {
    let tree = Tree::of(&[("docs/a/b.md", "")]);
    assert!(tree.exists("docs/a/b.md") && tree.exists("docs/a") && tree.exists("docs") && tree.exists(""));
    assert!(!tree.exists("docs/a/c.md") && !tree.exists("doc"));
}

/// A file that is not text, such as a picture, is not read. It exists only as a target of links.
#[test]
fn bytes_that_are_not_text_are_opaque() {
    let tree = Tree::of(&[("zeros.bin", "\0\0")]);
    assert!(tree.exists("zeros.bin"));
    assert_eq!(tree.text("zeros.bin"), None);
    assert!(matches!(File::new("broken.md", vec![0xff]), File::Opaque));
}
