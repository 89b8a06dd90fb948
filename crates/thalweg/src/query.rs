//! A query while it is being written: streams begin here and are planned when all have ended in sinks.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use thalweg_model::{Source, WatermarkStrategy};
use thalweg_runtime::{Graph, PlanError};

use crate::segment::{Chaining, FromSource, Planner};
use crate::stream::Stream;

/// A query that is being written.
pub struct Query {
    pub(crate) draft: Rc<RefCell<Draft>>,
}

/// Turns one finished stream into tasks.
type Lower = Box<dyn FnOnce(&mut Planner)>;

/// What streams of one query share.
pub(crate) struct Draft {
    name: String,
    /// Names that are taken.
    names: HashSet<String>,
    /// Streams that have not ended in a sink, by the name of their source.
    open: Vec<String>,
    finished: Vec<Lower>,
}

impl Draft {
    /// `name`, or `name-2` and so on if it is taken.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        let free = candidates.find(|candidate| !self.names.contains(candidate)).unwrap_or_default();
        self.names.insert(free.clone());
        free
    }

    /// Takes note that the stream of `source` ends in a sink.
    pub(crate) fn finish(&mut self, source: &str, lower: Lower) {
        self.open.retain(|open| open != source);
        self.finished.push(lower);
    }
}

impl Query {
    /// A query without streams.
    pub fn new(name: impl Into<String>) -> Self {
        let draft =
            Draft { name: name.into(), names: HashSet::new(), open: Vec::new(), finished: Vec::new() };
        Query { draft: Rc::new(RefCell::new(draft)) }
    }

    /// Begins a stream: the records of `source`, whose watermarks follow `strategy`.
    pub fn source<S: Source + 'static>(
        &self,
        name: &str,
        source: S,
        strategy: WatermarkStrategy,
    ) -> Stream<S::Item, FromSource<S>> {
        let name = {
            let mut draft = self.draft.borrow_mut();
            let name = draft.unique(name);
            draft.open.push(name.clone());
            name
        };
        let segment = FromSource { name: name.clone(), source, strategy };
        Stream { draft: Rc::clone(&self.draft), origin: name, segment, value: std::marker::PhantomData }
    }

    /// Cuts the streams into tasks.
    ///
    /// # Errors
    /// [`PlanError::Unread`] if a stream does not end in a sink. The engine checks the rest at submit.
    pub fn plan(self, chaining: Chaining) -> Result<Graph, PlanError> {
        let mut draft = self.draft.borrow_mut();
        if let Some(open) = draft.open.first() {
            return Err(PlanError::Unread { operator: open.clone() });
        }
        let mut planner = Planner { graph: Graph::new(draft.name.clone()), chaining };
        for lower in std::mem::take(&mut draft.finished) {
            lower(&mut planner);
        }
        Ok(planner.graph)
    }
}
