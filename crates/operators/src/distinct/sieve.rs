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
//! well; nothing comes of it either way. If late records are diverted, that would be a loss; then all records go on.

use std::hash::Hash;
use std::sync::Arc;

use thalweg_model::{
    Allowance, Blame, Counts, EventTime, Horizon, Keys, Mark, Span, StateError, StateReader, StateWriter,
    TumblingWindows, Window,
};

use crate::key_table::lane_hash;
use crate::late::Lateness;

/// Slots, in bytes: a little more than half of a second-level cache of 1 MiB.
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
    /// A power of two; none before the first record.
    slots: Vec<Option<Sent<K>>>,
    /// Those that hold something, so that it can be forgotten when its window is over.
    filled: Vec<u32>,
    allowance: Allowance,
    /// Records of this trial, or such that pass unasked, that are left.
    left: u32,
    /// Whether this is a trial.
    is_asked: bool,
    /// Kept back when this trial began.
    repeated_before: u64,
    repeated: u64,
    blame: Blame,
}

impl<K: Eq + Hash, KeyOf> Sieve<K, KeyOf> {
    /// As many as fit.
    const SLOTS: usize = {
        let fitting = SLOT_BYTES_MAX / (size_of::<Option<Sent<K>>>() + size_of::<u32>());
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
            allowance: Allowance::default(),
            left: 0,
            is_asked: false,
            repeated_before: 0,
            repeated: 0,
            blame: Blame::default(),
        }
    }

    /// Decides whether the next records are asked.
    #[cold]
    fn turn(&mut self) {
        let of_trial = self.repeated - self.repeated_before;
        let is_of_use = !self.is_asked || of_trial >= u64::from(TRIAL_RECORDS / REPEATED_ONE_IN);
        self.is_asked = self.is_allowed && is_of_use && self.has_slots();
        self.left = if self.is_asked { TRIAL_RECORDS } else { UNASKED_RECORDS };
        self.repeated_before = self.repeated;
    }

    /// Whether there are slots now; if not, the query is about to fail.
    fn has_slots(&mut self) -> bool {
        if self.slots.is_empty() && self.allowance.ask(Self::bytes_of(Self::SLOTS)) {
            self.slots.resize_with(Self::SLOTS, || None);
            self.filled.reserve_exact(Self::SLOTS);
        }
        !self.slots.is_empty()
    }

    const fn bytes_of(slots: usize) -> usize {
        slots * (size_of::<Option<Sent<K>>>() + size_of::<u32>())
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
        let Sieve { key_of, window, slots, filled, repeated, blame, .. } = self;
        blame.on(|| {
            let key = key_of(value);
            let key_hash = lane_hash(&key);
            let is_repeated = is_asked && is_repeated(slots, filled, (window.start, key), key_hash);
            *repeated += u64::from(is_repeated);
            (!is_repeated).then_some(key_hash)
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
        if self.window.end <= self.lateness.late_by() {
            // What a key holds is held back no longer than its window is open.
            self.filled.drain(..).for_each(|place| self.slots[place as usize] = None);
            self.window = NO_WINDOW;
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
        Some((&self.name, counts))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.lateness.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.lateness.load(state)
    }

    fn state_bytes(&self) -> usize {
        Self::bytes_of(self.slots.len())
    }
}
