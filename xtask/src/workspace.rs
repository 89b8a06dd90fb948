//! The workspace as cargo reports it: its root, its target directory, its packages and their dependencies.
//!
//! Everything comes from one call of `cargo metadata`. It reads the manifests as cargo does, and resolves inherited
//! dependencies, renames and the configured target directory.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

/// The whole cargo workspace: its directories and its packages.
pub(crate) struct Workspace {
    /// Directory of the workspace's root manifest.
    pub(crate) root: PathBuf,
    /// Directory in which cargo builds: `target`, or the one that the environment or a config file sets.
    pub(crate) target_directory: PathBuf,
    /// The member packages of the workspace.
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug)]
pub(crate) struct Package {
    /// Name of the package, such as `thalweg-model`.
    pub(crate) name: String,
    /// Path of the package's manifest relative to the root, with forward slashes.
    pub(crate) manifest: String,
    /// The dependencies that the manifest declares, of every kind and for every target.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency that a manifest declares.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// Name of the package that is depended on, even if the manifest renames it.
    pub(crate) name: String,
    /// Part of the package, such as its tests, that needs the dependency.
    pub(crate) kind: DependencyKind,
    /// Condition under which the dependency is needed, such as `cfg(loom)`.
    pub(crate) target: Option<String>,
}

/// Part of a package that needs a dependency: the package itself, its build script, or its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// The library or program of the package needs the dependency.
    Normal,
    /// The build script of the package needs the dependency.
    Build,
    /// The tests, benches and examples of the package need the dependency.
    Dev,
}

impl Workspace {
    /// Asks cargo about the workspace that this xtask belongs to.
    ///
    /// # Errors
    ///
    /// When cargo cannot read a manifest. Its own message has gone to standard error.
    pub(crate) fn open() -> Result<Self> {
        let asked = Command::new(cargo())
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .current_dir(own_directory())
            .stderr(Stdio::inherit())
            .output()
            .context("could not start cargo metadata")?;
        if !asked.status.success() {
            bail!("cargo metadata failed: {}", asked.status);
        }
        let text = String::from_utf8(asked.stdout).context("cargo metadata is not UTF-8")?;
        Self::from_metadata(&text)
    }

    /// Reads the output of `cargo metadata --format-version 1 --no-deps`.
    fn from_metadata(text: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(text).context("cargo metadata is not JSON")?;
        let root = PathBuf::from(text_of(&metadata, "workspace_root")?);
        let target_directory = PathBuf::from(text_of(&metadata, "target_directory")?);
        let packages = list_of(&metadata, "packages")?
            .iter()
            .map(|package| Package::from_metadata(package, &root))
            .collect::<Result<_>>()?;
        Ok(Self { root, target_directory, packages })
    }

    /// Creates a workspace without packages, at a path that does not exist, for tests.
    #[cfg(test)]
    pub(crate) fn fake() -> Self {
        Self { root: "/fake".into(), target_directory: "/fake/target".into(), packages: Vec::new() }
    }
}

impl Package {
    fn from_metadata(package: &Value, root: &Path) -> Result<Self> {
        let manifest = Path::new(text_of(package, "manifest_path")?);
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest);
        Ok(Self {
            name: text_of(package, "name")?.to_owned(),
            manifest: manifest.to_string_lossy().replace('\\', "/"),
            dependencies: list_of(package, "dependencies")?
                .iter()
                .map(Dependency::from_metadata)
                .collect::<Result<_>>()?,
        })
    }
}

impl Dependency {
    fn from_metadata(dependency: &Value) -> Result<Self> {
        let kind = match dependency["kind"].as_str() {
            None => DependencyKind::Normal,
            Some("build") => DependencyKind::Build,
            Some("dev") => DependencyKind::Dev,
            Some(other) => bail!("cargo metadata names an unknown kind of dependency: {other}"),
        };
        Ok(Self {
            name: text_of(dependency, "name")?.to_owned(),
            kind,
            target: dependency["target"].as_str().map(str::to_owned),
        })
    }
}

/// Returns the path of the cargo that has started xtask, so that every step uses the same toolchain. If xtask
/// was started without cargo, this is the cargo on the search path.
pub(crate) fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Returns the directory of the package xtask. `cargo run` sets it in the environment. The directory at
/// compile time is the second choice, because a target directory that clones share may hold a binary of
/// another clone.
fn own_directory() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

fn text_of<'a>(value: &'a Value, field: &str) -> Result<&'a str> {
    value[field].as_str().ok_or_else(|| anyhow!("cargo metadata has no text in `{field}`"))
}

fn list_of<'a>(value: &'a Value, field: &str) -> Result<&'a [Value]> {
    let list = value[field].as_array().map(Vec::as_slice);
    list.ok_or_else(|| anyhow!("cargo metadata has no list in `{field}`"))
}

#[cfg(test)]
mod tests;
