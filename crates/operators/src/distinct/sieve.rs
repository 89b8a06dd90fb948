//! Keys of a distinct that keep repeated records from crossing to its copies.
//!
//! ```text
//!   split 1   a b a a   -- sieve -->  a b  \\
//!                                            distinct, copies by key   -->   a b c
//!   split 2   b b c b   -- sieve -->  b c  /
//! ```
//!
//! Each split remembers some of what it has sent: a slot, chosen by a hash, holds the last key of it. A record that is like
//! the one in its slot, both on time, is one that distinct would count as repeated and do nothing with; so it is counted here
//! and goes no further. What is late goes on, to be counted there, and so does what a slot has forgotten. The slots lie in a
//! core's second-level cache: to remember all keys here took that of the copies from them, and gained nothing. Where records
//! rarely repeat, a sieve lets all pass for most of the time, and is asked again once in a while.
//!
//! *Of records that are both repeated and late.* A split that was idle may come back when the others are further than it: what
//! it sends then may be late for distinct, and on time here. Such a record counts as repeated if it is, though it is late as
//! well; nothing comes of it either way. If late records are diverted, that would be a loss; then all records go on. And the
//! first record after idleness goes on whatever it is, so that the copies know that the split is back.

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Blame, Counts, EventTime, Horizon, Keys, Mark, Span, StateError, StateReader, StateWriter,
    TumblingWindows, Window,
};

use crate::key_table::lane_hash;
use crate::late::Lateness;

/// Slots at first. With every trial there are twice as many, so that a slow stream takes little memory.
const SLOTS_MIN: usize = 1 << 9;

/// Slots, in bytes, at most: a little more than half of a second-level cache of 1 MiB.
const SLOT_BYTES_MAX: usize = 576 << 10;

/// Records after which is decided whether a sieve is of use.
const TRIAL_RECORDS: u32 = 1 << 14;

/// Records that pass unasked where it was not: so it costs an eighth at most of what it would.
const UNASKED_RECORDS: u32 = 7 * TRIAL_RECORDS;

/// The least share of repeated records with which it is of use, as one in so many.
const REPEATED_ONE_IN: u32 = 4;

/// Contains no instant.
const NO_WINDOW: Window = Window { start: EventTime::MIN, end: EventTime::MIN };

/// What was sent: a key, and the start of its window.
type Sent<K> = (EventTime, K);

/// What a split remembers.
#[derive(Debug)]
pub(super) struct Sieve<K, KeyOf> {
    /// Of the distinct.
    name: String,
    windows: TumblingWindows,
    key_of: Arc<KeyOf>,
    /// Whether it may keep records back.
    is_allowed: bool,
    lateness: Lateness,
    /// That of the last record that was on time.
    window: Window,
    /// A power of two; none before the first record, or if there is no memory for any.
    slots: Vec<Option<Sent<K>>>,
    /// Those that hold something, so that it can be forgotten when its window is over.
    filled: Vec<u32>,
    /// The least end of a window that was at hand since they were empty.
    first_end: EventTime,
    allowance: Allowance,
    /// Records of this trial, or such that pass unasked, that are left.
    left: u32,
    /// Whether this is a trial.
    is_asked: bool,
    /// Whether the split was idle, and nothing has passed since.
    is_silent: bool,
    /// Kept back when this trial began.
    repeated_before: u64,
    repeated: u64,
    blame: Blame,
}

impl<K: Eq + Hash, KeyOf> Sieve<K, KeyOf> {
    /// Of a slot, and of its place among those that are filled.
    const SLOT_BYTES: usize = size_of::<Option<Sent<K>>>() + size_of::<u32>();

    /// As many as fit.
    const SLOTS_MAX: usize = {
        let fitting = SLOT_BYTES_MAX / Self::SLOT_BYTES;
        if fitting < 2 { 1 } else { 1 << fitting.ilog2() }
    };

    /// Of the distinct called so; if it is not allowed to keep records back, all pass.
    pub(super) fn new(name: &str, windows: TumblingWindows, key_of: Arc<KeyOf>, is_allowed: bool) -> Self {
        Sieve {
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

    /// Decides whether the next records are asked. As long as there can be more slots, nobody knows of what use they are.
    #[cold]
    fn turn(&mut self) {
        let of_trial = self.repeated - self.repeated_before;
        let is_of_use = !self.is_asked || of_trial >= u64::from(TRIAL_RECORDS / REPEATED_ONE_IN);
        self.is_asked = self.is_allowed && (self.grow() || is_of_use && !self.slots.is_empty());
        self.left = if self.is_asked { TRIAL_RECORDS } else { UNASKED_RECORDS };
        self.repeated_before = self.repeated;
    }

    /// Takes twice as many slots, if there are to be more and there is memory for them. What they held is forgotten.
    fn grow(&mut self) -> bool {
        let slots = (2 * self.slots.len()).max(SLOTS_MIN).min(Self::SLOTS_MAX);
        // Those there are are given back when the new ones are there.
        if slots == self.slots.len() || !self.allowance.ask_for_spare(slots * Self::SLOT_BYTES) {
            return false;
        }
        self.forget_all_but(None);
        (self.slots, self.filled) = (Vec::with_capacity(slots), Vec::with_capacity(slots));
        self.slots.resize_with(slots, || None);
        true
    }

    /// Slots that hold something.
    #[cfg(test)]
    pub(super) fn held_count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Forgets all that was sent, but for what lies in the window at hand, if that is to be kept.
    fn forget_all_but(&mut self, kept: Option<Window>) {
        let Sieve { slots, filled, .. } = self;
        filled.retain(|place| {
            let slot = &mut slots[*place as usize];
            *slot = slot.take().filter(|sent| kept.is_some_and(|kept| sent.0 == kept.start));
            slot.is_some()
        });
        self.window = kept.unwrap_or(NO_WINDOW);
        self.first_end = kept.map_or(EventTime::MAX, |kept| kept.end);
    }

    /// Whether the window of an instant is open; it is at hand then.
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

/// Whether a key is in its slot, with this start of a window; it is from now on.
#[inline(always)]
fn is_repeated<K: Eq>(
    slots: &mut [Option<Sent<K>>],
    filled: &mut Vec<u32>,
    sent: Sent<K>,
    key_hash: u64,
) -> bool {
    // The upper bits are the good ones.
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

impl<K, V, KeyOf> Keys<V> for Sieve<K, KeyOf>
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
        let Sieve { key_of, window, slots, filled, is_silent, repeated, blame, .. } = self;
        blame.on(|| {
            let key = key_of(value);
            let key_hash = lane_hash(&key);
            let is_repeated = is_asked && is_repeated(slots, filled, (window.start, key), key_hash);
            let is_kept_back = is_repeated && !*is_silent;
            *is_silent &= is_kept_back;
            *repeated += u64::from(is_kept_back);
            (!is_kept_back).then_some(key_hash)
        })
    }

    fn fork(&self) -> Self {
        Sieve::new(&self.name, self.windows, Arc::clone(&self.key_of), self.is_allowed)
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }

    fn on_mark(&mut self, mark: Mark) {
        self.lateness.see(mark);
        self.is_silent |= mark == Mark::Idle;
        if self.first_end <= self.lateness.late_by() {
            // What a key holds is held back no longer than its window is open.
            self.forget_all_but(Some(self.window).filter(|window| window.end > self.lateness.late_by()));
        }
    }

    fn horizon(&self) -> Horizon {
        Horizon::of_windows(self.windows.into(), Span::ZERO)
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
        // The operator is loaded, too, and may not know what was sent since.
        self.forget_all_but(None);
        self.lateness.load(state)
    }

    fn state_bytes(&self) -> usize {
        self.slots.len() * Self::SLOT_BYTES
    }
}
