//! The local distinct filter: keeps most repeated records of a distinct from crossing the exchange to its copies.
//!
//! ```text
//!   split 1   a b a a   -- local distinct -->  a b  \\
//!                                            distinct, copies by key   -->   a b c
//!   split 2   b b c b   -- local distinct -->  b c  /
//! ```
//!
//! Each split (one of the parallel streams of a source) remembers some of the keys that it has sent: a slot, chosen
//! by hash, holds the last key that hashed to it. A record equal to the one in its slot, both on time, would only be
//! counted as repeated by distinct. So it is counted here and not sent. Late records, and records whose slot has
//! forgotten them, are sent on and counted by distinct. The slots fit into a core's second-level cache: remembering
//! all keys took that cache from the copies and gained nothing. Where records rarely repeat, the filter lets all
//! records pass for most of the time, and tries again now and then.
//!
//! *Records that are both repeated and late.* A split that was idle may resume when the others are ahead of it. Its
//! records may then be late for distinct and on time here. Such a record counts as repeated although it is late as
//! well; it has no result either way. If late records are diverted, this would lose it; then the filter sends all
//! records on. The first record after idleness is always sent on, so that the copies know that the split has resumed.

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Blame, Counts, EventTime, Horizon, Keys, Mark, StateError, StateReader, StateWriter,
    TumblingWindows, Window,
};

use crate::key_table::partition_hash;
use crate::late::Lateness;

/// Number of slots of a local distinct filter before its first trial. Each trial doubles the number, up to
/// [`SLOT_BYTES_MAX`], so that a slow stream takes little memory.
const SLOTS_MIN: usize = 1 << 9;

/// Largest size in bytes of all slots of a filter: a little more than half of a second-level cache of 1 MiB.
const SLOT_BYTES_MAX: usize = 576 << 10;

/// Number of records in one trial of the filter, in which it looks up each record. After a trial the share of
/// repeated records decides whether the filter goes on looking up records.
const TRIAL_RECORDS: u32 = 1 << 14;

/// Number of records that pass without a look-up after a trial that found too few repeated records. So the
/// look-ups of a filter that finds too few cost at most an eighth of those of a filter that looks up all
/// records.
const UNASKED_RECORDS: u32 = 7 * TRIAL_RECORDS;

/// The least share of repeated records in a trial for which the filter goes on looking up records: one record
/// in this many.
const REPEATED_ONE_IN: u32 = 4;

/// An empty window, which contains no instant: the current window of the filter before the first record.
const NO_WINDOW: Window = Window { start: EventTime::MIN, end: EventTime::MIN };

/// The start of a window, and a key of this window: a record with both was sent on to the copies of the
/// distinct operator.
type Sent<K> = (EventTime, K);

/// The local distinct filter of one split (one of the parallel streams of a source): its slots of keys, and
/// the state of its trials, which measure how many records are repeated.
#[derive(Debug)]
pub(super) struct LocalDistinct<K, KeyOf> {
    /// Name of the distinct operator that the filter stands in front of.
    name: String,
    windows: TumblingWindows,
    key_of: Arc<KeyOf>,
    /// Tells whether the filter may drop repeated records. It may not where late records are diverted.
    is_allowed: bool,
    lateness: Lateness,
    /// The current window of the filter: that of the last record that was not late.
    window: Window,
    /// The slots of the filter, each with the last key that hashed to it. Their number is a power of two, or
    /// zero before the first record and if there is no memory.
    slots: Vec<Option<Sent<K>>>,
    /// Indexes of the slots that hold a key, so that slots can be emptied when their windows have ended.
    filled: Vec<u32>,
    /// The earliest end among the windows that have been current since the slots were last empty.
    first_end: EventTime,
    allowance: Allowance,
    /// Number of records left in the present phase of the filter: a trial, in which records are looked up, or
    /// a phase in which records pass without a look-up.
    left: u32,
    /// Tells whether a trial is under way, in which each record is looked up in the slots.
    is_asked: bool,
    /// Tells whether the split (the parallel stream of a source that this filter serves) was idle and has
    /// sent no record since.
    is_silent: bool,
    /// Number of repeated records that the filter had dropped, since its start, when the current trial began.
    repeated_before: u64,
    repeated: u64,
    blame: Blame,
}

impl<K: Eq + Hash, KeyOf> LocalDistinct<K, KeyOf> {
    /// Bytes of one slot of the filter, and of its index in the list of slots in use.
    const SLOT_BYTES: usize = size_of::<Option<Sent<K>>>() + size_of::<u32>();

    /// Greatest number of slots: the largest power of two whose slots fit into `SLOT_BYTES_MAX`.
    const SLOTS_MAX: usize = {
        let fitting = SLOT_BYTES_MAX / Self::SLOT_BYTES;
        if fitting < 2 { 1 } else { 1 << fitting.ilog2() }
    };

    /// Creates the local filter of the distinct operator called `name`; if `is_allowed` is false, all records
    /// pass.
    pub(super) fn new(name: &str, windows: TumblingWindows, key_of: Arc<KeyOf>, is_allowed: bool) -> Self {
        LocalDistinct {
            name: name.to_owned(),
            windows,
            key_of,
            is_allowed,
            lateness: Lateness::new(),
            window: NO_WINDOW,
            slots: Vec::new(),
            filled: Vec::new(),
            first_end: EventTime::MAX,
            allowance: Allowance::default(),
            left: 0,
            is_asked: false,
            is_silent: false,
            repeated_before: 0,
            repeated: 0,
            blame: Blame::default(),
        }
    }

    /// Decides at the end of a phase of the filter whether the next records are looked up. While the number
    /// of slots can still grow, it is not known how much the filter helps, so records are looked up.
    #[cold]
    fn turn(&mut self) {
        let of_trial = self.repeated - self.repeated_before;
        let is_of_use = !self.is_asked || of_trial >= u64::from(TRIAL_RECORDS / REPEATED_ONE_IN);
        self.is_asked = self.is_allowed && (self.grow() || is_of_use && !self.slots.is_empty());
        self.left = if self.is_asked { TRIAL_RECORDS } else { UNASKED_RECORDS };
        self.repeated_before = self.repeated;
    }

    /// Doubles the number of slots, if they may grow and there is memory. All keys that they held are
    /// forgotten. Returns whether the slots have grown.
    fn grow(&mut self) -> bool {
        let slots = (2 * self.slots.len()).max(SLOTS_MIN).min(Self::SLOTS_MAX);
        // Memory is reserved for the old and the new slots together, because the old ones are freed only when
        // the new ones exist.
        if slots == self.slots.len() || !self.allowance.ask_for_spare(slots * Self::SLOT_BYTES) {
            return false;
        }
        self.forget_all_but(None);
        (self.slots, self.filled) = (Vec::with_capacity(slots), Vec::with_capacity(slots));
        self.slots.resize_with(slots, || None);
        true
    }

    /// Counts the slots of the filter that hold a key.
    #[cfg(test)]
    pub(super) fn held_count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Empties the slots of keys that were sent on to the distinct operator, except keys of the window
    /// `kept`.
    fn forget_all_but(&mut self, kept: Option<Window>) {
        let LocalDistinct { slots, filled, .. } = self;
        filled.retain(|place| {
            let slot = &mut slots[*place as usize];
            *slot = slot.take().filter(|sent| kept.is_some_and(|kept| sent.0 == kept.start));
            slot.is_some()
        });
        self.window = kept.unwrap_or(NO_WINDOW);
        self.first_end = kept.map_or(EventTime::MAX, |kept| kept.end);
    }

    /// Returns whether the window of an instant is open, and makes this window the current one if so.
    #[inline(always)]
    fn turn_to(&mut self, instant: EventTime) -> bool {
        if self.window.start <= instant && instant < self.window.end {
            return true;
        }
        let window = self.windows.window_of(instant);
        let is_open = self.lateness.late_by() < window.end;
        if is_open {
            self.window = window;
            self.first_end = self.first_end.min(window.end);
        }
        is_open
    }
}

/// Returns whether the slot of a key already holds this key with this window's start; stores both in the slot
/// if not.
#[inline(always)]
fn is_repeated<K: Eq>(
    slots: &mut [Option<Sent<K>>],
    filled: &mut Vec<u32>,
    sent: Sent<K>,
    key_hash: u64,
) -> bool {
    // The slot index is taken from the upper bits of the hash, which are spread best.
    let place = ((u128::from(key_hash) * slots.len() as u128) >> 64) as usize;
    let slot = &mut slots[place];
    if slot.as_ref() == Some(&sent) {
        return true;
    }
    if slot.replace(sent).is_none() {
        filled.push(place as u32);
    }
    false
}

impl<K, V, KeyOf> Keys<V> for LocalDistinct<K, KeyOf>
where
    K: Eq + Hash + Send,
    KeyOf: Fn(&V) -> K + Send + Sync,
{
    #[inline(always)]
    fn address(&mut self, event_time: EventTime, value: &V) -> Option<u64> {
        if self.left == 0 {
            self.turn();
        }
        self.left -= 1;
        let is_asked = self.is_asked && self.turn_to(event_time);
        let LocalDistinct { key_of, window, slots, filled, is_silent, repeated, blame, .. } = self;
        blame.on(|| {
            let key = key_of(value);
            let key_hash = partition_hash(&key);
            let is_repeated = is_asked && is_repeated(slots, filled, (window.start, key), key_hash);
            let is_kept_back = is_repeated && !*is_silent;
            *is_silent &= is_kept_back;
            *repeated += u64::from(is_kept_back);
            (!is_kept_back).then_some(key_hash)
        })
    }

    fn fork(&self) -> Self {
        LocalDistinct::new(&self.name, self.windows, Arc::clone(&self.key_of), self.is_allowed)
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }

    fn on_mark(&mut self, mark: Mark) {
        self.lateness.see(mark);
        self.is_silent |= mark == Mark::Idle;
        if self.first_end <= self.lateness.late_by() {
            // A watermark that ends windows makes the filter empty its slots, so it holds keys no longer than
            // their window is open.
            self.forget_all_but(Some(self.window).filter(|window| window.end > self.lateness.late_by()));
        }
    }

    fn horizon(&self) -> Horizon {
        Horizon::of_expiry(self.windows.into())
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn kept_back(&self) -> Option<(&str, Counts)> {
        let counts = Counts { read: self.repeated, filtered: self.repeated, ..Counts::default() };
        self.is_allowed.then_some((&self.name, counts))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.lateness.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        // Forgets all keys that were sent: the distinct operator is restored as well, and may not know
        // records that were sent after the state was saved.
        self.forget_all_but(None);
        self.lateness.load(state)
    }

    fn state_bytes(&self) -> usize {
        self.slots.len() * Self::SLOT_BYTES
    }
}
