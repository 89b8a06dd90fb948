//! The engine under test: Storm or Flink as `cargo xtask services` starts them, for all runs of a command.
//!
//! Flink ends with this command, however that ends. Storm's processes stay by themselves, so a guard, which is a shell in a
//! process group of its own, waits until its standard input is closed, as the kernel does when this command has ended. It ends
//! Storm then, also after Ctrl-C and after kill -9. The tool puts priorities back itself.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::process;
use super::query::Engine;
use crate::services::fetch;
use crate::services::flink::{Flink, VERSION};
use crate::services::processes::Lifetime;
use crate::services::storm::{GRAPHITE_PORT, Release, Storm};

/// Gauge of the sources of our topologies.
const SOURCE_GAUGE: &str = "source-queue";
/// Class of the program that starts a query.
const CLASS: &str = "thalweg.steer.Main";
/// Longest time until the worker of a topology that was ended is gone, or the threads of a task manager have their own settings.
const SETTLED_MAX: Duration = Duration::from_secs(60);
/// Pause between two looks at processes.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Beginning of the name of the directory of a Storm 2 below the cache of services.
const DIRECTORY: &str = "run-storm-2";
/// Commands of the guard: wait for the end of the standard input, end Storm, then kill processes of a Storm that was not yet
/// known to run.
const GUARD: &str = r#"read -r line
"$0" services down storm
for file in /proc/[0-9]*/cmdline; do
  process=${file#/proc/}
  if tr '\0' '\n' < "$file" | grep -q -F -e "$STORM"; then kill -KILL "${process%/cmdline}"; fi
done"#;

/// A running engine, which ends when this value is dropped.
pub(super) enum Host {
    Storm {
        storm: Storm,
        /// It ends after Storm, so that Storm is ended in any case.
        _guard: Guard,
    },
    Flink {
        flink: Flink,
        /// Directory of Flink's jars.
        jars: PathBuf,
        /// Files of Flink: its configuration, logs and temporary ones.
        files: Files,
    },
}

/// The directory of an engine's files. When this value is dropped, it is removed if the runs have succeeded, and told
/// otherwise.
pub(super) struct Files {
    directory: PathBuf,
    has_succeeded: bool,
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.has_succeeded {
            let _ = fs::remove_dir_all(&self.directory);
        } else {
            eprintln!("the engine's logs are in {}", self.directory.display());
        }
    }
}

impl Host {
    /// Starts the engine. All its processes run on the core of this one.
    ///
    /// # Errors
    ///
    /// An engine that runs already or does not start, and priorities that an earlier tool has left and that cannot be put back.
    pub(super) fn start(engine: Engine, program: &Path) -> Result<Self> {
        restore(program)?;
        let cache = fetch::cache()?;
        match engine {
            Engine::Storm => {
                // The guard comes first, so that a Storm which is half started is ended as well.
                let guard = Guard::start(&cache)?;
                Ok(Host::Storm { storm: Storm::start(Release::Two)?, _guard: guard })
            }
            Engine::Flink => {
                let directory = cache.join(format!("run-engines-{}", std::process::id()));
                let flink = Flink::start(&directory, Lifetime::WithUs)?;
                Ok(Host::Flink {
                    flink,
                    jars: cache.join(format!("flink-{VERSION}")),
                    files: Files { directory, has_succeeded: false },
                })
            }
        }
    }

    /// Lets the logs of the engine be removed when it ends: all runs have succeeded.
    pub(super) fn note_success(&mut self) {
        if let Host::Flink { files, .. } = self {
            files.has_succeeded = true;
        }
    }

    /// Returns the words behind `thalweg steer` that name the engine.
    pub(super) fn tool_options(&self) -> Vec<String> {
        match self {
            Host::Storm { .. } => {
                let address = format!("127.0.0.1:{GRAPHITE_PORT}");
                ["storm", "--graphite", &address, "--source-gauge", SOURCE_GAUGE].map(str::to_owned).to_vec()
            }
            Host::Flink { flink, .. } => vec!["flink".to_owned(), "--rest".to_owned(), flink.jobs()],
        }
    }

    /// Returns the words behind `java` that start the program of a query, up to the name of the query.
    pub(super) fn client_options(&self, jar: &Path) -> Vec<String> {
        let mut options = vec!["-Xmx256m".to_owned(), "-XX:+UseSerialGC".to_owned()];
        match self {
            Host::Storm { storm, .. } => options.extend(storm.client(jar)),
            Host::Flink { jars, .. } => {
                options.extend(["-cp".to_owned(), format!("{}/*:{}", jars.display(), jar.display())]);
            }
        }
        options.push(CLASS.to_owned());
        options
    }

    /// Returns the words behind the query's own options: the address of the engine, and the name of the topology.
    pub(super) fn query_options(&self, name: &str) -> Vec<String> {
        let mut options = vec!["--name".to_owned(), name.to_owned()];
        if let Host::Flink { flink, .. } = self {
            options.extend(["--rest".to_owned(), flink.jobs().trim_start_matches("http://").to_owned()]);
        }
        options
    }

    /// Returns the process whose threads run the query; `None` while there is none.
    pub(super) fn process(&self) -> Option<u32> {
        match self {
            Host::Storm { storm, .. } => storm.worker(),
            Host::Flink { flink, .. } => flink.task_manager(),
        }
    }

    /// Waits until nothing is left of a run: Storm's worker has ended, and the threads of Flink's task manager have the settings
    /// of new threads.
    ///
    /// # Errors
    ///
    /// A worker that does not end, or a thread that was not put back, within [`SETTLED_MAX`].
    pub(super) fn settle(&self) -> Result<()> {
        let begin = Instant::now();
        loop {
            let left = match (self, self.process()) {
                (_, None) => return Ok(()),
                (Host::Storm { .. }, Some(worker)) => format!("worker {worker} of the last run does not end"),
                (Host::Flink { .. }, Some(manager)) => {
                    match process::changed_threads(manager, process::own_nice()).first() {
                        None => return Ok(()),
                        Some(told) => format!("priorities were not put back: {told}"),
                    }
                }
            };
            if SETTLED_MAX < begin.elapsed() {
                bail!("{left} within {} s", SETTLED_MAX.as_secs());
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

/// The shell that ends Storm if this command ends without doing it.
pub(super) struct Guard(Child);

impl Guard {
    fn start(cache: &Path) -> Result<Self> {
        let own = env::current_exe().context("could not find this program")?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", GUARD])
            .arg(own)
            .env("STORM", format!("-Dstorm.home={}", cache.join(DIRECTORY).display()));
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Guard(shell.spawn().context("could not start the guard of Storm by sh")?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It is killed before its standard input is closed, so it does nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Puts back what an earlier tool has left.
///
/// # Errors
///
/// When the program fails, or something cannot be put back.
pub(super) fn restore(program: &Path) -> Result<()> {
    let told = Command::new(program).args(["steer", "--restore"]).stdin(Stdio::null()).output();
    let told = told.with_context(|| format!("could not start {}", program.display()))?;
    if !told.status.success() {
        bail!("thalweg steer --restore: {}: {}", told.status, String::from_utf8_lossy(&told.stderr).trim());
    }
    Ok(())
}
