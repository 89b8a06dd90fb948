//! A sink that keeps everything and watches the rules of what reaches it.
//!
//! Rules: watermarks never go back; the last watermark is the end of time, and nothing follows the end; `finish`
//! comes once, behind the end. Of results of windows, two more: each comes out when the watermark passes its
//! window's end, not earlier (no result before its window closes) and not later; so between two watermarks `a`
//! and `b` there are only results of windows whose end lies above `a` and at most at `b`. Where several workers have keys of
//! their own, each is as far as it is, and the sink's watermark is the least of theirs: then no result is behind `a`.
//!
//! It holds no bytes in the eyes of the budget, so that a test's own memory does not use up the engine's.

use std::fmt::Debug;
use std::sync::Arc;

use thalweg::{Layout, Parallel};
use thalweg_memory::sync::Mutex;
use thalweg_model::{EventTime, Fault, Mark, Record, Sink};

use crate::sabotage::{Place, Sabotage};

/// What kind of records a [`Gather`] expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expects {
    /// Records that may be late.
    Anything,
    /// Results of windows, stamped with their window's last instant.
    WindowResults,
    /// Results of windows, by several workers, each of which is ahead of the sink's watermark or at it.
    ResultsOfCopies,
}

impl Expects {
    /// Results of windows of an operator that works per key.
    pub fn keyed_results(layout: Layout) -> Self {
        match layout.parallel {
            Parallel::Serial => Expects::WindowResults,
            Parallel::Epochs { .. } => Expects::ResultsOfCopies,
        }
    }
}

/// Keeps what reaches it, for whoever holds its [`Gathered`].
pub struct Gather<T> {
    gathered: Gathered<T>,
    expects: Expects,
    sabotage: Arc<Sabotage>,
}

/// What a [`Gather`] has seen, from outside.
pub struct Gathered<T>(Arc<Mutex<Seen<T>>>);

struct Seen<T> {
    records: Vec<Record<T>>,
    watermark: EventTime,
    /// How many of `records` came before the last watermark.
    behind_watermark: usize,
    ending: Ending,
    broken_rule: Option<String>,
}

/// How far the end has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Open,
    Ended,
    Finished,
}

impl<T> Gather<T> {
    /// An empty sink. Visits [`Place::Sink`] before each record.
    pub fn new(expects: Expects, sabotage: &Arc<Sabotage>) -> Self {
        Gather { gathered: Gathered::default(), expects, sabotage: Arc::clone(sabotage) }
    }

    /// What it has seen and will see.
    pub fn gathered(&self) -> Gathered<T> {
        self.gathered.clone()
    }
}

impl<T: Send> Sink<T> for Gather<T> {
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

impl<T> Seen<T> {
    fn watermark(&mut self, watermark: EventTime, expects: Expects) {
        let last = std::mem::replace(&mut self.watermark, watermark);
        if watermark < last {
            self.break_rule(format!("watermark {watermark:?} came after {last:?}"));
        }
        let news = &self.records[self.behind_watermark..];
        // A window that ends at `e` is stamped `e - 1`, so `last < e <= watermark` reads as below.
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

    /// The first one counts.
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
            watermark: EventTime::MIN,
            behind_watermark: 0,
            ending: Ending::Open,
            broken_rule: None,
        };
        Gathered(Arc::new(Mutex::new(seen)))
    }
}

impl<T> Gathered<T> {
    /// What `look` makes of each record, in order of arrival.
    pub fn each<Q>(&self, look: impl Fn(&Record<T>) -> Q) -> Vec<Q> {
        self.0.lock().records.iter().map(look).collect()
    }

    /// Whether the sink has published: the end came, and `finish` was called.
    pub fn is_published(&self) -> bool {
        self.0.lock().ending == Ending::Finished
    }

    /// The first rule that was broken.
    pub fn broken_rule(&self) -> Option<String> {
        self.0.lock().broken_rule.clone()
    }
}

/// A [`Gathered`] of records of some type.
pub trait AnyGathered {
    /// Its records as text, sorted.
    fn sorted_text(&self) -> Vec<String>;

    /// As [`Gathered::is_published`].
    fn is_published(&self) -> bool;

    /// As [`Gathered::broken_rule`].
    fn broken_rule(&self) -> Option<String>;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records as numbers, `W5` for a watermark, `E` for the end, `F` for finish; the broken rule, or nothing.
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
