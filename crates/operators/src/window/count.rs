//! Count windows: fold each key's values by a number of records, whatever their event times.
//!
//! Input      `Record<V>`; a function gives the key of each; only the order in which the records of a key come
//!            matters
//! Output     `Record<Counted<K, R>>`, one per complete window, stamped with the event time of the record that
//!            completes it
//! State      one accumulator per key in the middle of a window; if windows overlap, one per pane of every key's
//!            window
//! Emits      with the record that completes a window, so never more than one result per record. Windows that are not
//!            complete when the stream ends have no result
//! Late       no record is late: event times do not matter
//! Watermark  forwarded unchanged
//! Cost       one hash look-up per record; per window, one more look-up if windows do not overlap, otherwise the
//!            panes that enter and leave if the aggregate inverts, or all its panes
//! Source     Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams",
//!            SIGMOD Record 34(1), 2005, section 3, with row numbers for times
//!
//! ```
//! # use std::num::NonZeroU64;
//! # use thalweg::{CountWindows, Counted, Mean, Segment, Stream, of};
//! # fn f<C: Segment<(u32, f64)>>(readings: Stream<(u32, f64), C>) -> Stream<Counted<u32, f64>, impl Segment<Counted<u32, f64>>> {
//! let ten = CountWindows::of_size(const { NonZeroU64::new(10).unwrap() });
//! readings.key_by(|(sensor, _)| *sensor).count_windows(ten, of(|reading: &(u32, f64)| reading.1, Mean))
//! # }
//! ```
//!
//! Behind several inputs, the interleaving decides which records share a window.
//!
//! With a slide above the size, the records between two windows are in none, and counted as filtered. Flink also
//! drops incomplete windows at the end; but its first sliding windows of a key have results before they are full.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Allowance, CountWindows, Counted, Entropy, Fold, Horizon, Input, Keys, Mark, Operator, Output, Record,
    Sharing, State, StateError, StateReader, StateWriter,
};

use super::held::{Held, held};
use crate::accounts::Accounts;
use crate::address::By;
use crate::key_table::{KeyHash, KeyTable, partition_hash};

/// Folds each key's values per count window, which is a fixed number of records of the key.
#[derive(Debug)]
pub struct CountAggregate<K, V, KeyOf, F: Fold<V>> {
    accounts: Accounts,
    functions: Arc<(KeyOf, F)>,
    runs: Runs<K, F::Accumulator>,
}

impl<K, V, KeyOf, F> CountAggregate<K, V, KeyOf, F>
where
    K: Clone + Eq + Hash + State,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    /// Creates an aggregate called `name` over count windows; `key_of` gives the key of a record, and `fold`
    /// computes the results.
    pub fn new(name: impl Into<String>, windows: CountWindows, key_of: KeyOf, fold: F) -> Self {
        CountAggregate::sharing(name.into(), Arc::new((key_of, fold)), Shape::of(windows))
    }

    fn sharing(name: String, functions: Arc<(KeyOf, F)>, shape: Shape) -> Self {
        let runs = Runs::new(shape, KeyHash::known(), Allowance::default());
        CountAggregate { accounts: Accounts::new(name), functions, runs }
    }

    #[inline(always)]
    fn fold_one<O: Output<Counted<K, F::Result>>>(&mut self, record: &Record<V>, output: &mut O) {
        let CountAggregate { functions, runs, accounts, .. } = self;
        let (key_of, fold) = &**functions;
        let step = accounts.blame.on(|| match runs.fold(fold, key_of(&record.value), &record.value) {
            Step::Complete(key, accumulator) => Step::Complete(key, fold.finish(accumulator)),
            Step::Folded => Step::Folded,
            Step::Outside => Step::Outside,
        });
        match step {
            Step::Complete(key, value) => output.push(Record::new(record.event_time, Counted { key, value })),
            Step::Folded => {}
            Step::Outside => self.accounts.filtered += 1,
        }
    }
}

impl<K, V, KeyOf, F> Operator<V> for CountAggregate<K, V, KeyOf, F>
where
    K: Clone + Eq + Hash + State,
    V: Send,
    KeyOf: Fn(&V) -> K + Send + Sync,
    F: Fold<V>,
{
    type Out = Counted<K, F::Result>;

    const SHARING: Sharing = Sharing::Keyed;

    fn fork(&self) -> Self {
        CountAggregate::sharing(self.accounts.name.clone(), Arc::clone(&self.functions), self.runs.shape)
    }

    fn keys(&self) -> impl Keys<V> + use<K, V, KeyOf, F> {
        let functions = Arc::clone(&self.functions);
        By::new(&self.accounts.name, move |value: &V| partition_hash(&(functions.0)(value)))
    }

    #[inline(always)]
    fn process<I: Input<V>, O: Output<Self::Out>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        input.take_each(count, |record| self.fold_one(&record, output));
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<Self::Out>>(&mut self, record: Record<V>, output: &mut O) {
        self.fold_one(&record, output);
    }

    crate::accounts::accounted!(folding);

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        // Watermarks of single inputs are not forwarded, because they do not tell whether a result is late
        // for later operators.
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    fn fund(&mut self, allowance: &Allowance) {
        debug_assert!(self.runs.keys.is_empty(), "only before the first record");
        self.runs = Runs::new(self.runs.shape, self.runs.hash.clone(), allowance.clone());
    }

    fn seed(&mut self, entropy: &mut dyn Entropy) {
        debug_assert!(self.runs.keys.is_empty(), "only before the first record");
        let hash = KeyHash::new(entropy.next_u64());
        self.runs = Runs::new(self.runs.shape, hash, self.runs.allowance.clone());
    }

    fn state_bytes(&self) -> usize {
        self.runs.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| self.runs.save(state))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| self.runs.load(&self.functions.1, state))
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "count windows";
const VERSION: u32 = 1;

crate::named::named!(CountAggregate<K, V, KeyOf, F: Fold<V>>);

/// How count windows are made of panes, which neighbouring windows share.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Number of records in a pane: the greatest common divisor of size and slide, or a whole window if
    /// windows do not overlap.
    pane: u64,
    /// Number of records of a key between two consecutive windows, which fall into no window.
    between: u64,
    /// Number of panes that make up one window.
    window_panes: u64,
    /// Number of panes from the start of one window to the start of the next, if windows overlap.
    slide_panes: u64,
}

impl Shape {
    fn of(windows: CountWindows) -> Self {
        let (size, slide) = (windows.size().get(), windows.slide().get());
        let (mut pane, mut rest) = (size, if slide < size { slide } else { 0 });
        while rest > 0 {
            (pane, rest) = (rest, pane % rest);
        }
        let (window_panes, slide_panes) = (size / pane, slide / pane);
        Shape { pane, between: slide.saturating_sub(size), window_panes, slide_panes }
    }
}

/// The effect of one value on the windows of its key.
enum Step<K, R> {
    /// The value is folded, and its window is not complete yet.
    Folded,
    /// The value falls into a gap between two count windows, and is not folded.
    Outside,
    /// The value is folded and completes its window, which has this key and accumulator.
    Complete(K, R),
}

/// Position of a key in its windows, with the accumulators of its current panes.
#[derive(Debug)]
struct Run<A> {
    /// The accumulator of the key's incomplete pane.
    open: A,
    /// Number of records of the key since its incomplete pane began.
    count: u64,
    /// The complete panes of the key's next window; `None` if windows do not overlap and so have one pane
    /// each.
    panes: Option<Box<Panes<A>>>,
}

/// The complete panes of a key, the oldest in front.
#[derive(Debug)]
struct Panes<A> {
    panes: VecDeque<A>,
    /// The accumulators of all complete panes of the key, merged. `None` if the aggregate cannot subtract, or
    /// if there is no complete pane.
    sum: Option<A>,
}

/// The position of each key in its count windows, with the accumulators of its panes.
#[derive(Debug)]
struct Runs<K, A> {
    shape: Shape,
    keys: KeyTable<K, Run<A>>,
    /// Bytes of the complete panes of all keys, without the memory that accumulators hold.
    pane_bytes: usize,
    held: Held,
    hash: KeyHash,
    allowance: Allowance,
}

impl<K: Clone + Eq + Hash, A: Clone> Runs<K, A> {
    fn new(shape: Shape, hash: KeyHash, allowance: Allowance) -> Self {
        let keys = KeyTable::new(hash.clone(), allowance.clone());
        Runs { shape, keys, pane_bytes: 0, held: Held::default(), hash, allowance }
    }

    /// Folds a value into the open pane of its key.
    #[inline(always)]
    fn fold<V, F>(&mut self, fold: &F, key: K, value: &V) -> Step<K, A>
    where
        F: Fold<V, Accumulator = A>,
    {
        let Some(run) = self.keys.get_mut(&key) else { return self.begin(fold, key, value) };
        if run.count >= self.shape.pane {
            run.count += 1;
            if run.count == self.shape.pane + self.shape.between {
                self.keys.remove(&key);
            }
            return Step::Outside;
        }
        let before = held(fold, &run.open);
        fold.fold(&mut run.open, value);
        run.count += 1;
        let (after, is_complete) = (held(fold, &run.open), run.count == self.shape.pane);
        self.held.note(&self.allowance, before, after);
        if is_complete { self.complete(fold, key) } else { Step::Folded }
    }

    /// Folds the first value of a key, or the first value after a key's window has ended.
    #[cold]
    #[inline(never)]
    fn begin<V, F>(&mut self, fold: &F, key: K, value: &V) -> Step<K, A>
    where
        F: Fold<V, Accumulator = A>,
    {
        let mut open = fold.create();
        fold.fold(&mut open, value);
        self.held.note(&self.allowance, 0, held(fold, &open));
        self.keys.update(key.clone(), || Run { open, count: 1, panes: None }, |_| ());
        if self.shape.pane == 1 { self.complete(fold, key) } else { Step::Folded }
    }

    /// Ends the open pane of a key, and the key's window if it is complete with this pane.
    #[cold]
    #[inline(never)]
    fn complete<V, F>(&mut self, fold: &F, key: K) -> Step<K, A>
    where
        F: Fold<V, Accumulator = A>,
    {
        match self.take_window(fold, &key) {
            Some(window) => Step::Complete(key, window),
            None => Step::Folded,
        }
    }

    fn take_window<V, F>(&mut self, fold: &F, key: &K) -> Option<A>
    where
        F: Fold<V, Accumulator = A>,
    {
        let Shape { window_panes, between, .. } = self.shape;
        let window = if window_panes == 1 && between == 0 {
            // A key between two windows takes no slot of the table.
            self.keys.remove(key)?.open
        } else {
            let open = fold.create();
            self.held.note(&self.allowance, 0, held(fold, &open));
            let run = self.keys.get_mut(key)?;
            let pane = std::mem::replace(&mut run.open, open);
            if window_panes > 1 {
                run.count = 0;
                return self.slide(fold, key, pane);
            }
            pane
        };
        self.held.note(&self.allowance, held(fold, &window), 0);
        Some(window)
    }

    /// Appends a complete pane to those of its key, and returns the sum of the panes if they make up a
    /// window.
    fn slide<V, F>(&mut self, fold: &F, key: &K, pane: A) -> Option<A>
    where
        F: Fold<V, Accumulator = A>,
    {
        let Runs { shape, keys, pane_bytes, held: all_held, allowance, .. } = self;
        let run = keys.get_mut(key)?;
        if run.panes.is_none() {
            if !allowance.ask(size_of::<Panes<A>>()) {
                return None;
            }
            *pane_bytes += size_of::<Panes<A>>();
            let sum = F::INVERTS.then(|| fold.create());
            all_held.note(allowance, 0, sum.as_ref().map_or(0, |sum| held(fold, sum)));
            run.panes = Some(Box::new(Panes { panes: VecDeque::new(), sum }));
        }
        let Panes { panes, sum } = &mut **run.panes.as_mut()?;
        if panes.len() == panes.capacity() {
            let more = panes.capacity().max(4);
            if !allowance.ask(more * size_of::<A>()) {
                return None;
            }
            panes.reserve_exact(more);
            *pane_bytes += more * size_of::<A>();
        }
        let held_by_sum = |sum: &Option<A>| sum.as_ref().map_or(0, |sum| held(fold, sum));
        let (mut before, mut left) = (held_by_sum(sum), 0);
        if let Some(sum) = sum {
            fold.merge(sum, pane.clone());
        }
        panes.push_back(pane);
        let window = (panes.len() as u64 == shape.window_panes).then(|| match sum {
            Some(sum) => Some(sum.clone()),
            None => panes.iter().cloned().reduce(|mut window, pane| {
                fold.merge(&mut window, pane);
                window
            }),
        });
        if window.is_some() {
            for pane in panes.drain(..shape.slide_panes as usize) {
                left += held(fold, &pane);
                if let Some(sum) = sum {
                    fold.unmerge(sum, &pane);
                }
            }
        }
        before += left;
        let after = held_by_sum(sum);
        all_held.note(allowance, before, after);
        window.flatten()
    }

    /// Returns the bytes of the table, of all panes, and of the memory that accumulators hold. Heap memory of
    /// keys is not counted.
    fn bytes(&self) -> usize {
        self.keys.bytes() + self.pane_bytes + self.held.bytes()
    }
}

impl<K: Clone + Eq + Hash + State, A: Clone + State> Runs<K, A> {
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.keys.len())?;
        for (key, Run { open, count, panes }) in self.keys.iter() {
            state.put(&(key, open, count, panes.as_ref().map(|it| &it.panes)))?;
        }
        Ok(())
    }

    fn load<V, F>(&mut self, fold: &F, state: &mut StateReader<'_>) -> Result<(), StateError>
    where
        F: Fold<V, Accumulator = A>,
    {
        *self = Runs::new(self.shape, self.hash.clone(), self.allowance.clone());
        for _ in 0..state.take::<usize>()? {
            let (key, open, count, panes): (K, A, u64, Option<Vec<A>>) = state.take()?;
            self.held.note(&self.allowance, 0, held(fold, &open));
            self.keys.update(key.clone(), || Run { open, count, panes: None }, |_| ());
            for pane in panes.into_iter().flatten() {
                self.held.note(&self.allowance, 0, held(fold, &pane));
                let window = self.slide(fold, &key, pane);
                debug_assert!(window.is_none(), "the panes of a complete window are not all kept");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
