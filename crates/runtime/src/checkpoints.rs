//! Checkpoints of running queries: when barriers are put, how sections are gathered, and what happens with a whole one.
//!
//! ```text
//!   Keeper --asks--> probes of the sources          (a thread beside the workers; a test steps it)
//!              source task:    saves its position, puts a barrier behind its last record
//!              each task:      saves its operators and its sink when the barrier has passed its chain -> TaskCheckpoints
//!              several inputs: the barrier passes when all inputs have seen it; until then those that have wait (Merge)
//!   TaskCheckpoints ----sections--> Coordinator --all there--> Keeper: writes them, lets the sinks publish, notes it complete
//! ```
//!
//! Promises:
//!
//! * One checkpoint of a query is under way at a time. Its sections belong together: a record is in the state of all tasks
//!   that it has reached, or in none.
//! * Sinks publish what a checkpoint contains only after it is durable. Output that was prepared for a checkpoint which could
//!   not be written is published with the next one.
//! * A task that has ended needs no barrier. Its last output is published with the next checkpoint. When all tasks have
//!   ended, a last checkpoint is written, and only then the query has finished.
//! * A query that fails or is cancelled keeps its last complete checkpoint.
//! * The bytes of sections are paid from the memory budget until they are written. If there is no room, the checkpoint is
//!   given up, which [`CheckpointProgress::failed`] counts, and the query goes on.
//!
//! Tasks that share an operator epoch by epoch do not take checkpoints yet: such a plan is refused.
//!
//! Source: Carbone et al., "State Management in Apache Flink" (VLDB 2017), sections 3 and 4.

mod keeper;
mod of_task;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use thalweg_memory::sync::{Condvar, Mutex};
use thalweg_memory::{Pool, Reservation};
use thalweg_model::{Checkpoint, CheckpointStore, Publisher, Section, StateError, StateReader, StateWriter};

pub use self::keeper::{Keeper, KeeperStep};
pub(crate) use self::keeper::{KeeperCall, KeeperShared};
pub(crate) use self::of_task::{TailCheckpoints, TaskCheckpoints};
use crate::error::PlanError;
use crate::graph::BuiltTask;

/// Name of the section that holds the plan of the query as text. No task has this name, because names of tasks have no
/// parentheses.
const PLAN: &str = "(plan)";

/// Checkpoints of one query: where they are kept, how often they are taken, and from which one the query goes on.
pub struct Checkpoints {
    store: Box<dyn CheckpointStore>,
    every: Option<Duration>,
    from: Option<Checkpoint>,
    last_number: u64,
    plan: String,
    id: Option<String>,
    is_published: bool,
}

impl Checkpoints {
    /// Creates settings for checkpoints that are kept in `store` and are taken only on demand.
    pub fn new(store: Box<dyn CheckpointStore>) -> Self {
        Checkpoints {
            store,
            every: None,
            from: None,
            last_number: 0,
            plan: String::new(),
            id: None,
            is_published: false,
        }
    }

    /// Sets the time from the start of one checkpoint to the start of the next. If a checkpoint takes longer, the next one
    /// starts when it is complete.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Checkpoints { every: Some(every), ..self }
    }

    /// Sets the checkpoint from which the query goes on.
    #[must_use]
    pub fn from(self, from: Checkpoint) -> Self {
        Checkpoints { from: Some(from), ..self }
    }

    /// Sets whether the output of the checkpoint from which the query goes on is known to be published. If not, it is published
    /// again, which has no effect on output that is there.
    #[must_use]
    pub fn published(self, is_published: bool) -> Self {
        Checkpoints { is_published, ..self }
    }

    /// Sets the name by which the query is known in its checkpoints, if that is not the name of the query.
    #[must_use]
    pub fn id(self, id: String) -> Self {
        Checkpoints { id: Some(id), ..self }
    }

    /// Sets the greatest number that a checkpoint of the query has had, such as a damaged one that is passed over. Numbers of
    /// further checkpoints are greater.
    #[must_use]
    pub fn after(self, last_number: u64) -> Self {
        Checkpoints { last_number, ..self }
    }

    /// Sets the plan of the query as text. It is kept with each checkpoint, and a query with another plan does not go on from
    /// it.
    #[must_use]
    pub fn plan(self, plan: String) -> Self {
        Checkpoints { plan, ..self }
    }
}

/// Checkpoints of a query so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckpointProgress {
    /// Number of the last checkpoint that is complete: durable, and its output published. 0 if there is none.
    pub complete: u64,
    /// Number of checkpoints of this run that could not be written or were given up.
    pub failed: u64,
    /// Reason why the last failed checkpoint failed.
    pub last_failure: Option<String>,
    /// Bytes of state and of descriptions of output in the last complete checkpoint.
    pub bytes: u64,
    /// Nanoseconds from the request of the last complete checkpoint until its output was published.
    pub took_ns: u64,
}

/// The part of a query's checkpoints that its tasks, its handle and the keeper share.
pub(crate) struct Coordinator {
    tasks: Vec<TaskName>,
    pool: Arc<Pool>,
    gathered: Mutex<Gathered>,
    outcome: Mutex<Outcome>,
    changed: Condvar,
    /// Wakes the keeper. Set before any task runs.
    call: OnceLock<KeeperCall>,
}

/// Names by which the section of a task is found again.
struct TaskName {
    name: String,
    operators: Vec<String>,
}

/// Sections of the checkpoint under way, and what is known of the tasks.
struct Gathered {
    /// Number of the checkpoint under way, or of the last one.
    number: u64,
    is_under_way: bool,
    is_asked: bool,
    /// The sections of the checkpoint under way, by task.
    sections: Vec<Option<Section>>,
    /// Output of tasks that have ended; `None` for those that have not.
    ended: Vec<Option<Vec<u8>>>,
    /// Pays for the bytes of the sections.
    paid: Vec<Reservation>,
    /// Reason why the checkpoint under way is given up when its barrier has passed.
    given_up: Option<String>,
    /// True if a task was dropped before its stream had ended: the query has failed or was cancelled.
    is_lost: bool,
}

#[derive(Default)]
struct Outcome {
    progress: CheckpointProgress,
    /// Number of the last checkpoint that was complete or has failed.
    settled: u64,
    /// True if no further checkpoint comes.
    is_over: bool,
}

/// Result of looking at the sections that are gathered.
enum Look {
    /// The query has failed or was cancelled.
    Lost,
    /// A checkpoint is under way and not all tasks have added their sections.
    Waits,
    /// Nothing is under way. `is_asked` is true if a handle has asked for a checkpoint, `have_ended` if all tasks have ended.
    Rests { is_asked: bool, have_ended: bool },
    /// All sections are there.
    Whole { number: u64, sections: Vec<Section>, is_last: bool, given_up: Option<String> },
}

impl Gathered {
    fn has_section(&self, task: usize) -> bool {
        self.sections[task].is_some() || self.ended[task].is_some()
    }

    fn is_whole(&self) -> bool {
        (0..self.sections.len()).all(|task| self.has_section(task))
    }
}

impl Coordinator {
    /// Lets the tasks of a query that is built take part in checkpoints. If `settings` name a checkpoint to go on from, the
    /// state of the tasks is loaded, and the output prepared for that checkpoint is published. Returns the shared part, and
    /// the work of the keeper.
    ///
    /// # Errors
    /// [`PlanError::NotCheckpointed`] if a task cannot take part, and [`PlanError::NotRestored`] or [`PlanError::Changed`] if
    /// the checkpoint does not fit the query.
    pub(crate) fn attach(
        settings: Checkpoints,
        query: &str,
        tasks: &mut [BuiltTask],
        pool: &Arc<Pool>,
    ) -> Result<(Arc<Coordinator>, keeper::KeeperWork), PlanError> {
        let Checkpoints { store, every, from, last_number, plan, id, is_published } = settings;
        if let Some(task) = tasks.iter().find(|task| !task.task.takes_checkpoints()) {
            let reason = "several workers share it epoch by epoch".to_owned();
            return Err(PlanError::NotCheckpointed { operator: task.name.clone(), reason });
        }
        let names = names_of(tasks);
        let mut publishers: Vec<_> = tasks.iter_mut().map(|task| task.task.publisher()).collect();
        let restored = from.as_ref().map_or(0, |from| from.number);
        let number = restored.max(last_number);
        match &from {
            Some(from) => {
                restore(from, &plan, &names, tasks)?;
                if !is_published {
                    publish(from, &mut publishers)?;
                }
            }
            None => try_to_save(tasks)?,
        }
        for (publisher, TaskName { name, .. }) in publishers.iter_mut().zip(&names) {
            if let Some(publisher) = publisher {
                publisher.clean().map_err(|fault| not_restored(name, fault.to_string()))?;
            }
        }
        let count = tasks.len();
        let coordinator = Arc::new(Coordinator {
            tasks: names,
            pool: Arc::clone(pool),
            gathered: Mutex::new(Gathered {
                number,
                is_under_way: false,
                is_asked: false,
                sections: vec![None; count],
                ended: vec![None; count],
                paid: Vec::new(),
                given_up: None,
                is_lost: false,
            }),
            outcome: Mutex::new(Outcome {
                progress: CheckpointProgress { complete: restored, ..CheckpointProgress::default() },
                settled: number,
                is_over: false,
            }),
            changed: Condvar::new(),
            call: OnceLock::new(),
        });
        for (place, task) in tasks.iter_mut().enumerate() {
            task.task.take_checkpoints(TaskCheckpoints::new(Arc::clone(&coordinator), place));
        }
        let every_ns = every.map(|every| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1));
        let id = id.unwrap_or_else(|| query.to_owned());
        let work = keeper::KeeperWork::new(id, plan, store, publishers, every_ns);
        Ok((coordinator, work))
    }

    /// Sets the way to wake the keeper; called once, before any task runs.
    fn called_by(&self, call: KeeperCall) {
        let is_first = self.call.set(call).is_ok();
        assert!(is_first, "a query has one keeper");
    }

    fn call(&self) {
        if let Some(call) = self.call.get() {
            call.call();
        }
    }

    /// Begins the next checkpoint, and returns its number.
    fn begin(&self) -> u64 {
        let mut gathered = self.gathered.lock();
        gathered.number += 1;
        (gathered.is_under_way, gathered.is_asked, gathered.given_up) = (true, false, None);
        gathered.sections.iter_mut().for_each(|section| *section = None);
        gathered.number
    }

    /// Looks whether the checkpoint under way is whole, and takes its sections if it is.
    fn look(&self) -> Look {
        let mut gathered = self.gathered.lock();
        if gathered.is_lost {
            return Look::Lost;
        }
        let have_ended = gathered.ended.iter().all(Option::is_some);
        if !gathered.is_under_way {
            return Look::Rests { is_asked: gathered.is_asked, have_ended };
        }
        if !gathered.is_whole() {
            return Look::Waits;
        }
        gathered.is_under_way = false;
        let Gathered { number, sections, ended, given_up, .. } = &mut *gathered;
        let named = sections.iter_mut().zip(ended).zip(&self.tasks);
        let sections: Vec<Section> = named
            .map(|((section, ended), TaskName { name, operators })| {
                let (task, operators) = (name.clone(), operators.clone());
                // A task that has added its section and has ended since goes on from the section.
                match (section.take(), ended) {
                    (Some(section), _) => Section { task, operators, ..section },
                    (None, Some(prepared)) => Section {
                        task,
                        operators,
                        has_ended: true,
                        state: Vec::new(),
                        // Output of a task that has ended is published once.
                        prepared: std::mem::take(prepared),
                    },
                    (None, None) => unreachable!("all sections are there"),
                }
            })
            .collect();
        let is_last = sections.iter().all(|section| section.has_ended);
        Look::Whole { number: *number, sections, is_last, given_up: given_up.take() }
    }

    /// Returns the memory that pays for sections which are written now, so that it is freed when the caller drops it.
    fn take_payment(&self) -> Vec<Reservation> {
        std::mem::take(&mut self.gathered.lock().paid)
    }

    fn settle(&self, number: u64, note: impl FnOnce(&mut CheckpointProgress)) {
        let mut outcome = self.outcome.lock();
        note(&mut outcome.progress);
        outcome.settled = number;
        self.changed.notify_all();
    }

    /// Records that no further checkpoint comes, and gives back the memory of sections that are left.
    fn end(&self) {
        let left = {
            let mut gathered = self.gathered.lock();
            gathered.is_lost = true;
            (
                std::mem::take(&mut gathered.paid),
                gathered.sections.iter_mut().map(Option::take).collect::<Vec<_>>(),
            )
        };
        drop(left);
        self.outcome.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Asks for a checkpoint that begins from now on, and returns its number.
    pub(crate) fn ask(&self) -> u64 {
        let wanted = {
            let mut gathered = self.gathered.lock();
            gathered.is_asked = true;
            gathered.number + 1
        };
        self.call();
        wanted
    }

    /// Asks for a checkpoint that begins from now on, and waits until it is complete or has failed. Returns the progress
    /// after it; `None` if the query has ended before.
    pub(crate) fn take_one(&self) -> Option<CheckpointProgress> {
        let wanted = self.ask();
        let mut outcome = self.outcome.lock();
        while outcome.settled < wanted && !outcome.is_over {
            outcome = self.changed.wait(outcome);
        }
        (outcome.settled >= wanted).then(|| outcome.progress.clone())
    }

    pub(crate) fn progress(&self) -> CheckpointProgress {
        self.outcome.lock().progress.clone()
    }
}

/// Returns the names of all tasks, each once: a later task of the same name gets its number.
fn names_of(tasks: &[BuiltTask]) -> Vec<TaskName> {
    let mut names: Vec<TaskName> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let same = tasks[..names.len()].iter().filter(|other| other.name == task.name).count();
        let name = if same == 0 { task.name.clone() } else { format!("{}({})", task.name, same + 1) };
        names.push(TaskName { name, operators: task.operators.clone() });
    }
    names
}

fn not_restored(task: &str, reason: String) -> PlanError {
    PlanError::NotRestored { task: task.to_owned(), reason }
}

/// Saves each task once, so that a query whose state cannot be saved is refused before it runs.
fn try_to_save(tasks: &[BuiltTask]) -> Result<(), PlanError> {
    for task in tasks {
        let saved = task.task.save(&mut StateWriter::default());
        saved.map_err(|error| PlanError::NotCheckpointed {
            operator: task.name.clone(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// Checks that a checkpoint is one of the query with this plan, as [`Checkpoints::plan`] gives it.
///
/// # Errors
/// [`PlanError::Changed`] with the first line in which the two plans differ.
pub fn check_plan(from: &Checkpoint, plan: &str) -> Result<(), PlanError> {
    let saved = from.sections.iter().find(|section| section.task == PLAN);
    let saved = saved.map_or(&[][..], |section| &section.state);
    if saved == plan.as_bytes() {
        return Ok(());
    }
    let difference = difference(&String::from_utf8_lossy(saved), plan);
    Err(PlanError::Changed { difference })
}

/// Loads the state of all tasks from a checkpoint.
fn restore(
    from: &Checkpoint,
    plan: &str,
    names: &[TaskName],
    tasks: &mut [BuiltTask],
) -> Result<(), PlanError> {
    check_plan(from, plan)?;
    let sections: Vec<&Section> = from.sections.iter().filter(|section| section.task != PLAN).collect();
    for place in 0..names.len().max(sections.len()) {
        match (names.get(place), sections.get(place)) {
            (Some(TaskName { name, operators }), Some(section)) => {
                if *name != section.task || *operators != section.operators {
                    let reason = format!(
                        "it is made of {}; the checkpoint has `{}`, made of {}, in its place",
                        operators.join(", "),
                        section.task,
                        section.operators.join(", ")
                    );
                    return Err(not_restored(name, reason));
                }
            }
            (Some(TaskName { name, .. }), None) => {
                return Err(not_restored(name, "the checkpoint has no state of it".to_owned()));
            }
            (None, Some(section)) => {
                let reason = "the query has no such task; was it run with another number of workers?";
                return Err(not_restored(&section.task, reason.to_owned()));
            }
            (None, None) => {}
        }
    }
    for (task, section) in tasks.iter_mut().zip(&sections) {
        task.task.restore(section).map_err(|error| not_restored(&section.task, error.to_string()))?;
    }
    Ok(())
}

/// Lets the sinks publish the output that was prepared for a checkpoint. Its sections are those of the tasks.
fn publish(from: &Checkpoint, publishers: &mut [Option<Box<dyn Publisher>>]) -> Result<(), PlanError> {
    let sections = from.sections.iter().filter(|section| section.task != PLAN);
    for (section, publisher) in sections.zip(publishers) {
        let prepared =
            prepared_of(section).map_err(|error| not_restored(&section.task, error.to_string()))?;
        for prepared in prepared {
            let Some(publisher) = publisher else {
                let reason = "the checkpoint has output of it, and its sink cannot publish it".to_owned();
                return Err(not_restored(&section.task, reason));
            };
            publisher
                .publish(&prepared)
                .map_err(|fault| not_restored(&section.task, format!("{}: {fault}", fault.code())))?;
        }
    }
    Ok(())
}

/// Returns the descriptions of output in a section, in the order in which they were prepared.
fn prepared_of(section: &Section) -> Result<Vec<Vec<u8>>, StateError> {
    if section.prepared.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = StateReader::new(&section.prepared);
    let prepared = reader.take()?;
    reader.finish()?;
    Ok(prepared)
}

/// Returns the first line in which two plans differ.
fn difference(saved: &str, now: &str) -> String {
    let (mut saved, mut now) = (saved.lines(), now.lines());
    loop {
        match (saved.next(), now.next()) {
            (None, None) => return "its lines end differently".to_owned(),
            (before, after) if before == after => {}
            (before, after) => {
                let told = |line: Option<&str>| {
                    line.map_or("nothing".to_owned(), |line| format!("`{}`", line.trim()))
                };
                return format!("{} is there now, {} was saved", told(after), told(before));
            }
        }
    }
}
