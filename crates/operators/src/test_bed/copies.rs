//! An operator whose records go to copies of it, in turn; what they have gathered is put together at each watermark.

use thalweg_model::{
    Counts, EventTime, Flow, Input, Mark, Operator, Output, Record, Sharing, StateError, StateReader,
    StateWriter,
};

use super::sum;

/// An operator and its copies: it sees the watermarks, they see the records.
pub(crate) struct Copies<P> {
    whole: P,
    copies: Vec<P>,
    next: usize,
    watermark: EventTime,
    late_by: EventTime,
}

impl<P> Copies<P> {
    pub(crate) fn of<T>(whole: P, count: usize) -> Self
    where
        P: Operator<T>,
    {
        assert_eq!(P::SHARING, Sharing::Merging);
        let copies = (0..count).map(|_| whole.fork()).collect();
        Copies { whole, copies, next: 0, watermark: EventTime::MIN, late_by: EventTime::MIN }
    }
}

impl<T, P: Operator<T>> Operator<T> for Copies<P> {
    type Out = P::Out;

    fn process<I: Input<T>, O: Output<P::Out>>(&mut self, input: &mut I, output: &mut O) {
        while let Some(record) = input.take() {
            self.process_one(record, output);
            self.note_read(1);
        }
    }

    fn process_one<O: Output<P::Out>>(&mut self, record: Record<T>, output: &mut O) {
        self.next = (self.next + 1) % self.copies.len();
        self.copies[self.next].process_one(record, output);
    }

    fn note_read(&mut self, count: u64) {
        self.copies[self.next].note_read(count);
    }

    fn on_mark<O: Output<P::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        match mark {
            Mark::Watermark(watermark) => self.watermark = watermark,
            Mark::InputWatermark(watermark) => self.late_by = watermark,
            _ => {}
        }
        let late_by = Mark::InputWatermark(self.late_by.max(self.watermark));
        for copy in &mut self.copies {
            if let Mark::Watermark(_) = mark {
                self.whole.absorb(copy);
            }
            assert_eq!(copy.on_mark(late_by, output), Flow::Done);
        }
        if let Mark::InputWatermark(_) = mark { Flow::Done } else { self.whole.on_mark(mark, output) }
    }

    fn resume<O: Output<P::Out>>(&mut self, output: &mut O) -> Flow {
        self.whole.resume(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        self.whole.forward(mark)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let mut all = Counts::default();
        for one in self.copies.iter().chain([&self.whole]) {
            one.visit_counts(&mut |_, counts| all = sum(all, counts));
        }
        self.whole.visit_counts(&mut |name, _| each(name, all));
    }

    fn state_bytes(&self) -> usize {
        self.copies.iter().chain([&self.whole]).map(P::state_bytes).sum()
    }

    fn faulted(&self) -> Option<&str> {
        self.copies.iter().chain([&self.whole]).find_map(P::faulted)
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        unreachable!("copies are put together before state is saved")
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        unreachable!("copies are put together before state is saved")
    }
}
