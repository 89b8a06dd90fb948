//! The shared parts of the hand-written loops over lines: a source of lines, the windows in which they are
//! counted, and a function that runs a loop.
//!
//! The loops rely on facts which an engine cannot use. The input is known to ascend, so it is cut at the
//! borders of panes once per block, and windows close in order. Lines are borrowed from the generator while the
//! loop runs, so no reference count is changed. Nothing is counted except the results.

use std::collections::VecDeque;

use thalweg_model::{EventTime, Record, Span, Window};

use super::generator::TextGenerator;
use crate::loops::stamps::Stamps;
use crate::loops::{self, Fed, LoopKind, LoopReport, drive, run_workers};

/// Options of a run of a hand-written loop over lines, which is always one of [`LoopKind::Blocks`].
pub type LoopOptions<'a> = loops::LoopOptions<&'a TextGenerator>;

/// Runs a hand-written loop over lines on new threads, from a common start, and waits for all of them. A
/// worker's record `index` is the generator's `first_event + index`.
pub(crate) fn run<'a, F, M>(options: LoopOptions<'a>, make: M) -> LoopReport<F::Row>
where
    F: Fed<Row: Send>,
    M: Fn(LineSource<'a>, usize) -> F + Sync,
{
    assert_eq!(options.kind, LoopKind::Blocks, "lines have no other loop");
    run_workers(options.workers, |index, together| {
        let texts = options.generator;
        let first_event = texts.period() * index / options.workers.get();
        let stamps = Stamps::new(options.start, options.nominal_rate_per_s);
        let source = LineSource { texts, next: first_event as u64, stamps };
        drive(make(source, options.block_records.get()), first_event, options.stop, together)
    })
}

/// A stream of lines with their event times.
pub(crate) struct LineSource<'a> {
    texts: &'a TextGenerator,
    next: u64,
    stamps: Stamps,
}

/// The content of a row in a block before a line is written to it.
pub(crate) const BLANK: Record<&str> = Record::new(EventTime::EPOCH, "");

impl<'a> LineSource<'a> {
    /// Source: copies lines into a block and gives them their event times.
    #[inline(never)]
    pub(crate) fn produce(&mut self, rows: &mut [Record<&'a str>]) {
        let mut stamps = self.stamps;
        for (row, index) in rows.iter_mut().zip(self.next..) {
            *row = Record::new(stamps.next_stamp(), self.texts.texts()[self.texts.place_of(index)].as_str());
        }
        self.stamps = stamps;
        self.next += rows.len() as u64;
    }
}

/// Function that adds the results of a window to a list, from its panes: spans as long as the slide.
type Emit<'a, P, R> = Box<dyn FnMut(Window, &[&P], &mut Vec<R>) + 'a>;

/// Sliding windows over an ascending stream, with one pane per slide, and their results.
pub(crate) struct Panes<'a, P, R> {
    size: Span,
    slide: Span,
    /// The pane, a span as long as the slide, into which the current records fall: from `start` inclusive to
    /// `end` exclusive.
    open: P,
    start: EventTime,
    end: EventTime,
    /// Closed panes that are part of windows not yet emitted, each with its start.
    closed: VecDeque<(EventTime, P)>,
    emit: Emit<'a, P, R>,
    /// Results of the windows emitted so far.
    results: Vec<R>,
}

impl<'a, P: Default, R> Panes<'a, P, R> {
    /// Creates sliding windows; their size must be a whole number of slides. `emit` adds the results of a
    /// window to a list.
    pub(crate) fn new(size: Span, slide: Span, emit: impl FnMut(Window, &[&P], &mut Vec<R>) + 'a) -> Self {
        assert!(
            size.as_micros() % slide.as_micros() == 0,
            "windows of {size} are not made of whole slides of {slide}"
        );
        let (open, start) = (P::default(), EventTime::MIN);
        let (closed, emit, results) = (VecDeque::new(), Box::new(emit), Vec::new());
        Panes { size, slide, open, start, end: start, closed, emit, results }
    }

    /// Splits `rows` into the longest runs that lie in one pane, and calls `each` with each run and its pane.
    #[inline(always)]
    pub(crate) fn each_run<T>(&mut self, rows: &[Record<T>], mut each: impl FnMut(&mut P, &[Record<T>])) {
        let mut rest = rows;
        while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            if self.end <= first.event_time {
                self.turn_to(first.event_time);
            }
            let end = self.end;
            let count = if last.event_time < end {
                rest.len()
            } else {
                rest.partition_point(|row| row.event_time < end)
            };
            let (run, behind) = rest.split_at(count);
            each(&mut self.open, run);
            rest = behind;
        }
    }

    /// Emits all remaining windows that contain a record. Returns the results of all windows.
    pub(crate) fn finish(mut self) -> Vec<R> {
        if self.start > EventTime::MIN {
            let last = self.start;
            self.close();
            self.emit_until(last.plus(self.size));
        }
        self.results
    }

    #[cold]
    fn turn_to(&mut self, instant: EventTime) {
        let slide_us = self.slide.as_micros();
        let start_us = instant.as_micros().div_euclid(slide_us) * slide_us;
        if self.start > EventTime::MIN {
            self.close();
            self.emit_until(EventTime::from_micros(start_us));
        }
        self.start = EventTime::from_micros(start_us);
        self.end = self.start.plus(self.slide);
    }

    fn close(&mut self) {
        self.closed.push_back((self.start, std::mem::take(&mut self.open)));
    }

    /// Emits the windows whose end lies between the end of the pane closed last and this instant, both
    /// included.
    fn emit_until(&mut self, until: EventTime) {
        let mut end = self.end;
        while end <= until {
            let window = Window { start: end.minus(self.size), end };
            while self.closed.front().is_some_and(|(start, _)| *start < window.start) {
                self.closed.pop_front();
            }
            if self.closed.is_empty() {
                break;
            }
            let panes: Vec<&P> = self.closed.iter().map(|(_, pane)| pane).collect();
            (self.emit)(window, &panes, &mut self.results);
            end = end.plus(self.slide);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
