//! Pinned versions of the peers, and how a peer gets onto the machine: from the registries that the clients of its language are set up for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::data::run;
use super::side::Peer;
use crate::services::{fetch, flink};
use crate::workspace;

/// Files with the versions, below the workspace.
const PYTHON: &str = "bench/peers/python/requirements.txt";
const RUST: &str = "bench/peers/rust/Cargo.toml";

/// Returns the Python of the virtual environment in the folder of peers.
pub(super) fn python(folder: &Path) -> PathBuf {
    folder.join("venv/bin/python")
}

/// Returns the program of the peers in Rust in the folder of peers.
pub(super) fn rust(folder: &Path) -> PathBuf {
    folder.join("rust/release/thalweg-peers")
}

/// Checks that the named peers are there in their pinned versions, and returns each with its version. With `installs`, it installs
/// them first. Flink is fetched when it is started.
///
/// # Errors
///
/// A peer that is not installed, or in another version, with the way to get it; an installation that fails.
pub(super) fn checked(
    root: &Path,
    folder: &Path,
    peers: &[Peer],
    installs: bool,
) -> Result<Vec<(&'static str, String)>> {
    let is_python = |peer: &&Peer| matches!(peer, Peer::DuckDb | Peer::Polars);
    let is_rust = |peer: &&Peer| matches!(peer, Peer::Timely | Peer::Renoir);
    if peers.iter().any(|peer| is_python(&peer)) && installs {
        install_python(root, folder)?;
    }
    if let Some(peer) = peers.iter().find(is_rust) {
        if !installs && !rust(folder).is_file() {
            return Err(missing(*peer, "its program is not built"));
        }
        // The program is built again if its text has changed.
        build_rust(root, folder)?;
    }
    let mut versions = Vec::new();
    for &peer in peers {
        let version = match peer {
            Peer::Flink => flink::VERSION.to_owned(),
            Peer::DuckDb | Peer::Polars => version(root, PYTHON, peer.name())?,
            Peer::Timely | Peer::Renoir => version(root, RUST, peer.name())?,
        };
        if is_python(&&peer) {
            let asked = format!("import importlib.metadata as m; print(m.version('{}'))", peer.name());
            let (found, _) =
                run(&python(folder), &["-c", &asked]).map_err(|_| missing(peer, "it is not installed"))?;
            if found.trim() != version {
                return Err(missing(
                    peer,
                    &format!("{} is installed, and {version} is pinned", found.trim()),
                ));
            }
        }
        versions.push((peer.name(), version));
    }
    Ok(versions)
}

/// Returns the error for a peer that cannot be asked.
fn missing(peer: Peer, why: &str) -> anyhow::Error {
    let name = peer.name();
    anyhow!("{name} cannot be asked: {why}; get it by `cargo xtask peers {name} --install`")
}

fn install_python(root: &Path, folder: &Path) -> Result<()> {
    let environment = folder.join("venv").display().to_string();
    fetch::call("make a virtual environment", "python3", &["-m", "venv", &environment])?;
    let requirements = root.join(PYTHON).display().to_string();
    let python = python(folder).display().to_string();
    let wheels = ["-m", "pip", "install", "--only-binary", ":all:", "-r", &requirements];
    fetch::call("install the peers in Python", &python, &wheels)
}

fn build_rust(root: &Path, folder: &Path) -> Result<()> {
    let manifest = root.join(RUST).display().to_string();
    let target = folder.join("rust").display().to_string();
    let options =
        ["build", "--quiet", "--release", "--locked", "--manifest-path", &manifest, "--target-dir", &target];
    fetch::call("build the peers in Rust", &workspace::cargo(), &options)
}

fn version(root: &Path, file: &str, name: &str) -> Result<String> {
    let path = root.join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    match pinned(&text, name) {
        Some(version) => Ok(version.to_owned()),
        None => bail!("{file} pins no version of {name}"),
    }
}

/// Returns the version that a text pins for a package: `name==1.2.3` of pip, or `name = "=1.2.3"` and the like of cargo.
pub(super) fn pinned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let mut pins = lines.filter(|rest| rest.starts_with(['=', ' ']));
    let rest = pins.next()?;
    let begin = rest.match_indices('=').map(|(place, _)| place + 1);
    let mut versions =
        begin.map(|begin| &rest[begin..]).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    versions.next()?.split(|c: char| c != '.' && !c.is_ascii_alphanumeric()).next()
}
