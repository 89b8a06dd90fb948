//! Flink as a peer: a service, which is started once and asked through its SQL gateway.

use std::fs;
use std::path::PathBuf;
use std::process;

use anyhow::{Context, Result, bail};

use super::answer::Answer;
use crate::e2e::gateway::Session;
use crate::e2e::{self, left_over};
use crate::engines::deadlines::statements;
use crate::services::fetch;
use crate::services::flink::Flink;
use crate::services::http::Client;
use crate::services::processes::Lifetime;

/// A Flink that runs for the questions, and ends when this value is dropped.
pub(super) struct Host {
    flink: Flink,
    directory: PathBuf,
    has_succeeded: bool,
}

impl Host {
    /// Starts Flink.
    ///
    /// # Errors
    ///
    /// A download or a process that fails.
    pub(super) fn start() -> Result<Self> {
        let directory = fetch::cache()?.join(format!("run-peers-{}", process::id()));
        let flink = Flink::start(&directory, Lifetime::WithUs)?;
        Ok(Host { flink, directory, has_succeeded: false })
    }

    /// Lets the logs be removed when Flink ends.
    pub(super) fn note_success(&mut self) {
        self.has_succeeded = true;
    }

    /// Asks the last statement of a text, after the others, in a session of its own. The time is that of the job, as Flink tells it.
    ///
    /// # Errors
    ///
    /// A statement that Flink refuses, or a job that it does not tell.
    pub(super) fn asked(&self, text: &str, threads: &str) -> Result<Answer> {
        let gateway = self.flink.gateway();
        let session = Session::open(&gateway)?;
        session.set_up(&format!("SET 'parallelism.default' = '{threads}'"))?;
        let mut statements = statements(text);
        let question = statements.pop().context("there is no question")?;
        for statement in &statements {
            session.set_up(statement)?;
        }
        let rows = match session.ask(&question)? {
            e2e::Answer::Rows(changes) => left_over(&changes),
            e2e::Answer::Refused(why) => bail!("flink refuses {question}: {why}"),
        };
        session.close()?;
        Answer::of_rows(self.last_job_s()?, rows)
    }

    /// Returns the seconds of the job that began last.
    fn last_job_s(&self) -> Result<f64> {
        let jobs = self.flink.jobs();
        let port = jobs.rsplit(':').next().and_then(|port| port.parse().ok());
        let client = Client::of_port(port.with_context(|| format!("no port in {jobs}"))?);
        let overview = client.get("/jobs/overview")?.body;
        let jobs = overview["jobs"].as_array().context("flink tells no jobs")?.iter();
        let last = jobs.max_by_key(|job| job["start-time"].as_i64()).context("flink has run no job")?;
        let millis = last["duration"].as_f64().with_context(|| format!("no duration of {last}"))?;
        Ok(millis / 1e3)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.has_succeeded {
            let _ = fs::remove_dir_all(&self.directory);
        } else {
            eprintln!("flink's logs are in {}", self.directory.display());
        }
    }
}
