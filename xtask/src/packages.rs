//! `cargo xtask packages`: licences, versions and sources of the packages from outside, by the lists of `deny.toml`.
//!
//! The lists are in the form of cargo-deny, which runs as well if it is installed. A fresh machine does not need it,
//! because building it takes minutes and its advisories need a database from the network. This module checks what
//! `cargo metadata` tells, in a second. Every licence is allowed. No package has two versions without a reason. All
//! packages come from one registry.
//!
//! Only cargo-deny checks advisories, and only if its database is on this machine. The command reports what was not
//! checked.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::steps::{self, StepCommand};
use crate::workspace::{self, Workspace};

/// File with the lists of allowed licences and versions.
const LISTS: &str = "deny.toml";
/// Target platform whose packages are checked. `deny.toml` names the same target.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Options of cargo-deny that silence expected warnings. It warns of entries in `deny.toml` that it does not
/// need. Some entries are for optional packages, which cargo lists and cargo-deny leaves out.
const DENY_QUIET: [&str; 6] =
    ["-A", "unmatched-skip", "-A", "unnecessary-skip", "-A", "license-not-encountered"];

/// The lists of `deny.toml` that this module reads.
#[derive(Debug, PartialEq, Eq)]
struct Lists {
    licences: BTreeSet<String>,
    /// Versions of packages that may exist beside a newer version, as `name@version`.
    skipped: BTreeSet<String>,
}

/// One package from outside of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outside {
    name: String,
    version: String,
    licence: String,
    source: String,
}

/// Checks the packages of the workspace that xtask belongs to.
///
/// # Errors
///
/// A package that is not allowed, or lists that cannot be read.
pub(crate) fn run() -> Result<()> {
    check(&Workspace::open()?)
}

/// Prints the packages that are not allowed to standard output, then runs cargo-deny if it is installed.
///
/// # Errors
///
/// A package that is not allowed, or lists that cannot be read.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let text =
        fs::read_to_string(workspace.root.join(LISTS)).with_context(|| format!("could not read {LISTS}"))?;
    let lists = Lists::parse(&text).map_err(|error| anyhow!("{LISTS}: {error}"))?;
    let packages = outside(&metadata(workspace)?)?;
    let findings = findings(&packages, &lists);
    findings.iter().for_each(|finding| println!("{finding}"));
    if !findings.is_empty() {
        bail!("{} findings; the lists are in {LISTS}", findings.len());
    }
    eprintln!("licences, versions and sources of {} packages are allowed", packages.len());
    run_deny(workspace)
}

/// Runs cargo-deny without the network, and prints which checks it could not make.
fn run_deny(workspace: &Workspace) -> Result<()> {
    let mut probe = Command::new(workspace::cargo());
    probe.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        eprintln!(
            "not checked: advisories, for cargo-deny is not installed: cargo install --locked cargo-deny"
        );
        return Ok(());
    }
    let mut arguments = vec!["deny", "--offline", "check"];
    arguments.extend(DENY_QUIET);
    arguments.extend(["bans", "licenses", "sources"]);
    if advisories().is_some_and(|path| path.is_dir()) {
        arguments.push("advisories");
    } else {
        eprintln!("not checked: advisories, for their database is not on this machine: cargo deny fetch");
    }
    steps::run(&StepCommand::cargo("cargo deny", workspace, &arguments))
}

/// Returns the directory in which cargo-deny keeps its database of advisories.
fn advisories() -> Option<PathBuf> {
    let of = |key: &str| env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(of("CARGO_HOME").or_else(|| Some(of("HOME")?.join(".cargo")))?.join("advisory-dbs"))
}

fn metadata(workspace: &Workspace) -> Result<Value> {
    let output = Command::new(workspace::cargo())
        .args(["metadata", "--format-version", "1", "--filter-platform", TARGET])
        .current_dir(&workspace.root)
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")
}

/// Returns the packages of the dependency graph that are not in the workspace.
fn outside(metadata: &Value) -> Result<Vec<Outside>> {
    let texts = |list: &Value, of: &dyn Fn(&Value) -> Option<String>| -> BTreeSet<String> {
        list.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(of).collect()
    };
    let ours = texts(&metadata["workspace_members"], &|id| id.as_str().map(str::to_owned));
    let used = texts(&metadata["resolve"]["nodes"], &|node| node["id"].as_str().map(str::to_owned));
    let packages =
        metadata["packages"].as_array().ok_or_else(|| anyhow!("cargo metadata lists no packages"))?;
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let is_outside = |package: &&Value| {
        let id = text(package, "id");
        used.contains(&id) && !ours.contains(&id)
    };
    let packages = packages.iter().filter(is_outside).map(|package| Outside {
        name: text(package, "name"),
        version: text(package, "version"),
        licence: text(package, "license"),
        source: text(package, "source"),
    });
    Ok(packages.collect())
}

/// Returns a line for each package that is not allowed.
fn findings(packages: &[Outside], lists: &Lists) -> Vec<String> {
    let mut findings = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    packages.iter().for_each(|package| *sources.entry(&package.source).or_default() += 1);
    // The registry that most packages come from is taken as the usual one. The first package's could be an
    // exception.
    let usual = sources.into_iter().max_by_key(|(_, count)| *count).map(|(source, _)| source);
    for Outside { name, version, licence, source } in packages {
        versions.entry(name).or_default().push(version);
        if !is_allowed(licence, &lists.licences) {
            findings.push(format!(
                "{name} {version}: its licence `{licence}` is not in `allow`: do without it, or agree on the licence"
            ));
        }
        if !source.starts_with("registry+") || Some(source.as_str()) != usual {
            findings
                .push(format!("{name} {version}: comes from `{source}`: take it from the public registry"));
        }
    }
    let mut skipped: BTreeSet<&str> = lists.skipped.iter().map(String::as_str).collect();
    for (name, versions) in versions {
        let left: Vec<&str> = versions
            .iter()
            .filter(|version| !skipped.remove(format!("{name}@{version}").as_str()))
            .copied()
            .collect();
        if left.len() > 1 {
            findings.push(format!(
                "{name} is there as {}: bring them to one version, or name the older ones in `skip` with the reason",
                left.join(" and ")
            ));
        }
    }
    findings.extend(
        skipped.iter().map(|entry| format!("{entry} is in `skip` and not among the packages: take it out")),
    );
    findings
}

impl Lists {
    /// Reads the lists `allow` and `skip`, which have one item on each line.
    fn parse(text: &str) -> Result<Self, String> {
        let (mut section, mut list) = ("", "");
        let (mut licences, mut skipped) = (BTreeSet::new(), BTreeSet::new());
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            let mut quoted = line.split('"').skip(1).step_by(2);
            match (section, list, line) {
                (_, _, "" | "]") => list = "",
                _ if line.starts_with('#') => {}
                _ if line.starts_with('[') => section = line,
                (_, "", _) => match line.strip_suffix("= [") {
                    Some(name) => list = name.trim(),
                    None if line.starts_with("allow") || line.starts_with("skip") => {
                        return Err(format!("line {number}: write one item of a list on each line"));
                    }
                    None => {}
                },
                ("[licenses]", "allow", _) => licences.extend(quoted.next().map(str::to_owned)),
                ("[bans]", "skip", _) => {
                    let (Some(package), Some(reason)) = (quoted.next(), quoted.next()) else {
                        return Err(format!("line {number}: an item of `skip` has a crate and a reason"));
                    };
                    if !package.contains('@') || reason.is_empty() {
                        return Err(format!("line {number}: `{package}` needs a version and a reason"));
                    }
                    skipped.insert(package.to_owned());
                }
                _ => {}
            }
        }
        match licences.is_empty() {
            true => Err("there is no list `allow` below [licenses]".to_owned()),
            false => Ok(Lists { licences, skipped }),
        }
    }
}

/// Returns whether an expression of SPDX can be met with allowed licences. `/` is an older form of OR. An exception
/// behind WITH only adds rights, so it is ignored.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let is_met = any_of(&mut rest, allowed);
    rest.is_empty() && is_met == Some(true)
}

fn any_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut is_met = all_of(words, allowed)?;
    while let ["OR", rest @ ..] = words {
        *words = rest;
        is_met |= all_of(words, allowed)?;
    }
    Some(is_met)
}

fn all_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut is_met = one_of(words, allowed)?;
    while let ["AND", rest @ ..] = words {
        *words = rest;
        is_met &= one_of(words, allowed)?;
    }
    Some(is_met)
}

fn one_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    match words {
        ["(", rest @ ..] => {
            *words = rest;
            let is_met = any_of(words, allowed)?;
            let [")", rest @ ..] = words else { return None };
            *words = rest;
            Some(is_met)
        }
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => {
            *words = rest;
            Some(allowed.contains(*licence))
        }
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a\n[licenses]\nallow = [\n  \"MIT\",\n  # why\n  \"Zlib\",\n]\n[bans]\nskip = [\n  \
                        { crate = \"a@1.0.0\", reason = \"b\" },\n]\n";

    fn lists() -> Lists {
        Lists::parse(TEXT).unwrap()
    }

    fn package(name: &str, version: &str, licence: &str, source: &str) -> Outside {
        let [name, version, licence, source] = [name, version, licence, source].map(str::to_owned);
        Outside { name, version, licence, source }
    }

    #[test]
    fn the_file_in_the_tree_is_read() {
        let text = fs::read_to_string("../deny.toml").unwrap();
        let lists = Lists::parse(&text).unwrap();
        assert!(lists.licences.contains("MIT") && lists.licences.contains("Unicode-3.0"), "{lists:?}");
        assert!(text.contains(TARGET));
    }

    #[test]
    fn lists_have_one_item_on_each_line() {
        let lists = lists();
        assert_eq!(lists.licences, ["MIT", "Zlib"].map(str::to_owned).into());
        assert_eq!(lists.skipped, ["a@1.0.0".to_owned()].into());
        for wrong in ["", "[licenses]\nallow = [\"MIT\"]\n", "[licenses]\nallow = [\n]\n"] {
            assert!(Lists::parse(wrong).is_err(), "{wrong}");
        }
        for item in
            ["{ crate = \"a@1\" }", "{ crate = \"a\", reason = \"b\" }", "{ crate = \"a@1\", reason = \"\" }"]
        {
            let text = TEXT.replace("{ crate = \"a@1.0.0\", reason = \"b\" }", item);
            assert!(Lists::parse(&text).is_err(), "{item}");
        }
    }

    #[test]
    fn expressions_of_licences() {
        let allowed = lists().licences;
        for met in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(GPL-3.0 OR Zlib) AND MIT",
            "MIT WITH LLVM-exception AND Zlib",
        ] {
            assert!(is_allowed(met, &allowed), "{met}");
        }
        for unmet in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Zlib",
            "MIT OR",
            "MIT Zlib",
            "GPL-3.0 AND MIT OR GPL-3.0",
        ] {
            assert!(!is_allowed(unmet, &allowed), "{unmet}");
        }
    }

    #[test]
    fn what_is_not_allowed_is_told() {
        let registry = "registry+here";
        let fine = [package("a", "1.0.0", "MIT", registry), package("a", "2.0.0", "MIT", registry)];
        assert_eq!(findings(&fine, &lists()), Vec::<String>::new());
        let with = |other: Outside| findings(&[&fine[..], &[other]].concat(), &lists());
        let tells = |found: Vec<String>, words: &str| {
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        };
        tells(with(package("b", "1.0.0", "GPL-3.0", registry)), "`GPL-3.0` is not in `allow`");
        tells(with(package("a", "3.0.0", "MIT", registry)), "a is there as 2.0.0 and 3.0.0");
        tells(with(package("b", "1.0.0", "MIT", "git+there")), "comes from `git+there`");
        tells(with(package("b", "1.0.0", "MIT", "registry+there")), "comes from `registry+there`");
        let first = [&[package("b", "1.0.0", "MIT", "registry+there")], &fine[..]].concat();
        tells(findings(&first, &lists()), "b 1.0.0: comes from `registry+there`");
        tells(findings(&fine[1..], &lists()), "a@1.0.0 is in `skip`");
    }
}
