//! The cache of downloads: `$XDG_CACHE_HOME/thalweg-services`, or `.cache/thalweg-services` in the home directory.
//!
//! Files come from package registries through their ordinary clients. Their SHA-256 is compared with the one that is
//! written beside the version. A directory of the cache gets its name only when it is complete, so an interrupted
//! download starts again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

/// Returns the directory of the cache, and creates it if necessary.
///
/// # Errors
///
/// When neither `XDG_CACHE_HOME` nor `HOME` is set, or the directory cannot be made.
pub(crate) fn cache() -> Result<PathBuf> {
    let of = |key: &str| env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    let cache = caches
        .ok_or_else(|| anyhow!("no place for downloads: set XDG_CACHE_HOME or HOME"))?
        .join("thalweg-services");
    fs::create_dir_all(&cache).with_context(|| format!("could not make {}", cache.display()))?;
    Ok(cache)
}

/// Returns the directory `name` of the cache. If it does not exist, `fill` fills it first.
///
/// # Errors
///
/// The errors of `fill` and of the file system.
pub(crate) fn directory(name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let cache = cache()?;
    let complete = cache.join(name);
    if complete.is_dir() {
        return Ok(complete);
    }
    let partial = cache.join(format!("{name}.partial-{}", process::id()));
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).with_context(|| format!("could not make {}", partial.display()))?;
    let filled = fill(&partial).and_then(|()| {
        match fs::rename(&partial, &complete) {
            // Two processes may fill the directory at the same time. The first one that is ready gives it its
            // final name, and the error of the second is ignored.
            Err(_) if complete.is_dir() => Ok(()),
            renamed => renamed.with_context(|| format!("could not name {}", complete.display())),
        }
    });
    let _ = fs::remove_dir_all(&partial);
    filled.map(|()| complete)
}

/// Runs `program` to its end. Its output goes to our standard error.
///
/// # Errors
///
/// When `program` is not installed or does not succeed. The message shows `purpose`.
pub(crate) fn call(purpose: &str, program: &str, arguments: &[&str]) -> Result<()> {
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .with_context(|| format!("could not start {program}, which is needed to {purpose}"))?;
    if !status.success() {
        bail!("could not {purpose}: {status} from {program} {}", arguments.join(" "));
    }
    Ok(())
}

/// Compares the SHA-256 of `file` with `expected`.
///
/// # Errors
///
/// When they differ, or `sha256sum` is not installed.
pub(crate) fn verify(file: &Path, expected: &str) -> Result<()> {
    let output = Command::new("sha256sum")
        .arg(file)
        .output()
        .context("could not start sha256sum, which is needed to compare downloads")?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.split_whitespace().next() {
        Some(found) if found == expected => Ok(()),
        found => {
            bail!("{} has SHA-256 {}, and {expected} was expected", file.display(), found.unwrap_or("none"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_is_refused() {
        let file = env::temp_dir().join(format!("thalweg-verify-{}", process::id()));
        fs::write(&file, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let same = verify(&file, abc);
        fs::write(&file, "abd").unwrap();
        let other = verify(&file, abc);
        fs::remove_file(&file).unwrap();
        same.unwrap();
        assert!(other.unwrap_err().to_string().contains("was expected"));
    }
}
