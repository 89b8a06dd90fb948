//! Draft of a query: the state that its streams share while it is written, such as operator names and the end of each
//! stream.
//!
//! Names are assigned all at once when the query is planned. A name given by the user must be unique: reports, errors
//! and, in future, saved state find an operator by its name. If a duplicate were made unique silently, the name could
//! mean another operator after the next edit. An operator without a given name is called after its kind and numbered
//! in the order of the calls; it never takes a given name, wherever that one stands.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use thalweg_model::WatermarkStrategy;
use thalweg_runtime::graph::check_strategy;
use thalweg_runtime::{Aims, Graph, PlanError, limits};

use crate::segment::{Gathers, Layout, Planner};

/// A query that is being written: its operators, sources and streams so far.
pub(crate) struct Draft {
    name: String,
    aims: Aims,
    /// Names of all operators, sources and sinks; a [`Label`] is an index into this list.
    operators: Vec<OperatorName>,
    sources: Vec<(Label, WatermarkStrategy)>,
    /// All streams of the query; a [`StreamIndex`] is an index into this list. A stream comes after the
    /// streams that it is made of.
    streams: Vec<StreamDraft>,
    /// The first error found while the query was written.
    error: Option<PlanError>,
}

/// The name of an operator before the query is planned.
pub(crate) enum OperatorName {
    /// A name that the user gave to the operator.
    Given(String),
    /// The kind of the operator, such as `map`, which becomes its name. When the query is planned, a number
    /// is added if the name is taken.
    Kind(&'static str),
}

/// Index of an operator of the query, independent of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

/// Index of a stream among the streams of its query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamIndex(usize);

/// Function that turns a finished stream into tasks when the query is planned.
pub(crate) type Lower = Box<dyn FnOnce(&mut Planner)>;

/// Tells whether and how a stream of the query has ended.
enum End {
    /// The stream has not ended so far, so more operators may follow.
    Open,
    /// The stream ends in another stream of the query, such as a union. That stream is turned into tasks, and
    /// this one with it.
    InStream,
    /// The stream ends in a sink, or is split or shared; the function turns it into tasks.
    Planned(Lower),
}

struct StreamDraft {
    /// Used in a branch of a shared stream: true if, in every branch that has ended so far, a merging
    /// operator (whose partial results of each worker are merged) comes before any keyed or serial one.
    all_gather: Option<Rc<Cell<bool>>>,
    /// The operator that was added to the stream last.
    last: Label,
    /// Number of times the type of this stream was erased by `boxed`, each of which adds a task.
    boxes: u64,
    end: End,
}

impl Draft {
    pub(crate) fn new(name: String) -> Self {
        Draft {
            name,
            aims: Aims::default(),
            operators: Vec::new(),
            sources: Vec::new(),
            streams: Vec::new(),
            error: None,
        }
    }

    /// Changes the latency target or the token rate of the query.
    pub(crate) fn aim(&mut self, change: impl FnOnce(&mut Aims)) {
        change(&mut self.aims);
    }

    /// Begins a stream of the query with a source.
    pub(crate) fn begin(&mut self, source: &str, strategy: WatermarkStrategy) -> (StreamIndex, Label) {
        let source = self.label(OperatorName::Given(source.to_owned()));
        self.sources.push((source, strategy));
        (self.add_stream(source), source)
    }

    /// Begins a stream with the splits of a source. A single split gets the name of the source, and several
    /// splits get numbered names. Returns the stream, its [`Label`] (the index of its operator's name) and
    /// the label of each split.
    pub(crate) fn begin_splits(
        &mut self,
        source: &str,
        count: usize,
        strategy: WatermarkStrategy,
    ) -> (StreamIndex, Label, Vec<Label>) {
        if count == 1 {
            let (index, label) = self.begin(source, strategy);
            return (index, label, vec![label]);
        }
        let mut splits = Vec::with_capacity(count);
        for number in 1..=count {
            let split = self.label(OperatorName::Given(format!("{source}-{number}")));
            self.sources.push((split, strategy));
            splits.push(split);
        }
        let (index, label) = self.begin_behind("union");
        (index, label, splits)
    }

    /// Begins a stream where other streams have ended. It has no operator yet. If a task needs a name for it,
    /// the name is `kind`.
    pub(crate) fn begin_behind(&mut self, kind: &'static str) -> (StreamIndex, Label) {
        let label = self.label(OperatorName::Kind(kind));
        (self.add_stream(label), label)
    }

    /// Begins a branch of a shared stream. If the branch reaches a keyed or serial operator before a merging
    /// one (see [`Gathers`]), `all_gather` becomes false when the branch ends.
    pub(crate) fn begin_branch(&mut self, all_gather: &Rc<Cell<bool>>) -> (StreamIndex, Label) {
        let (index, label) = self.begin_behind("branch");
        self.streams[index.0].all_gather = Some(Rc::clone(all_gather));
        (index, label)
    }

    /// Records, for a branch of a shared stream that has ended, whether its first operator with state is a
    /// merging one; see [`Gathers`].
    fn note_gathers(&mut self, StreamIndex(stream): StreamIndex, gathers: Gathers) {
        if let Some(all_gather) = &self.streams[stream].all_gather
            && gathers != Gathers::First
        {
            all_gather.set(false);
        }
    }

    /// Ends streams where a new stream begins, such as a union of them. When the query is planned, the new
    /// stream turns them into tasks.
    pub(crate) fn unite(
        &mut self,
        streams: &[(StreamIndex, Gathers)],
        kind: &'static str,
    ) -> (StreamIndex, Label) {
        for &(index, gathers) in streams {
            self.note_gathers(index, gathers);
            self.streams[index.0].end = End::InStream;
        }
        self.begin_behind(kind)
    }

    /// Stores an error, which planning the query will return, unless an earlier error is stored already.
    pub(crate) fn refuse(&mut self, error: PlanError) {
        self.error.get_or_insert(error);
    }

    /// Returns the name of the query.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn add_stream(&mut self, last: Label) -> StreamIndex {
        self.streams.push(StreamDraft { all_gather: None, last, boxes: 0, end: End::Open });
        StreamIndex(self.streams.len() - 1)
    }

    /// Adds an operator at the present end of a stream.
    pub(crate) fn add(&mut self, stream: StreamIndex, name: OperatorName) -> Label {
        let label = self.label(name);
        self.streams[stream.0].last = label;
        label
    }

    /// Gives a name to the last operator of a stream.
    pub(crate) fn name_last(&mut self, stream: StreamIndex, name: &str) {
        let Label(last) = self.streams[stream.0].last;
        self.operators[last] = OperatorName::Given(name.to_owned());
    }

    /// Adds one to the number of times that the type of a stream was erased by `boxed`, which adds a task.
    pub(crate) fn add_box(&mut self, stream: StreamIndex) {
        self.streams[stream.0].boxes += 1;
    }

    /// Completes the definition of a stream, to which no operator can be added from here on. `lower` is kept: it
    /// turns the stream into tasks when the query is planned.
    pub(crate) fn finish(&mut self, stream: StreamIndex, gathers: Gathers, lower: Lower) {
        self.note_gathers(stream, gathers);
        self.streams[stream.0].end = End::Planned(lower);
    }

    /// Checks the query, and turns its streams into a graph of tasks.
    pub(crate) fn plan(&mut self, layout: Layout) -> Result<Graph, PlanError> {
        let names = self.settle_names()?;
        let name_of = |Label(index): Label| names[index].clone();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        for &(source, strategy) in &self.sources {
            check_strategy(&name_of(source), strategy)?;
        }
        for stream in &self.streams {
            if matches!(stream.end, End::Open) {
                return Err(PlanError::Unread { operator: name_of(stream.last) });
            }
        }
        // The graph checks its number of tasks itself. But segments whose types were erased by `boxed` are
        // turned into tasks by recursion, so an endless loop of them must be refused before the stack
        // overflows.
        limits::TASKS_PER_QUERY
            .check(self.streams.iter().map(|stream| stream.boxes + 1).sum::<u64>().max(1))?;
        let mut planner = Planner::new(self.name.clone(), layout, names);
        for stream in self.streams.drain(..) {
            if let End::Planned(lower) = stream.end {
                lower(&mut planner);
            }
        }
        let graph = planner.into_graph().with_aims(self.aims);
        graph.check()?;
        Ok(graph)
    }

    pub(crate) fn label(&mut self, name: OperatorName) -> Label {
        self.operators.push(name);
        Label(self.operators.len() - 1)
    }

    /// Chooses the final names of all operators, indexed by [`Label`].
    fn settle_names(&self) -> Result<Vec<String>, PlanError> {
        let mut taken = HashSet::new();
        for operator in &self.operators {
            match operator {
                OperatorName::Given(name) if name.is_empty() => return Err(PlanError::EmptyName),
                OperatorName::Given(name) if !taken.insert(name.as_str()) => {
                    return Err(PlanError::DuplicateName { name: name.clone() });
                }
                _ => {}
            }
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let settle = |operator: &OperatorName| match operator {
            OperatorName::Given(name) => name.clone(),
            OperatorName::Kind(kind) => {
                let count = counts.entry(kind).or_default();
                free_name(kind, count, |name| taken.contains(name))
            }
        };
        Ok(self.operators.iter().map(settle).collect())
    }
}

/// Returns the name `base`, or `base-2`, `base-3` and so on if it is taken. `count` is the number of names of
/// this base that were given out or skipped so far.
pub(crate) fn free_name(base: &str, count: &mut usize, is_taken: impl Fn(&str) -> bool) -> String {
    loop {
        *count += 1;
        let name = if *count == 1 { base.to_owned() } else { format!("{base}-{count}") };
        if !is_taken(&name) {
            return name;
        }
    }
}

impl Label {
    pub(crate) fn name_in(self, names: &[String]) -> &str {
        &names[self.0]
    }
}
