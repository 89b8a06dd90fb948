//! Checkpoints of the jobs of a run in a directory: `--state DIR`.
//!
//! Each job has a directory of its own in DIR: by the name that the setting `pipeline.name` gives it, or else by its number
//! among the jobs of the file, so that lines may be added to the file. A job whose newest checkpoint says that it has finished does not
//! run again. Every other job goes on from its newest whole checkpoint, if there is one. A job that was changed since is
//! refused: the checkpoint has its plan, and the two are compared before anything is loaded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use thalweg::Checkpoints;
use thalweg_checkpoints::{CheckpointError, QueryDirectory, Restored, StateDirectory};
use thalweg_cli::failure;
use thalweg_connectors::RealFiles;
use thalweg_model::Coded;
use thalweg_runtime::checkpoints::check_plan;
use thalweg_sql::connect::guarantee::{self, Guarantee};
use thalweg_sql::plan::Node;
use thalweg_sql::plan::explain::shown;
use thalweg_sql::secrets::is_secret;
use thalweg_sql::session::Job;
use thalweg_sql::table::Table;

use super::told::Told;

/// Time from one checkpoint to the next, unless it is set: as long as a user can well do without results after a crash.
const EVERY_DEFAULT: Duration = Duration::from_secs(10);

/// A job that runs, its number among all jobs of the file, and its checkpoints, if it takes any.
pub struct StartedJob {
    pub job: Job,
    pub number: u64,
    pub state: Option<JobState>,
}

/// The directory for the checkpoints of one job, and the checkpoint from which it goes on.
pub struct JobState {
    directory: QueryDirectory,
    restored: Option<Restored>,
    every: Duration,
    plan: String,
    id: String,
}

impl JobState {
    /// Opens the directories for the checkpoints of `jobs`, in their order; `None` for a job that takes no checkpoints. `state`
    /// and `every` come from the command line, and precede the settings of the jobs. A job that has finished is told and left
    /// out.
    ///
    /// # Errors
    /// An error with its code if a directory is in use, cannot be used, or has only damaged checkpoints, and if a job keeps state on disk
    /// in another way.
    pub fn of_jobs(
        jobs: Vec<Job>,
        base: &Path,
        state: Option<&Path>,
        every: Option<Duration>,
        told: &Told,
    ) -> Result<Vec<StartedJob>> {
        let mut opened: Vec<(PathBuf, StateDirectory)> = Vec::new();
        let mut running = Vec::new();
        for (job, number) in jobs.into_iter().zip(0..) {
            // A relative path begins at the directory in which the command runs, on the command line and in the file.
            let of_file = job.settings.checkpoint_dir.as_ref().map(|directory| base.join(directory));
            let Some(path) = state.map(Path::to_owned).or(of_file) else {
                if job.settings.checkpoint_interval.is_some() || every.is_some() {
                    told.note(&format!(
                        "{}: no checkpoints are taken, because no directory is set: --state DIR",
                        job.name
                    ));
                }
                running.push(StartedJob { job, number, state: None });
                continue;
            };
            if job.settings.spill_dir.is_some() {
                return Err(anyhow!(
                    "UNSUPPORTED: {}: state on disk, 'thalweg.state.spill-dir', is not part of checkpoints yet: give the job more \
                     --memory-budget, or run it without --state",
                    job.name
                ));
            }
            let wrong = |error: CheckpointError| anyhow!("{}: {}: {error}", error.code(), job.name);
            let known =
                opened.iter().find(|(known, _)| *known == path).map(|(_, directory)| directory.clone());
            let directory = match known {
                Some(directory) => directory,
                None => {
                    let directory = StateDirectory::open(Arc::new(RealFiles), &path).map_err(wrong)?;
                    opened.push((path, directory.clone()));
                    directory
                }
            };
            let id = if job.is_named { job.name.clone() } else { format!("job-{}", number + 1) };
            let directory = directory.query(&id).map_err(wrong)?;
            let restored = directory.newest().map_err(wrong)?;
            let plan = plan_of(&job);
            if let Some(restored) = &restored {
                check_plan(&restored.checkpoint, &plan).map_err(|error| failure::of_plan(&error))?;
            }
            let passed_over = restored.iter().flat_map(|restored| &restored.passed_over);
            passed_over.for_each(|damaged| {
                told.note(&format!("{}: a checkpoint is passed over: {damaged}", job.name));
            });
            // If the run died before it had published the last output, the job is started again for that.
            let has_finished = |restored: &Restored| restored.checkpoint.is_last && restored.is_published;
            let before =
                restored.as_ref().map(|restored| (restored.checkpoint.number, has_finished(restored)));
            match before {
                Some((_, true)) => {
                    let directory = directory.path().display();
                    told.note(&format!(
                        "{} has finished already, by the checkpoints in {directory}",
                        job.name
                    ));
                    continue;
                }
                Some((number, false)) => told.note(&format!("{} goes on from checkpoint {number}", job.name)),
                None => {}
            }
            for into in written_again(&job) {
                told.note(&format!(
                    "{}: after a crash, rows since the last checkpoint are written to {into} again",
                    job.name
                ));
            }
            let every = every.or(job.settings.checkpoint_interval).unwrap_or(EVERY_DEFAULT);
            let state = Some(JobState { directory, restored, every, plan, id });
            running.push(StartedJob { job, number, state });
        }
        Ok(running)
    }

    /// Returns the FNV-1a hash of the path of the job's directory. It is the same in every run, and another one for each job.
    pub fn key(&self) -> u64 {
        let bytes = self.directory.path().as_os_str().as_encoded_bytes();
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Returns the settings by which the engine takes the checkpoints of the job.
    pub fn checkpoints(self) -> Checkpoints {
        let JobState { directory, restored, every, plan, id } = self;
        let last_number = directory.last_number().unwrap_or_default();
        let checkpoints =
            Checkpoints::new(Box::new(directory)).every(every).after(last_number).plan(plan).id(id);
        match restored {
            Some(Restored { checkpoint, is_published, .. }) => {
                checkpoints.from(checkpoint).published(is_published)
            }
            None => checkpoints,
        }
    }
}

/// Returns the targets of a job that do not publish with checkpoints.
fn written_again(job: &Job) -> Vec<String> {
    let targets = job.parts.iter().map(|part| part.into.as_deref());
    let exact = |table: &Table| guarantee::of_writing(table) == Some(Guarantee::ExactlyOnce);
    let name = |table: Option<&Table>| {
        table.map_or("standard output".to_owned(), |table| format!("`{}`", table.name))
    };
    targets.filter(|table| !table.is_some_and(exact)).map(name).collect()
}

/// Returns everything about a job on which its state depends, as text: its plans, its tables with their options but for secrets,
/// and its settings.
fn plan_of(job: &Job) -> String {
    let settings = &job.settings;
    let mut text = format!("time zone {}, state time to live {:?}\n", settings.zone, settings.state_ttl);
    for part in &job.parts {
        let into = part.into.as_ref().map_or("result", |table| table.name.as_str());
        text += &format!("-> {into}\n{}", shown(&part.plan).text());
        let read = part.plan.walk().filter_map(|part| match &part.node {
            Node::Scan { table, .. } => Some(&**table),
            _ => None,
        });
        for table in read.chain(part.into.as_deref()) {
            let options = table.options.iter();
            let shown: Vec<String> = options
                .map(|(key, option)| match is_secret(key) {
                    true => format!("'{key}' = '***'"),
                    false => format!("'{key}' = '{}'", option.value),
                })
                .collect();
            text += &format!("table {} with {}\n", table.name, shown.join(", "));
        }
    }
    text
}
