//! The observer: gathers the snapshot of an engine's tasks that a policy sees, and gives tasks and queries their
//! numbers.
//!
//! Where workers run the tasks, the [`ranker`](crate::ranker) owns the observer. Where each task has a thread, the
//! engine's [`threads`](crate::threads) own it, for a policy outside the engine that steers these threads.
//!
//! Costs and selectivities are measured over an interval that is a setting of the engine
//! ([`METRICS_INTERVAL_NS`](crate::limits::METRICS_INTERVAL_NS); Enjima, section 4), latency gradients over
//! [`GRADIENT_NS`] (Enjima's program).

use std::sync::Arc;

use thalweg_memory::Pool;
use thalweg_model::{EventTime, Horizon, ProcessingTime};
use thalweg_scheduling::{
    Context, DelayStatistics, EpochWork, Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot,
};

use crate::executor::Runs;
use crate::gradient::Gradient;
use crate::graph::BuiltTask;
use crate::meter::{Meter, read};
use crate::query::{QueryShared, SeenTask};
use crate::task::Probe;

/// Nanoseconds between two samples of a query's latency: as in Enjima's program, 100 ms.
const GRADIENT_NS: u64 = 100_000_000;

/// Bytes of the memory budget that are in use, and the size of the budget.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) used_bytes: u64,
    pub(crate) limit_bytes: u64,
}

impl Memory {
    /// Returns the size of the budget of `pool`, and its bytes in use: the reserved bytes, without those of
    /// spare pages, which no edge owns.
    pub(crate) fn of(pool: &Pool) -> Self {
        let budget = pool.budget();
        let used_bytes = budget.used_bytes().saturating_sub(pool.spare_bytes());
        Memory { used_bytes: used_bytes as u64, limit_bytes: budget.limit_bytes() as u64 }
    }
}

/// The snapshot that a policy sees, and everything from which it is made.
pub(crate) struct Observer {
    reads: Fields,
    /// Nanoseconds over which costs and selectivities of tasks are averaged, at least the time between two
    /// renewals of the snapshot: Enjima, section 4, "50 ms".
    metrics_interval_ns: u64,
    /// Number of epochs of a source (Klink's: from one deadline of its windows to the next) over which the
    /// policy wants the delays of watermarks.
    delay_epochs: usize,
    pub(crate) snapshot: Snapshot,
    views: Vec<Option<View>>,
    queries: Vec<Option<QueryView>>,
    /// Numbers of tasks that have ended; new tasks get these numbers again.
    free: Vec<OperatorId>,
    /// True if the order of tasks in the snapshot contains tasks that have ended, or lacks new ones. The
    /// order is renewed with the whole snapshot.
    is_order_old: bool,
    measured_at: ProcessingTime,
    sampled_at: ProcessingTime,
}

/// Measurements of a task from which its entry in the policy's snapshot is made.
struct View {
    probe: Arc<Probe>,
    meter: Arc<Meter>,
    query: QueryId,
    /// The serial number of the task's query, which is never reused.
    serial: u64,
    /// Values of the task's counters at the last measurement of its cost.
    seen: Seen,
    cost_ns: f64,
    cost_ns_per_run: f64,
    selectivity: f64,
    /// The instant at which the last run of this task ended, of those that workers have reported.
    last_run_ended: ProcessingTime,
    /// Watermarks at which the task has something to do, if its chain has windows whose results wait for
    /// their ends.
    horizon: Option<Horizon>,
    /// The last watermark that the task has taken, as far as workers have reported.
    watermark: Option<EventTime>,
    /// The first event time after `watermark` at which the task has something to do, such as the end of a
    /// window.
    frontier: Option<EventTime>,
    /// Number of copies among which the records of the task's input are divided; 1 if the task is no copy.
    copies: u32,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    records_in: u64,
    records_out: u64,
    charged_ns: u64,
    steps: u64,
}

struct QueryView {
    shared: Arc<QueryShared>,
    /// Tasks of the query, each before the tasks that read its output.
    order: Vec<OperatorId>,
    tasks_left: usize,
    gradient: Gradient,
}

/// A task of a new query, as it is given to the ranker.
pub(crate) struct NewTask {
    pub(crate) probe: Arc<Probe>,
    pub(crate) meter: Arc<Meter>,
    /// The event times at which a watermark makes some operator of the task do something, such as end a
    /// window.
    pub(crate) horizon: Horizon,
    pub(crate) downstream: Vec<usize>,
    pub(crate) copies: u32,
}

impl NewTask {
    /// Returns what the observer needs of a task that was built, and whose counters and probe other threads
    /// read.
    pub(crate) fn of(task: &BuiltTask, seen: &SeenTask) -> Self {
        NewTask {
            probe: Arc::clone(&task.probe),
            meter: Arc::clone(&seen.meter),
            horizon: task.horizon.clone(),
            downstream: task.downstream.clone(),
            copies: task.copies,
        }
    }
}

impl Observer {
    /// Creates an observer without tasks, which fills the groups of snapshot fields in `reads`. Delays of
    /// watermarks are those of the last `delay_epochs` epochs of a source.
    pub(crate) fn new(reads: Fields, delay_epochs: u32, runs: Runs, workers: usize) -> Self {
        let Runs { block_records, metrics_interval_ns, .. } = runs;
        Observer {
            reads,
            metrics_interval_ns,
            delay_epochs: (delay_epochs as usize).clamp(1, DelayStatistics::EPOCHS),
            snapshot: Snapshot { workers, block_records, ..Snapshot::default() },
            views: Vec::new(),
            queries: Vec::new(),
            free: Vec::new(),
            is_order_old: false,
            measured_at: ProcessingTime::ZERO,
            sampled_at: ProcessingTime::ZERO,
        }
    }

    pub(crate) fn query_count(&self) -> usize {
        self.queries.iter().flatten().count()
    }

    pub(crate) fn task_count(&self) -> usize {
        self.views.iter().flatten().count()
    }

    /// Returns the length of the table of tasks: the numbers by which running tasks are known are below it.
    pub(crate) fn places(&self) -> usize {
        self.views.len()
    }

    pub(crate) fn queries(&self) -> impl Iterator<Item = &Arc<QueryShared>> {
        self.queries.iter().flatten().map(|query| &query.shared)
    }

    pub(crate) fn next_query(&self) -> QueryId {
        let free = self.queries.iter().position(Option::is_none).unwrap_or(self.queries.len());
        QueryId(u32::try_from(free).expect("the number of queries is bounded"))
    }

    /// Adds a query to the snapshot, and returns the numbers of its tasks.
    pub(crate) fn admit(
        &mut self,
        shared: Arc<QueryShared>,
        tasks: Vec<NewTask>,
        now: ProcessingTime,
    ) -> Vec<OperatorId> {
        let query = shared.id;
        let ids: Vec<OperatorId> = tasks.iter().map(|_| self.place()).collect();
        let downstream: Vec<Vec<usize>> = tasks.iter().map(|task| task.downstream.clone()).collect();
        for (id, NewTask { probe, meter, horizon, downstream, copies }) in ids.iter().zip(tasks) {
            let place = id.0 as usize;
            self.snapshot.downstream[place] = downstream.into_iter().map(|index| ids[index]).collect();
            let alone = View::new(probe, meter, (query, shared.serial()), horizon, now);
            let view = View { copies, ..alone };
            self.snapshot.operators[place] =
                Some(view.state(self.reads, self.snapshot.block_records, now, false));
            self.views[place] = Some(view);
        }
        let order: Vec<OperatorId> =
            upstream_first(&downstream).into_iter().map(|index| ids[index]).collect();
        let tasks_left = order.len();
        let place = query.0 as usize;
        if place == self.queries.len() {
            self.queries.push(None);
            self.snapshot.queries.push(None);
        }
        let aims = shared.aims();
        self.snapshot.queries[place] = Some(QueryState {
            latency_target_ns: aims.latency_target_ns(),
            token_rate: aims.tokens_per_s.map(|tokens| tokens as f64),
            ..QueryState::default()
        });
        self.queries[place] = Some(QueryView { shared, order, tasks_left, gradient: Gradient::default() });
        self.is_order_old = true;
        ids
    }

    fn place(&mut self) -> OperatorId {
        if let Some(free) = self.free.pop() {
            return free;
        }
        self.views.push(None);
        self.snapshot.operators.push(None);
        self.snapshot.downstream.push(Vec::new());
        OperatorId(u32::try_from(self.views.len() - 1).expect("the number of tasks is bounded"))
    }

    fn renew_order(&mut self) {
        let Observer { queries, snapshot, is_order_old, .. } = self;
        if !std::mem::take(is_order_old) {
            return;
        }
        snapshot.order.clear();
        for query in queries.iter().flatten() {
            let lives = |id: &&OperatorId| snapshot.operators[id.0 as usize].is_some();
            snapshot.order.extend(query.order.iter().filter(lives));
        }
    }

    /// Removes a task that has ended from the snapshot, so that another task can get its number.
    pub(crate) fn dismiss(&mut self, operator: OperatorId, serial: u64) {
        let place = operator.0 as usize;
        let Some(view) = self.views[place].take_if(|view| view.serial == serial) else { return };
        self.snapshot.operators[place] = None;
        self.snapshot.downstream[place].clear();
        self.free.push(operator);
        let query = view.query.0 as usize;
        if let Some(of) = &mut self.queries[query] {
            of.tasks_left -= 1;
            of.order.retain(|&id| id != operator);
            if of.tasks_left == 0 {
                self.queries[query] = None;
                self.snapshot.queries[query] = None;
            }
        }
        self.is_order_old = true;
    }

    /// Records that a run of a task ended at `ended`, after which the task has this watermark. Returns false, and
    /// changes nothing, if the number belongs to a task of another query by now, which has another serial number.
    pub(crate) fn note_run(
        &mut self,
        operator: OperatorId,
        serial: u64,
        ended: ProcessingTime,
        watermark: Option<EventTime>,
    ) -> bool {
        let view = self.views.get_mut(operator.0 as usize).and_then(Option::as_mut);
        let view = view.filter(|view| view.serial == serial);
        view.map(|view| view.note_run(ended, watermark)).is_some()
    }

    /// Returns the cost of a record of this task in nanoseconds, by the last measurement.
    pub(crate) fn cost_ns(&self, operator: OperatorId) -> f64 {
        self.views[operator.0 as usize]
            .as_ref()
            .map_or(OperatorState::ASSUMED_COST_NS_PER_RECORD, |view| view.cost_ns)
    }

    /// Renews the snapshot's entry of one task.
    ///
    /// # Panics
    /// If no task has this number.
    pub(crate) fn renew_task(&mut self, operator: OperatorId, now: ProcessingTime) {
        let place = operator.0 as usize;
        let view = self.views[place].as_ref().expect("a task that is ranked has not ended");
        self.snapshot.now = now;
        self.snapshot.operators[place] =
            Some(view.state(self.reads, self.snapshot.block_records, now, false));
    }

    /// Renews the whole snapshot but the end of the round. `is_held` tells whether a task is running.
    pub(crate) fn renew(
        &mut self,
        now: ProcessingTime,
        memory: Memory,
        is_held: impl Fn(OperatorId) -> bool,
    ) {
        if self.metrics_interval_ns <= now.nanos_since(self.measured_at) {
            self.measured_at = now;
            self.views.iter_mut().flatten().for_each(View::measure);
        }
        if GRADIENT_NS <= now.nanos_since(self.sampled_at) {
            self.sampled_at = now;
            for (view, state) in self.queries.iter_mut().zip(&mut self.snapshot.queries) {
                if let (Some(view), Some(state)) = (view, state) {
                    view.gradient.sample(view.shared.delivered.latencies.sums(), now);
                    state.latency_gradient = view.gradient.mean();
                    state.gradient_samples = view.gradient.samples();
                }
            }
        }
        if self.reads.contain(Fields::EPOCHS) {
            for (view, state) in self.queries.iter().zip(&mut self.snapshot.queries) {
                if let (Some(view), Some(state)) = (view, state) {
                    state.sink_watermark = view.shared.delivered.watermark();
                    state.next_window_end = view.shared.delivered.next_window_end(state.sink_watermark);
                }
            }
        }
        if self.reads.contain(Fields::STREAMS) {
            self.snapshot.streams.clear();
            for QueryView { shared, .. } in self.queries.iter().flatten() {
                shared.delivered.streams(shared.id, self.delay_epochs, &mut self.snapshot.streams);
            }
        }
        self.renew_order();
        let empty_bytes: u64 = if self.reads.contain(Fields::MEMORY) {
            self.views.iter().flatten().map(|view| view.probe.empty_bytes()).sum()
        } else {
            0
        };
        self.snapshot.memory_used_bytes = memory.used_bytes.saturating_sub(empty_bytes);
        self.snapshot.memory_limit_bytes = memory.limit_bytes;
        self.snapshot.now = now;
        for (place, view) in self.views.iter().enumerate() {
            if let Some(view) = view {
                let operator = OperatorId(place as u32);
                self.snapshot.operators[place] =
                    Some(view.state(self.reads, self.snapshot.block_records, now, is_held(operator)));
            }
        }
    }
}

impl View {
    /// Makes the measurements of a task that has not run yet, as if it were no copy of an operator.
    fn new(
        probe: Arc<Probe>,
        meter: Arc<Meter>,
        (query, serial): (QueryId, u64),
        horizon: Horizon,
        now: ProcessingTime,
    ) -> Self {
        let has_windows = horizon.holds_results() && horizon != Horizon::EVERYWHERE;
        View {
            probe,
            meter,
            query,
            serial,
            seen: Seen::default(),
            cost_ns: OperatorState::ASSUMED_COST_NS_PER_RECORD,
            cost_ns_per_run: OperatorState::ASSUMED_COST_NS_PER_RUN,
            selectivity: 1.0,
            last_run_ended: now,
            horizon: has_windows.then_some(horizon),
            watermark: None,
            frontier: None,
            copies: 1,
        }
    }

    /// Records a reported run of the task, unless a later run was reported before. Reports may come out of
    /// order, because workers report when they get the ranker.
    fn note_run(&mut self, ended: ProcessingTime, watermark: Option<EventTime>) {
        if ended < self.last_run_ended {
            return;
        }
        self.last_run_ended = ended;
        if self.watermark != watermark {
            self.watermark = watermark;
            let horizon = self.horizon.as_ref().zip(watermark);
            self.frontier = horizon.map(|(horizon, watermark)| horizon.next_after(watermark));
        }
    }

    /// Returns the watermark at which the result of the task's oldest waiting work is put out, such as the
    /// end of a window. The task's own watermark is the least of its inputs. If the oldest work waits on an
    /// input with a later watermark, its result waits for the end of a later window, unless `reads` asks for the
    /// task's own watermark ([`Fields::MERGED_PROGRESS`]).
    fn frontier_of_head(&self, reads: Fields, horizon: &Horizon, now: ProcessingTime) -> Option<EventTime> {
        // The task is putting out results already, so they wait for no window.
        if self.probe.is_unsettled() {
            return None;
        }
        // If the task claims blocks from containers (the unclaimed blocks of each epoch), its input knows the
        // epoch of the oldest block.
        if let Some(due) = self.probe.inputs.first().and_then(|inlet| inlet.due(now)) {
            return Some(due);
        }
        if reads.contain(Fields::MERGED_PROGRESS) {
            return self.frontier;
        }
        let of_input =
            self.probe.head_watermark(now).filter(|ahead| self.watermark.is_none_or(|own| own < *ahead));
        of_input.map(|ahead| horizon.next_after(ahead)).or(self.frontier)
    }

    fn state(
        &self,
        reads: Fields,
        block_records: u32,
        now: ProcessingTime,
        is_running: bool,
    ) -> OperatorState {
        let block_records = u64::from(block_records);
        let probe = &self.probe;
        let oldest_pending =
            if reads.contain(Fields::OLDEST_PENDING) { probe.oldest_pending(now) } else { now };
        let (head, frontier) = if reads.contain(Fields::CONTEXTS) {
            let frontier = |horizon| self.frontier_of_head(reads, horizon, now);
            (probe.head(now), self.horizon.as_ref().and_then(frontier))
        } else {
            (Context { observed: now, token: None }, None)
        };
        OperatorState {
            query: self.query,
            is_source: probe.is_source(),
            is_sink: probe.is_sink(),
            is_on_demand: probe.is_on_demand(),
            is_running,
            pending: if probe.is_on_demand() {
                probe.pending_rows(now) * block_records
            } else {
                probe.pending_rows(now)
            },
            oldest_pending,
            can_output: probe.can_output(),
            last_run_ended: self.last_run_ended,
            cost_ns_per_record: self.cost_ns,
            selectivity: self.selectivity,
            cost_ns_per_run: self.cost_ns_per_run,
            head,
            frontier,
            epoch_work: if reads.contain(Fields::EPOCHS) {
                probe.epoch_work(now)
            } else {
                EpochWork::Unknown
            },
            open_containers: if reads.contain(Fields::CONTAINERS) { probe.open_containers() } else { 0 },
            copies: self.copies,
        }
    }

    /// Measures cost and selectivity since the last measurement, as plain ratios. For a task that closes
    /// epochs, measures only the cost of a run. Without input both values stay. With input and no output, as
    /// for a window that has not fired, selectivity is measured since the start of the task, with one record
    /// added to the number of output records. So it falls while nothing comes out, but never to zero, from
    /// which no order of tasks would follow.
    fn measure(&mut self) {
        let meter = &self.meter;
        let seen = Seen {
            records_in: read(&meter.records_in),
            records_out: read(&meter.records_out),
            charged_ns: read(&meter.charged_ns),
            steps: read(&meter.steps),
        };
        let records_in = seen.records_in.saturating_sub(self.seen.records_in) as f64;
        let steps = seen.steps.saturating_sub(self.seen.steps) as f64;
        let records_out = seen.records_out.saturating_sub(self.seen.records_out) as f64;
        if self.probe.closes_epochs() {
            // A task that closes epochs (merges the state of the copies and emits the results) takes no
            // records: its cost is per run, and its pending work is a number of epochs.
            if steps > 0.0 {
                let charged_ns = seen.charged_ns.saturating_sub(self.seen.charged_ns) as f64;
                self.cost_ns = (charged_ns / steps).max(f64::MIN_POSITIVE);
                self.cost_ns_per_run = self.cost_ns;
                self.seen = seen;
            }
        } else if records_in > 0.0 {
            let charged_ns = seen.charged_ns.saturating_sub(self.seen.charged_ns) as f64;
            self.cost_ns = (charged_ns / records_in).max(f64::MIN_POSITIVE);
            self.cost_ns_per_run = (charged_ns / steps.max(1.0)).max(f64::MIN_POSITIVE);
            self.selectivity = if records_out > 0.0 {
                records_out / records_in
            } else {
                (seen.records_out + 1) as f64 / (seen.records_in + 1) as f64
            };
            self.seen = seen;
        }
    }
}

/// Returns the numbers of a query's tasks, upstream before downstream (Kahn, "Topological Sorting of Large
/// Networks", CACM 1962). A graph that passed its checks has no cycle.
fn upstream_first(downstream: &[Vec<usize>]) -> Vec<usize> {
    let mut inputs = vec![0usize; downstream.len()];
    downstream.iter().flatten().for_each(|&reader| inputs[reader] += 1);
    let mut order: Vec<usize> = (0..downstream.len()).filter(|&place| inputs[place] == 0).collect();
    let mut next = 0;
    while let Some(&place) = order.get(next) {
        next += 1;
        for &reader in &downstream[place] {
            inputs[reader] -= 1;
            if inputs[reader] == 0 {
                order.push(reader);
            }
        }
    }
    order
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
