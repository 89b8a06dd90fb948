//! Tumbling windows: cut event time into back-to-back spans and fold each span per key.
//!
//! Input      `Record<V>` in any order, a key of each by a function
//! Output     `Record<Windowed<K, A>>`, one per key and non-empty window, stamped with the window's last instant
//! State      one accumulator per open (key, window)
//! Emits      when the watermark reaches `window.end`; that state is then dropped. Windows in the order of their
//!            ends, keys of one window in no promised order
//! Late       its window has closed: counted in `late`, merged into nothing
//! Watermark  forwarded unchanged, after all that it closes
//! Cost       one comparison and one hash look-up per record; at a watermark, the slots of the tables that fire
//! Source     Akidau et al., "The Dataflow Model", VLDB 2015, section 1.2 "Windowing"

use std::hash::Hash;

use thalweg_model::{
    Allowance, Blame, Counts, Entropy, EventTime, Flow, Fold, Input, Mark, Operator, Output, Record, State,
    StateError, StateReader, StateWriter, TumblingWindows, Windowed,
};

use super::store::WindowStore;

/// Folds each key's values per tumbling window.
#[derive(Debug)]
pub struct TumblingAggregate<K, V, KeyOf, F: Fold<V>> {
    name: String,
    windows: TumblingWindows,
    key_of: KeyOf,
    fold: F,
    store: WindowStore<K, F::Accumulator>,
    watermark: EventTime,
    late_by: EventTime,
    read: u64,
    late: u64,
    blame: Blame,
}

impl<K, V, KeyOf, F> TumblingAggregate<K, V, KeyOf, F>
where
    K: Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send,
    F: Fold<V>,
{
    /// An aggregate called `name`, over `windows`, by `key_of`.
    pub fn new(name: impl Into<String>, windows: TumblingWindows, key_of: KeyOf, fold: F) -> Self {
        TumblingAggregate {
            name: name.into(),
            windows,
            key_of,
            fold,
            store: WindowStore::new(),
            watermark: EventTime::MIN,
            late_by: EventTime::MIN,
            read: 0,
            late: 0,
            blame: Blame::default(),
        }
    }

    #[inline(always)]
    fn fold_one(&mut self, record: &Record<V>) {
        if !self.store.is_current(record.event_time) && !self.open_window_of(record.event_time) {
            return;
        }
        let TumblingAggregate { key_of, fold, store, blame, .. } = self;
        blame.on(|| {
            let change = |accumulator: &mut _| fold.fold(accumulator, &record.value);
            store.current().update(key_of(&record.value), || fold.create(), change);
        });
    }

    /// Makes the window of `event_time` the current one; `false` if it has closed, and the record is late.
    #[cold]
    fn open_window_of(&mut self, event_time: EventTime) -> bool {
        let window = self.windows.window_of(event_time);
        let is_open = window.end > self.watermark.max(self.late_by);
        if is_open {
            self.store.turn_to(window);
        } else {
            self.late += 1;
        }
        is_open
    }

    fn emit<O: Output<Windowed<K, F::Result>>>(&mut self, output: &mut O) -> Flow {
        while output.room() > 0 {
            let Some((window, key, accumulator)) = self.store.next_fired() else { return Flow::Done };
            let value = self.blame.on(|| self.fold.finish(accumulator));
            output.push(Record::new(window.last_instant(), Windowed::on_time(window, key, value)));
        }
        if self.store.is_firing() { Flow::More } else { Flow::Done }
    }
}

impl<K, V, KeyOf, F> Operator<V> for TumblingAggregate<K, V, KeyOf, F>
where
    K: Eq + Hash + State,
    V: Send,
    KeyOf: Fn(&V) -> K + Send,
    F: Fold<V>,
{
    type Out = Windowed<K, F::Result>;

    #[inline(always)]
    fn process<I: Input<V>, O: Output<Self::Out>>(&mut self, input: &mut I, _output: &mut O) {
        let count = input.remaining();
        input.take_each(count, |record| self.fold_one(&record));
        self.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<V>, _output: &mut O) {
        self.fold_one(&record);
    }

    fn note_read(&mut self, count: u64) {
        self.read += count;
    }

    fn on_mark<O: Output<Self::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        let watermark = match mark {
            Mark::Watermark(watermark) => watermark,
            Mark::InputWatermark(late_by) => {
                self.late_by = late_by;
                return Flow::Done;
            }
            _ => return Flow::Done,
        };
        assert!(
            watermark >= self.watermark,
            "watermarks never go back (O5): {watermark:?} after {:?}",
            self.watermark
        );
        self.watermark = watermark;
        self.store.close_until(watermark);
        self.emit(output)
    }

    fn resume<O: Output<Self::Out>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.store.fund(allowance);
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        self.store.seed(entropy.next_u64());
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        let (read, late) = (self.read, self.late);
        each(&self.name, Counts { read, folded: read - late, late, ..Counts::default() });
    }

    fn state_bytes(&self) -> usize {
        self.store.bytes()
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.watermark)?;
        self.store.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.watermark = state.take()?;
        self.store.load(state)
    }
}

crate::named::named!(TumblingAggregate<K, V, KeyOf, F: Fold<V>>);

#[cfg(test)]
mod tests;
