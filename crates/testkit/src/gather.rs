//! A sink that keeps all records and checks the rules for its input.
//!
//! Rules: watermarks never go back. The last watermark is the end of time, and nothing follows the end.
//! `finish` comes once, after the end. For results of windows there are two more: each is emitted when the
//! watermark passes its window's end, not earlier and not later. So between two watermarks `a` and `b` all
//! results are of windows whose end is above `a` and at most `b`. If several workers have keys of their own,
//! each has its own progress, and the sink's watermark is the least of theirs. Then the rule is only that no
//! result's window ends at or before `a`.
//!
//! The sink counts no bytes against the memory budget, so that a test's own memory does not use up the
//! engine's.

use std::fmt::Debug;
use std::sync::Arc;

use thalweg::{Layout, Parallel};
use thalweg_memory::sync::Mutex;
use thalweg_model::{EventTime, Fault, Mark, Publisher, Record, Sink, StateReader, StateWriter};

use crate::sabotage::{Place, Sabotage};

/// Kinds of input that a [`Gather`] sink expects, which decide its rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expects {
    /// The sink gets any records, which may be late.
    Anything,
    /// The sink gets results of windows, each stamped with the last instant of its window.
    WindowResults,
    /// The sink gets results of windows from several copies of an operator. None of them is stamped below the
    /// sink's watermark.
    ResultsOfCopies,
}

impl Expects {
    /// Returns the rule for the results of windows of a keyed operator: whether one worker runs the operator
    /// or several have copies of it follows from `layout`.
    pub fn keyed_results(layout: Layout) -> Self {
        match layout.parallel {
            Parallel::Serial => Expects::WindowResults,
            Parallel::Epochs { .. } | Parallel::Keyed { .. } => Expects::ResultsOfCopies,
        }
    }
}

/// Sink that keeps all records that reach it, and checks the rules for its input; a test reads both through
/// [`Gathered`].
pub struct Gather<T> {
    gathered: Gathered<T>,
    expects: Expects,
    sabotage: Arc<Sabotage>,
}

/// Shared access to the records that a [`Gather`] sink has kept, and to the first rule that was broken.
pub struct Gathered<T>(Arc<Mutex<Seen<T>>>);

struct Seen<T> {
    records: Vec<Record<T>>,
    /// Number of kept records, from the first one on, that were prepared for a checkpoint.
    prepared: usize,
    /// Records that were published with checkpoints, as text, with the numbers of the checkpoints.
    published: Vec<(u64, Vec<String>)>,
    watermark: EventTime,
    /// Number of kept records, from the first one on, that came before the last watermark. Their stamps were
    /// checked when it came.
    behind_watermark: usize,
    ending: Ending,
    broken_rule: Option<String>,
}

/// State of a sink's input: it is open; the end of the stream has come; `finish` was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Open,
    Ended,
    Finished,
}

impl<T> Gather<T> {
    /// Creates an empty sink. Before each record it calls `sabotage` with [`Place::Sink`], where a failure
    /// may be injected.
    pub fn new(expects: Expects, sabotage: &Arc<Sabotage>) -> Self {
        Gather { gathered: Gathered::default(), expects, sabotage: Arc::clone(sabotage) }
    }

    /// Returns shared access to the records that the sink has kept and those that it will keep.
    pub fn gathered(&self) -> Gathered<T> {
        self.gathered.clone()
    }
}

impl<T: Debug + Send + 'static> Sink<T> for Gather<T> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        self.sabotage.check(Place::Sink)?;
        let mut seen = self.gathered.0.lock();
        if seen.ending != Ending::Open {
            seen.break_rule(format!("a record came behind the end, at {:?}", record.event_time));
        }
        seen.records.push(record);
        Ok(())
    }

    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        let mut seen = self.gathered.0.lock();
        if seen.ending != Ending::Open {
            seen.break_rule(format!("{mark:?} came behind the end"));
        }
        match mark {
            Mark::Watermark(watermark) => seen.watermark(watermark, self.expects),
            Mark::End => {
                if seen.watermark != EventTime::MAX {
                    let watermark = seen.watermark;
                    seen.break_rule(format!("the end came at watermark {watermark:?}"));
                }
                seen.ending = Ending::Ended;
            }
            Mark::InputWatermark(_) | Mark::Idle | Mark::Latency(_) | Mark::Barrier(_) => {}
        }
        Ok(())
    }

    /// The description is the records themselves, as text.
    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        Some(Box::new(self.gathered.clone()))
    }

    fn prepare(&mut self, checkpoint: u64, _is_last: bool) -> Result<Vec<u8>, Fault> {
        let mut seen = self.gathered.0.lock();
        let news: Vec<String> =
            seen.records[seen.prepared..].iter().map(|record| format!("{record:?}")).collect();
        seen.prepared = seen.records.len();
        let mut description = StateWriter::default();
        description.put(&(checkpoint, news)).expect("text can be written");
        Ok(description.into_bytes())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let mut seen = self.gathered.0.lock();
        if seen.ending != Ending::Ended {
            let ending = seen.ending;
            seen.break_rule(format!("finish was called in state {ending:?}"));
        }
        seen.ending = Ending::Finished;
        Ok(())
    }
}

impl<T: Send + 'static> Publisher for Gathered<T> {
    fn publish(&mut self, prepared: &[u8]) -> Result<(), Fault> {
        let mut description = StateReader::new(prepared);
        let published: (u64, Vec<String>) = description.take().expect("it was prepared by this kind of sink");
        self.0.lock().published.push(published);
        Ok(())
    }
}

impl<T> Seen<T> {
    fn watermark(&mut self, watermark: EventTime, expects: Expects) {
        let last = std::mem::replace(&mut self.watermark, watermark);
        if watermark < last {
            self.break_rule(format!("watermark {watermark:?} came after {last:?}"));
        }
        let news = &self.records[self.behind_watermark..];
        // A result of a window that ends at `e` must come with the first watermark at or above `e`: `last < e
        // <= watermark`. The result is stamped with the last instant of its window, `e - 1`, so the
        // comparison below is by stamps.
        let is_stray = |stamp: EventTime| match expects {
            Expects::Anything => false,
            Expects::WindowResults => stamp < last || watermark <= stamp,
            Expects::ResultsOfCopies => stamp < last,
        };
        let stray = news.iter().map(|record| record.event_time).find(|&stamp| is_stray(stamp));
        if let Some(stamp) = stray {
            self.break_rule(format!(
                "a result at {stamp:?} came between watermarks {last:?} and {watermark:?}"
            ));
        }
        self.behind_watermark = self.records.len();
    }

    /// Stores the description of a rule that the sink's input broke, if it is the first one.
    fn break_rule(&mut self, rule: String) {
        self.broken_rule.get_or_insert(rule);
    }
}

impl<T> Clone for Gathered<T> {
    fn clone(&self) -> Self {
        Gathered(Arc::clone(&self.0))
    }
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        let seen = Seen {
            records: Vec::new(),
            prepared: 0,
            published: Vec::new(),
            watermark: EventTime::MIN,
            behind_watermark: 0,
            ending: Ending::Open,
            broken_rule: None,
        };
        Gathered(Arc::new(Mutex::new(seen)))
    }
}

impl<T> Gathered<T> {
    /// Applies `look` to each record that the sink has kept, in order of arrival.
    pub fn each<Q>(&self, look: impl Fn(&Record<T>) -> Q) -> Vec<Q> {
        self.0.lock().records.iter().map(look).collect()
    }

    /// Returns whether the sink has published: the end came, and `finish` was called.
    pub fn is_published(&self) -> bool {
        self.0.lock().ending == Ending::Finished
    }

    /// Returns the first rule that the input of the sink broke.
    pub fn broken_rule(&self) -> Option<String> {
        self.0.lock().broken_rule.clone()
    }
}

/// The kept records of a [`Gather`] sink, whatever the type of their values.
pub trait AnyGathered {
    /// Returns the kept records as text, sorted.
    fn sorted_text(&self) -> Vec<String>;

    /// Returns whether the sink has published, as [`Gathered::is_published`] does.
    fn is_published(&self) -> bool;

    /// Returns the first rule that the input of the sink broke, as [`Gathered::broken_rule`] does.
    fn broken_rule(&self) -> Option<String>;

    /// Returns the records that were published with checkpoints, as text, with the numbers of the checkpoints.
    fn published(&self) -> Vec<(u64, Vec<String>)>;
}

impl<T: Debug> AnyGathered for Gathered<T> {
    fn sorted_text(&self) -> Vec<String> {
        let mut rows = self.each(|record| format!("{record:?}"));
        rows.sort();
        rows
    }

    fn is_published(&self) -> bool {
        Gathered::is_published(self)
    }

    fn broken_rule(&self) -> Option<String> {
        Gathered::broken_rule(self)
    }

    fn published(&self) -> Vec<(u64, Vec<String>)> {
        self.0.lock().published.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a sink by a script of words: a number is a record at this time, `W5` a watermark, `E` the end of
    /// the input, and `F` the call of `finish`. Compares the broken rule with the expected one.
    fn check(script: &str, broken: &str) {
        let mut sink = Gather::new(Expects::WindowResults, &Arc::default());
        for word in script.split_whitespace() {
            let outcome = match word.split_at(1) {
                ("W", "max") => sink.on_mark(Mark::Watermark(EventTime::MAX)),
                ("W", stamp) => sink.on_mark(Mark::Watermark(EventTime::from_micros(stamp.parse().unwrap()))),
                ("E", _) => sink.on_mark(Mark::End),
                ("F", _) => sink.finish(),
                _ => sink.write(Record::new(EventTime::from_micros(word.parse().unwrap()), ())),
            };
            outcome.unwrap();
        }
        let found = sink.gathered().broken_rule().unwrap_or_default();
        assert!(found.contains(broken) && found.is_empty() == broken.is_empty(), "{script}: {found}");
    }

    #[test]
    fn each_broken_rule_is_told() {
        check("W4 9 W10 10 19 W20 Wmax E F", "");
        check("W4 W3", "watermark EventTime(3) came after EventTime(4)");
        check("W10 9 W20", "a result at EventTime(9) came between");
        check("W10 20 W20", "a result at EventTime(20) came between");
        check("W10 E", "the end came at watermark");
        check("Wmax E 3", "a record came behind the end");
        check("Wmax E Wmax", "came behind the end");
        check("Wmax F", "finish was called in state Open");
        check("Wmax E F F", "finish was called in state Finished");
    }
}
