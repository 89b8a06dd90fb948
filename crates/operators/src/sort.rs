//! Sort: records come out in the order of their event times.
//!
//! Input      `Record<T>` in any order; a function gives the key of each, `()` if none is needed
//! Output     the same records, those with earlier event times first; records of one event time by key; records of
//!            one key in the order of arrival. `Either<T, T>` if late records are diverted: in order on the left,
//!            late on the right
//! State      the records at or after the watermark
//! Emits      when the watermark passes them: at `w`, all records before `w`, since later ones may still come at `w`
//!            itself; at the end all
//! Late       before the watermark of its input: counted in `late`, and dropped or diverted at once
//! Watermark  forwarded unchanged, after all records that it releases. An input's watermark ends here: its records
//!            are sorted with those of others
//! Cost       one comparison per record of a stream that is nearly sorted, otherwise O(log r) for r runs, to go in
//!            and to come out; O(r) per watermark. See `sort/runs.rs`
//! Source     Chandramouli, Goldstein and Li, "Impatience Is a Virtue: Revisiting Disorder in High-Performance Log
//!            Analytics", ICDE 2018, "Impatience sort"
//!
//! ```
//! # use thalweg::{Segment, Stream};
//! # fn f<C: Segment<(u32, i64)>>(readings: Stream<(u32, i64), C>) -> Stream<(u32, i64), impl Segment<(u32, i64)>> {
//! readings.in_order_by(|(sensor, _)| *sensor)
//! # }
//! ```

mod runs;

use std::marker::PhantomData;

use thalweg_model::{
    Allowance, EventTime, Flow, Input, Mark, Operator, Output, Record, Span, State, StateError, StateReader,
    StateWriter,
};

use crate::accounts::Accounts;
use crate::late::{DivertLate, DropLate, LateRule, Lateness};
use runs::{Keyed, Runs};

/// Operator that sorts the records of a stream by event time.
#[derive(Debug)]
pub struct Sort<K, T, KeyOf, L = DropLate> {
    accounts: Accounts,
    key_of: KeyOf,
    runs: Runs<K, T>,
    lateness: Lateness,
    late_rule: PhantomData<fn() -> L>,
}

impl<K, T, KeyOf> Sort<K, T, KeyOf>
where
    K: Ord + Send,
    KeyOf: Fn(&T) -> K + Send,
{
    /// Creates a sort operator called `name`; `key_of` gives the key by which records of one event time are
    /// ordered. Late records are dropped.
    pub fn new(name: impl Into<String>, key_of: KeyOf) -> Self {
        Sort::with_rule(name.into(), key_of)
    }

    /// Returns a sort operator which emits late records beside the sorted ones instead of dropping them.
    pub fn divert_late(self) -> Sort<K, T, KeyOf, DivertLate> {
        Sort::with_rule(self.accounts.name, self.key_of)
    }
}

impl<K, T, KeyOf, L> Sort<K, T, KeyOf, L>
where
    K: Ord,
    KeyOf: Fn(&T) -> K,
    L: LateRule<T, T>,
{
    fn with_rule(name: String, key_of: KeyOf) -> Self {
        Sort {
            accounts: Accounts::new(name),
            key_of,
            runs: Runs::new(Allowance::default()),
            lateness: Lateness::new(),
            late_rule: PhantomData,
        }
    }

    #[inline(always)]
    fn take_in<O: Output<L::Out>>(&mut self, record: Record<T>, output: &mut O) {
        if record.event_time < self.lateness.late_by() {
            return self.take_late(record, output);
        }
        let Sort { key_of, runs, accounts, .. } = self;
        accounts.blame.on(|| {
            let key = key_of(&record.value);
            runs.insert(Keyed { record, key });
        });
    }

    #[cold]
    fn take_late<O: Output<L::Out>>(&mut self, record: Record<T>, output: &mut O) {
        self.accounts.late += 1;
        if let Some(value) = L::late(record.value) {
            output.push(Record::new(record.event_time, value));
        }
    }

    fn emit<O: Output<L::Out>>(&mut self, output: &mut O) -> Flow {
        while output.room() > 0 {
            let released = self.accounts.blame.on(|| self.runs.next_released());
            let Some(Record { event_time, value }) = released else { return Flow::Done };
            output.push(Record::new(event_time, L::result(value)));
        }
        if self.runs.is_releasing() { Flow::More } else { Flow::Done }
    }
}

impl<K, T, KeyOf, L> Operator<T> for Sort<K, T, KeyOf, L>
where
    K: Ord + Send,
    T: State,
    KeyOf: Fn(&T) -> K + Send,
    L: LateRule<T, T>,
{
    type Out = L::Out;

    #[inline(always)]
    fn process<I: Input<T>, O: Output<L::Out>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        input.take_each(count, |record| self.take_in(record, output));
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<L::Out>>(&mut self, record: Record<T>, output: &mut O) {
        self.take_in(record, output);
    }

    crate::accounts::accounted!(folding);

    fn on_mark<O: Output<L::Out>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        self.lateness.see(mark);
        let last_instant = match mark {
            // A watermark at the start of time promises nothing, and there is no instant before it.
            Mark::Watermark(EventTime::MIN) => return Flow::Done,
            // At the last watermark no more records come, not even at the last instant of all, so every record
            // is released.
            Mark::Watermark(EventTime::MAX) => EventTime::MAX,
            Mark::Watermark(watermark) => watermark.minus(Span::from_micros(1)),
            _ => return Flow::Done,
        };
        self.accounts.blame.on(|| self.runs.release(last_instant));
        self.emit(output)
    }

    fn resume<O: Output<L::Out>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn forward(&self, mark: Mark) -> Option<Mark> {
        (!matches!(mark, Mark::InputWatermark(_))).then_some(mark)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.runs = Runs::new(allowance.clone());
    }

    fn state_bytes(&self) -> usize {
        self.runs.bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        assert!(!self.runs.is_releasing(), "state is saved at a mark, when all before it is through (O4)");
        state.frame(KIND, VERSION, |state| {
            self.lateness.save(state)?;
            state.put(&self.runs.len())?;
            self.runs.iter().try_for_each(|record| state.put(&(record.event_time, &record.value)))
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            self.runs.clear();
            self.lateness.load(state)?;
            for _ in 0..state.take::<usize>()? {
                let (event_time, value) = state.take()?;
                let key = (self.key_of)(&value);
                self.runs.insert(Keyed { record: Record::new(event_time, value), key });
            }
            Ok(())
        })
    }
}

/// Kind and version of the state of the operator, which saved state tells.
const KIND: &str = "sort";
const VERSION: u32 = 1;

crate::named::named!(Sort<K, T, KeyOf, L>);

#[cfg(test)]
mod tests;
