//! An operator that several workers share, for the test bed: its records go to random copies, and the copies'
//! state is merged at each watermark, before the operator itself sees it.

use thalweg_model::{
    Allowance, Counts, Entropy, EventTime, Flow, Input, Mark, Operator, Output, Record, SeededEntropy,
    Sharing, StateError, StateReader, StateWriter,
};

/// An operator and its copies: the operator gets the watermarks, the copies get the records. State is saved
/// right after a watermark, when no copy has any state.
pub struct Copies<P> {
    whole: P,
    copies: Vec<P>,
    count: usize,
    /// Random generator that chooses the copy for the next record.
    chance: SeededEntropy,
    last: usize,
    /// The last watermark that the operator was given.
    watermark: EventTime,
    late_by: EventTime,
    allowance: Allowance,
}

impl<P> Copies<P> {
    /// Creates an operator with `count` copies, which are made later, when the operator gets its seed for
    /// random numbers.
    ///
    /// # Panics
    /// If `count` is zero, or the operator cannot merge the state of copies.
    pub fn of<T>(whole: P, count: usize) -> Self
    where
        P: Operator<T>,
    {
        assert_eq!(P::SHARING, Sharing::Merging);
        assert!(count > 0, "somebody takes the records");
        Copies {
            whole,
            copies: Vec::new(),
            count,
            chance: SeededEntropy::new(0),
            last: 0,
            watermark: EventTime::MIN,
            late_by: EventTime::MIN,
            allowance: Allowance::default(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &P> {
        self.copies.iter().chain([&self.whole])
    }

    /// Gives a copy the watermark by which it judges whether its next records are late.
    fn tell<T, O: Output<P::Out>>(late_by: EventTime, copy: &mut P, output: &mut O)
    where
        P: Operator<T>,
    {
        let flow = copy.on_mark(Mark::InputWatermark(late_by), output);
        assert_eq!(flow, Flow::Done, "who is told what records are late by puts out nothing");
    }
}

/// An output that has no room and accepts no record.
struct Closed;

impl<T> Output<T> for Closed {
    fn room(&self) -> usize {
        0
    }

    fn push(&mut self, _record: Record<T>) {
        unreachable!("there is no room");
    }
}

impl<T, P: Operator<T>> Operator<T> for Copies<P> {
    type Out = P::Out;

    const EXPANDS: bool = P::EXPANDS;

    fn process<I: Input<T>, O: Output<P::Out>>(&mut self, input: &mut I, output: &mut O) {
        while let Some(record) = input.take() {
            self.process_one(record, output);
            self.note_read(1);
        }
    }

    fn process_one<O: Output<P::Out>>(&mut self, record: Record<T>, output: &mut O) {
        self.last = self.chance.below(self.count as u64) as usize;
        self.copies[self.last].process_one(record, output);
    }

    fn note_read(&mut self, count: u64) {
        self.copies[self.last].note_read(count);
    }

    fn on_mark<O: Output<P::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        match mark {
            Mark::Watermark(watermark) => self.watermark = watermark,
            Mark::InputWatermark(watermark) => self.late_by = watermark,
            _ => {}
        }
        let late_by = self.late_by.max(self.watermark);
        for copy in &mut self.copies {
            if let Mark::Watermark(_) = mark {
                self.whole.absorb(copy);
            }
            Self::tell(late_by, copy, output);
        }
        if let Mark::InputWatermark(_) = mark { Flow::Done } else { self.whole.on_mark(mark, output) }
    }

    fn resume<O: Output<P::Out>>(&mut self, output: &mut O) -> Flow {
        self.whole.resume(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        self.whole.forward(mark)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.whole.fund(allowance);
        self.allowance = allowance.clone();
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.whole.seed(entropy);
        self.chance = SeededEntropy::new(entropy.next_u64());
        let copy = || {
            let mut copy = self.whole.fork();
            copy.fund(&self.allowance);
            copy
        };
        self.copies = (0..self.count).map(|_| copy()).collect();
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let mut sums: Vec<Counts> = Vec::new();
        for one in self.all() {
            let mut place = 0;
            one.visit_counts(&mut |_, counts| {
                match sums.get_mut(place) {
                    Some(sum) => *sum = sum.plus(counts),
                    None => sums.push(counts),
                }
                place += 1;
            });
        }
        let mut sums = sums.into_iter();
        self.whole.visit_counts(&mut |name, _| each(name, sums.next().unwrap_or_default()));
    }

    fn state_bytes(&self) -> usize {
        self.all().map(P::state_bytes).sum()
    }

    fn faulted(&self) -> Option<&str> {
        self.all().find_map(P::faulted)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.watermark.as_micros(), self.late_by.as_micros()))?;
        self.whole.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (watermark, late_by): (i64, i64) = state.take()?;
        self.watermark = EventTime::from_micros(watermark);
        self.late_by = EventTime::from_micros(late_by);
        let late_by = self.late_by.max(self.watermark);
        self.copies.iter_mut().for_each(|copy| Self::tell(late_by, copy, &mut Closed));
        self.whole.load(state)
    }
}
