//! What cargo says about the workspace: where it lies, where it builds, its packages and what they depend on.
//!
//! Everything comes from one call of `cargo metadata`, which reads the manifests as cargo itself does, with
//! inherited dependencies, renames and the configured target directory already resolved.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

/// The workspace as a whole.
pub(crate) struct Workspace {
    /// The directory that holds the root manifest.
    pub(crate) root: PathBuf,
    /// Where cargo builds: `target`, or what the environment or a config file says.
    pub(crate) target_directory: PathBuf,
    /// Every member.
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name, `thalweg-model`, say.
    pub(crate) name: String,
    /// Its manifest, relative to the root and with forward slashes.
    pub(crate) manifest: String,
    /// What it declares, of every kind and for every target.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The package's own name, whatever it is called in the manifest.
    pub(crate) name: String,
    /// Which part of the package needs it.
    pub(crate) kind: DependencyKind,
    /// The condition under which it is needed, `cfg(loom)`, say.
    pub(crate) target: Option<String>,
}

/// Which part of a package needs a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// The package itself.
    Normal,
    /// Its build script.
    Build,
    /// Its tests, benches and examples.
    Dev,
}

impl Workspace {
    /// Asks cargo about the workspace that this xtask belongs to.
    ///
    /// # Errors
    ///
    /// When cargo cannot read a manifest; its own message has gone to standard error.
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

    /// A workspace without packages at a place that does not exist.
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

/// The cargo that runs us, so that every step uses the same toolchain; outside of cargo, the one on the path.
pub(crate) fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// The directory of xtask. `cargo run` tells it at run time; what was compiled in is the second choice,
/// because a target directory shared between clones may hold a binary built for another one.
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
